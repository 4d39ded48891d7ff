"""A wire between the driver and the API server that can be cut."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager


class Wire:
    """Forwards TCP connections; while cut, open ones are dropped and new ones refused at once."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._cut = False
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """Take the API server away for the length of the block."""
        self._cut = True
        self._drop()
        try:
            yield
        finally:
            self._cut = False

    def _drop(self) -> None:
        for writer in tuple(self._writers):
            writer.transport.abort()

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[Wire]:
        """Listen on a free port of the loopback."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self._drop()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut:
            writer.transport.abort()
            return
        with contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection(*self._target)
            self._writers |= {writer, far_writer}
            try:
                await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
            finally:
                self._writers -= {writer, far_writer}
                far_writer.transport.abort()
        writer.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()
