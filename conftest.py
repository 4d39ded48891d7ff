"""Loads the two plugins that put tests on real parts: the lab's VM and the real control plane."""

from __future__ import annotations

import asyncio

import hypothesis

# A machine that is busy is not a test that failed; what matters is which case fails.
hypothesis.settings.register_profile("house", deadline=None, print_blob=True)
hypothesis.settings.load_profile("house")

pytest_plugins: list[str] = ["lab.plugin", "cluster.plugin"]


def pytest_configure() -> None:
    """Keep looptime from making an event loop for a plain test, which nobody would close."""
    asyncio.set_event_loop(None)
