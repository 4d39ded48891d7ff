"""Claims, a scripted API server and a driver to play with."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from draplugin.testing import FakeKubelet

from .scripted import ScriptedServer


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """An HTTP server that answers exactly what the test scripts."""
    async with ScriptedServer() as running:
        yield running


@pytest.fixture
def kubelet_root() -> Iterator[Path]:
    """A directory with a path short enough for socket names, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="k") as directory:
        yield Path(directory)


@pytest.fixture
async def kubelet(kubelet_root: Path) -> AsyncIterator[FakeKubelet]:
    """A running kubelet."""
    async with FakeKubelet(kubelet_root) as running:
        yield running
