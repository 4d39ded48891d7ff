"""Bonds saved, wiped and restored before the real bluetoothd starts; and what the radio does."""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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


@contextmanager
def another_radio_first() -> Iterator[None]:
    """A radio that never answers holds hci0, so that the next one is hci1.

    /dev/vhci takes 0xff and a type to make a radio (`drivers/bluetooth/hci_vhci.c`).
    """
    handle = os.open("/dev/vhci", os.O_RDWR)
    try:
        os.write(handle, struct.pack("=BB", 0xFF, 0x00))
        yield
    finally:
        os.close(handle)


async def test_a_radio_pulled_and_put_back_under_another_index_is_the_same_adapter(
    client: Client, adapter: Adapter, dualsense: DualSense, air: Air
) -> None:
    """home-assistant/core #151283: hci0 becomes hci1 after a replug."""
    pad = await pair(client, adapter, dualsense)
    assert Path(adapter.path).name == "hci0"
    await asyncio.to_thread(air.kill)
    await client.until(lambda s: s.adapter(adapter.address) is None, PATIENCE)
    await until_reason(client, adapter, pad, Reason.ADAPTER_REMOVED)
    with another_radio_first():
        await asyncio.to_thread(air.start)
        state = await client.until(lambda s: s.adapter(adapter.address) is not None, PATIENCE)
        back = state.require_adapter(adapter.address)
        assert Path(back.path).name != "hci0"
        device = state.require_device(pad)
        assert device.bonded
        assert state.links[device.key].reason is not Reason.BOND_REMOVED
