"""Loads the two plugins that put tests on real parts: the lab's VM and the real control plane."""

from __future__ import annotations

import asyncio

pytest_plugins: list[str] = ["lab.plugin", "cluster.plugin"]


def pytest_configure() -> None:
    """Keep looptime from making an event loop for a plain test, which nobody would close."""
    asyncio.set_event_loop(None)
