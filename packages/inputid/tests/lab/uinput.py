"""Makes a kernel input device of any bitmaps that uinput accepts, and takes it away again.

Only plain ioctls of linux/uinput.h, so that no library's idea of a device stands between a vector
and the kernel.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

from inputid import Capabilities

_BASE = ord("U") << 8
UI_DEV_CREATE = _BASE | 1
UI_DEV_DESTROY = _BASE | 2
UI_DEV_SETUP = 1 << 30 | 92 << 16 | _BASE | 3
UI_ABS_SETUP = 1 << 30 | 28 << 16 | _BASE | 4
UI_GET_SYSNAME = 2 << 30 | 64 << 16 | _BASE | 44
_SET = 1 << 30 | 4 << 16 | _BASE
UI_SET_EVBIT = _SET | 100
UI_SET_PROPBIT = _SET | 110
SET_BIT = {
    "key": _SET | 101,
    "rel": _SET | 102,
    "abs": _SET | 103,
    "msc": _SET | 104,
    "led": _SET | 105,
    "snd": _SET | 106,
    "sw": _SET | 109,
}
EVENT_TYPE = {"key": 1, "rel": 2, "abs": 3, "msc": 4, "sw": 5, "led": 17, "snd": 18}

# Codes that linux/input-event-codes.h knows; uinput answers EINVAL beyond them.
COUNT = {"ev": 0x20, "key": 0x300, "rel": 0x10, "abs": 0x40, "msc": 8, "sw": 0x11, "led": 0x10}
COUNT |= {"snd": 8, "props": 0x20}

EV_SYN, EV_FF, EV_FF_STATUS = 0x00, 0x15, 0x17
ABS_MT_SLOT, ABS_MT_TRACKING_ID = 0x2F, 0x39


def codes(bits: int) -> list[int]:
    return [code for code in range(bits.bit_length()) if bits >> code & 1]


def representable(wanted: Capabilities) -> Capabilities:
    """What the kernel makes of a vector: the nearest device that it would register.

    The kernel announces EV_SYN for everybody, never KEY_RESERVED, clears the bitmap of a type that
    is not announced (drivers/input/input.c, input_register_device), and uinput refuses codes beyond
    the known ones. EV_FF needs a driver that answers, and no rule looks at it.
    """
    kept = {name: getattr(wanted, name) & (1 << count) - 1 for name, count in COUNT.items()}
    kept["ev"] = (kept["ev"] | 1 << EV_SYN) & ~(1 << EV_FF | 1 << EV_FF_STATUS)
    kept["key"] &= ~1
    for name, kind in EVENT_TYPE.items():
        if not kept["ev"] >> kind & 1:
            kept[name] = 0
    if kept["abs"] >> ABS_MT_SLOT & 1:  # slots bring their tracking (input_mt_init_slots)
        kept["abs"] |= 1 << ABS_MT_TRACKING_ID
    sized = bool(kept["ev"] >> 3 & 1)
    return wanted.replace(
        **kept,
        ff=0,
        x=_axis(wanted.x, kept["abs"], 0) if sized else None,
        y=_axis(wanted.y, kept["abs"], 1) if sized else None,
    )


def _axis(axis: tuple[int, int, int] | None, bits: int, code: int) -> tuple[int, int, int]:
    """An axis that is not there reads as zeros, like one nobody set up."""
    return axis if axis is not None and bits >> code & 1 else (0, 0, 0)


class Device:
    """A registered device; ``sysfs`` is its eventN directory, ``node`` its device node."""

    def __init__(self, wanted: Capabilities) -> None:
        """Register a device of exactly these capabilities, which must be representable."""
        self._fd = os.open("/dev/uinput", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self._describe(wanted)
            fcntl.ioctl(self._fd, UI_DEV_CREATE)
            answer = fcntl.ioctl(self._fd, UI_GET_SYSNAME, bytes(64))
        except OSError:
            os.close(self._fd)
            raise
        parent = Path("/sys/devices/virtual/input") / answer.partition(b"\0")[0].decode()
        self.sysfs = next(iter(parent.glob("event*")))
        self.node = Path("/dev/input") / self.sysfs.name

    def _describe(self, wanted: Capabilities) -> None:
        for kind in codes(wanted.ev):
            fcntl.ioctl(self._fd, UI_SET_EVBIT, kind)
        for name, request in SET_BIT.items():
            for code in codes(getattr(wanted, name)):
                fcntl.ioctl(self._fd, request, code)
        for code in codes(wanted.props):
            fcntl.ioctl(self._fd, UI_SET_PROPBIT, code)
        for code in codes(wanted.abs):
            self._set_up_axis(code, {0: wanted.x, 1: wanted.y}.get(code) or (0, 0, 0))
        ids = (wanted.bustype, wanted.vendor, wanted.product, wanted.version)
        fcntl.ioctl(self._fd, UI_DEV_SETUP, struct.pack("4H80sI", *ids, b"vector", 0))

    def _set_up_axis(self, code: int, axis: tuple[int, int, int]) -> None:
        low, high, resolution = axis
        if code == ABS_MT_SLOT:
            high = 9  # uinput allocates the slots it is told of
        packed = struct.pack("H2x6i", code, 0, low, high, 0, 0, resolution)
        fcntl.ioctl(self._fd, UI_ABS_SETUP, packed)

    def fileno(self) -> int:
        """The descriptor that events are written to."""
        return self._fd

    def close(self) -> None:
        """Unregister the device."""
        os.close(self._fd)
