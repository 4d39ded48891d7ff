"""Waiting for what another thread or process does; everything else waits on events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


async def until(condition: Callable[[], Any], seconds: float = 30.0) -> None:
    """Return when the condition holds; TimeoutError when it does not within the seconds."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - nothing on our side can announce it
            await asyncio.sleep(0.01)
