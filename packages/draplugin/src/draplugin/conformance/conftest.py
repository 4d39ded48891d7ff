"""Fixtures of the conformance suite: the driver asked for, on a bench of its own for each test."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ..testing.fixtures import api_server, kubelet_root
from .bench import Bench, Make, bench, load

__all__ = ["api_server", "kubeconfig", "kubelet_root", "make", "on_bench"]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Stay out of runs that did not ask for the suite but found it by walking a source tree."""
    asked = hasattr(config.option, "driver")
    return None if asked or collection_path.parent != Path(__file__).parent else True


@pytest.fixture(scope="session")
def make(pytestconfig: pytest.Config) -> Make:
    """The driver's factory."""
    name = pytestconfig.getoption("--driver", default=None)
    if not name:
        pytest.fail("say which driver: --driver module:make")
    if str(pytestconfig.invocation_params.dir) not in sys.path:
        sys.path.insert(0, str(pytestconfig.invocation_params.dir))
    return load(name)


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """An administrator's kubeconfig of a real API server."""
    given = request.config.getoption("--driver-kubeconfig", default=None)
    if given:
        return Path(given)
    started: Path = request.getfixturevalue("api_server").kubeconfig
    return started


@pytest.fixture
async def on_bench(make: Make, kubeconfig: Path, kubelet_root: Path) -> AsyncIterator[Bench]:
    """The driver's surroundings; the test starts the driver."""
    async with bench(kubeconfig, kubelet_root, make) as ready:
        yield ready
