"""Pairing on the real bluetoothd: a BR/EDR gamepad and an LE remote, from window to unpairing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from bluezclient import (
    Adapter,
    AdapterMissing,
    AdapterUnpowered,
    Address,
    Client,
    DeviceGone,
    DeviceUnknown,
    OwnerLost,
    PairingCanceled,
    PairingTimedOut,
    Reason,
    State,
    classify,
)
from bluezclient.storage import Bond, BondSnapshot, read_bond, watch_bonds

from .conftest import STORAGE, Wire

if TYPE_CHECKING:
    from lab.controllers import Controller, DualSense, Remote
    from lab.radio import Bluetoothd

pytestmark = pytest.mark.lab

PATIENCE = 120.0


def link_reason(client: Client, adapter: Adapter, address: Address) -> Reason:
    return client.state.links[(adapter.address, address)].reason


async def until_reason(
    client: Client, adapter: Adapter, address: Address, *reasons: Reason
) -> Reason:
    key = (adapter.address, address)
    await client.until(lambda state: state.links[key].reason in reasons, PATIENCE)
    return client.state.links[key].reason


async def sealed(client: Client, adapter: Adapter, address: Address) -> Bond:
    """The bond once its files are whole."""

    def bonded(device: Address) -> bool:
        found = client.state.device(device, adapter.address)
        return found is not None and found.bonded

    async def first() -> BondSnapshot:
        async for snapshot in watch_bonds(STORAGE, adapter.address, bonded=bonded, cap=60):
            if snapshot.bond.device == address:
                return snapshot
        raise AssertionError("watching ended")

    snapshot = await asyncio.wait_for(first(), PATIENCE)
    assert snapshot.complete, snapshot.bond.missing
    return snapshot.bond


async def test_a_gamepad_from_pairing_to_sleep_to_return_to_unpairing(
    client: Client, adapter: Adapter, dualsense: DualSense, wire: Wire
) -> None:
    pad = Address(dualsense.address)
    await dualsense.advertise()
    async with client.pairing_window(adapter) as window:
        device = await window.pair(pad, deadline=PATIENCE)
        assert [seen.kind for seen in window.seen if seen.address == pad] == ["gamepad"]
    assert (device.bonded, device.trusted, device.modalias) == (True, True, "usb:v054Cp0CE6d0100")
    assert classify.profile_flags(device.uuids) >= {"input"}
    # A LinkKey pairing asks in this order; Bonded precedes Paired, and Trusted follows both.
    words = wire.told(device.path)
    order = ["RegisterAgent", "Set Pairable=True", "StartDiscovery", "StopDiscovery", "Pair"]
    order += ["Bonded=True", "Paired=True", "Set Trusted=True", "UnregisterAgent"]
    assert [words.index(word) for word in order] == sorted(words.index(word) for word in order)
    assert "CancelPairing" not in words
    assert "Connect" not in words

    assert await until_reason(client, adapter, pad, Reason.CONNECTED) is Reason.CONNECTED
    bond = await sealed(client, adapter, pad)
    assert bond.key_groups == {"LinkKey"}
    await dualsense.wait_usable()

    await dualsense.sleep()
    await until_reason(client, adapter, pad, Reason.DISCONNECTED_BY_DEVICE)
    await dualsense.wake()
    await until_reason(client, adapter, pad, Reason.CONNECTED)
    await dualsense.vanish()
    await until_reason(client, adapter, pad, Reason.ASLEEP)

    await client.unpair(adapter, pad)
    assert client.state.device(pad) is None
    assert link_reason(client, adapter, pad) is Reason.BOND_REMOVED
    assert read_bond(STORAGE, adapter.address, pad) is None


async def test_an_le_remote_with_its_battery(
    client: Client, adapter: Adapter, remote: Remote
) -> None:
    address = Address(remote.address)
    await remote.advertise()
    async with client.pairing_window(adapter) as window:
        device = await window.pair(address, deadline=PATIENCE)
    assert (device.bonded, device.trusted, device.address_type) == (True, True, "random")
    state = await client.until(
        lambda s: (
            s.require_device(address).battery is not None
            and s.require_device(address).services_resolved
        ),
        PATIENCE,
    )
    battery = state.require_device(address).battery
    assert battery is not None
    assert battery.percentage == 55
    bond = await sealed(client, adapter, address)
    assert "PeripheralLongTermKey" in bond.key_groups
    await remote.wait_usable()
    await remote.sleep()
    await until_reason(client, adapter, address, Reason.DISCONNECTED_BY_DEVICE)
    await remote.wake()
    await until_reason(client, adapter, address, Reason.CONNECTED)
    await client.disconnect(address)
    await until_reason(client, adapter, address, Reason.DISCONNECTED_BY_REQUEST, Reason.CONNECTED)
    await client.unpair(adapter, address)
    assert read_bond(STORAGE, adapter.address, address) is None


async def test_a_device_that_was_never_there_is_unknown_and_leaves_nothing(
    client: Client, adapter: Adapter
) -> None:
    async with client.pairing_window(adapter) as window:
        with pytest.raises(DeviceUnknown):
            await window.pair(Address("12:34:56:78:9A:BC"), deadline=15)
    assert not list(client.state.devices_of(adapter.address))


def linked(state: State, address: Address) -> bool:
    device = state.device(address)
    return device is not None and device.connected and not device.bonded


def bonded(state: State, address: Address) -> bool:
    device = state.device(address)
    return device is not None and device.bonded


@pytest.mark.parametrize("step", ["before the link", "before the bond", "after the bond"])
async def test_a_cancel(client: Client, adapter: Adapter, dualsense: DualSense, step: str) -> None:
    """Whatever the instant, what is left is a trusted bond or nothing."""
    pad = Address(dualsense.address)
    await dualsense.advertise()
    async with client.pairing_window(adapter) as window:
        pairing = asyncio.ensure_future(window.pair(pad, deadline=PATIENCE))
        reached = {
            "before the link": lambda s: s.device(pad) is not None,
            "before the bond": lambda s: linked(s, pad) or bonded(s, pad),
            "after the bond": lambda s: bonded(s, pad),
        }[step]
        await client.until(reached, PATIENCE)
        pairing.cancel()
        await asyncio.wait({pairing})
        device = client.state.device(pad)
        held = read_bond(STORAGE, adapter.address, pad)
        if step == "after the bond":
            assert device is not None
            assert (device.bonded, device.trusted) == (True, True)
            assert held is not None
        elif device is not None and device.bonded:
            # The bond may win the race against the cancel; then it is a whole one.
            assert device.trusted
        else:
            assert held is None or not held.key_groups


async def test_a_deadline_too_short_ends_in_a_trusted_bond_or_in_nothing(
    client: Client, adapter: Adapter, dualsense: DualSense
) -> None:
    pad = Address(dualsense.address)
    await dualsense.advertise()
    async with client.pairing_window(adapter) as window:
        await client.until(lambda s: s.device(pad) is not None, PATIENCE)
        try:
            device = await window.pair(pad, deadline=0.6)
        except (PairingTimedOut, DeviceUnknown):
            left = client.state.device(pad)
            assert left is None or not left.bonded
            await again(client, adapter, dualsense)
            device = await window.pair(pad, deadline=PATIENCE)
        assert (device.bonded, device.trusted) == (True, True)


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_bluetoothd_ended_in_mid_pairing(
    client: Client, adapter: Adapter, dualsense: DualSense, bluetoothd: Bluetoothd, end: str
) -> None:
    """SIGTERM and SIGKILL: the attempt ends by name, the window resumes with the next daemon."""
    pad = Address(dualsense.address)
    await dualsense.advertise()
    async with client.pairing_window(adapter) as window:
        pairing = asyncio.ensure_future(window.pair(pad, deadline=PATIENCE))
        await client.until(lambda s: linked(s, pad) or bonded(s, pad), PATIENCE)
        await asyncio.to_thread(getattr(bluetoothd, end))
        await asyncio.wait({pairing}, timeout=30)
        ended = pairing.exception()
        if ended is None:
            pytest.skip("the pairing was through before bluetoothd could be ended")
        # A clean stop turns the radios off and drops the devices before the name goes.
        clean = (AdapterUnpowered, AdapterMissing, DeviceGone, PairingCanceled)
        assert isinstance(ended, (OwnerLost, *clean) if end == "stop" else OwnerLost)
        state = await client.until(lambda s: not s.available, 30, through_loss=True)
        assert not state.devices
        assert not window.open
        await asyncio.to_thread(bluetoothd.start)
        await client.until(lambda s: s.adapter(adapter.address) is not None, 60, through_loss=True)
        await client.set_powered(adapter, True)
        await window.until_open(60)
        await again(client, adapter, dualsense)
        device = await window.pair(pad, deadline=PATIENCE)
        assert (device.bonded, device.trusted) == (True, True)


async def again(client: Client, adapter: Adapter, controller: Controller) -> None:
    """Hold the pairing buttons again."""
    await controller.wait_connected(False)
    await controller.advertise()
