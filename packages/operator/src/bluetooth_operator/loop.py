"""The one loop: observe, plan, act, whenever anything changed and at least once a minute.

Level-triggered: a pass reads everything and decides everything again, so a pass that was missed, a
process that was killed and an event that came twice all end in the same place.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from .executor import Executor
from .observe import Sources
from .pace import Pace
from .plan.whole import Plan, plan

_log = logging.getLogger(__name__)

BACKSTOP = 60.0
# Changes come in bursts (bluetoothd says one property a signal); one pass serves them all.
SETTLE = 0.05


class Loop:
    """Runs passes over `sources`; `kick` asks for one soon, from any callback of the loop."""

    def __init__(
        self,
        sources: Sources,
        executor: Executor,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._sources, self._executor = sources, executor
        self._clock = clock
        self._pace = Pace()
        self._kicked = asyncio.Event()

    def kick(self) -> None:
        """Something may have changed."""
        self._kicked.set()

    async def run(self) -> None:
        """Pass after pass until cancelled. A pass that fails is logged and done again."""
        while True:
            self._kicked.clear()
            try:
                wait = self._pass()
            except Exception:
                _log.exception("a pass failed; the next is in %s s at the latest", BACKSTOP)
                wait = BACKSTOP
            await self._sleep(wait)

    async def _sleep(self, longest: float) -> None:
        # Not asyncio.wait_for: until Python 3.12 it swallows a cancellation that comes with the
        # event (cpython #86296), and the operator would not end.
        try:
            async with asyncio.timeout(longest):
                await self._kicked.wait()
        except TimeoutError:
            return
        await asyncio.sleep(SETTLE)

    def _pass(self) -> float:
        """One observe, plan and act; how long the next may be away."""
        now = self._clock()
        world = self._sources.world(now)
        decided = plan(world)
        self._sources.files.want(world.present())
        self._sources.windows.want(decided.windows)
        self._executor.submit(decided.actions)
        if decided.relay is not None:
            self._sources.relay.wish(decided.relay)
        held_back = self._publish(decided)
        instants = [BACKSTOP, held_back]
        if decided.next_instant is not None:
            instants.append(max(0.0, decided.next_instant - now) + SETTLE)
        return min(instants)

    def _publish(self, decided: Plan) -> float:
        """Hand over the devices when it is time; how long until it is, for what is held back."""
        if decided.devices is None:
            return BACKSTOP
        now = asyncio.get_running_loop().time()
        devices = self._pace.offer(decided.devices, now)
        if devices is not None:
            self._sources.publisher.wish(devices)
        due = self._pace.due(now)
        return BACKSTOP if due <= now else due - now
