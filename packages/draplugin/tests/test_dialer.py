"""A call whose end and cancellation fall together is cancelled, whichever grpcio noticed first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from draplugin.testing.dialer import Dialer
from draplugin.wire import HEALTH_SERVICES

GONE = grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata())


class Channel:
    """Calls that end when they are cancelled, and say so as grpcio does: with their own error."""

    def __init__(self) -> None:
        self.waiting = asyncio.Event()

    def unary_unary(self, *_: object, **__: object) -> Callable[..., Any]:
        return lambda *_, **__: self._end()

    def unary_stream(self, *_: object, **__: object) -> Callable[..., Any]:
        return lambda *_, **__: self._stream()

    async def _end(self) -> None:
        self.waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise GONE from None

    async def _stream(self) -> AsyncIterator[None]:
        await self._end()
        yield None


async def once(dialer: Dialer) -> None:
    await dialer.get_info()


async def watched(dialer: Dialer) -> None:
    async for _ in dialer.watch_health(HEALTH_SERVICES[-1]):
        pass


@pytest.fixture
async def dialer(tmp_path: Path) -> AsyncIterator[Dialer]:
    async with Dialer(tmp_path / "nobody.sock") as made:
        real, made._channel = made._channel, Channel()
        yield made
        made._channel = real


@pytest.mark.parametrize("calling", [once, watched])
async def test_a_cancellation_at_the_end_of_a_call_is_one(
    dialer: Dialer, calling: Callable[[Dialer], Any]
) -> None:
    task = asyncio.ensure_future(calling(dialer))
    await dialer._channel.waiting.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()


@pytest.mark.parametrize("calling", [once, watched])
async def test_a_call_that_fails_by_itself_says_why_also_to_one_cancelled_before(
    tmp_path: Path, calling: Callable[[Dialer], Any]
) -> None:
    async def clean_up_with_a_call() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            async with Dialer(tmp_path / "nobody.sock") as real:
                await calling(real)

    task = asyncio.ensure_future(clean_up_with_a_call())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert isinstance(task.exception(), grpc.aio.AioRpcError)
