"""The socket in front of the engine: what it takes, what it refuses, and what a client's end costs."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from uinputrelay import (
    Client,
    Observed,
    PeripheralState,
    PeripheralWish,
    SupersededError,
    Wish,
    wire,
)
from uinputrelay.daemon import AlreadyServedError, Daemon, listen

FIRST = Wish((PeripheralWish("A0:AB:51:33:B7:12"),))
SECOND = Wish((PeripheralWish("A0:AB:51:33:B7:13"),))


class FakeEngine:
    """Answers every wish with a state that repeats it; keeps the wishes it was given."""

    def __init__(self) -> None:
        self.wishes: list[Wish] = []
        self.fresh: list[bool] = []
        self.closed = False
        self._tell: Callable[[Observed], None] = lambda _: None
        self._stopped = threading.Event()

    def watch(self, on_change: Callable[[Observed], None]) -> None:
        self._tell = on_change

    def run(self) -> None:
        self._tell(_answer(Wish()))
        self._stopped.wait()

    def submit(self, wish: Wish, *, fresh: bool) -> None:
        self.wishes.append(wish)
        self.fresh.append(fresh)
        self._tell(_answer(wish))

    def refresh(self) -> None:
        """No counters here."""

    def stop(self) -> None:
        self._stopped.set()

    def close(self) -> None:
        self.closed = True


def _answer(wish: Wish) -> Observed:
    states = tuple(PeripheralState(each.address) for each in wish.peripherals)
    return Observed(states, instance="fake", wish=wish.digest)


@asynccontextmanager
async def _served(path: Path, engine: FakeEngine | None = None) -> AsyncIterator[FakeEngine]:
    engine = engine or FakeEngine()
    ready = asyncio.Event()
    daemon = Daemon(engine, str(path))  # type: ignore[arg-type]
    task = asyncio.create_task(daemon.serve(ready))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if task.done():
        task.result()
    try:
        yield engine
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
def path() -> Iterator[Path]:
    """A socket's path has 107 bytes at most (unix(7)); pytest's own folders may be longer."""
    with tempfile.TemporaryDirectory(prefix="relay-", dir="/tmp") as folder:
        yield Path(folder, "relay.sock")


class Peer:
    """A raw connection, for what a client would never say."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, path: Path) -> Peer:
        return cls(*await asyncio.open_unix_connection(str(path), limit=wire.LIMIT))

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        with suppress(ConnectionError):
            await self.writer.drain()

    async def hear(self) -> dict[str, Any]:
        form = json.loads(await self.reader.readline())
        assert form.pop("version") == 1
        return dict(form)

    async def hear_error(self) -> str:
        while "error" not in (form := await self.hear()):
            pass
        return str(form["error"]["name"])

    async def hear_wish(self, digest: str) -> None:
        while (await self.hear())["observed"]["wish"] != digest:
            pass

    def close(self) -> None:
        self.writer.close()


async def test_the_socket_is_for_its_owner_alone_and_goes_with_the_daemon(path: Path) -> None:
    async with _served(path) as engine:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600  # noqa: PTH116
        assert not engine.closed
    assert engine.closed
    assert path.name not in os.listdir(path.parent)  # noqa: PTH208


async def test_a_client_is_answered_with_the_state_of_its_wish(path: Path) -> None:
    async with _served(path) as engine, Client(str(path)) as client:
        client.wish(FIRST)
        async for observed in client:
            if observed is not None and observed.wish == FIRST.digest:
                break
        assert observed is not None
        assert observed.peripherals == (PeripheralState("A0:AB:51:33:B7:12"),)
        assert engine.wishes == [FIRST]


REFUSED: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"hello\n", wire.NOT_JSON),
    "broken UTF-8": (b'{"version": 1, "wish": "\xff"}\n', wire.NOT_JSON),
    "nothing": (b"\n", wire.NOT_JSON),
    "endless nesting": (b"[" * 100_000 + b"\n", wire.NOT_JSON),
    "an endless number": (b'{"version": 1' + b"0" * 10_000 + b"}\n", wire.NOT_JSON),
    "a list": (b"[]\n", wire.INVALID),
    "no version": (b'{"wish": {}}\n', wire.UNKNOWN_VERSION),
    "version 2": (b'{"version": 2, "wish": {}}\n', wire.UNKNOWN_VERSION),
    "version true": (b'{"version": true, "wish": {}}\n', wire.UNKNOWN_VERSION),
    "no wish": (b'{"version": 1}\n', wire.INVALID),
    "a wish that is a number": (b'{"version": 1, "wish": 7}\n', wire.INVALID),
    "a bad address": (b'{"version":1,"wish":{"peripherals":[{"address":"x"}]}}\n', wire.INVALID),
}


@pytest.mark.parametrize(("line", "name"), REFUSED.values(), ids=REFUSED)
async def test_refused_and_the_connection_lives_on(path: Path, line: bytes, name: str) -> None:
    async with _served(path) as engine:
        peer = await Peer.connect(path)
        await peer.say(line)
        assert await peer.hear_error() == name
        await peer.say(wire.wish_line(FIRST))
        await peer.hear_wish(FIRST.digest)
        assert engine.wishes == [FIRST]
        peer.close()


async def test_an_oversized_line_is_refused_and_the_connection_ends(path: Path) -> None:
    async with _served(path) as engine:
        peer = await Peer.connect(path)
        talking = asyncio.create_task(peer.say(b"x" * (wire.LIMIT + 70_000)))
        assert await peer.hear_error() == wire.TOO_LARGE
        assert await peer.reader.read() == b""
        await talking
        other = await Peer.connect(path)
        await other.say(wire.wish_line(FIRST))
        await other.hear_wish(FIRST.digest)
        assert engine.wishes == [FIRST]
        peer.close()
        other.close()


async def test_half_a_line_and_a_sudden_end_change_nothing(path: Path) -> None:
    async with _served(path) as engine:
        peer = await Peer.connect(path)
        await peer.say(wire.wish_line(FIRST)[:-5])
        peer.close()
        other = await Peer.connect(path)
        await other.hear()
        assert engine.wishes == []
        other.close()


async def test_the_newest_client_wins_and_the_older_is_told(path: Path) -> None:
    async with _served(path) as engine:
        async with Client(str(path)) as old, Client(str(path)) as new:
            old.wish(FIRST)
            async for observed in old:
                if observed is not None and observed.wish == FIRST.digest:
                    break
            new.wish(SECOND)
            with pytest.raises(SupersededError):
                async for _ in old:
                    pass
            async for observed in new:
                if observed is not None and observed.wish == SECOND.digest:
                    break
        assert engine.wishes == [FIRST, SECOND]


async def test_only_the_first_wish_of_a_connection_is_fresh(path: Path) -> None:
    async with _served(path) as engine:
        for _ in range(2):
            peer = await Peer.connect(path)
            for wish in (FIRST, SECOND):
                await peer.say(wire.wish_line(wish))
                await peer.hear_wish(wish.digest)
            peer.close()
        assert engine.fresh == [True, False, True, False]


async def test_who_only_listens_takes_nothing_over(path: Path) -> None:
    async with _served(path):
        client, onlooker = await Peer.connect(path), await Peer.connect(path)
        await client.say(wire.wish_line(FIRST))
        await client.hear_wish(FIRST.digest)
        await onlooker.hear_wish(FIRST.digest)
        await client.say(wire.wish_line(SECOND))
        await client.hear_wish(SECOND.digest)
        client.close()
        onlooker.close()


async def test_a_client_outlives_the_daemon_and_says_its_wish_again(path: Path) -> None:
    async with Client(str(path)) as client:
        states = aiter(client)
        assert await anext(states) is None
        client.wish(FIRST)
        for _ in range(2):
            async with _served(path) as engine:
                while (observed := await anext(states)) is None or observed.wish != FIRST.digest:
                    pass
                assert engine.wishes == [FIRST]
            while await anext(states) is not None:
                pass


async def test_the_client_keeps_what_was_refused(path: Path) -> None:
    async with _served(path), Client(str(path)) as client:
        bad = Wish((PeripheralWish("not an address"),))
        client.wish(bad)
        async for _ in client:
            if client.refusal is not None:
                break
        assert client.refusal is not None
        assert client.refusal.name == wire.INVALID


async def test_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uinputrelay.daemon.peer_uid", lambda _: os.geteuid() + 1)
    async with _served(path) as engine:
        peer = await Peer.connect(path)
        await peer.say(wire.wish_line(FIRST))
        assert await peer.hear_error() == wire.NOT_PERMITTED
        assert engine.wishes == []
        peer.close()


async def test_a_second_daemon_does_not_take_the_socket(path: Path) -> None:
    async with _served(path):
        with pytest.raises(AlreadyServedError, match=r"relay\.sock"):
            async with _served(path):
                pass
        peer = await Peer.connect(path)
        await peer.hear()
        peer.close()


def test_the_socket_a_killed_daemon_left_behind_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    listen(path, os.geteuid()).close()


def test_a_file_that_is_no_socket_is_left_alone(path: Path) -> None:
    path.write_text("precious")
    with pytest.raises(OSError, match="in use"):
        listen(path, os.geteuid())
    assert path.read_text() == "precious"


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.binary(max_size=200), max_size=8))
def test_whatever_is_said_the_next_client_is_served(path: Path, said: list[bytes]) -> None:
    async def talk() -> None:
        async with _served(path) as engine:
            peer = await Peer.connect(path)
            for piece in said:
                await peer.say(piece)
            peer.close()
            other = await Peer.connect(path)
            await other.say(wire.wish_line(FIRST))
            await other.hear_wish(FIRST.digest)
            assert engine.wishes == [FIRST]
            other.close()

    asyncio.run(talk())
