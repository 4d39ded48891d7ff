"""Finding a loss or the end of a frame in raw bytes, and moving whole frames between two pipes."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uinputrelay.pump import Pump, frames_in, last_report, lost_at
from uinputrelay.state import State

EVENT = struct.Struct("@qqHHi")


def _raw(*events: tuple[int, int, int], at: tuple[int, int] = (1_700_000_001, 123_456)) -> bytes:
    return b"".join(EVENT.pack(*at, *event) for event in events)


SYN, LOST, X0, KEY = (0, 0, 0), (0, 3, 0), (3, 0, 0), (1, 30, 1)
KERNEL_SYN, CONTACT = (0, 0, 1), (0, 2, 0)  # ended by the kernel; SYN_MT_REPORT


@pytest.mark.parametrize(
    ("events", "offset"),
    [
        ([], -1),
        ([KEY, SYN], -1),
        ([X0, SYN, X0, SYN], -1),
        ([LOST, SYN], 0),
        ([KEY, SYN, LOST, SYN, LOST], 48),
    ],
)
def test_a_loss_is_found(events: list[tuple[int, int, int]], offset: int) -> None:
    assert lost_at(_raw(*events)) == offset


def test_a_loss_is_not_seen_where_zeros_and_threes_only_look_like_one() -> None:
    early = _raw((3, 0, 0), (3, 0, 0), (0, 0, 0), at=(0, 0))
    assert lost_at(early) == -1


@pytest.mark.parametrize(
    ("events", "end"),
    [([], 0), ([KEY], 0), ([KEY, SYN], 2), ([KEY, SYN, KEY], 2), ([SYN, KEY, SYN, X0, X0], 3)],
)
def test_the_last_whole_frame_ends(events: list[tuple[int, int, int]], end: int) -> None:
    assert last_report(_raw(*events)) == end * EVENT.size


Stamped = list[tuple[tuple[int, int], tuple[int, int, int]]]
TIMES = st.tuples(st.integers(0, 1 << 33), st.integers(0, 999_999))
EVENTS = st.sampled_from(
    [
        SYN,
        KERNEL_SYN,
        LOST,
        CONTACT,
        X0,
        KEY,
        (3, 3, 0),
        (3, 0, 3),
        (2, 0, -1),
        (4, 4, 3),
        (3, 1, 256),
    ]
)


@given(st.lists(st.tuples(TIMES, EVENTS), max_size=20))
def test_a_loss_is_found_exactly_where_it_is(
    stamped: Stamped,
) -> None:
    data = b"".join(_raw(event, at=time) for time, event in stamped)
    listed = [event for _, event in stamped]
    assert lost_at(data) == (listed.index(LOST) * EVENT.size if LOST in listed else -1)


# Nothing is passed on after a loss, so SYN_DROPPED is never counted.
PASSED = EVENTS.filter(lambda event: event != LOST)


@given(st.lists(st.tuples(TIMES, PASSED), max_size=20))
def test_frames_are_counted(stamped: Stamped) -> None:
    data = b"".join(_raw(event, at=time) for time, event in stamped)
    assert frames_in(data) == sum(event in (SYN, KERNEL_SYN) for _, event in stamped)


class Wire:
    """A pipe in a node's place: ``put`` is what the kernel would queue, ``got`` what was written."""

    def __init__(self, state: State) -> None:
        self.fd, self._in = os.pipe()
        os.set_blocking(self.fd, False)
        self.now = state
        self.masks: list[frozenset[int] | None] = []
        self.while_asked: list[bytes] = []

    def put(self, data: bytes) -> None:
        os.write(self._in, data)

    def mask(self, kinds: frozenset[int] | None) -> None:
        self.masks.append(kinds)

    def state(self) -> State:
        """Return the state; what happens meanwhile is queued behind it."""
        if self.while_asked:
            self.put(self.while_asked.pop(0))
        return self.now


class Mirrored(Wire):
    """The other end: the pump writes into ``fd``."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._out, self.fd = self.fd, self._in

    def got(self) -> list[tuple[int, int, int]]:
        try:
            data = os.read(self._out, 1 << 16)
        except BlockingIOError:
            return []
        return [event[2:] for event in EVENT.iter_unpack(data)]


@pytest.fixture
def ends() -> Iterator[tuple[Pump, Wire, Mirrored]]:
    device, mirror = Wire(State(axes={0: 5})), Mirrored(State(axes={0: 5}))
    pump = Pump(mirror, {0: 5})  # type: ignore[arg-type]
    pump.read_from(device, None)
    yield pump, device, mirror
    for fd in (device.fd, device._in, mirror._out, mirror._in):
        os.close(fd)


Ends = tuple[Pump, Wire, Mirrored]
OFF = (1, 30, 0)


def test_frames_pass_as_they_are_and_are_counted(ends: Ends) -> None:
    pump, device, mirror = ends
    device.put(_raw(KEY, SYN, OFF, SYN))
    assert pump.move()
    assert mirror.got() == [KEY, SYN, OFF, SYN]
    assert (pump.events, pump.frames, pump.losses, pump.wakeups) == (4, 2, 0, 1)


def test_a_pump_is_behind_after_a_full_batch_or_a_loss_and_not_after_less(ends: Ends) -> None:
    pump, device, _ = ends
    device.put(_raw(*[KEY, SYN] * 33))
    told = []
    for _ in range(2):
        pump.move()
        told.append(pump.behind)
    device.put(_raw(KEY, SYN, LOST, SYN))
    pump.move()
    assert [*told, pump.behind] == [True, False, True]


def test_half_a_frame_waits_for_its_other_half(ends: Ends) -> None:
    pump, device, mirror = ends
    device.put(_raw(*[KEY, SYN] * 31, KEY, X0, OFF, SYN))
    pump.move()
    assert mirror.got() == [KEY, SYN] * 31
    pump.move()
    assert mirror.got() == [KEY, X0, OFF, SYN]


def test_half_a_frame_before_a_loss_is_never_seen(ends: Ends) -> None:
    pump, device, mirror = ends
    device.put(_raw(*[KEY, SYN] * 31, KEY, X0, LOST, SYN))
    device.now = State(keys=frozenset({48}), axes={0: 9})
    pump.move()
    pump.move()
    assert mirror.got() == [*[KEY, SYN] * 31, (1, 48, 1), (3, 0, 9), SYN]
    assert pump.losses == 1


def test_a_frame_longer_than_a_batch_passes_in_pieces(ends: Ends) -> None:
    pump, device, mirror = ends
    device.put(_raw(*[KEY] * 70, SYN))
    pump.move()
    pump.move()
    assert mirror.got() == [*[KEY] * 70, SYN]


def test_what_happens_while_the_state_is_asked_is_part_of_it(ends: Ends) -> None:
    pump, device, mirror = ends
    device.while_asked = [_raw(OFF, SYN), _raw(KEY, SYN)]
    device.now = State(keys=frozenset({30}), axes={0: 5})
    device.put(_raw(LOST, SYN))
    pump.move()
    assert mirror.got() == [KEY, SYN]
    assert pump.move()
    assert mirror.got() == []


def test_a_narrowed_mask_lets_go_and_a_wider_one_presses(ends: Ends) -> None:
    pump, device, mirror = ends
    device.now = mirror.now = State(keys=frozenset({30}), axes={0: 9})
    pump.narrow(frozenset({1}))
    assert mirror.got() == [(3, 0, 5), SYN]
    mirror.now = State(keys=frozenset({30}), axes={0: 5})
    pump.narrow(None)
    assert mirror.got() == [(3, 0, 9), SYN]
    pump.narrow(None)
    assert device.masks == [None, frozenset({1}), None]


def test_a_repeat_does_not_come_before_the_press_it_repeats(ends: Ends) -> None:
    pump, device, mirror = ends
    repeat = (1, 30, 2)
    device.now = State(keys=frozenset({30}), axes={0: 5})
    device.put(_raw(repeat, KERNEL_SYN, (2, 0, 4), repeat, SYN, repeat, KERNEL_SYN))
    pump.narrow(frozenset({1, 2}))
    assert mirror.got() == [(2, 0, 4), SYN, KEY, SYN]
    device.put(_raw(repeat, KERNEL_SYN))
    pump.move()
    assert mirror.got() == [repeat, KERNEL_SYN]


def test_a_press_and_its_release_are_frames_of_their_own(ends: Ends) -> None:
    pump, _, mirror = ends
    pump.press(240)
    assert mirror.got() == [(1, 240, 1), SYN, (1, 240, 0), SYN]


def test_a_device_that_goes_while_it_is_asked_after_a_loss_is_told_by_the_next_move(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    pump, device, _ = ends

    def gone() -> State:
        raise OSError(errno.ENODEV, "EVIOCGKEY: No such device")

    monkeypatch.setattr(device, "state", gone)
    device.put(_raw(KEY, SYN, LOST, SYN))
    assert pump.move()
    assert pump.losses == 1


def test_stopping_brings_everything_to_rest_in_one_frame(ends: Ends) -> None:
    pump, _, mirror = ends
    mirror.now = State(keys=frozenset({30, 48}), axes={0: 200})
    pump.stop()
    assert mirror.got() == [(1, 30, 0), (1, 48, 0), (3, 0, 5), SYN]
