"""The wake press: one KEY_UNKNOWN, before the device's own first event, under all its conditions.

Its press and its release are frames of their own: within one, libinput would see no press.
"""

from __future__ import annotations

import pytest
from uinputrelay import NodeWish, PeripheralWish, codes

from .devices import (
    ADDRESS,
    KEY_A,
    SYN,
    Bench,
    Plug,
    Read,
    gamepad,
    keyboard_and_mouse,
    keyed,
    wish,
)

pytestmark = pytest.mark.lab
REMOTE = keyboard_and_mouse()
PRESS = [keyed(codes.KEY_UNKNOWN, 1), SYN, keyed(codes.KEY_UNKNOWN, 0), SYN]


def test_a_raised_counter_gives_one_press_before_the_first_event(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(wish(REMOTE, wake=3))
    bench.apply(wish(REMOTE, wake=4))
    reader = read(bench.nodes()[0].path or "")
    source = plug(REMOTE)
    holder = read(source.path)
    source.frame(keyed(KEY_A, 1))  # the press that woke it, before anybody read
    bench.connected()
    bench.pump()
    assert reader.events() == [*PRESS, keyed(KEY_A, 1), SYN]
    assert holder.events() == [keyed(KEY_A, 1), SYN]


def test_each_raise_gives_one_press_and_only_at_a_session_that_begins(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(wish(REMOTE, wake=1))
    reader = read(bench.nodes()[0].path or "")
    source = plug(REMOTE)
    bench.connected()
    bench.apply(wish(REMOTE, wake=2))
    bench.pump()
    assert reader.events() == []  # it is awake: nothing begins
    for expected in (PRESS, []):
        source.unplug()
        bench.gone()
        source = plug(REMOTE)
        bench.connected()
        bench.pump()
        assert reader.events() == expected


def test_the_first_counter_a_relay_hears_asks_for_nothing(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(wish(REMOTE, wake=9))
    reader = read(bench.nodes()[0].path or "")
    plug(REMOTE)
    bench.connected()
    bench.pump()
    assert reader.events() == []


NO_PRESS = {
    "a pad has no keyboard key": wish(gamepad(), wake=1),
    "nobody receives its keys": wish(REMOTE, types=frozenset({codes.EV_REL}), wake=1),
}


@pytest.mark.parametrize("peripheral", NO_PRESS.values(), ids=NO_PRESS)
def test_no_press_where(bench: Bench, plug: Plug, read: Read, peripheral: PeripheralWish) -> None:
    shot = peripheral.nodes[0].snapshot
    bench.apply(PeripheralWish(ADDRESS, None, peripheral.nodes))
    bench.apply(peripheral)
    reader = read(bench.nodes()[0].path or "")
    plug(shot)
    bench.connected()
    bench.pump()
    assert reader.events() == []


def test_of_several_nodes_the_first_that_may_have_it_gets_it_whatever_their_return(
    bench: Bench, plug: Plug, read: Read
) -> None:
    first, second = keyboard_and_mouse("First"), keyboard_and_mouse("Second")
    nodes = tuple(NodeWish(shot, None) for shot in (gamepad(), first, second))
    bench.apply(PeripheralWish(ADDRESS, None, nodes))
    bench.apply(PeripheralWish(ADDRESS, None, nodes, wake=1))
    readers = [read(node.path or "") for node in bench.nodes()]
    for shot in (second, gamepad(), first):
        plug(shot)
        bench.pump()
    bench.connected()
    assert [reader.events() for reader in readers] == [[], PRESS, []]


def test_the_mirror_of_a_remote_declares_key_unknown_and_its_snapshot_does_not(
    bench: Bench, plug: Plug, read: Read
) -> None:
    plug(REMOTE)
    bench.apply(PeripheralWish(ADDRESS))
    (node,) = bench.connected()
    assert codes.KEY_UNKNOWN not in node.snapshot.codes(codes.EV_KEY)
    assert codes.KEY_UNKNOWN in read(node.path or "").snapshot().codes(codes.EV_KEY)


def test_a_node_that_outlived_the_sleep_gets_the_press_when_the_counter_falls(
    bench: Bench, plug: Plug, read: Read
) -> None:
    """bluetoothd keeps the uhid device of a keyboard while its link is down."""
    bench.apply(wish(REMOTE))
    plug(REMOTE)
    (node,) = bench.connected()
    reader = read(node.path or "")
    bench.apply(wish(REMOTE, wake=5))
    assert reader.events() == []
    bench.apply(wish(REMOTE))
    assert reader.events() == PRESS
    bench.apply(wish(REMOTE, wake=5), fresh=True)
    bench.apply(wish(REMOTE), fresh=True)
    assert reader.events() == []  # a client that has just come does not know who is awake


def test_a_node_that_outlived_the_sleep_gets_the_press_before_its_devices_next_event(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(wish(REMOTE))
    source = plug(REMOTE)
    (node,) = bench.connected()
    reader = read(node.path or "")
    bench.apply(wish(REMOTE, wake=5))
    source.frame(keyed(KEY_A, 1))
    bench.pump()
    assert reader.events() == [*PRESS, keyed(KEY_A, 1), SYN]
    bench.apply(wish(REMOTE))
    source.frame(keyed(KEY_A, 0))
    bench.pump()
    assert reader.events() == [keyed(KEY_A, 0), SYN]
