"""``uinputrelay serve``: the engine in a thread of its own, and one socket in front of it.

The socket belongs to one user and the kernel vouches for the peer's. The connection that sent the
newest valid wish is the client; an older one is told so and closed. A client that goes away takes
nothing with it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from . import wire
from .engine import Engine
from .model import Observed

_log = logging.getLogger(__name__)

COUNTERS_EVERY = 10.0  # s between states that differ in counters alone
_UCRED = struct.Struct("@iII")


class AlreadyServedError(RuntimeError):
    """Another relay answers on the socket's path."""


@dataclass(eq=False)
class _Connection:
    """One peer. Only the newest state waits for it: a peer that does not read costs one state."""

    writer: asyncio.StreamWriter
    news: asyncio.Event
    has_wished: bool = False


class Daemon:
    """Serves one engine on one socket until cancelled.

    ``owner`` is the uid the socket is given to; besides it, this process's own uid is let in.
    """

    def __init__(self, engine: Engine, path: str, *, owner: int | None = None) -> None:
        self._engine = engine
        self._path = Path(path)
        self._owner = os.geteuid() if owner is None else owner
        self._connections: set[_Connection] = set()
        self._client: _Connection | None = None
        self._observed: Observed | None = None
        self._listener: socket.socket | None = None

    def listen(self) -> None:
        """Take the socket before ``serve``, for a caller that gives up its rights in between."""
        self._listener = listen(self._path, self._owner)

    async def serve(self, ready: asyncio.Event | None = None) -> None:
        """Serve until cancelled; the mirrors are closed at the end. Raises AlreadyServedError."""
        listener = self._listener or listen(self._path, self._owner)
        self._loop = asyncio.get_running_loop()
        self._engine.watch(self._hand_over)
        server = await asyncio.start_unix_server(self._serve_peer, sock=listener, limit=wire.LIMIT)
        thread = threading.Thread(target=self._engine.run, name="engine")
        thread.start()
        counters = asyncio.create_task(self._publish_counters())
        try:
            if ready is not None:
                ready.set()
            await self._loop.create_future()
        finally:
            counters.cancel()
            server.close()
            for connection in list(self._connections):
                connection.writer.close()
            self._path.unlink(missing_ok=True)
            self._engine.stop()
            await asyncio.to_thread(thread.join)
            self._engine.close()

    def _hand_over(self, observed: Observed) -> None:
        """Called in the engine's thread."""
        with suppress(RuntimeError):  # the loop is closed already: nobody is left to tell
            self._loop.call_soon_threadsafe(self._publish, observed)

    async def _publish_counters(self) -> None:
        """Ask for the state now and then; the engine answers when a counter moved."""
        while True:
            await asyncio.sleep(COUNTERS_EVERY)
            self._engine.refresh()

    def _publish(self, observed: Observed) -> None:
        self._observed = observed
        for connection in self._connections:
            connection.news.set()

    async def _serve_peer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(writer, asyncio.Event())
        self._connections.add(connection)
        connection.news.set()
        telling: asyncio.Task[None] | None = None
        try:
            self._check_peer(writer)
            telling = asyncio.create_task(self._tell(connection))
            await self._hear(reader, connection)
        except wire.MessageError as error:
            await _refuse(writer, error)
        except OSError:  # the peer went away; nothing follows from that
            pass
        finally:
            if telling is not None:
                telling.cancel()
                with suppress(asyncio.CancelledError, OSError):
                    await telling
            self._drop(connection)

    def _check_peer(self, writer: asyncio.StreamWriter) -> None:
        uid = peer_uid(writer.get_extra_info("socket"))
        if uid not in (self._owner, os.geteuid()):
            _log.warning("refused a connection of user %s", uid)
            raise wire.MessageError(wire.NOT_PERMITTED, f"user {uid} may not talk to this relay")

    async def _hear(self, reader: asyncio.StreamReader, connection: _Connection) -> None:
        """Take wishes until the peer closes; a refused one is answered and changes nothing."""
        while True:
            try:
                line = await reader.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                return
            except asyncio.LimitOverrunError:
                raise wire.MessageError(
                    wire.TOO_LARGE, f"a line longer than {wire.LIMIT} bytes"
                ) from None
            try:
                wish = wire.read_wish(line)
            except wire.MessageError as error:
                connection.writer.write(wire.error_line(error))
                await connection.writer.drain()
                continue
            await self._prefer(connection)
            self._engine.submit(wish, fresh=not connection.has_wished)
            connection.has_wished = True

    async def _prefer(self, connection: _Connection) -> None:
        """Make this connection the client; the one before it is told and closed."""
        before, self._client = self._client, connection
        if before is not None and before is not connection:
            error = wire.MessageError(wire.SUPERSEDED, "a newer client has sent a wish")
            with suppress(OSError):
                before.writer.write(wire.error_line(error))
            before.writer.close()

    async def _tell(self, connection: _Connection) -> None:
        """Send the newest state whenever there is one the peer has not seen."""
        while True:
            await connection.news.wait()
            connection.news.clear()
            if self._observed is not None:
                connection.writer.write(wire.observed_line(self._observed))
                await connection.writer.drain()

    def _drop(self, connection: _Connection) -> None:
        self._connections.discard(connection)
        if self._client is connection:
            self._client = None
        connection.writer.close()


async def _refuse(writer: asyncio.StreamWriter, error: wire.MessageError) -> None:
    with suppress(OSError):
        writer.write(wire.error_line(error))
        await writer.drain()


def peer_uid(connection: socket.socket) -> int:
    """Return the user the kernel saw connecting (SO_PEERCRED, unix(7))."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    _, uid, _ = _UCRED.unpack(raw)
    return int(uid)


def listen(path: Path, owner: int) -> socket.socket:
    """Listen on ``path``, mode 0600, for ``owner``. Raises AlreadyServedError or OSError.

    A socket file nobody answers on is what a killed relay left behind; it is replaced.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.is_socket():
            if _is_answered(path):
                raise AlreadyServedError(f"another relay already serves {path}")
            path.unlink()
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        if owner != os.geteuid():
            os.chown(path, owner, -1)
        listener.listen()
    except BaseException:
        listener.close()
        raise
    return listener


def _is_answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
