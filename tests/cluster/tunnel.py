"""How the API server on the host reaches a kubelet inside a guest.

A guest on QEMU's user network can call the host, but nothing can call the guest. Kubernetes
knows that case: a configured API server asks an HTTP CONNECT proxy for every connection into
its cluster (EgressSelectorConfiguration, KEP-1281). This is that proxy. The guest's side
(agent.py) calls in and keeps spare connections; each request takes one of them.

    kubectl logs -> kube-apiserver -> unix socket -> Tunnel <- agent.py -> kubelet :10250
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import secrets
import threading
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

_T = TypeVar("_T")
_LOOPBACK = "127.0.0.1"
_CHUNK = 65536
_OK = "ok"
_ANSWER_TIMEOUT = 30.0

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Tunnel:
    """The proxy, running in a thread of its own until it is closed.

    The API server connects to the unix socket ``socket``; agents connect to ``port`` on the
    loopback address and name the node they stand for, with ``token`` to show they may. A
    request waits up to ``patience`` seconds for an agent to be free.
    """

    def __init__(self, socket: Path, patience: float = 10.0) -> None:
        self.socket = socket
        self._patience = patience
        self._arrived = asyncio.Condition()
        self.port = 0
        self.token = secrets.token_hex(16)
        self._spares: dict[str, deque[Streams]] = defaultdict(deque)
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepted: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tunnel", daemon=True)
        self._thread.start()
        self._servers = self._run(self._listen())

    def close(self) -> None:
        """End every connection and the thread."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _listen(self) -> list[asyncio.Server]:
        api = await asyncio.start_unix_server(self._handler(self._serve_api), self.socket)
        agents = await asyncio.start_server(self._handler(self._serve_agent), _LOOPBACK, 0)
        self.port = agents.sockets[0].getsockname()[1]
        return [api, agents]

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Last: until its task has ended, a connection may still have become a spare.
        for writer in self._accepted:
            await hang_up(writer)

    def _handler(
        self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        """Keep a connection and its task from the first, so that closing ends both."""

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await serve(reader, writer)
            except (OSError, asyncio.IncompleteReadError, ValueError, KeyError):
                await hang_up(writer)

        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._accepted = {one for one in self._accepted if not one.is_closing()} | {writer}
            task = asyncio.get_running_loop().create_task(handle(reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return accepted

    async def _serve_agent(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        hello = json.loads(await reader.readline())
        if not hmac.compare_digest(str(hello["token"]), self.token):
            await hang_up(writer)
            return
        async with self._arrived:
            self._spares[str(hello["node"])].append((reader, writer))
            self._arrived.notify_all()

    async def _serve_api(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, _ = request.split("\r\n", 1)[0].split(" ")
        if method != "CONNECT":
            await _refuse(writer, "405 Method Not Allowed")
            return
        try:
            streams = await self._connect(target)
        except ConnectionError as error:
            await _refuse(writer, f"502 {error}")
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await splice((reader, writer), streams)

    async def _connect(self, target: str) -> Streams:
        """Let an agent connect to ``host:port``; its own node's name it knows as itself."""
        host = target.rpartition(":")[0]
        while True:
            streams = await self._take(host)
            answer = await _ask(streams, target)
            if answer == _OK:
                return streams
            await hang_up(streams[1])
            # A spare whose guest is gone answers nothing; the next one may be alive.
            if answer:
                raise ConnectionError(f"{target}: {answer}")

    async def _take(self, host: str) -> Streams:
        """A spare of the node named, or of any node for the address of a pod."""

        def usable() -> list[deque[Streams]]:
            asked = [self._spares[host]] if host in self._spares else self._spares.values()
            return [spares for spares in asked if spares]

        async with self._arrived:
            try:
                await asyncio.wait_for(self._arrived.wait_for(usable), self._patience)
            except TimeoutError:
                raise ConnectionError(f"no agent reaches {host}") from None
            return usable()[0].popleft()


async def _ask(streams: Streams, target: str) -> str:
    """What the agent answers to the wish for a connection; empty when it is gone."""
    reader, writer = streams
    try:
        writer.write(f"{target}\n".encode())
        answer = await asyncio.wait_for(reader.readline(), _ANSWER_TIMEOUT)
    except (OSError, TimeoutError):
        return ""
    except asyncio.CancelledError:
        writer.close()
        raise
    return answer.decode(errors="replace").strip()


async def _refuse(writer: asyncio.StreamWriter, status: str) -> None:
    writer.write(f"HTTP/1.1 {status}\r\n\r\n".encode())
    await hang_up(writer)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Close a connection and let its transport end."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def splice(one: Streams, other: Streams) -> None:
    """Carry bytes both ways until both sides are done."""
    try:
        await asyncio.gather(_carry(one[0], other[1]), _carry(other[0], one[1]))
    finally:
        # Both before the first wait: a cancellation ends the wait, and tasks not yet begun with it.
        one[1].close()
        other[1].close()
        await asyncio.gather(hang_up(one[1]), hang_up(other[1]))


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
