"""Fuzz and flat on the real node: set, set again after a return, and given back."""

from __future__ import annotations

import threading

import pytest
from uinputrelay import Axis, largest

from .devices import BTN_SOUTH, SYN, Bench, Plug, Read, Source, at, gamepad, keyed, wish

pytestmark = pytest.mark.lab
RX = 3


def test_noise_below_the_fuzz_reaches_no_reader(bench: Bench, plug: Plug, read: Read) -> None:
    bench.apply(wish(gamepad(), axes={RX: Axis(fuzz=8)}))
    source = plug(gamepad())
    (node,) = bench.connected()
    reader = read(node.path or "")
    for value in (129, 127, 130, 126, 128) * 20:
        source.frame(at(RX, value))
    bench.pump()
    assert reader.events() == []
    source.frame(at(RX, 200), keyed(BTN_SOUTH, 1))
    bench.pump()
    assert reader.events() == [at(RX, 200), keyed(BTN_SOUTH, 1), SYN]


def test_the_mirror_filters_nothing_a_second_time(bench: Bench, plug: Plug, read: Read) -> None:
    bench.apply(wish(gamepad(), axes={RX: Axis(fuzz=16)}))
    source = plug(gamepad())
    (node,) = bench.connected()
    device, mirror = read(source.path), read(node.path or "")
    for value in range(0, 256, 3):
        source.frame(at(RX, value))
        bench.engine.step(0.01)
    bench.pump()
    sent = device.events()
    assert len(sent) > 20
    assert mirror.events() == sent


def test_fuzz_and_flat_are_set_again_after_a_return(bench: Bench, plug: Plug) -> None:
    bench.apply(wish(gamepad(), axes={RX: Axis(4, 8), 0: Axis(fuzz=2)}))
    for _ in range(2):
        source = plug(gamepad())
        bench.connected()
        assert (source.absinfo(RX).fuzz, source.absinfo(RX).flat) == (4, 8)
        assert (source.absinfo(0).fuzz, source.absinfo(0).flat) == (2, 15)
        source.unplug()
        bench.gone()


def test_an_axis_nobody_states_goes_back_to_what_the_device_first_reported(
    bench: Bench, plug: Plug
) -> None:
    source = plug(gamepad())
    before = source.absinfo(RX)
    bench.apply(wish(gamepad(), axes={RX: Axis(4, 8)}))
    bench.connected()
    assert source.absinfo(RX) == before._replace(fuzz=4, flat=8)
    bench.apply(wish(gamepad()))
    assert source.absinfo(RX) == before


@pytest.mark.parametrize("last", [(wish(gamepad(), types=frozenset()),), ()])
def test_a_node_no_longer_read_or_wished_gets_its_axes_back(
    bench: Bench, plug: Plug, last: tuple[object, ...]
) -> None:
    source = plug(gamepad())
    before = source.absinfo(RX)
    bench.apply(wish(gamepad(), axes={RX: Axis(4, 8)}))
    bench.connected()
    bench.apply(*last)  # type: ignore[arg-type]
    assert source.absinfo(RX) == before


def test_the_value_of_an_axis_is_not_disturbed(bench: Bench, plug: Plug, read: Read) -> None:
    source = plug(gamepad())
    bench.apply(wish(gamepad()))
    (node,) = bench.connected()
    reader = read(node.path or "")
    source.frame(at(RX, 201))
    bench.apply(wish(gamepad(), axes={RX: Axis(4, 8)}))
    bench.pump()
    assert source.absinfo(RX).value == 201
    assert reader.events() == [at(RX, 201), SYN]


def test_two_wishes_give_the_maximum(bench: Bench, plug: Plug) -> None:
    first, second = {RX: Axis(4, None), 0: Axis(None, 3)}, {RX: Axis(2, 9)}
    assert largest(first, second) == {0: Axis(None, 3), RX: Axis(4, 9)}
    source = plug(gamepad())
    bench.apply(wish(gamepad(), axes=largest(first, second)))
    bench.connected()
    assert (source.absinfo(RX).fuzz, source.absinfo(RX).flat) == (4, 9)


def test_readers_of_the_mirror_see_the_wished_flat_and_no_fuzz(
    bench: Bench, plug: Plug, read: Read
) -> None:
    plug(gamepad())
    bench.apply(wish(gamepad(), axes={RX: Axis(4, 8)}))
    (node,) = bench.connected()
    assert read(node.path or "").absinfo(RX) == gamepad().absinfo[RX]._replace(fuzz=0, flat=8)
    bench.apply(wish(gamepad()))
    assert read(node.path or "").absinfo(RX) == gamepad().absinfo[RX]


def test_an_axis_that_moves_while_it_is_set_keeps_its_true_value(
    bench: Bench, plug: Plug, read: Read
) -> None:
    """EVIOCSABS writes a value read before: a report in between must not be undone by it."""
    source = plug(gamepad())
    bench.apply(wish(gamepad()))
    (node,) = bench.connected()
    reader = read(node.path or "")
    for turn in range(40):
        reports = [(turn * 7 + n) % 256 for n in range(20)]
        moving = threading.Thread(target=_report, args=(source, reports))
        moving.start()
        bench.apply(wish(gamepad(), axes={RX: Axis(flat=turn % 2 + 1)}))
        moving.join()
        bench.pump()
        reader.events()
        assert source.absinfo(RX).value == reports[-1]
        assert reader.state()[1][RX] == reports[-1]


def _report(source: Source, values: list[int]) -> None:
    for value in values:
        source.frame(at(RX, value))
