"""One mirrored node: what is wished of it, and the life of its real node.

    unmade ---> absent ---> unread <---> moving
                  ^            |            |
                  +------------+-- gone ----+

``unmade`` has no mirror (the error says why); ``absent`` has no real node; ``unread`` has one
nobody wants (or whose mirror may not carry events yet), and keeps no descriptor of it; ``moving``
reads it.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from . import codes
from .discovery import RealNode
from .mirror import Mirror
from .model import Axis, NodeState, Snapshot
from .numbers import Key
from .pump import Pump
from .rest import rests
from .source import NotThatDeviceError, Source

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Aim:
    """What a node has to do: the event types to move (None all, empty none) and the axes' settings.

    ``held_back`` keeps events from a mirror whose number claims do not know yet.
    """

    kinds: frozenset[int] | None = frozenset()
    axes: Mapping[int, Axis] = field(default_factory=dict)
    held_back: bool = False

    @property
    def reads(self) -> bool:
        """Whether the real node is to be read."""
        return self.kinds != frozenset() and not self.held_back

    @property
    def wants_keys(self) -> bool:
        """Whether somebody receives EV_KEY."""
        return self.kinds is None or codes.EV_KEY in self.kinds


class Node:
    """A snapshot with its mirror, its pump and, while the device is there, its real node."""

    def __init__(self, key: Key, snapshot: Snapshot, index: int) -> None:
        self.key = key
        self.snapshot = snapshot
        self.index = index
        self.named = False  # the wish has listed it; when it no longer does, the mirror goes
        self.aim = Aim()
        self.mirror: Mirror | None = None
        self.pump: Pump | None = None
        self.real: RealNode | None = None
        self.source: Source | None = None
        self.error = ""
        self._press_owed = False
        self._gone = ""
        self._flats: dict[int, int] = {}

    def made(self, mirror: Mirror) -> None:
        """Take the mirror that was created for this node."""
        self.mirror = mirror
        self.pump = Pump(mirror, rests(self.snapshot))
        self.error = ""

    def attach(self, real: RealNode) -> bool:
        """Take a real node; False if it is the one held already, or one whose end was seen."""
        if real.key in (self._gone, self.real.key if self.real else ""):
            return False
        if self.real is not None:
            self.detach()
        self.real = real
        _log.info("%s is back as %s (%r)", self.key.address, real.path, self.snapshot.name)
        return True

    def detach(self) -> None:
        """Let the real node go: close it and bring the mirror to rest."""
        if self.real is None:
            return
        _log.info("%s has left %s", self.key.address, self.real.path)
        self._gone = self.real.key
        self.real = None
        self.error = ""
        self._press_owed = False
        self._close_source()

    def owe_press(self) -> None:
        """Ask for one wake press before the first event of the session that begins now."""
        self._press_owed = True

    def press_now(self) -> None:
        """Press and release KEY_UNKNOWN on the mirror, if its device is being read."""
        if self.source is not None and self.pump is not None:
            self.pump.press(codes.KEY_UNKNOWN)

    def act(self) -> None:
        """Bring reading, mask and axes to the aim. A failure is kept in ``error`` for a retry."""
        try:
            self._act()
        except NotThatDeviceError as error:
            self._fail(str(error))
        except OSError as error:
            if error.errno == errno.ENODEV:
                self.detach()
            else:
                where = self.real.path if self.real and error.filename is None else "cannot open"
                self._fail(f"{where}: {error}")

    def _act(self) -> None:
        if self.pump is None or self.mirror is None or self.real is None:
            return
        if not self.aim.reads:
            self._give_back()
        elif self.source is None:
            self._start(self.pump, self.real)
        else:
            self.pump.narrow(self.aim.kinds)
            self.source.set_axes(self.aim.axes, self.pump.pass_on)
        self._show_flats(self.mirror)
        self.error = ""

    def _start(self, pump: Pump, real: RealNode) -> None:
        source = Source(real.path, real.identity, self.snapshot)
        self.source = source
        source.set_axes(self.aim.axes, source.discard)
        if self._press_owed:
            self._press_owed = False
            pump.press(codes.KEY_UNKNOWN)
        pump.read_from(source, self.aim.kinds)

    def _give_back(self) -> None:
        """Stop reading, leaving the real node's axes as the device first reported them."""
        if self.source is not None:
            self.source.set_axes({}, self.source.discard)
            self._close_source()

    def _close_source(self) -> None:
        source, self.source = self.source, None
        if source is None:
            return
        source.close()
        try:
            if self.pump is not None:
                self.pump.stop()
        except OSError as error:
            _log.warning(
                "%s: the mirror cannot be asked for its state: %s", self.key.address, error
            )

    def _show_flats(self, mirror: Mirror) -> None:
        flats = {
            code: axis.flat
            for code, axis in self.aim.axes.items()
            if axis.flat is not None and code in self.snapshot.absinfo
        }
        if flats != self._flats:
            first = {code: self.snapshot.absinfo[code].flat for code in self._flats}
            mirror.set_flat({**first, **flats})
            self._flats = flats

    def fail(self, error: OSError) -> None:
        """Stop reading a node whose events cannot be moved; ``act`` tries it again."""
        self._fail(f"{self.real.path if self.real else 'no node'}: {error}")

    def _fail(self, text: str) -> None:
        if text != self.error:
            _log.warning("%s: %s; it is tried again", self.key.address, text)
        self.error = text
        self._close_source()

    def close(self) -> None:
        """Give the real node back and destroy the mirror."""
        try:
            self._give_back()
        except OSError:  # the device went first
            self._close_source()
        if self.mirror is not None:
            self.mirror.close()
            self.mirror = None
        self.pump = None

    def state(self) -> NodeState:
        """Return the node as it is."""
        mirror, pump = self.mirror, self.pump
        return NodeState(
            snapshot=self.snapshot,
            path=mirror.path if mirror else None,
            major=mirror.major if mirror else None,
            minor=mirror.minor if mirror else None,
            connected=self.real is not None,
            events=pump.events if pump else 0,
            frames=pump.frames if pump else 0,
            losses=pump.losses if pump else 0,
            wakeups=pump.wakeups if pump else 0,
            error=self.error,
            differences=mirror.differences if mirror else (),
            real=self.real.path if self.real else None,
            held_back=self.aim.held_back,
        )
