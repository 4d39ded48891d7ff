"""Bonds saved, wiped and restored before the real bluetoothd starts; and what the radio does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from bluezclient import Adapter, Address, Client, Reason
from bluezclient.storage import Bond, kernel_adapters, read_bond, restore, watch_bonds

from .conftest import STORAGE
from .test_pairing import PATIENCE, sealed, until_reason

if TYPE_CHECKING:
    from lab.controllers import Controller, DualSense
    from lab.radio import Bluetoothd

pytestmark = pytest.mark.lab


@pytest.fixture(params=["dualsense", "remote", "private"])
def controller(request: pytest.FixtureRequest) -> Controller:
    """A BR/EDR gamepad, an LE remote, and an LE keyboard with a private address."""
    made: Controller = request.getfixturevalue(request.param)
    return made


async def pair(client: Client, adapter: Adapter, controller: Controller) -> Address:
    """Pair, and wait until the bond is whole and the controller usable; its identity."""
    await controller.advertise()
    async with client.pairing_window(adapter) as window:
        device = await window.pair(Address(controller.address), deadline=PATIENCE)
    await sealed(client, adapter, device.address)
    await controller.wait_usable()
    return device.address


async def test_a_bond_saved_wiped_and_restored_is_bonded_at_once_and_its_controller_returns(
    client: Client, adapter: Adapter, controller: Controller, bluetoothd: Bluetoothd
) -> None:
    address = await pair(client, adapter, controller)
    bond = read_bond(STORAGE, adapter.address, address)
    assert bond is not None
    await controller.sleep()
    await asyncio.to_thread(bluetoothd.stop)
    bluetoothd.forget()
    assert read_bond(STORAGE, adapter.address, address) is None

    assert [held.address for held in kernel_adapters()] == [adapter.address]
    report = restore(STORAGE, adapter.address, [bond])
    assert report.written == {address}
    assert not report.refused
    assert not report.incomplete
    assert read_bond(STORAGE, adapter.address, address) == bond

    await asyncio.to_thread(bluetoothd.start)
    state = await client.until(lambda s: s.device(address) is not None, PATIENCE, through_loss=True)
    device = state.require_device(address)
    # Trust is in the bytes; untrusted, its HID would be refused (LibreELEC #6348).
    assert (device.bonded, device.trusted) == (True, True)
    assert await client.rejected_restores(adapter, report.written) == frozenset()
    await client.set_powered(adapter, True)
    await controller.wake()
    await until_reason(client, adapter, address, Reason.CONNECTED)
    await controller.wait_usable()


# In bluetoothd's own list of keys that have leaked (src/adapter.c, blocked_keys, since 5.53).
LEAKED_KEY = "BF01FB9D4EF3BC36D874F5394138684C"
REMOTE = Address("F0:F1:F2:F3:F4:F5")
REMOTE_INFO = """[General]
Name=Remote
Appearance=0x0180
AddressType=static
SupportedTechnologies=LE;
Trusted=true
Services=00001812-0000-1000-8000-00805f9b34fb;

[{group}]
Key={key}
Authenticated=0
EncSize=16
EDiv=0
Rand=0
"""


async def test_a_restored_bond_that_bluetoothd_does_not_take_up_is_named_and_replaces_none(
    client: Client, adapter: Adapter, bluetoothd: Bluetoothd
) -> None:
    """bluez #875, #1827: keys lost after a restart; one good bond beside the bad one."""
    good, bad = Address("F0:F1:F2:F3:F4:01"), Address("F0:F1:F2:F3:F4:02")
    keys = {good: "00112233445566778899AABBCCDDEEFF", bad: LEAKED_KEY}
    bonds = [
        Bond(
            adapter.address,
            device,
            {"info": REMOTE_INFO.format(group="LongTermKey", key=key).encode()},
        )
        for device, key in keys.items()
    ]
    await asyncio.to_thread(bluetoothd.stop)
    bluetoothd.forget()
    report = restore(STORAGE, adapter.address, bonds)
    assert report.written == {good, bad}
    await asyncio.to_thread(bluetoothd.start)
    rejected = await client.rejected_restores(adapter, report.written, deadline=8)
    assert rejected == {bad}

    def bonded(device: Address) -> bool:
        found = client.state.device(device, adapter.address)
        return found is not None and found.bonded

    snapshots = watch_bonds(STORAGE, adapter.address, bonded=bonded, quiet=0.5, cap=2)
    given = [(await anext(snapshots)).bond.device]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(4):
            given.append((await anext(snapshots)).bond.device)
    assert given == [good]


async def test_a_directory_without_a_key_is_not_restored_and_one_restored_late_is_not_seen(
    client: Client, adapter: Adapter, bluetoothd: Bluetoothd
) -> None:
    key = "00112233445566778899AABBCCDDEEFF"
    keyless, whole = (
        Bond(adapter.address, REMOTE, {"info": REMOTE_INFO.format(group=group, key=key).encode()})
        for group in ("NoKey", "LongTermKey")
    )
    await asyncio.to_thread(bluetoothd.stop)
    bluetoothd.forget()
    report = restore(STORAGE, adapter.address, [keyless])
    assert set(report.refused) == {REMOTE}
    await asyncio.to_thread(bluetoothd.start)
    await client.until(lambda s: bool(s.adapters), PATIENCE, through_loss=True)
    assert restore(STORAGE, adapter.address, [whole]).written == {REMOTE}
    # What is answered after that has been asked of a bluetoothd with the files on its disk.
    await client.set_powered(adapter, False)
    await client.set_powered(adapter, True)
    assert client.state.device(REMOTE) is None
    assert await client.rejected_restores(adapter, [REMOTE], deadline=1) == {REMOTE}
    await asyncio.to_thread(bluetoothd.restart)
    assert await client.rejected_restores(adapter, [REMOTE], deadline=20) == frozenset()


async def listening(client: Client, adapter: Adapter) -> None:
    """The radio is on and answers pages: held so where bluetoothd has the property (5.79); before,
    the bonded devices on its list keep page scan on.
    """
    await client.set_powered(adapter, True)
    held = None if adapter.connectable is None else True
    await client.until(lambda s: s.require_adapter(adapter.address).connectable is held, PATIENCE)


async def test_power_off_is_the_reason_and_power_on_brings_the_controller_back(
    client: Client, adapter: Adapter, dualsense: DualSense
) -> None:
    pad = await pair(client, adapter, dualsense)
    await until_reason(client, adapter, pad, Reason.CONNECTED)
    await client.set_powered(adapter, False)
    assert await until_reason(client, adapter, pad, Reason.ADAPTER_POWERED_OFF)
    await dualsense.wait_connected(False)
    await listening(client, adapter)
    assert client.state.links[(adapter.address, pad)].reason is Reason.ADAPTER_POWERED_OFF
    await dualsense.wake()
    await until_reason(client, adapter, pad, Reason.CONNECTED)
