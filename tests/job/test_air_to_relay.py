"""The first half of the main job without Kubernetes: a pad on the air becomes nodes of the relay."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.bluez import Host
from lab.controllers import DualSense
from lab.daemon import Daemon
from lab.radio import FIRST_RADIO
from uinputrelay import Observed, PeripheralWish, Wish
from uinputrelay.client import Client

from job.stage import RELAY_SOCKET, relay_command
from job.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(400)]


async def test_a_pad_just_paired_is_found_mirrored_and_reported_with_its_snapshots(
    host: Host, dualsense: DualSense, logs: Path
) -> None:
    relay = Daemon("relay", relay_command(), logs)
    RELAY_SOCKET.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    relay.launch()
    relay.wait_until(RELAY_SOCKET.is_socket, "socket of the relay", 120)
    address = dualsense.address.upper()
    adapter = FIRST_RADIO
    async with Client(str(RELAY_SOCKET)) as client:
        client.wish(Wish((PeripheralWish(address, adapter),)))
        await dualsense.advertise()
        await host.find(address)
        await host.pair(address)
        await dualsense.wait_usable()

        async def look() -> Observed | None:
            return client.latest

        def whole(observed: Observed | None) -> bool:
            if observed is None or not observed.peripherals:
                return False
            nodes = observed.peripherals[0].nodes
            return len(nodes) == 3 and all(node.path and node.connected for node in nodes)

        observed = await until("three mirrors of the pad", look, whole, logs=logs, seconds=60)
    assert observed is not None
    names = [node.snapshot.name for node in observed.peripherals[0].nodes]
    assert len({node.minor for node in observed.peripherals[0].nodes}) == 3
    assert sum(name.endswith("Touchpad") for name in names) == 1
    relay.stop()
