"""Finding a loss or the end of a frame in raw bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uinputrelay.pump import REPORT, last_report, lost_at

EVENT = struct.Struct("@qqHHi")


def _raw(*events: tuple[int, int, int], at: tuple[int, int] = (1_700_000_001, 123_456)) -> bytes:
    return b"".join(EVENT.pack(*at, *event) for event in events)


SYN, LOST, X0, KEY = (0, 0, 0), (0, 3, 0), (3, 0, 0), (1, 30, 1)


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
TIMES = st.tuples(st.integers(1, 1 << 33), st.integers(0, 999_999))
EVENTS = st.sampled_from(
    [SYN, LOST, X0, KEY, (3, 3, 0), (3, 0, 3), (2, 0, -1), (4, 4, 3), (3, 1, 256)]
)


@given(st.lists(st.tuples(TIMES, EVENTS), max_size=20))
def test_a_loss_is_found_exactly_where_it_is(
    stamped: Stamped,
) -> None:
    data = b"".join(_raw(event, at=time) for time, event in stamped)
    listed = [event for _, event in stamped]
    assert lost_at(data) == (listed.index(LOST) * EVENT.size if LOST in listed else -1)


@given(
    st.lists(
        st.tuples(st.tuples(st.integers(256, 1 << 33), st.integers(1, 999_999)), EVENTS),
        max_size=20,
    )
)
def test_frames_are_counted(stamped: Stamped) -> None:
    data = b"".join(_raw(event, at=time) for time, event in stamped)
    assert data.count(REPORT) == sum(event == SYN for _, event in stamped)
