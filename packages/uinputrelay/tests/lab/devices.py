"""Sources, readers and an engine for tests on a real kernel.

A source is a uinput device of the test's own, found by its phys; a reader keeps one descriptor of a
mirror open and returns exact event lists.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterable, Mapping

from uinputrelay import AbsInfo, NodeWish, Observed, PeripheralWish, Snapshot, Wish, codes, kernel
from uinputrelay.discovery import RealNode
from uinputrelay.engine import Engine
from uinputrelay.mirror import Blueprint, Mirror
from uinputrelay.model import Axis, Held, NodeState

Event = tuple[int, int, int]
SYN: Event = (codes.EV_SYN, codes.SYN_REPORT, 0)
ADDRESS = "A0:AB:51:33:B7:12"
OTHER = "A0:AB:51:33:B7:13"
BTN_SOUTH, BTN_EAST, KEY_A, KEY_LEFTSHIFT = 304, 305, 30, 42
PATIENCE = 60.0  # s: an emulated machine on a busy host; what holds is seen at once


def gamepad(name: str = "Test Pad") -> Snapshot:
    """Two sticks, two triggers, a hat, two buttons."""
    stick, trigger = AbsInfo(128, 0, 255, 0, 15, 0), AbsInfo(0, 0, 255, 0, 15, 0)
    hat = AbsInfo(0, -1, 1, 0, 0, 0)
    axes = {0: stick, 1: stick, 2: trigger, 3: stick, 4: stick, 5: trigger, 16: hat, 17: hat}
    return Snapshot(
        name, 5, 0x054C, 0x0CE6, 0x8100,
        types={0: (), 1: (BTN_SOUTH, BTN_EAST), 3: tuple(axes)}, absinfo=axes,
    )  # fmt: skip


def keyboard_and_mouse(name: str = "Test Remote", *, repeats: bool = False) -> Snapshot:
    """A remote with a cursor: keys and relative motion on one node.

    ``repeats`` makes the kernel repeat held keys, at times no test can foresee.
    """
    repeat: dict[int, tuple[int, ...]] = {codes.EV_REP: ()} if repeats else {}
    return Snapshot(
        name, 5, 0x1234, 0x5678, 0x0111,
        types={0: (), 1: (*range(1, 128), 272), 2: (0, 1), 4: (4,), **repeat},
    )  # fmt: skip


def touchpad(name: str = "Test Touchpad") -> Snapshot:
    """Five slots."""
    axes = {
        0: AbsInfo(0, 0, 1919), 1: AbsInfo(0, 0, 1079), 0x2F: AbsInfo(0, 0, 4),
        0x35: AbsInfo(0, 0, 1919), 0x36: AbsInfo(0, 0, 1079), 0x39: AbsInfo(0, 0, 65535),
    }  # fmt: skip
    return Snapshot(
        name, 5, 0x054C, 0x0CE6, 0x8100, props=(0, 2),
        types={0: (), 1: (272, 325, 330, 333), 3: tuple(axes)}, absinfo=axes,
    )  # fmt: skip


class Source:
    """A real node made by the test, exactly as the snapshot says."""

    def __init__(self, shot: Snapshot, address: str = ADDRESS) -> None:
        kinds = {kind: listed for kind, listed in shot.types.items() if kind}
        plan = Blueprint(
            shot.name.encode(), (shot.bus, shot.vendor, shot.product, shot.version),
            shot.props, kinds, shot.absinfo,
        )  # fmt: skip
        self._device = Mirror(plan, f"source/{address}")
        self._plugged = True
        self.path, self.minor = self._device.path, self._device.minor

    def emit(self, *events: Event) -> None:
        """Write the events as they are, in one write."""
        os.write(self._device.fd, kernel.encode(events))

    def frame(self, *events: Event) -> None:
        """Write one frame."""
        self.emit(*events, SYN)

    def unplug(self) -> None:
        """Take the device away; once is enough."""
        if self._plugged:
            self._plugged = False
            self._device.close()

    def absinfo(self, code: int) -> AbsInfo:
        """What any reader of the real node is told about an axis."""
        fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return kernel.absinfo(fd, code)
        finally:
            os.close(fd)


class Reader:
    """Keeps one descriptor of a node open until told to close it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def events(self) -> list[Event]:
        """Return everything queued."""
        got: list[Event] = []
        while True:
            try:
                got += kernel.decode(os.read(self.fd, 64 * 24))
            except BlockingIOError:
                return got

    def absinfo(self, code: int) -> AbsInfo:
        return kernel.absinfo(self.fd, code)

    def snapshot(self) -> Snapshot:
        return kernel.snapshot(self.fd)

    def state(self) -> tuple[frozenset[int], dict[int, int]]:
        """Return held keys and plain axes; what this reader has queued of keys is lost by it."""
        shot = kernel.snapshot(self.fd)
        return kernel.keys(self.fd), {c: a.value for c, a in shot.absinfo.items() if c < 0x2F}

    def close(self) -> None:
        os.close(self.fd)


def by_phys(wish: PeripheralWish, node: RealNode) -> bool:
    """A uinput source has no uniq; the test names it by phys."""
    return node.phys == f"source/{wish.address}"


class Bench:
    """An engine driven step by step from the test's own thread."""

    def __init__(self, belongs: Callable[[PeripheralWish, RealNode], bool] = by_phys) -> None:
        self._belongs = belongs
        self.engine = self._start()
        self.wish = Wish()

    def _start(self) -> Engine:
        return Engine(phys_prefix="lab.test", belongs=self._belongs)

    def restart(self, before: Callable[[], object] = lambda: None) -> None:
        """What a new process of the relay is: nothing remembered, every mirror gone."""
        self.engine.close()
        before()
        self.engine = self._start()

    def apply(
        self, *peripherals: PeripheralWish, held: Iterable[Held] = (), fresh: bool = False
    ) -> Observed:
        self.wish = Wish(peripherals, tuple(held))
        return self.engine.apply(self.wish, fresh=fresh)

    def until(self, true: Callable[[Observed], bool], what: str = "") -> Observed:
        """Step until the observed state is as said."""
        end = time.monotonic() + PATIENCE
        while not true(observed := self.engine.observe()):
            if time.monotonic() > end:
                raise AssertionError(f"never came: {what or true}; it is {observed}")
            self.engine.step(0.05)
        return observed

    def collect(self, reader: Reader, true: Callable[[list[Event]], bool]) -> list[Event]:
        """Step until what the reader got is as said, and return it."""
        end = time.monotonic() + PATIENCE
        seen = reader.events()
        while not true(seen):
            if time.monotonic() > end:
                raise AssertionError(f"never came; it is {seen}")
            self.engine.step(0.05)
            seen += reader.events()
        return seen

    def pump(self) -> None:
        """Step until nothing is left to do at once."""
        self.engine.step(0.02)
        moved = -1
        while moved != (moved := sum(n.events for n in self.nodes())):
            self.engine.step(0.02)

    def nodes(self, address: str | None = None) -> list[NodeState]:
        return [
            node
            for each in self.engine.observe().peripherals
            for node in each.nodes
            if address in (None, each.address)
        ]

    def connected(self, address: str = ADDRESS) -> list[NodeState]:
        """Wait until every node of the peripheral has its real node."""
        self.until(
            lambda _: bool(nodes := self.nodes(address)) and all(n.connected for n in nodes),
            f"{address} connected",
        )
        return self.nodes(address)

    def gone(self, address: str = ADDRESS) -> None:
        self.until(lambda _: not any(n.connected for n in self.nodes(address)), f"{address} gone")

    def close(self) -> None:
        self.engine.close()


def wish(
    *shots: Snapshot,
    address: str = ADDRESS,
    types: frozenset[int] | None = None,
    axes: Mapping[int, Axis] | None = None,
    wake: int = 0,
) -> PeripheralWish:
    """One peripheral, every node with the same wanted types."""
    nodes = tuple(NodeWish(shot, types) for shot in shots)
    return PeripheralWish(address, None, nodes, axes or {}, wake)


def keyed(code: int, value: int) -> Event:
    return (codes.EV_KEY, code, value)


def at(code: int, value: int) -> Event:
    return (codes.EV_ABS, code, value)


def moved(code: int, value: int) -> Event:
    return (codes.EV_REL, code, value)


Plug = Callable[..., Source]
Read = Callable[[str], Reader]


def await_events(reader: Reader, count: int) -> list[Event]:
    """Wait until a reader got so many events from a relay of another process."""
    poll = select.poll()
    poll.register(reader.fd, select.POLLIN)
    seen = reader.events()
    while len(seen) < count:
        if not poll.poll(PATIENCE * 1000):
            raise AssertionError(f"never came; it is {seen}")
        seen += reader.events()
    return seen
