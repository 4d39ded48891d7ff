"""Device health on its way from the driver to every kubelet stream.

The driver yields reports; each stream gets them as they come, and a new stream begins with the
last ones still valid. Nothing is repeated on the driver's behalf: a monitor that hangs must decay
to Unknown in the kubelet, not stay Healthy because somebody kept repeating it. The kubelet forgets
a report after its timeout (30 s by default), so a driver yields at least every ten seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Protocol, runtime_checkable

from .kube import Backoff
from .wire import DeviceHealth

_log = logging.getLogger(__name__)


@runtime_checkable
class HealthHandler(Protocol):
    """A handler that also reports health; having the method is what switches the service on."""

    def health(self) -> AsyncIterator[Sequence[DeviceHealth]]:
        """Yield states of some or all devices, on change and at least every ten seconds."""
        ...


class HealthFeed:
    """Fans the driver's reports out to streams; without a driver's monitor, streams stay silent."""

    def __init__(self, handler: HealthHandler | None) -> None:
        self._handler = handler
        self._latest: dict[tuple[str, str], tuple[float, DeviceHealth]] = {}
        self._streams: set[asyncio.Queue[Sequence[DeviceHealth] | None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    @property
    def offered(self) -> bool:
        """Whether the driver reports health."""
        return self._handler is not None

    def start(self) -> None:
        """Begin to read the driver's reports."""
        self._stopped = False
        if self._handler is not None:
            loop = asyncio.get_running_loop()
            self._task = loop.create_task(self._pump(self._handler), name="health")

    async def stop(self) -> None:
        """End all streams: an open stream would hold up the server's stop for its whole grace."""
        self._stopped = True
        for stream in self._streams:
            stream.put_nowait(None)
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def stream(self) -> AsyncIterator[Sequence[DeviceHealth]]:
        """Reports until the feed stops.

        Kubelets of 1.34 to 1.36 open a stream whether the service is offered or not and redial
        every five seconds when it is refused, so without reports it stays open and silent.
        """
        queue: asyncio.Queue[Sequence[DeviceHealth] | None] = asyncio.Queue()
        if self._stopped:
            return
        self._streams.add(queue)
        try:
            valid = self._valid()
            if valid:
                yield valid
            while (report := await queue.get()) is not None:
                yield report
        finally:
            self._streams.discard(queue)

    def _valid(self) -> list[DeviceHealth]:
        now = asyncio.get_running_loop().time()
        return [health for at, health in self._latest.values() if now - at < health.timeout]

    async def _pump(self, handler: HealthHandler) -> None:
        backoff = Backoff()
        while True:
            try:
                async for report in handler.health():
                    backoff.reset()
                    self._spread(report)
                _log.warning("the health monitor ended; starting it again")
            except Exception:
                _log.exception("the health monitor failed; starting it again")
            await asyncio.sleep(backoff.next())

    def _spread(self, report: Sequence[DeviceHealth]) -> None:
        now = asyncio.get_running_loop().time()
        for health in report:
            self._latest[health.pool, health.device] = (now, health)
        for stream in self._streams:
            stream.put_nowait(tuple(report))
