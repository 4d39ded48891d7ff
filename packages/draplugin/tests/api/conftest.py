"""The real API server, a Node of our own and a driver name nobody else uses."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from draplugin.kube import NODES, RESOURCESLICES, Api

_numbers = itertools.count(1)


@pytest.fixture
async def client(api: Path) -> AsyncIterator[Api]:
    """An administrator's client."""
    async with await Api.connect(api, manager="draplugin-test") as connected:
        yield connected


@pytest.fixture
def driver() -> str:
    """A driver name of this test's own."""
    return f"test-{next(_numbers)}.example.com"


@pytest.fixture
async def node(client: Api, driver: str) -> AsyncIterator[str]:
    """A Node object, gone afterwards with its slices."""
    name = f"node-{driver.partition('.')[0]}"
    await client.create(NODES, {"metadata": {"name": name}})
    yield name
    for item in await client.list(RESOURCESLICES, field_selector=f"spec.nodeName={name}"):
        await client.delete(RESOURCESLICES, item["metadata"]["name"])
    await client.delete(NODES, name)
