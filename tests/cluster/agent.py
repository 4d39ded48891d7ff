"""The guest's side of the tunnel: calls the host and connects where the API server wants to go.

``python -m cluster.agent FILE``, with what `cluster.controlplane` wrote in ``tunnel.json``.
Keeps a few spare connections, so that a request never waits for one; each is used once.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cluster.tunnel import Streams, hang_up, splice

_SPARES = 4
_PAUSE = 1.0


@dataclass(frozen=True)
class Gateway:
    """Where the host listens and as whom to call."""

    host: str
    port: int
    token: str
    node: str


async def run(gateway: Gateway) -> None:
    """Serve until cancelled; a host that is away is called again every second."""
    idle = asyncio.Semaphore(_SPARES)
    async with asyncio.TaskGroup() as group:
        while True:
            await idle.acquire()
            group.create_task(_spare(gateway, idle))


async def _spare(gateway: Gateway, idle: asyncio.Semaphore) -> None:
    try:
        host, target = await _wait_for_target(gateway)
    except OSError:
        await asyncio.sleep(_PAUSE)
        return
    finally:
        idle.release()
    with suppress(ConnectionError):
        await _serve(host, target, gateway.node)


async def _wait_for_target(gateway: Gateway) -> tuple[Streams, str]:
    reader, writer = await asyncio.open_connection(gateway.host, gateway.port)
    async with _closed_unless_handed_on(writer):
        hello = {"token": gateway.token, "node": gateway.node}
        writer.write(json.dumps(hello).encode() + b"\n")
        line = await reader.readline()
        if not line:
            raise ConnectionError("the host hung up")
        return (reader, writer), line.decode().strip()


async def _serve(host: Streams, target: str, node: str) -> None:
    name, _, port = target.rpartition(":")
    async with _closed_unless_handed_on(host[1]):
        try:
            address = "127.0.0.1" if name == node else name
            there = await asyncio.open_connection(address, int(port))
        except (OSError, ValueError) as error:
            host[1].write(f"{error}\n".encode())
            raise ConnectionError(str(error)) from error
    host[1].write(b"ok\n")
    await splice(host, there)


@asynccontextmanager
async def _closed_unless_handed_on(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    """Close a connection when its step fails or is cancelled: nobody else knows of it."""
    try:
        yield
    except BaseException:
        await hang_up(writer)
        raise


if __name__ == "__main__":
    asyncio.run(run(Gateway(**json.loads(Path(sys.argv[1]).read_text()))))
