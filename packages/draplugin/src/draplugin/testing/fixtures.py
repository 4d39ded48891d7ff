"""pytest fixtures for a driver's tests: `pytest_plugins = ["draplugin.testing.fixtures"]`."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from .apiserver import LocalApiServer, Unusable, find_assets
from .kubelet import FakeKubelet


@pytest.fixture(scope="session")
def api_server() -> Iterator[LocalApiServer]:
    """A real kube-apiserver; the test is skipped, with the reason, where there is none."""
    try:
        assets = find_assets()
    except Unusable as reason:
        pytest.skip(str(reason))
    with LocalApiServer(assets) as server:
        yield server


@pytest.fixture
def kubelet_root() -> Iterator[Path]:
    """A directory with a path short enough for socket names, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="k") as directory:
        yield Path(directory)


@pytest.fixture
async def fake_kubelet(kubelet_root: Path) -> AsyncIterator[FakeKubelet]:
    """A running kubelet."""
    async with FakeKubelet(kubelet_root) as running:
        yield running
