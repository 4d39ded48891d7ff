"""Fixtures of the tests that need a real kernel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from uinputrelay import Snapshot

from .devices import ADDRESS, Bench, Plug, Read, Reader, Source, by_phys


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """An engine; its real nodes are those by phys, or by the module's `BELONGS`."""
    made = Bench(getattr(request.module, "BELONGS", by_phys))
    yield made
    made.close()


@pytest.fixture
def plug() -> Iterator[Plug]:
    """Make sources that are unplugged at the end."""
    made: list[Source] = []

    def make(shot: Snapshot, address: str = ADDRESS) -> Source:
        made.append(Source(shot, address))
        return made[-1]

    yield make
    for source in made:
        source.unplug()


@pytest.fixture
def read() -> Iterator[Read]:
    """Open readers that are closed at the end."""
    made: list[Reader] = []

    def make(path: str) -> Reader:
        made.append(Reader(path))
        return made[-1]

    yield make
    for reader in made:
        reader.close()
