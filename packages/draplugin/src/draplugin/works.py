"""One claim's calls in order, whatever the kubelet's deadlines do.

The kubelet gives up on a call after 45 s, cancels it and asks again; grpc.aio then cancels the
handler task at whatever await it stands. Work torn there would leave a device half prepared, so it
runs in a task of its own: the call only waits for it, and the retry finds it and waits on. Two
kinds of work for one claim queue up; claims do not wait for each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Job:
    kind: str
    task: asyncio.Task[Any]


class Works:
    """Tasks keyed by claim UID; `run` joins the last one queued when it is of the same kind."""

    def __init__(self) -> None:
        self._last: dict[str, _Job] = {}
        self._all: set[asyncio.Task[Any]] = set()

    async def run(self, uid: str, kind: str, work: Callable[[], Awaitable[T]]) -> T:
        """The result of `work`, or of the same kind of work already queued last for this UID.

        Cancelling the caller leaves the work running.
        """
        last = self._last.get(uid)
        if last is None or last.kind != kind or last.task.done():
            last = self._queue(uid, kind, work, last.task if last else None)
        result: T = await asyncio.shield(last.task)
        return result

    def _queue(
        self,
        uid: str,
        kind: str,
        work: Callable[[], Awaitable[Any]],
        before: asyncio.Task[Any] | None,
    ) -> _Job:
        async def in_turn() -> Any:
            if before is not None:
                await asyncio.wait([before])
            return await work()

        task = asyncio.get_running_loop().create_task(in_turn(), name=f"{kind} {uid}")
        job = _Job(kind, task)
        self._last[uid] = job
        self._all.add(task)
        task.add_done_callback(lambda done: self._finished(uid, done))
        return job

    def _finished(self, uid: str, task: asyncio.Task[Any]) -> None:
        self._all.discard(task)
        if uid in self._last and self._last[uid].task is task:
            del self._last[uid]
        if not task.cancelled():
            # Whoever waited may be gone; an error nobody fetched would be logged as a leak.
            task.exception()

    def busy(self, uid: str) -> bool:
        """Whether work for the claim is running or queued."""
        return uid in self._last

    async def stop(self, grace: float) -> None:
        """Let running work end for `grace` seconds, then cancel it and wait for its end."""
        if self._all:
            await asyncio.wait(set(self._all), timeout=grace)
        for task in tuple(self._all):
            task.cancel()
        if self._all:
            await asyncio.wait(set(self._all))
