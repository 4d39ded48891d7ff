"""A real node opened for reading: its identity checked, its mask, its axes, its state.

Only a node whose uniq and phys, asked of the opened descriptor, are the expected ones is kept:
a path may name another device by the time it is opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from . import codes, kernel
from .mirror import _slot_codes, read_state
from .model import Axis, Snapshot
from .state import State

_ROUNDS = 8  # times a value that keeps moving is set right; its next report does so anyway


class NotThatDeviceError(Exception):
    """The path leads to another device than the one that was looked for."""


@dataclass(frozen=True)
class Identity:
    """What an opened node has to answer to EVIOCGUNIQ and EVIOCGPHYS."""

    uniq: str
    phys: str


def open_checked(path: str, expected: Identity) -> int:
    """Open a real node read-only. Raises OSError, or NotThatDeviceError with nothing left open."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = Identity(kernel.uniq(fd), kernel.phys(fd))
        if found != expected:
            raise NotThatDeviceError(
                f"{path} is another device now: {found.uniq!r} at {found.phys!r}"
            )
    except BaseException:
        os.close(fd)
        raise
    return fd


def snapshot_of(path: str, expected: Identity) -> Snapshot:
    """Read the snapshot of a real node. Raises OSError or NotThatDeviceError."""
    fd = open_checked(path, expected)
    try:
        return kernel.snapshot(fd)
    finally:
        os.close(fd)


class Source:
    """An open real node. ``fd`` is polled and read by the pump."""

    def __init__(self, path: str, expected: Identity, shot: Snapshot) -> None:
        """Open it. Raises OSError or NotThatDeviceError."""
        self.path = path
        self.fd = open_checked(path, expected)
        self._shot = shot
        self._plain = tuple(
            code for code in shot.absinfo if not codes.ABS_MT_SLOT <= code <= codes.ABS_MT_LAST
        )
        self._slots = _slot_codes(shot.absinfo)
        try:
            kernel.set_monotonic(self.fd)
        except BaseException:
            os.close(self.fd)
            raise

    def mask(self, kinds: frozenset[int] | None) -> None:
        """Narrow what wakes the pump to these event types."""
        kernel.set_mask(self.fd, kinds)

    def state(self) -> State:
        """Ask the kernel what the device holds down now."""
        return read_state(self.fd, self._plain, *self._slots)

    def set_axes(self, wished: Mapping[int, Axis], take: Callable[[], bytes]) -> None:
        """Give every axis its wished fuzz and flat, or back what the device first reported.

        ``take`` empties the node's queue and returns what was in it. EVIOCSABS writes the value as
        well, so it is called only where something changes, and a value that moved meanwhile is set
        right: the kernel would drop the device's next report if it equalled the stale one.
        """
        for code, first in self._shot.absinfo.items():
            if code == codes.ABS_MT_SLOT:
                continue
            axis = wished.get(code, Axis())
            fuzz = first.fuzz if axis.fuzz is None else axis.fuzz
            flat = first.flat if axis.flat is None else axis.flat
            now = kernel.absinfo(self.fd, code)
            if (now.fuzz, now.flat) != (fuzz, flat):
                kernel.set_absinfo(self.fd, code, now._replace(fuzz=fuzz, flat=flat))
                self._keep_value(code, take)

    def _keep_value(self, code: int, take: Callable[[], bytes]) -> None:
        for _ in range(_ROUNDS):
            last = last_value(take(), code)
            now = kernel.absinfo(self.fd, code)
            if last is None or last == now.value:
                return
            kernel.set_absinfo(self.fd, code, now._replace(value=last))

    def discard(self) -> bytes:
        """Empty the queue; whoever starts reading asks for the state anyway."""
        data = b""
        with suppress(BlockingIOError):
            while True:
                data += os.read(self.fd, kernel.BATCH * kernel.EVENT_SIZE)
        return data

    def close(self) -> None:
        """Close it; the real node lives on."""
        os.close(self.fd)


def last_value(data: bytes, code: int) -> int | None:
    """Return the last value of an axis in raw events, None without one."""
    values = [value for kind, c, value in kernel.decode(data) if (kind, c) == (codes.EV_ABS, code)]
    return values[-1] if values else None
