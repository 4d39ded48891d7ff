"""Only wanted event types move, unwanted nodes cost nothing, and a change of mind loses no key."""

from __future__ import annotations

from pathlib import Path

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
    moved,
    wish,
)

pytestmark = pytest.mark.lab
KEYS = frozenset({codes.EV_KEY})
REMOTE = keyboard_and_mouse()


def test_a_node_narrowed_to_keys_delivers_keys_and_no_motion(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(wish(REMOTE, types=KEYS))
    source = plug(REMOTE)
    (node,) = bench.connected()
    reader = read(node.path or "")
    source.frame(keyed(KEY_A, 1), moved(0, 5))
    source.frame(moved(0, 5), moved(1, -5))
    source.frame(keyed(KEY_A, 0), moved(1, 1))
    bench.pump()
    assert reader.events() == [keyed(KEY_A, 1), SYN, keyed(KEY_A, 0), SYN]


def test_motion_alone_does_not_even_wake_the_relay(bench: Bench, plug: Plug) -> None:
    bench.apply(wish(REMOTE, types=KEYS))
    source = plug(REMOTE)
    bench.connected()
    bench.pump()
    before = bench.nodes()[0].wakeups
    for _ in range(300):
        source.frame(moved(0, 1))
    bench.pump()
    assert bench.nodes()[0].wakeups == before


def test_a_node_nobody_wants_is_not_open_and_wakes_nobody(bench: Bench, plug: Plug) -> None:
    bench.apply(wish(gamepad(), types=frozenset()))
    source = plug(gamepad())
    (node,) = bench.connected()
    assert source.path not in _open_files()
    for _ in range(300):
        source.frame(keyed(304, 1))
        source.frame(keyed(304, 0))
    bench.pump()
    (after,) = bench.nodes()
    assert (after.wakeups, after.events, after.frames) == (0, 0, 0)
    source.unplug()
    bench.gone()
    assert node.connected


def _open_files() -> list[str]:
    paths = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            paths.append(str(entry.readlink()))
        except FileNotFoundError:
            continue
    return paths


def test_widening_while_a_key_is_held_delivers_the_press(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(wish(REMOTE, types=frozenset({codes.EV_REL})))
    source = plug(REMOTE)
    (node,) = bench.connected()
    reader = read(node.path or "")
    source.frame(keyed(KEY_A, 1), moved(0, 5))
    bench.pump()
    assert reader.events() == [moved(0, 5), SYN]
    bench.apply(wish(REMOTE, types=KEYS))
    assert reader.events() == [keyed(KEY_A, 1), SYN]
    source.frame(keyed(KEY_A, 0))
    bench.pump()
    assert reader.events() == [keyed(KEY_A, 0), SYN]


@pytest.mark.parametrize("kinds", [frozenset({codes.EV_REL}), frozenset[int]()])
def test_narrowing_while_a_key_is_held_lets_it_go(
    bench: Bench, plug: Plug, read: Read, kinds: frozenset[int]
) -> None:
    bench.apply(wish(REMOTE))
    source = plug(REMOTE)
    (node,) = bench.connected()
    reader = read(node.path or "")
    source.frame(keyed(KEY_A, 1))
    bench.pump()
    bench.apply(wish(REMOTE, types=kinds))
    assert reader.events() == [keyed(KEY_A, 1), SYN, keyed(KEY_A, 0), SYN]


def test_events_queued_before_a_widening_come_first_and_once(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(wish(REMOTE, types=frozenset({codes.EV_REL})))
    source = plug(REMOTE)
    (node,) = bench.connected()
    reader = read(node.path or "")
    source.frame(moved(0, 1))
    source.frame(keyed(KEY_A, 1))
    source.frame(moved(0, 2))
    bench.apply(wish(REMOTE))
    bench.pump()
    assert reader.events() == [moved(0, 1), SYN, moved(0, 2), SYN, keyed(KEY_A, 1), SYN]


def test_a_key_held_before_the_relay_came_is_pressed_on_the_mirror(
    bench: Bench, plug: Plug, read: Read
) -> None:
    source = plug(REMOTE)
    holder = read(source.path)
    source.frame(keyed(KEY_A, 1))
    bench.apply(wish(REMOTE))
    (node,) = bench.connected()
    assert read(node.path or "").state()[0] == {KEY_A}
    assert holder.events() == [keyed(KEY_A, 1), SYN]


def test_a_node_just_found_has_a_mirror_at_once_and_is_read_when_the_wish_lists_it(
    bench: Bench, plug: Plug, read: Read
) -> None:
    source = plug(gamepad())
    bench.apply(PeripheralWish(ADDRESS))
    (node,) = bench.connected()
    assert node.snapshot == gamepad()
    reader = read(node.path or "")
    source.frame(keyed(304, 1))
    bench.pump()
    assert reader.events() == []
    bench.apply(PeripheralWish(ADDRESS, None, (NodeWish(node.snapshot, None),)))
    (listed,) = bench.nodes()
    assert (listed.path, listed.minor) == (node.path, node.minor)
    assert reader.events() == [keyed(304, 1), SYN]
