"""Device numbers on a real kernel: back to their own mirror, or to nobody."""

from __future__ import annotations

import ctypes
import os
import subprocess
from dataclasses import replace

import pytest
from uinputrelay import Held, NodeWish, PeripheralWish

from .devices import (
    ADDRESS,
    BTN_SOUTH,
    OTHER,
    SYN,
    Bench,
    Plug,
    Read,
    Reader,
    gamepad,
    keyed,
    wish,
)

pytestmark = pytest.mark.lab
PAD = gamepad()
FIRST, SECOND = wish(PAD), wish(PAD, address=OTHER)


def _held(bench: Bench) -> list[Held]:
    """What claims prepared now would be given."""
    return [
        Held(node.major or 0, node.minor or 0, each.address, node.snapshot.fingerprint)
        for each in bench.engine.observe().peripherals
        for node in each.nodes
    ]


def _numbers(bench: Bench) -> dict[str, int]:
    return {h.address: h.minor for h in _held(bench)}


def test_a_restarted_relay_gives_each_pad_its_number_back_whatever_the_order(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(FIRST, SECOND)
    held, before = _held(bench), _numbers(bench)
    bench.restart()
    bench.apply(SECOND, FIRST, held=held)
    assert _numbers(bench) == before
    pads = {address: plug(PAD, address) for address in (ADDRESS, OTHER)}
    for address in pads:
        bench.connected(address)
    readers = {h.address: read(f"/dev/input/event{h.minor - 64}") for h in held}
    for address, source in pads.items():
        source.frame(keyed(BTN_SOUTH, 1))
        bench.pump()
        seen = {a: reader.events() for a, reader in readers.items()}
        assert seen == {a: [keyed(BTN_SOUTH, 1), SYN] if a == address else [] for a in readers}


def test_a_number_somebody_took_meanwhile_carries_nothing_until_the_claims_know(
    bench: Bench, plug: Plug, read: Read
) -> None:
    """The new mirror is not the one the claim was given: no event before its entry is rewritten."""
    bench.apply(FIRST)
    (old,) = _held(bench)
    bench.restart(before=lambda: plug(gamepad("Interloper"), "FF:FF"))
    bench.apply(FIRST, held=[old])
    (node,) = bench.nodes()
    assert node.minor != old.minor
    assert node.held_back
    source = plug(PAD)
    bench.connected()
    reader = read(node.path or "")
    source.frame(keyed(BTN_SOUTH, 1))
    bench.pump()
    assert reader.events() == []
    bench.apply(FIRST, held=[old, old._replace(minor=node.minor or 0)])
    assert not bench.nodes()[0].held_back
    assert reader.events() == [keyed(BTN_SOUTH, 1), SYN]


def test_a_held_number_never_goes_to_another_pad(bench: Bench, plug: Plug) -> None:
    bench.apply(FIRST)
    (old,) = _held(bench)
    bench.restart()
    observed = bench.apply(SECOND, held=[old])
    assert observed.placeholders == (old.minor,)
    assert _numbers(bench)[OTHER] != old.minor
    assert plug(PAD, "FF:FF").minor != old.minor
    assert bench.apply(FIRST, SECOND, held=[old]).placeholders == ()
    assert _numbers(bench)[ADDRESS] == old.minor
    assert bench.apply(SECOND, held=[old]).placeholders == (old.minor,)
    assert bench.apply(SECOND).placeholders == ()


def test_a_device_that_takes_the_real_nodes_number_is_never_opened(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(FIRST)
    source = plug(PAD)
    (node,) = bench.connected()
    reader = read(node.path or "")
    taken = source.minor
    source.unplug()
    bench.gone()
    interloper = plug(PAD, "FF:FF")
    assert interloper.minor == taken
    watch = _Opens(interloper.path)
    interloper.frame(keyed(BTN_SOUTH, 1))
    bench.pump()
    back = plug(PAD)
    assert back.minor != taken
    bench.connected()
    bench.pump()
    assert watch.count() == 0
    assert reader.events() == []
    back.frame(keyed(BTN_SOUTH, 1))
    bench.pump()
    assert reader.events() == [keyed(BTN_SOUTH, 1), SYN]


class _Opens:
    """Counts who opens a node (inotify IN_OPEN), after udev has had its look at it."""

    def __init__(self, path: str) -> None:
        subprocess.run(["udevadm", "settle"], check=True)
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_NONBLOCK)
        assert libc.inotify_add_watch(self._fd, path.encode(), 0x20) >= 0

    def count(self) -> int:
        try:
            return len(os.read(self._fd, 4096)) // 16
        except BlockingIOError:
            return 0
        finally:
            os.close(self._fd)


def test_an_equal_wish_applied_again_touches_nothing(bench: Bench, plug: Plug, read: Read) -> None:
    bench.apply(FIRST, SECOND)
    source = plug(PAD)
    bench.connected()
    reader = read(bench.nodes(ADDRESS)[0].path or "")
    source.frame(keyed(BTN_SOUTH, 1))
    bench.pump()
    before = bench.engine.observe()
    assert bench.apply(FIRST, SECOND) == before
    assert bench.apply(SECOND, FIRST).peripherals == before.peripherals[::-1]
    assert reader.events() == [keyed(BTN_SOUTH, 1), SYN]


def test_an_added_node_gets_a_mirror_and_moves_no_other(bench: Bench, plug: Plug) -> None:
    bench.apply(FIRST)
    before = bench.nodes()[0].path
    plug(PAD)
    plug(gamepad("Motion Sensors"))
    bench.until(lambda _: len(bench.nodes()) == 2, "the added node's mirror")
    bench.connected()
    nodes = bench.nodes()
    assert nodes[0].path == before
    assert [node.snapshot.name for node in nodes] == ["Test Pad", "Motion Sensors"]


def test_a_node_that_changed_gets_a_new_mirror_and_the_old_one_stays_wished(
    bench: Bench, plug: Plug
) -> None:
    """A firmware update changes the version: SDL's GUID, and so the mirror, has to change too."""
    bench.apply(FIRST)
    newer = replace(PAD, version=0x8200)
    plug(newer)
    bench.until(lambda _: len(bench.nodes()) == 2, "the changed node's mirror")
    old, new = bench.nodes()
    assert (old.connected, new.connected) == (False, True)
    assert new.snapshot == newer
    bench.apply(PeripheralWish(ADDRESS, None, (NodeWish(newer, None),)))
    (only,) = bench.nodes()
    assert only.path == new.path


def test_twins_of_one_device_keep_their_mirrors_by_their_order(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(wish(PAD, PAD))
    readers: list[Reader] = [read(node.path or "") for node in bench.nodes()]
    for _ in range(2):
        twins = [plug(PAD), plug(PAD)]
        bench.connected()
        for twin, reader in zip(twins, readers, strict=True):
            twin.frame(keyed(BTN_SOUTH, 1))
            bench.pump()
            assert reader.events() == [keyed(BTN_SOUTH, 1), SYN]
        for twin in twins:
            twin.unplug()
        bench.gone()
        for reader in readers:
            assert reader.events() == [keyed(BTN_SOUTH, 0), SYN]


def test_a_new_node_replaces_the_one_that_just_died_under_the_same_path(
    bench: Bench, plug: Plug, read: Read
) -> None:
    """Both happen before the relay looks: the end and the return must not be taken for one node."""
    bench.apply(FIRST)
    source = plug(PAD)
    (node,) = bench.connected()
    reader, asked = read(node.path or ""), read(node.path or "")
    source.frame(keyed(BTN_SOUTH, 1))
    bench.pump()
    source.unplug()
    again = plug(PAD)
    assert again.path == source.path
    bench.until(lambda _: bool(asked.state()[0] == frozenset()), "let go")
    bench.connected()
    again.frame(keyed(BTN_SOUTH, 1))
    bench.pump()
    press, release = keyed(BTN_SOUTH, 1), keyed(BTN_SOUTH, 0)
    assert reader.events() == [press, SYN, release, SYN, press, SYN]
