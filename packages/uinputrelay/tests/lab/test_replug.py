"""A mirror outlives its device: the same node, silence, then events; and nothing stays held."""

from __future__ import annotations

import pytest

from .devices import (
    BTN_SOUTH,
    OTHER,
    SYN,
    Bench,
    Plug,
    Read,
    at,
    gamepad,
    keyed,
    touchpad,
    wish,
)

pytestmark = pytest.mark.lab


def test_a_mirror_is_there_before_the_device_ever_was(bench: Bench) -> None:
    (node,) = bench.apply(wish(gamepad())).peripherals[0].nodes
    assert (node.connected, node.error, node.differences) == (False, "", ())
    assert node.path == f"/dev/input/event{(node.minor or 0) - 64}"
    assert node.major == 13


def test_ten_replugs_change_no_number_and_a_reader_that_never_closes_reads_on(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(wish(gamepad()))
    (before,) = bench.nodes()
    reader = read(before.path or "")
    for turn in range(10):
        # Something else takes the number the pad had, so that it has to come back under another.
        source = plug(gamepad())
        (node,) = bench.connected()
        assert (node.path, node.major, node.minor) == (before.path, before.major, before.minor)
        assert node.real == source.path
        source.frame(keyed(BTN_SOUTH, 1), at(0, 200 + turn))
        bench.pump()
        assert reader.events() == [keyed(BTN_SOUTH, 1), at(0, 200 + turn), SYN]
        source.unplug()
        bench.gone()
        assert reader.events() == [keyed(BTN_SOUTH, 0), at(0, 128), SYN]
        plug(gamepad(f"Interloper {turn}"), OTHER)
        bench.pump()
        assert reader.events() == []


def test_a_touching_finger_and_a_held_button_are_let_go_once_at_unplug(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(wish(touchpad()))
    source = plug(touchpad())
    (node,) = bench.connected()
    reader = read(node.path or "")
    down = [
        at(0x2F, 1), at(0x39, 7), at(0x35, 300), at(0x36, 400), keyed(330, 1),
        at(0, 300), at(1, 400), SYN,
    ]  # fmt: skip
    source.emit(*down)
    bench.pump()
    assert reader.events() == down
    source.unplug()
    bench.gone()
    assert reader.events() == [at(0x39, -1), keyed(330, 0), SYN]
    bench.pump()
    assert reader.events() == []
