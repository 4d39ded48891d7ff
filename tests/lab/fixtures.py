"""Fixtures of tests in the guest: the air, bluetoothd and the emulated controllers."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from lab.bluez import Host
from lab.controllers import DualSense, Remote, nursery
from lab.radio import Air, Bluetoothd, Bus
from lab.vm import RESULTS


@pytest.fixture
def logs(request: pytest.FixtureRequest) -> Path:
    """A folder of the test's own that is kept on the host."""
    name = re.sub(r"[^A-Za-z0-9_.\[\]-]+", "-", request.node.nodeid.replace("/", "."))
    folder = Path(os.environ.get("LAB_RESULTS", RESULTS), "tests", name[:200])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def system_bus() -> Iterator[Bus]:
    """The guest's system bus."""
    folder = Path(os.environ.get("LAB_RESULTS", RESULTS))
    with Bus(folder) as bus:
        yield bus


@pytest.fixture
def air(logs: Path) -> Iterator[Air]:
    """An air of the test's own, with one radio for the kernel."""
    nursery.prepare()  # loads while the daemons start
    with Air(logs) as made:
        yield made


@pytest.fixture
def bluetoothd(logs: Path, system_bus: Bus, air: Air) -> Iterator[Bluetoothd]:
    """The real bluetoothd without a bond, its adapter on the bus."""
    daemon = Bluetoothd(logs)
    daemon.forget()
    with daemon:
        yield daemon


@pytest.fixture
async def host(bluetoothd: Bluetoothd) -> AsyncIterator[Host]:
    """bluetoothd as a client sees it, powered on, with an agent that agrees to everything."""
    async with Host() as client:
        yield client


@pytest.fixture
async def dualsense(logs: Path, air: Air) -> AsyncIterator[DualSense]:
    """A DualSense on the air, silent."""
    async with DualSense(logs) as pad:
        yield pad


@pytest.fixture
async def remote(logs: Path, air: Air) -> AsyncIterator[Remote]:
    """An LE remote on the air, silent."""
    async with Remote(logs) as made:
        yield made
