"""The relay's client: says the whole wish, hears the whole state, and reconnects by itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from types import TracebackType

from . import wire
from .model import Observed, Wish

_log = logging.getLogger(__name__)

FIRST_DELAY = 0.1  # s
LONGEST_DELAY = 5.0  # s


class SupersededError(RuntimeError):
    """A newer client has taken over; this one must not fight it by reconnecting."""


class Client:
    """Talks to the relay at ``path`` for as long as the context lasts.

        async with Client("/run/uinputrelay.sock") as client:
            client.wish(Wish(...))
            async for observed in client:
                ...  # None while the relay cannot be reached

    The newest wish is sent on every connection. Iterating yields the newest state whenever it
    changed or a wish was refused, skipping those a slow caller missed, and raises SupersededError
    once a newer client took over. ``refusal`` is the relay's last error, None once it told a state.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.latest: Observed | None = None
        self.refusal: wire.MessageError | None = None
        self._wish: Wish | None = None
        self._wished = asyncio.Event()
        self._news = asyncio.Event()
        self._superseded = False
        self._task: asyncio.Task[None] | None = None

    def wish(self, wish: Wish) -> None:
        """Make this the wish: sent at once where there is a connection, and on each later one.

        A wish equal to the last one is not sent again on the same connection.
        """
        if wish != self._wish:
            self._wish = wish
            self._wished.set()

    async def __aenter__(self) -> Client:
        self._task = asyncio.create_task(self._keep_connected())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def __aiter__(self) -> AsyncIterator[Observed | None]:
        while True:
            await self._news.wait()
            self._news.clear()
            if self._superseded:
                raise SupersededError(f"a newer client talks to {self.path}")
            yield self.latest

    def _told(self, observed: Observed | None) -> None:
        self.latest = observed
        self._news.set()

    async def _keep_connected(self) -> None:
        delay = FIRST_DELAY
        self._told(None)
        while not self._superseded:
            began = asyncio.get_running_loop().time()
            await self._connect_once()
            if self.latest is not None:
                self._told(None)
            # A relay that closes at once, because it refuses what it is sent, is not hammered.
            lasted = asyncio.get_running_loop().time() - began
            delay = FIRST_DELAY if lasted >= LONGEST_DELAY else min(2 * delay, LONGEST_DELAY)
            await asyncio.sleep(delay)

    async def _connect_once(self) -> None:
        try:
            reader, writer = await asyncio.open_unix_connection(self.path, limit=wire.LIMIT)
        except OSError as error:
            _log.debug("%s: %s", self.path, error)
            return
        await self._talk(reader, writer)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends."""
        saying = asyncio.create_task(self._say(writer))
        try:
            await self._hear(reader)
        except (OSError, wire.MessageError, asyncio.LimitOverrunError) as error:
            _log.warning("the relay at %s: %s", self.path, error)
        finally:
            saying.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await saying
            writer.close()

    async def _say(self, writer: asyncio.StreamWriter) -> None:
        if self._wish is not None:
            self._wished.set()
        while True:
            await self._wished.wait()
            self._wished.clear()
            if self._wish is not None:
                writer.write(wire.wish_line(self._wish))
                await writer.drain()

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        while line := await _read_line(reader):
            answer = wire.read_answer(line)
            if isinstance(answer, Observed):
                self.refusal = None
                self._told(answer)
                continue
            self.refusal = answer
            self._news.set()
            _log.warning("the relay at %s refused: %s", self.path, answer)
            if answer.name == wire.SUPERSEDED:
                self._superseded = True
                return


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    """Read a line; empty at the end of the connection."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        return b""
