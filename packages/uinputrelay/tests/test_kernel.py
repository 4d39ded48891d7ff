"""The kernel's numbers and layouts, as its headers have them on a 64-bit machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uinputrelay import codes, kernel

# What gcc makes of linux/input.h and linux/uinput.h (generic ioctl encoding).
NUMBERS = {
    "EVIOCGID": (kernel.EVIOCGID, 0x80084502),
    "EVIOCSMASK": (kernel.EVIOCSMASK, 0x40104593),
    "EVIOCSCLOCKID": (kernel.EVIOCSCLOCKID, 0x400445A0),
    "UI_DEV_CREATE": (kernel.UI_DEV_CREATE, 0x5501),
    "UI_DEV_DESTROY": (kernel.UI_DEV_DESTROY, 0x5502),
    "UI_DEV_SETUP": (kernel.UI_DEV_SETUP, 0x405C5503),
    "UI_ABS_SETUP": (kernel.UI_ABS_SETUP, 0x401C5504),
    "UI_SET_EVBIT": (kernel.UI_SET_EVBIT, 0x40045564),
    "UI_SET_KEYBIT": (kernel.UI_SET_CODE[codes.EV_KEY], 0x40045565),
    "UI_SET_SWBIT": (kernel.UI_SET_CODE[codes.EV_SW], 0x4004556D),
    "UI_SET_PHYS": (kernel.UI_SET_PHYS, 0x4008556C),
    "UI_SET_PROPBIT": (kernel.UI_SET_PROPBIT, 0x4004556E),
}


@pytest.mark.parametrize(("here", "there"), NUMBERS.values(), ids=NUMBERS)
def test_request_number_of(here: int, there: int) -> None:
    assert here == there


def test_an_event_has_24_bytes() -> None:
    assert kernel.EVENT_SIZE == 24


EVENT = st.tuples(
    st.integers(0, 0x1F), st.integers(0, 0x2FF), st.integers(-(1 << 31), (1 << 31) - 1)
)


@given(st.lists(EVENT))
def test_events_survive_their_bytes(events: list[tuple[int, int, int]]) -> None:
    assert kernel.decode(kernel.encode(events)) == events


@given(st.frozensets(st.integers(0, 0x2FF)))
def test_set_bits_are_listed_in_order(bits: frozenset[int]) -> None:
    assert list(kernel.set_bits(sum(1 << bit for bit in bits))) == sorted(bits)


def test_an_error_says_which_call_failed() -> None:
    with (
        open("/dev/null") as null,  # noqa: PTH123
        pytest.raises(OSError, match=r"EVIOCGABS\(0x3\): Inappropriate ioctl"),
    ):
        kernel.absinfo(null.fileno(), 3)
