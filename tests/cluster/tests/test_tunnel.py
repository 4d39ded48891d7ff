"""The way into a guest: what an API server asks the proxy for arrives at the node."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from cluster.agent import Gateway, run
from cluster.tunnel import Tunnel, hang_up


@pytest.fixture
def tunnel(tmp_path: Path) -> Iterator[Tunnel]:
    started = Tunnel(tmp_path / "egress.sock")
    yield started
    started.close()


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Tunnel]:
    started = Tunnel(tmp_path / "egress.sock", patience=0.0)
    yield started
    started.close()


@asynccontextmanager
async def agent(tunnel: Tunnel, token: str | None = None) -> AsyncIterator[None]:
    gateway = Gateway("127.0.0.1", tunnel.port, token or tunnel.token, "lab")
    task = asyncio.create_task(run(gateway))
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def kubelet() -> AsyncIterator[int]:
    """Answers each line with itself in upper case; its port."""
    served: list[asyncio.Task[None]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(line.upper())
        finally:
            await hang_up(writer)

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(asyncio.create_task(answer(reader, writer)))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
    # Its callers have hung up, or the test has failed: nothing is left to the collector.
    await asyncio.gather(*served)


@asynccontextmanager
async def connect(
    tunnel: Tunnel, target: str
) -> AsyncIterator[tuple[str, asyncio.StreamReader, asyncio.StreamWriter]]:
    """What kube-apiserver does: CONNECT, then read the status line."""
    reader, writer = await asyncio.open_unix_connection(tunnel.socket)
    writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    yield head.decode().split("\r\n")[0], reader, writer
    await hang_up(writer)


CONNECTED = "HTTP/1.1 200 Connection established"


async def test_a_node_is_reached_by_its_name(tunnel: Tunnel) -> None:
    async with kubelet() as port, agent(tunnel), connect(tunnel, f"lab:{port}") as stream:
        status, reader, writer = stream
        assert status == CONNECTED
        writer.write(b"one\ntwo\n")
        writer.write_eof()
        assert await reader.read() == b"ONE\nTWO\n"


async def test_more_connections_than_spares_are_served_at_once(tunnel: Tunnel) -> None:
    async with kubelet() as port, agent(tunnel), AsyncExitStack() as stack:
        for _ in range(9):
            status, _, _ = await stack.enter_async_context(connect(tunnel, f"lab:{port}"))
            assert status == CONNECTED


async def test_a_port_nobody_listens_on_is_told_to_the_api_server(tunnel: Tunnel) -> None:
    async with agent(tunnel), connect(tunnel, "lab:1") as (status, _, _):
        assert status.startswith("HTTP/1.1 502 lab:1: ")


async def test_without_an_agent_the_api_server_is_told_so(impatient: Tunnel) -> None:
    async with connect(impatient, "lab:10250") as (status, _, _):
        assert status == "HTTP/1.1 502 no agent reaches lab"


async def test_spares_of_a_dead_guest_are_passed_over(tunnel: Tunnel) -> None:
    async with kubelet() as port:
        async with agent(tunnel), connect(tunnel, f"lab:{port}") as (status, _, _):
            assert status == CONNECTED
        async with agent(tunnel), connect(tunnel, f"lab:{port}") as (status, _, _):
            assert status == CONNECTED


async def test_an_agent_that_starts_late_is_waited_for(tunnel: Tunnel) -> None:
    async def ask(port: int) -> str:
        async with connect(tunnel, f"lab:{port}") as (status, _, _):
            return status

    async with kubelet() as port:
        asked = asyncio.create_task(ask(port))
        async with agent(tunnel):
            assert await asked == CONNECTED


async def test_an_agent_without_the_token_is_hung_up_on(tunnel: Tunnel) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", tunnel.port)
    writer.write(json.dumps({"token": "guess", "node": "lab"}).encode() + b"\n")
    assert await reader.read() == b""
    await hang_up(writer)


async def test_only_connections_are_proxied(tunnel: Tunnel) -> None:
    reader, writer = await asyncio.open_unix_connection(tunnel.socket)
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    assert await reader.read() == b"HTTP/1.1 405 Method Not Allowed\r\n\r\n"
    await hang_up(writer)
