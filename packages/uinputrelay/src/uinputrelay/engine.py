"""The engine: holds the mirrors, and makes reality match the whole wish, again and again.

One thread does everything: it polls the real nodes and udev, moves events, and looks at the wish
anew whenever something changed. Nothing is queued but the newest wish. An unchanged mirror is never
touched: applying the same wish twice does nothing the second time.
"""

from __future__ import annotations

import logging
import os
import select
import time
import uuid
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from . import matching, numbers
from .checks import InvalidValueError
from .discovery import Belongs, Discovery, RealNode, by_uniq
from .mint import Mint
from .mirror import UINPUT
from .model import MOST_NODES, NodeWish, Observed, PeripheralState, PeripheralWish, Snapshot, Wish
from .node import Aim, Node
from .numbers import Key
from .source import NotThatDeviceError, Source, snapshot_of

_log = logging.getLogger(__name__)

UDEV_WAIT = 1.0  # s: a node udevd has not announced by then is used as it is
ARRIVAL = 0.01  # s: a controller's arrival is dozens of messages, and one look serves them all
TWIN_WAIT = 2.0  # s: a second node of one fingerprint may be the first one's next life
RETRY = 0.1  # s: a node that could not be opened; udev grants access some time after it appears
LONGEST_RETRY = 5.0  # s: each failure in a row waits twice as long
BACKSTOP = 60.0  # s: everything is looked at again
AT_ONCE = float("-inf")  # when something is due that cannot wait
PACE = 0.002  # s: beside a Bluetooth report's own way of several, nobody feels it
POLLED = 32  # events a poll; the default makes room for a thousand at each call

Handler = Callable[[], bool | None]


class Engine:
    """Mirrors what is wished. Not thread-safe but for ``submit`` and ``stop``.

    ``phys_prefix`` marks the mirrors as ours: ``<prefix>/<address>/<index>``. ``belongs`` tells
    which real nodes are a peripheral's; by default HID uniq and phys do. ``on_change`` is called
    with the whole observed state, from the engine's thread, when more than counters changed.
    ``adopt`` gives real nodes the wish does not list a mirror of their own. ``pace`` is in seconds,
    0 for none (see ``pause_after``).
    """

    def __init__(
        self,
        *,
        phys_prefix: str = "uinputrelay",
        belongs: Belongs = by_uniq,
        adopt: bool = True,
        pace: float = PACE,
        on_change: Callable[[Observed], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        uinput: str = UINPUT,
    ) -> None:
        self._belongs = belongs
        self._adopt = adopt
        self._pace = pace
        self._on_change = on_change
        self._clock = clock
        self._instance = uuid.uuid4().hex
        self._wish = Wish()
        self._digest = ""
        self._nodes: dict[Key, Node] = {}
        self._mint = Mint(phys_prefix, uinput)
        self._seen: dict[str, float] = {}
        self._shots: dict[str, Snapshot] = {}
        self._errors: dict[str, str] = {}
        self._said: dict[str, str] = {}
        self._wakes: dict[str, int] = {}
        self._armed: set[str] = set()
        self._told: Observed | None = None
        self._heard: Observed | None = None
        self._refresh = False
        self._failures = 0
        self._inbox: deque[tuple[Wish, bool]] = deque()
        self._crowded = False
        self._running = True
        self._discovery = Discovery(f"{phys_prefix}/")
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll = select.epoll()
        self._handlers: dict[int, Handler] = {}
        self._polled: dict[int, Source] = {}
        self._due = self._woke = self._clock()
        self._paused = 0.0
        self._listen(self._bell, self._answer_bell)
        for fd in self._discovery.fds:
            self._listen(fd, self._answer_udev)

    def apply(self, wish: Wish, *, fresh: bool = False) -> Observed:
        """Make reality match the whole wish, and return the whole observed state.

        ``fresh`` is the first wish of a client that may not know yet who is awake.
        """
        fallen = self._note_wakes(wish)
        self._wish = wish
        self._digest = wish.digest
        self._reconcile()
        for address in fallen if not fresh else ():
            self._press_attached(address)
        self._await_first_events()
        return self.observe()

    def observe(self) -> Observed:
        """Return the whole observed state."""
        return Observed(
            peripherals=tuple(self._peripheral_state(each) for each in self._wish.peripherals),
            placeholders=self._mint.placeholders,
            instance=self._instance,
            wish=self._digest,
        )

    def step(self, timeout: float = 0) -> None:
        """Wait up to ``timeout`` seconds for something to happen, and do what is due."""
        # One clock call a step: the time of the last waking, or look, does for the next timeout.
        ready = self._epoll.poll(max(0.0, min(timeout, self._due - self._woke)), POLLED)
        self._woke = now = self._clock()
        handlers = self._handlers
        for fd, _ in ready:
            handler = handlers.get(fd)
            try:
                if handler is not None and handler() is False:  # None: closed by an earlier one
                    self._end_of(fd)
            except OSError as error:
                if not self._stop_reading(fd, error):
                    raise
        if self._due <= now:
            self._reconcile()

    def run(self) -> None:
        """Step until ``stop``; a fault is logged, and the mirrors live on.

        Waking costs more than moving an event, so steps are kept apart (see ``pause_after``).
        """
        while self._running:
            before = self._woke
            try:
                self.step(BACKSTOP)
            except Exception:
                _log.exception("the relay goes on after a fault")
                time.sleep(RETRY)
                self._due = AT_ONCE
            waited = self._woke - before - self._paused
            self._paused = pause_after(waited, self._pace, behind=self._is_behind())
            if self._paused:
                time.sleep(self._paused)

    def _is_behind(self) -> bool:
        """Tell whether a node had more to read than one batch since this was asked last."""
        pumps = [node.pump for node in self._nodes.values() if node.pump and node.pump.behind]
        for pump in pumps:
            pump.behind = False
        return bool(pumps)

    def submit(self, wish: Wish, *, fresh: bool = False) -> None:
        """Hand over the newest wish from another thread; ``on_change`` gets the answer."""
        self._inbox.append((wish, fresh))
        os.eventfd_write(self._bell, 1)

    def refresh(self) -> None:
        """Make ``on_change`` hear of moved counters, from any thread."""
        self._refresh = True
        os.eventfd_write(self._bell, 1)

    def watch(self, on_change: Callable[[Observed], None]) -> None:
        """Replace ``on_change``; called before ``run``."""
        self._on_change = on_change

    def stop(self) -> None:
        """Make ``run`` return, from any thread."""
        self._running = False
        os.eventfd_write(self._bell, 1)

    def close(self) -> None:
        """Give every real node back and destroy every mirror."""
        for node in self._nodes.values():
            node.close()
        self._mint.close()
        self._nodes.clear()
        self._discovery.close()
        self._epoll.close()
        os.close(self._bell)

    # What happened

    def _answer_bell(self) -> None:
        os.eventfd_read(self._bell)
        wishes = [self._inbox.popleft() for _ in range(len(self._inbox))]
        if wishes:
            self._told = None  # a wish is answered even if it changed nothing
            self.apply(wishes[-1][0], fresh=any(fresh for _, fresh in wishes))
        elif self._refresh and self._on_change is not None:
            observed = self.observe()
            if observed != self._heard:
                self._heard = observed
                self._on_change(observed)
        self._refresh = False

    def _answer_udev(self) -> None:
        self._discovery.drain()
        self._soon(ARRIVAL)

    def _end_of(self, fd: int) -> None:
        """A node's pump said that its device has gone."""
        for node in self._nodes.values():
            if node.source is not None and node.source.fd == fd:
                node.detach()
        self._sync_polls()
        self._due = AT_ONCE

    def _stop_reading(self, fd: int, error: OSError) -> bool:
        """Leave one node alone until it is tried again, so that the others are served meanwhile."""
        for node in self._nodes.values():
            if node.source is not None and node.source.fd == fd:
                node.fail(error)
                self._sync_polls()
                self._soon(RETRY)
                return True
        return False

    def _soon(self, seconds: float) -> None:
        self._due = min(self._due, self._clock() + seconds)

    # observe, plan, act

    def _reconcile(self) -> None:
        """Look at everything and make it match."""
        self._woke = self._clock()
        self._due = self._woke + BACKSTOP
        found = self._discovery.scan()
        present = {real.key for real in found}
        self._seen = {key: self._seen.get(key, self._clock()) for key in present}
        self._shots = {key: shot for key, shot in self._shots.items() if key in present}
        for node in self._nodes.values():
            if node.real is not None and node.real.key not in present:
                node.detach()
        self._list_wished()
        pairs = self._pair(found)
        self._remove_unwished({key for key, _ in pairs})
        self._crowded = not self._mint.make(self._nodes, self._wish.held)
        self._aim()
        for key, real in pairs:
            self._attach(self._nodes[key], real)
        for node in self._nodes.values():
            node.act()
            if node.mirror is not None:
                node.mirror.drain()
        self._sync_polls()
        self._retry_failed()
        self._tell()

    def _list_wished(self) -> None:
        """Add the nodes the wish lists, in its order."""
        for peripheral in self._wish.peripherals:
            for index, (key, wish) in enumerate(_named(peripheral)):
                node = self._nodes.get(key)
                if node is None:
                    node = self._add(key, wish.snapshot, index)
                node.named = True
                node.snapshot = wish.snapshot  # the stored one is what was reported first

    def _add(self, key: Key, shot: Snapshot, index: int) -> Node:
        taken = {node.index for node in self._nodes.values() if node.key.address == key.address}
        while index in taken:
            index += 1
        node = self._nodes[key] = Node(key, shot, index)
        return node

    def _pair(self, found: list[RealNode]) -> list[tuple[Key, RealNode]]:
        """Find which node each real one is, adding those nobody knew."""
        pairs: list[tuple[Key, RealNode]] = []
        self._errors.clear()
        attached = {node.real.key: key for key, node in self._nodes.items() if node.real}
        for peripheral in self._wish.peripherals:
            mine = [real for real in found if self._belongs(peripheral, real)]
            read = [(real, self._shot(peripheral, real)) for real in mine]
            for key, real, shot in matching.assign(peripheral.address, read, attached):
                if key not in self._nodes:
                    if not self._is_new(key, real):
                        continue
                    self._add(key, shot, len(peripheral.nodes))
                pairs.append((key, real))
        return pairs

    def _is_new(self, key: Key, real: RealNode) -> bool:
        """Tell an added node from the next life of one whose end is not seen yet.

        A device that registers nodes without end gets mirrors for the first of them only.
        """
        if sum(each.address == key.address for each in self._nodes) >= MOST_NODES:
            self._errors[key.address] = f"more than {MOST_NODES} nodes; {real.path} is left out"
            return False
        if key.turn == 0 or not self._adopt:
            return self._adopt
        waited = self._clock() - self._seen[real.key]
        if waited < TWIN_WAIT:
            self._soon(TWIN_WAIT - waited)
        return waited >= TWIN_WAIT

    def _shot(self, peripheral: PeripheralWish, real: RealNode) -> Snapshot | None:
        """Read a real node's snapshot once, when udev has had its turn."""
        if real.key in self._shots:
            return self._shots[real.key]
        waited = self._clock() - self._seen[real.key]
        if not real.settled and waited < UDEV_WAIT:
            self._soon(UDEV_WAIT - waited)
            return None
        try:
            shot = self._shots[real.key] = snapshot_of(real.path, real.identity)
        except (OSError, NotThatDeviceError, InvalidValueError) as error:
            self._errors[peripheral.address] = f"{real.path}: {error}"
            return None
        return shot

    def _remove_unwished(self, present: set[Key]) -> None:
        """Close mirrors the wish no longer has; one just found waits for the wish to list it."""
        wished = {each.address: each for each in self._wish.peripherals}
        for key, node in list(self._nodes.items()):
            peripheral = wished.get(key.address)
            listed = peripheral is not None and key in dict(_named(peripheral))
            here = key in present or node.real is not None
            found = peripheral is not None and (here or not node.named)
            if not listed and not found:
                node.close()
                del self._nodes[key]

    def _aim(self) -> None:
        """Tell every node what it has to do; one nobody listed is not read."""
        aims: dict[Key, Aim] = {}
        for peripheral in self._wish.peripherals:
            for key, wish in _named(peripheral):
                aims[key] = Aim(wish.types, peripheral.axes)
        for key, node in self._nodes.items():
            minor = node.mirror.minor if node.mirror else -1
            back = numbers.is_held_back(key, minor, self._wish.held)
            node.aim = replace(aims.get(key, Aim()), held_back=back)

    def _attach(self, node: Node, real: RealNode) -> None:
        if node.attach(real) and node.key.address in self._armed:
            self._owe_press(node)

    # The wake press

    def _note_wakes(self, wish: Wish) -> set[str]:
        """Arm a press where a counter was raised; return where one has fallen.

        A counter that is heard for the first time asks for nothing.
        """
        counters = {each.address: each.wake for each in wish.peripherals}
        raised = {a for a, count in counters.items() if count > self._wakes.get(a, count)}
        fallen = {a for a, count in counters.items() if count < self._wakes.get(a, count)}
        self._armed = (self._armed | raised) & counters.keys()
        self._wakes = counters
        return fallen

    def _pressable(self, address: str) -> Node | None:
        """Return the first node a press may go to: with a keyboard key, and EV_KEY wanted of it."""
        peripheral = next(p for p in self._wish.peripherals if p.address == address)
        nodes = [self._nodes[key] for key, _ in _named(peripheral) if key in self._nodes]
        return next((n for n in nodes if n.snapshot.has_keyboard_key and n.aim.wants_keys), None)

    def _owe_press(self, node: Node) -> None:
        """Give the wake press to the node that returns, or drop it when none may have it."""
        first = self._pressable(node.key.address)
        if first is node:
            node.owe_press()
        if first is node or first is None:
            self._armed.discard(node.key.address)

    def _press_attached(self, address: str) -> None:
        """Press on a node that outlived the sleep: bluetoothd keeps the nodes of keyboards."""
        if address not in self._armed:
            return
        node = self._pressable(address)
        if node is not None:
            node.press_now()
        if any(n.real is not None for key, n in self._nodes.items() if key.address == address):
            self._armed.discard(address)  # the session has begun, whoever could be pressed

    def _await_first_events(self) -> None:
        """Let the first event of whichever node that outlived the sleep bring the press with it."""
        for key, node in self._nodes.items():
            if node.pump is not None:
                armed = key.address in self._armed and node.source is not None
                node.pump.before_next = (
                    partial(self._press_attached, key.address) if armed else None
                )

    def _retry_failed(self) -> None:
        """Look again soon while something fails, and less and less often."""
        for address, error in self._errors.items():
            if self._said.get(address) != error:
                _log.warning("%s: %s; it is tried again", address, error)
        self._said = dict(self._errors)
        failed = any(node.error for node in self._nodes.values()) or bool(self._errors)
        failed = failed or self._crowded
        self._failures = self._failures + 1 if failed else 0
        if failed:
            self._soon(min(RETRY * 2 ** min(self._failures, 10), LONGEST_RETRY))

    # Polling

    def _listen(self, fd: int, handler: Handler) -> None:
        self._handlers[fd] = handler
        self._epoll.register(fd, select.EPOLLIN)

    def _sync_polls(self) -> None:
        """Poll exactly the descriptors that are open now; a number may have been used again."""
        wanted: dict[int, tuple[Source, Handler]] = {}
        for node in self._nodes.values():
            if node.source is not None and node.pump is not None:
                wanted[node.source.fd] = node.source, node.pump.move
        for fd, owner in list(self._polled.items()):
            if fd not in wanted or wanted[fd][0] is not owner:
                with suppress(OSError):  # a closed descriptor has left the epoll by itself
                    self._epoll.unregister(fd)
                del self._polled[fd], self._handlers[fd]
        for fd, (owner, handler) in wanted.items():
            if fd not in self._polled:
                self._polled[fd] = owner
                self._listen(fd, handler)

    # Telling

    def _peripheral_state(self, peripheral: PeripheralWish) -> PeripheralState:
        listed = [key for key, _ in _named(peripheral)]
        found = [
            key for key in self._nodes if key.address == peripheral.address and key not in listed
        ]
        nodes = tuple(self._nodes[key].state() for key in (*listed, *found) if key in self._nodes)
        return PeripheralState(peripheral.address, nodes, self._errors.get(peripheral.address, ""))

    def _tell(self) -> None:
        """Call ``on_change`` if more than counters changed."""
        if self._on_change is None:
            return
        observed = self.observe()
        plain = _without_counters(observed)
        if plain != self._told:
            self._told, self._heard = plain, observed
            self._on_change(observed)


def pause_after(waited: float, pace: float, *, behind: bool) -> float:
    """Return how long (s) to stay asleep after a step that ``waited`` (s) for its events.

    After one that waited less than half of ``pace`` the next is put off by ``pace``: events then
    come several at a time, and none waits longer than that. A device that is ahead of us, with more
    to read than one batch, gets no pause: its queue would overflow.
    """
    return pace if waited < pace / 2 and not behind else 0.0


def _named(peripheral: PeripheralWish) -> list[tuple[Key, NodeWish]]:
    """Pair the wish's nodes with their keys."""
    prints = (wish.snapshot.fingerprint for wish in peripheral.nodes)
    return list(zip(matching.keys(peripheral.address, prints), peripheral.nodes, strict=True))


def _without_counters(observed: Observed) -> Observed:
    return replace(
        observed,
        peripherals=tuple(
            replace(
                each,
                nodes=tuple(
                    replace(n, events=0, frames=0, losses=0, wakeups=0) for n in each.nodes
                ),
            )
            for each in observed.peripherals
        ),
    )
