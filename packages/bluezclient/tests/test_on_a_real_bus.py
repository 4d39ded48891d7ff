"""The same client and fake on a real dbus-daemon: what the in-process bus cannot prove."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from bluezclient import Address, Availability, Client, Reason
from bluezclient.testing import FakeBluez, Peer, private_bus

from .conftest import ADAPTER, PAD


async def test_a_pairing_from_window_to_unpairing(private_bus_address: str) -> None:
    quick = Peer(PAD, heard_after=0.05, link_after=0.01, bond_after=0.01, services_after=0.05)
    async with FakeBluez.on_bus(private_bus_address) as fake:
        fake.peers.append(quick)
        fake.add_adapter(ADAPTER)
        async with Client.open(private_bus_address) as client:
            await client.until(lambda state: bool(state.adapters), 5)
            async with client.pairing_window(ADAPTER) as window:
                device = await window.pair(PAD, deadline=10)
                assert [seen.kind for seen in window.seen] == ["gamepad"]
            assert (device.bonded, device.trusted) == (True, True)
            await client.until(lambda state: not state.require_adapter(ADAPTER).pairable, 5)
            fake.disconnect_device(device.path, "Timeout")
            state = await client.until(lambda s: not s.devices[device.path].connected, 5)
            assert state.links[device.key].reason is Reason.ASLEEP
            await client.unpair(ADAPTER, PAD)
            assert client.state.links[device.key].reason is Reason.BOND_REMOVED


async def test_bluetoothd_leaving_and_returning(private_bus_address: str) -> None:
    async with Client.open(private_bus_address) as client:
        assert client.state.availability is Availability.NO_OWNER
        for index in (0, 1):
            async with FakeBluez.on_bus(private_bus_address) as fake:
                path = fake.add_adapter(ADAPTER, index)
                await client.until(lambda s, path=path: path in s.adapters, 5, through_loss=True)  # type: ignore[misc]
            await client.until(lambda state: not state.available, 5, through_loss=True)
            assert client.state.availability is Availability.NO_OWNER


async def test_the_death_of_the_bus_itself() -> None:
    with private_bus() as address:
        client_context = Client.open(address)
        client = await client_context.__aenter__()
        async with FakeBluez.on_bus(address) as fake:
            fake.add_adapter(ADAPTER)
            await client.until(lambda state: bool(state.adapters), 5, through_loss=True)
    state = await client.until(
        lambda state: state.availability is Availability.BUS_LOST, 5, through_loss=True
    )
    assert not state.adapters
    await client_context.__aexit__(None, None, None)


@pytest.mark.parametrize("address", ["unix:path=/nonexistent/bus", "nonsense:", ""])
async def test_an_address_with_no_bus_behind_it_is_a_state(
    address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    async with Client.open(address or None) as client:
        assert client.state.availability is Availability.BUS_LOST
        assert client.state.detail


async def test_two_clients_and_their_windows_do_not_share_a_session(
    private_bus_address: str,
) -> None:
    second = Address("04:4A:69:66:92:28")
    async with FakeBluez.on_bus(private_bus_address) as fake:
        fake.add_adapter(ADAPTER)
        fake.add_adapter(second, 1)
        async with (
            Client.open(private_bus_address) as one,
            Client.open(private_bus_address) as two,
        ):
            await asyncio.gather(*(c.until(lambda s: len(s.adapters) == 2, 5) for c in (one, two)))
            async with one.pairing_window(ADAPTER):
                async with two.pairing_window(ADAPTER):
                    pass
                state = await one.until(lambda s: s.require_adapter(ADAPTER).discovering, 5)
                assert state.require_adapter(ADAPTER).pairable
            await one.until(lambda s: not s.require_adapter(ADAPTER).discovering, 5)
