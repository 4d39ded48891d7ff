"""Pairing windows on the fake bluetoothd: order on the wire, and every way to fail."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bluezclient import (
    Client,
)
from bluezclient.testing import FakeBluez, Peer

from .conftest import ADAPTER, PAD

pytestmark = pytest.mark.looptime

PEER = Peer(PAD)


def wire(fake: FakeBluez) -> list[str]:
    """The calls that change something, in order."""
    quiet = {"GetManagedObjects", "Get", "SetDiscoveryFilter"}
    return [str(call) for call in fake.calls if call.member not in quiet]


async def test_the_order_on_the_wire_is_agent_pairable_scan_stop_pair_trusted(
    client: Client, fake_bluez: FakeBluez
) -> None:
    fake_bluez.peers.append(replace(PEER))
    async with client.pairing_window(ADAPTER) as window:
        device = await window.pair(PAD)
    assert (device.address, device.bonded, device.trusted) == (PAD, True, True)
    path = device.path.rpartition("/")[2]
    assert wire(fake_bluez) == [
        "bluez.RegisterAgent(/liken/bluezclient/agent, NoInputNoOutput)",
        "bluez.RequestDefaultAgent(/liken/bluezclient/agent)",
        "hci0.Set(org.bluez.Adapter1, Pairable, True)",
        "hci0.StartDiscovery()",
        "hci0.StopDiscovery()",
        f"{path}.Pair()",
        f"{path}.Set(org.bluez.Device1, Trusted, True)",
        "hci0.StopDiscovery()",
        "hci0.Set(org.bluez.Adapter1, Pairable, False)",
        "bluez.UnregisterAgent(/liken/bluezclient/agent)",
    ]
