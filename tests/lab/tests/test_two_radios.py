"""Several controllers on one air: each has a radio of the kernel's to itself.

A second link of one radio has handle 43 at one end and 42 at the other, and btvirt tells either end
the other's (bluez 5.87, emulator/btdev.c, conn_new counts on from what is taken): it is never
encrypted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import inputs
from lab.bluez import Host
from lab.controllers import DualSense, Remote, nursery
from lab.radio import Air

pytestmark = pytest.mark.lab


@pytest.fixture
def air(logs: Path) -> Iterator[Air]:
    nursery.prepare()
    with Air(logs, radios=2) as made:
        yield made


async def test_two_controllers_share_the_air(
    host: Host, dualsense: DualSense, remote: Remote
) -> None:
    await dualsense.advertise()
    await host.pair(dualsense.address)
    await asyncio.to_thread(inputs.wait_for, dualsense.address, 3)
    await remote.advertise()
    async with Host("hci1") as second:
        await second.pair(remote.address)
    await asyncio.to_thread(inputs.wait_for, remote.address, 1)
    assert (await host.device(dualsense.address))["Connected"]
