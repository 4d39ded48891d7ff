"""Bonds saved, wiped and restored before the real bluetoothd starts; and what the radio does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from bluezclient import Adapter, Address, Client, Reason
from bluezclient.storage import kernel_adapters, read_bond, restore

from .conftest import STORAGE
from .test_pairing import PATIENCE, sealed, until_reason

if TYPE_CHECKING:
    from lab.controllers import Controller, DualSense
    from lab.radio import Air, Bluetoothd

pytestmark = pytest.mark.lab


@pytest.fixture(params=["dualsense", "remote"])
def controller(request: pytest.FixtureRequest) -> Controller:
    """A BR/EDR gamepad, then an LE remote."""
    made: Controller = request.getfixturevalue(request.param)
    return made


async def pair(client: Client, adapter: Adapter, controller: Controller) -> Address:
    """Pair, and wait until the bond is whole and the controller usable."""
    address = Address(controller.address)
    await controller.advertise()
    async with client.pairing_window(adapter) as window:
        await window.pair(address, deadline=PATIENCE)
    await sealed(client, adapter, address)
    await controller.wait_usable()
    return address


async def test_a_bond_saved_wiped_and_restored_is_bonded_at_once_and_its_controller_returns(
    client: Client, adapter: Adapter, controller: Controller, bluetoothd: Bluetoothd
) -> None:
    address = await pair(client, adapter, controller)
    bond = read_bond(STORAGE, adapter.address, address)
    assert bond is not None
    await controller.sleep()
    await asyncio.to_thread(bluetoothd.stop)
    bluetoothd.forget()

    assert [held.address for held in kernel_adapters()] == [adapter.address]
    report = restore(STORAGE, adapter.address, [bond])
    assert report.written == {address}
    assert not report.refused
    assert not report.incomplete
    assert read_bond(STORAGE, adapter.address, address) == bond

    await asyncio.to_thread(bluetoothd.start)
    state = await client.until(lambda s: s.device(address) is not None, PATIENCE, through_loss=True)
    device = state.require_device(address)
    assert (device.bonded, device.trusted) == (True, True)
    await client.set_powered(adapter, True)
    await controller.wake()
    await until_reason(client, adapter, address, Reason.CONNECTED)
    await controller.wait_usable()


async def test_a_directory_without_a_key_is_not_restored_and_one_restored_late_is_not_seen(
    client: Client, adapter: Adapter, dualsense: DualSense, bluetoothd: Bluetoothd
) -> None:
    pad = await pair(client, adapter, dualsense)
    bond = read_bond(STORAGE, adapter.address, pad)
    assert bond is not None
    info = bond.files["info"].decode().replace("[LinkKey]", "[NoKey]")
    keyless = type(bond)(bond.adapter, bond.device, {**bond.files, "info": info.encode()})
    await asyncio.to_thread(bluetoothd.stop)
    bluetoothd.forget()
    report = restore(STORAGE, adapter.address, [keyless])
    assert set(report.refused) == {pad}
    await asyncio.to_thread(bluetoothd.start)
    await client.until(lambda s: bool(s.adapters), PATIENCE, through_loss=True)
    restore(STORAGE, adapter.address, [bond])
    await asyncio.sleep(2)
    assert client.state.device(pad) is None


async def test_power_off_is_the_reason_and_power_on_brings_the_controller_back(
    client: Client, adapter: Adapter, dualsense: DualSense
) -> None:
    pad = await pair(client, adapter, dualsense)
    await until_reason(client, adapter, pad, Reason.CONNECTED)
    await client.set_powered(adapter, False)
    assert await until_reason(client, adapter, pad, Reason.ADAPTER_POWERED_OFF)
    await client.set_powered(adapter, True)
    await client.until(lambda s: bool(s.require_adapter(adapter.address).connectable), PATIENCE)
    await dualsense.wait_connected(False)
    await dualsense.wake()
    await until_reason(client, adapter, pad, Reason.CONNECTED)


async def test_a_radio_pulled_and_put_back_keeps_its_bonds(
    client: Client, adapter: Adapter, dualsense: DualSense, air: Air
) -> None:
    """btvirt makes the address from the index, so another index is staged on the fake alone."""
    pad = await pair(client, adapter, dualsense)
    await asyncio.to_thread(air.kill)
    await client.until(lambda s: s.adapter(adapter.address) is None, PATIENCE)
    assert await until_reason(client, adapter, pad, Reason.ADAPTER_REMOVED)
    await asyncio.sleep(3)
    assert client.state.links[(adapter.address, pad)].reason is Reason.ADAPTER_REMOVED
    await asyncio.to_thread(air.start)
    state = await client.until(
        lambda s: s.adapter(adapter.address) is not None and s.device(pad) is not None, PATIENCE
    )
    device = state.require_device(pad)
    assert device.bonded
    assert state.links[device.key].reason is not Reason.BOND_REMOVED
