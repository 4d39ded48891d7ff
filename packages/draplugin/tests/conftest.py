"""Claims, a scripted API server and a driver to play with."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from draplugin import Api, ClaimRef, Plugin, cdi
from draplugin.claimservice import ClaimService
from draplugin.testing import FakeKubelet
from draplugin.wire import PrepareAnswer

from .builders import DRIVER
from .driver import Fortune, make
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


@pytest.fixture
def store(tmp_path: Path) -> cdi.Store:
    """CDI files in a directory of the test's own."""
    return cdi.Store(tmp_path / "cdi", f"{DRIVER}/cookie")


@pytest.fixture
def arrivals(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The UIDs of each prepare call that reached a plugin, as they come."""
    seen: list[str] = []
    original = ClaimService.prepare_claims

    async def noted(self: ClaimService, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        seen.extend(ref.uid for ref in refs)
        return await original(self, refs)

    monkeypatch.setattr(ClaimService, "prepare_claims", noted)
    return seen


@pytest.fixture
def driver() -> Fortune:
    """The driver under the plugin."""
    return Fortune()


@pytest.fixture
def api_client(server: ScriptedServer) -> Api:
    """A client of the scripted server."""
    return server.api()


@pytest.fixture
async def plugin(
    driver: Fortune, store: cdi.Store, api_client: Api, kubelet: FakeKubelet
) -> AsyncIterator[Plugin]:
    """The plugin, registered."""
    async with make(driver, store, api_client, kubelet) as running:
        await kubelet.registered(DRIVER)
        yield running
