"""Waiting for a state of the world, and saying what was expected and seen when it does not come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")

POLL = 0.3


class Unmet(AssertionError):  # noqa: N818 - it reads as a sentence
    """Something that had to come did not: what was expected, what was seen, where the logs are."""

    def __init__(self, expected: str, seen: object, logs: Path) -> None:
        super().__init__(f"expected: {expected}\nseen:     {seen}\nlogs:     {logs}")
        self.expected = expected
        self.seen = seen


async def until(
    expected: str,
    look: Callable[[], Awaitable[Value]],
    good: Callable[[Value], object],
    *,
    logs: Path,
    seconds: float = 120.0,
) -> Value:
    """The first value of `look` that is `good`. Raises `Unmet` with the last one after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = await look()
        if good(value):
            return value
        if time.monotonic() > end:
            raise Unmet(f"{expected} within {seconds:.0f} s", value, logs)
        await asyncio.sleep(POLL)
