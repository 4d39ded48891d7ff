"""Holds open the pairing windows that ought to be open, and pairs what was chosen in them.

Declarative from outside: `want` is told the windows, `states` says how each runs. A window's task
owns its bus connection from the first inquiry to the bond, as bluetoothd demands (agent, discovery
and pairing all die with the connection that made them).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from bluezclient import BluezError, Client, PairingWindow

from .actions import WindowWish
from .world import WindowState

_log = logging.getLogger(__name__)

# An approval in the last second of a window still gets a fair try.
SHORTEST_PAIRING = 30.0
REOPEN_AFTER = 3.0


class Windows:
    """The open windows of this operator; `changed` is called whenever a state does."""

    def __init__(
        self,
        client: Client,
        changed: Callable[[], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._changed = changed
        self._clock = clock
        self._running: dict[str, _Running] = {}

    def states(self) -> Mapping[str, WindowState]:
        """How each wished window runs, by the request's UID."""
        return {uid: running.state() for uid, running in self._running.items()}

    def want(self, wishes: Iterable[WindowWish]) -> None:
        """Open what is wished and not open, choose devices, close the rest."""
        wished = {wish.uid: wish for wish in wishes}
        for uid in [uid for uid in self._running if uid not in wished]:
            self._running.pop(uid).close()
        for uid, wish in wished.items():
            if uid not in self._running:
                self._running[uid] = _Running(self._client, wish, self._changed, self._clock)
            self._running[uid].choose(wish)

    async def stop(self) -> None:
        """Close all windows and wait until they are."""
        running, self._running = list(self._running.values()), {}
        for each in running:
            each.close()
        await asyncio.gather(*(each.task for each in running), return_exceptions=True)


class _Running:
    """One window and the task that keeps it."""

    def __init__(
        self,
        client: Client,
        wish: WindowWish,
        changed: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self._client = client
        self._wish = wish
        self._changed = changed
        self._clock = clock
        self._chosen = asyncio.Event()
        self._result = WindowState()
        self._window: PairingWindow | None = None
        self.task = asyncio.get_running_loop().create_task(self._run(), name=f"window {wish.uid}")

    def state(self) -> WindowState:
        window = self._window
        if window is None:
            return self._result
        return replace(self._result, seen=window.seen, prompt=window.prompt)

    def choose(self, wish: WindowWish) -> None:
        self._wish = wish
        if wish.device is not None:
            self._chosen.set()

    def close(self) -> None:
        self.task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                async with self._client.pairing_window(self._wish.adapter) as window:
                    self._window = window
                    self._changed()
                    await self._serve(window)
                return
            except BluezError as error:
                _log.warning("the window on %s closed: %s", self._wish.adapter, error)
            self._keep()
            await asyncio.sleep(REOPEN_AFTER)

    async def _serve(self, window: PairingWindow) -> None:
        await self._chosen.wait()
        device = self._wish.device
        assert device is not None
        deadline = max(self._wish.closes_at - self._clock(), SHORTEST_PAIRING)
        self._become(replace(self._result, pairing=device))
        try:
            paired = await window.pair(device, deadline=deadline)
        except BluezError as error:
            reason = type(error).__name__
            _log.warning("pairing %s failed: %s: %s", device, reason, error)
            self._end(replace(self._result, pairing=None, failure=(reason, str(error))))
        else:
            _log.info("paired %s", paired.address)
            self._end(replace(self._result, pairing=None, paired=paired.address))

    def _end(self, result: WindowState) -> None:
        """Keep the outcome, and what was heard, for as long as the window is wished."""
        self._become(result)
        self._keep()

    def _become(self, result: WindowState) -> None:
        self._result = result
        self._changed()

    def _keep(self) -> None:
        if self._window is not None:
            self._result = replace(self._result, seen=self._window.seen)
        self._window = None
