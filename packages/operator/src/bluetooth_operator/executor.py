"""Does the actions of a plan, each on its own: one that fails is tried again later, alone.

Nothing is queued. An action that is still needed is in the next plan, so all that is kept is what
runs now, what failed and until when it rests, and what has just been done and will be seen soon.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from .actions import Action

_log = logging.getLogger(__name__)

FIRST_REST = 1.0
LONGEST_REST = 60.0
# An object just written comes back by its watch within milliseconds; until then it looks undone.
ECHO = 2.0


@dataclass(slots=True)
class _Record:
    action: Action
    until: float
    failures: int = 0


class Executor:
    """Runs actions; `changed` is called when one ended or may be tried again."""

    def __init__(
        self, perform: Callable[[Action], Awaitable[None]], changed: Callable[[], None]
    ) -> None:
        self._perform = perform
        self._changed = changed
        self._running: dict[str, asyncio.Task[None]] = {}
        self._records: dict[str, _Record] = {}

    def submit(self, actions: Iterable[Action]) -> None:
        """Start every action whose target is not being acted on and is not resting."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._records = {k: r for k, r in self._records.items() if r.until + LONGEST_REST > now}
        for action in actions:
            if action.target in self._running or self._rests(action, now):
                continue
            task = loop.create_task(self._run(action), name=action.target)
            self._running[action.target] = task

    def _rests(self, action: Action, now: float) -> bool:
        record = self._records.get(action.target)
        if record is None or record.until <= now:
            return False
        return record.failures > 0 or record.action == action

    async def _run(self, action: Action) -> None:
        loop = asyncio.get_running_loop()
        try:
            await self._perform(action)
        except Exception as error:
            self._failed(action, error)
        else:
            self._records[action.target] = _Record(action, loop.time() + ECHO)
        finally:
            self._running.pop(action.target, None)
        loop.call_at(self._records[action.target].until, self._changed)
        self._changed()

    def _failed(self, action: Action, error: Exception) -> None:
        known = self._records.get(action.target)
        failures = 1 + (known.failures if known else 0)
        rest = min(FIRST_REST * 2 ** (failures - 1), LONGEST_REST)
        until = asyncio.get_running_loop().time() + rest
        self._records[action.target] = _Record(action, until, failures)
        _log.warning(
            "%s failed, trying again in %.0f s: %s: %s",
            action.target,
            rest,
            type(error).__name__,
            error,
        )

    async def stop(self) -> None:
        """End what runs; the next start plans it again."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
