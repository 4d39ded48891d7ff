"""Moving events from one real node into its mirror, as the bytes the kernel hands out.

The hot path looks at nothing but three things: a lost event (SYN_DROPPED), a frame that the batch
of 64 events cut in two, and the end of the device (ENODEV).

    unread --read_from()--> moving --SYN_DROPPED--> moving, after emitting the difference
      ^                       |
      +---- stop(): at rest --+---- ENODEV: at rest, told by the return value

Whatever the reason, bringing the mirror up to date is one act: ask both nodes for their state and
emit the difference, in whole frames.
"""

from __future__ import annotations

import errno
import logging
import os
import select
from collections.abc import Callable, Mapping
from typing import Protocol

from . import codes, kernel
from .mirror import Mirror
from .state import REPORT, State, at_rest, difference, narrowed

_log = logging.getLogger(__name__)

SIZE = kernel.EVENT_SIZE
BATCH_BYTES = kernel.BATCH * SIZE
# Where the low bytes of an event's type and code are. Types fit one byte, codes of EV_SYN too, so
# slices of these bytes answer what the hot path asks in a few C loops over the batch.
_KIND, _CODE = slice(16, None, SIZE), slice(18, None, SIZE)
_REPEATED = 2
# States read until none changed meanwhile. A device faster than that converges with its next
# events; to go on asking would take longer than its queue lasts.
_ROUNDS = 4


class Readable(Protocol):
    """What the pump needs of a real node."""

    fd: int

    def mask(self, kinds: frozenset[int] | None) -> None:
        """Narrow what wakes the reader."""

    def state(self) -> State:
        """Read what is held now."""


class Pump:
    """One mirror's inflow. ``events``, ``frames``, ``losses`` and ``wakeups`` never go back."""

    def __init__(self, mirror: Mirror, rests: Mapping[int, int]) -> None:
        self.events = self.frames = self.losses = self.wakeups = 0
        self.behind = False  # the last read took all it could, or found a loss: more is waiting
        self._mirror = mirror
        self._rests = rests
        self._source: Readable | None = None
        self._kinds: frozenset[int] | None = frozenset()
        self._tail = b""
        # Called once, before the next events are moved.
        self.before_next: Callable[[], None] | None = None

    def read_from(self, source: Readable, kinds: frozenset[int] | None) -> None:
        """Start moving these event types, after making the mirror equal to the device."""
        source.mask(kinds)
        self._source, self._kinds, self._tail = source, kinds, b""
        self._settle(forward=True)

    def narrow(self, kinds: frozenset[int] | None) -> None:
        """Change the wanted types: what is newly wanted and held is pressed, the rest let go."""
        if self._source is None or kinds == self._kinds:
            return
        self._source.mask(kinds)
        self._kinds = kinds
        self._settle(forward=True)

    def pass_on(self) -> bytes:
        """Move everything queued at once, and return it."""
        if self._source is None:
            return b""
        taken: list[bytes] = []
        if not self._drain(self._source.fd, forward=True, taken=taken):
            self._settle(forward=False)
        return b"".join(taken)

    def press(self, code: int) -> None:
        """Press and release one key on the mirror: two frames, in one write.

        Within one frame both would happen at one instant, and whoever looks at the keys when a
        frame ends, as libinput does, sees no press (Linux bff5bf9db1c9, asus-wireless).
        """
        frames = [event for value in (1, 0) for event in ((codes.EV_KEY, code, value), REPORT)]
        self._write(kernel.encode(frames))

    def stop(self) -> None:
        """Stop moving: every key released, contact lifted and axis at rest, in one frame."""
        self._source, self._tail = None, b""
        now = self._mirror.state()
        self._emit(now, at_rest(now, self._rests))

    def move(self) -> bool:
        """Move what is queued, at most one batch. False when the device has gone."""
        source = self._source
        if source is None:
            return True
        try:
            data = os.read(source.fd, BATCH_BYTES - len(self._tail))
        except BlockingIOError:
            return True
        except OSError as error:
            if error.errno != errno.ENODEV:
                _log.warning("a node cannot be read: %s", error)
            return False
        self.wakeups += 1
        self.behind = len(data) + len(self._tail) == BATCH_BYTES
        if self.before_next is not None:
            self._call_before_next()
        numbers = data[_CODE]
        if codes.SYN_DROPPED in numbers and (at := lost_at(data)) >= 0:
            self._recover(data[:at])
        elif self._tail or len(data) == BATCH_BYTES:
            self._write_whole_frames(self._tail + data)
        elif codes.SYN_MT_REPORT in numbers:
            self._write(data)
        else:  # what _write does, less what is known here
            os.write(self._mirror.fd, data)
            self.events += len(numbers)
            self.frames += data[_KIND].count(codes.EV_SYN)
        return True

    def _call_before_next(self) -> None:
        call, self.before_next = self.before_next, None
        if call is not None:
            call()

    def _write(self, data: bytes) -> None:
        os.write(self._mirror.fd, data)
        self.events += len(data) // SIZE
        self.frames += frames_in(data)

    def _write_whole_frames(self, data: bytes) -> None:
        """Keep the last, unfinished frame back: a loss may follow, and it must not be seen torn."""
        end = last_report(data)
        if end == 0 and len(data) >= BATCH_BYTES:
            end = len(data)  # a frame longer than a batch cannot be kept whole
        if end:
            self._write(data[:end])
        self._tail = data[end:]

    def _recover(self, before: bytes) -> None:
        """Pass on what came whole before a loss, then make the mirror equal to the device."""
        self.behind = True
        self._pass_whole(before)
        self.losses += 1
        try:
            self._settle(forward=False)
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
            # It went while it was asked; the next move tells, and the mirror is brought to rest.

    def _pass_whole(self, before: bytes) -> None:
        """Write the whole frames before a loss; the beginning of one that was lost is dropped."""
        whole = self._tail + before
        self._tail = b""
        if end := last_report(whole):
            self._write(whole[:end])

    def _settle(self, *, forward: bool) -> None:
        """Read the device's state at a moment when nothing is queued, and emit the difference.

        Events queued before are passed on when ``forward``, and thrown away after a loss.
        EVIOCGKEY throws queued key events away by itself, so what is in the queue after the state
        was read belongs to a newer state: it is read again.
        """
        source = self._source
        if source is None:
            return
        for _ in range(_ROUNDS):
            forward = self._drain(source.fd, forward=forward)
            wanted = source.state()
            if not _has_events(source.fd):
                break
        now = self._mirror.state()
        self._emit(now, narrowed(wanted, at_rest(now, self._rests), self._kinds))

    def _drain(self, fd: int, *, forward: bool, taken: list[bytes] | None = None) -> bool:
        """Empty the queue. Returns False once an event was lost: nothing after it is passed on.

        Repeats are not: of a key held since before, the mirror has not seen the press yet.
        """
        while (data := _read(fd)) is not None:
            self.wakeups += 1
            if self.before_next is not None:
                self._call_before_next()
            if taken is not None:
                taken.append(data)
            if forward and (at := lost_at(data)) >= 0:
                self._pass_whole(without_repeats(data[:at]))
                self.losses += 1
                forward = False
            elif forward:
                self._write_whole_frames(self._tail + without_repeats(data))
        return forward

    def _emit(self, now: State, wanted: State) -> None:
        for frame in difference(now, wanted):
            data = kernel.encode(frame)
            for start in range(0, len(data), BATCH_BYTES):
                self._write(data[start : start + BATCH_BYTES])


def lost_at(data: bytes) -> int:
    """Return the offset of the first SYN_DROPPED event, -1 without one."""
    kinds, numbers = data[_KIND], data[_CODE]
    at = numbers.find(codes.SYN_DROPPED)
    while at >= 0 and kinds[at] != codes.EV_SYN:
        at = numbers.find(codes.SYN_DROPPED, at + 1)
    return at * SIZE if at >= 0 else -1


def last_report(data: bytes) -> int:
    """Return the offset after the last SYN_REPORT, 0 without one."""
    kinds, numbers = data[_KIND], data[_CODE]
    at = kinds.rfind(codes.EV_SYN)
    while at >= 0 and numbers[at] != codes.SYN_REPORT:
        at = kinds.rfind(codes.EV_SYN, 0, at)
    return (at + 1) * SIZE


def frames_in(data: bytes) -> int:
    """Count the SYN_REPORTs, whichever value they have (the kernel ends frames with 1)."""
    kinds, numbers = data[_KIND], data[_CODE]
    if codes.SYN_MT_REPORT not in numbers:
        return kinds.count(codes.EV_SYN)
    return sum(not kind and not number for kind, number in zip(kinds, numbers, strict=True))


def without_repeats(data: bytes) -> bytes:
    """Leave out a key's repeats (value 2), and frames that held nothing else."""
    kept: list[bytes] = []
    frame: list[bytes] = []
    dropped = False
    for start in range(0, len(data), SIZE):
        event = data[start : start + SIZE]
        _, _, kind, code, value = kernel.EVENT.unpack(event)
        if kind == codes.EV_KEY and value == _REPEATED:
            dropped = True
            continue
        frame.append(event)
        if (kind, code) == (codes.EV_SYN, codes.SYN_REPORT):
            kept += [] if dropped and len(frame) == 1 else frame
            frame, dropped = [], False
    return b"".join(kept + frame)


def _read(fd: int) -> bytes | None:
    """Read a batch; None when nothing is queued or the device has gone (the next move tells)."""
    try:
        return os.read(fd, BATCH_BYTES)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno == errno.ENODEV:
            return None
        raise


def _has_events(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return any(mask & select.POLLIN for _, mask in poll.poll(0))
