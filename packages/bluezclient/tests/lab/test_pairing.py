"""Pairing on the real bluetoothd: a BR/EDR gamepad and an LE remote, from window to unpairing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
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
    PairingWindow,
    Reason,
    classify,
    kernel_battery,
)
from bluezclient.storage import Bond, BondSnapshot, read_bond, watch_bonds

from .conftest import STORAGE, SYSTEM_BUS, Wire, told

if TYPE_CHECKING:
    from lab.controllers import DualSense, Remote, SlowPad
    from lab.radio import Bluetoothd

pytestmark = pytest.mark.lab

PATIENCE = 120.0
# Long enough to reach a step on a busy emulated machine; the pad stays there.
SHORT = 12.0
# The releases from which bluetoothd tells these things.
TELLS_REASONS, TELLS_CONNECTABLE = (5, 83), (5, 79)


async def until_reason(
    client: Client, adapter: Adapter, address: Address, *reasons: Reason
) -> Reason:
    key = (adapter.address, address)
    state = await client.until(lambda state: state.links[key].reason in reasons, PATIENCE)
    return state.links[key].reason


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

    async with asyncio.timeout(PATIENCE):
        snapshot = await first()
    assert snapshot.complete, snapshot.bond.missing
    return snapshot.bond


def release(adapter: Adapter) -> tuple[int, int]:
    """bluetoothd's own; it introduces itself in every release that is tested here."""
    assert adapter.bluez_version is not None
    return adapter.bluez_version


# What a pad does, and what is said of it; `hang_up` leaves it to the host to drop the idle link, as
# a DualShock 4 does (bazzite #4929).
DAY = (
    ("sleep", Reason.DISCONNECTED_BY_DEVICE),
    ("wake", Reason.CONNECTED),
    ("vanish", Reason.ASLEEP),
    ("wake", Reason.CONNECTED),
    ("hang_up", Reason.DISCONNECTED_BY_HOST),
    ("wake", Reason.CONNECTED),
)


async def test_a_gamepad_from_pairing_to_sleep_to_return_to_unpairing(
    client: Client,
    adapter: Adapter,
    dualsense: DualSense,
    wire: Wire,
    told_by_radio: Callable[[Reason], Reason],
) -> None:
    """Its second connection has event nodes like the first (bluez #771, #777)."""
    from lab import inputs

    pad = Address(dualsense.address)
    await dualsense.advertise()
    async with client.pairing_window(adapter) as window:
        device = await window.pair(pad, deadline=PATIENCE)
        assert [seen.kind for seen in window.seen if seen.address == pad] == ["gamepad"]
    assert (device.bonded, device.trusted, device.modalias) == (True, True, "usb:v054Cp0CE6d0100")
    assert classify.profile_flags(device.uuids) >= {"input"}
    # A LinkKey pairing asks in this order; Bonded precedes Paired, and Trusted follows both.
    words = wire.words(device.path)
    order = ["RegisterAgent", "Set Pairable=True", "StartDiscovery", "StopDiscovery", "Pair"]
    order += ["Bonded=True", "Paired=True", "Set Trusted=True", "UnregisterAgent"]
    assert [words.index(word) for word in order] == sorted(words.index(word) for word in order)

    await dualsense.wait_usable()
    bond = await sealed(client, adapter, pad)
    assert bond.key_groups == {"LinkKey"}
    await until_reason(client, adapter, pad, Reason.CONNECTED)
    first = await asyncio.to_thread(inputs.wait_for, pad.colons, 3)
    battery = await asyncio.to_thread(kernel_battery, pad)
    assert battery is not None

    last = told_by_radio(Reason.DISCONNECTED_BY_REQUEST)
    day = [(verb, told_by_radio(reason)) for verb, reason in DAY]
    with told(client, adapter, pad) as reasons:
        for verb, reason in day:
            await getattr(dualsense, verb)()
            await until_reason(client, adapter, pad, reason)
            if verb == "wake":
                nodes = await asyncio.to_thread(inputs.wait_for, pad.colons, 3)
                assert {node.name for node in nodes} == {node.name for node in first}
        await client.disconnect(pad)
        await until_reason(client, adapter, pad, last)
    assert reasons == [Reason.CONNECTED, *(reason for _, reason in day), last]

    await dualsense.wake()
    await until_reason(client, adapter, pad, Reason.CONNECTED)
    await client.unpair(adapter, pad)
    assert client.state.device(pad) is None
    await until_reason(client, adapter, pad, Reason.BOND_REMOVED)
    assert read_bond(STORAGE, adapter.address, pad) is None
    words = wire.words(device.path)
    assert ("CancelPairing" in words, "Connect" in words) == (False, False)


@pytest.fixture
async def deaf(bluetoothd: object) -> AsyncIterator[Client]:
    """A client that has bluetoothd's word alone, as one without CAP_NET_ADMIN."""
    async with Client.open(SYSTEM_BUS, kernel_reasons=False, call_deadline=30) as client:
        yield client


async def test_an_le_remote_with_its_battery_and_with_its_reasons_where_bluetoothd_tells_them(
    client: Client,
    deaf: Client,
    adapter: Adapter,
    remote: Remote,
    told_by_radio: Callable[[Reason], Reason],
) -> None:
    asked = told_by_radio(Reason.DISCONNECTED_BY_REQUEST)
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
    assert "PeripheralLongTermKey" in bond.key_groups or "LongTermKey" in bond.key_groups
    await remote.wait_usable()
    with told(client, adapter, address) as reasons, told(deaf, adapter, address) as heard:
        await remote.sleep()
        await until_reason(client, adapter, address, Reason.DISCONNECTED_BY_DEVICE)
        await remote.wake()
        await until_reason(client, adapter, address, Reason.CONNECTED)
        await remote.wait_usable()
        await client.disconnect(address)
        await until_reason(client, adapter, address, asked)
        await remote.wait_connected(False)
        await remote.wake()
        await until_reason(client, adapter, address, Reason.CONNECTED)
        await until_reason(deaf, adapter, address, Reason.CONNECTED)
    gone = Reason.DISCONNECTED_BY_DEVICE
    assert reasons == [Reason.CONNECTED, gone, Reason.CONNECTED, asked, Reason.CONNECTED]
    told_to_all = release(adapter) >= TELLS_REASONS
    gone, asked = (
        (Reason.DISCONNECTED_BY_DEVICE, Reason.DISCONNECTED_BY_HOST)
        if told_to_all
        else (Reason.UNSPECIFIED, Reason.UNSPECIFIED)
    )
    assert heard == [Reason.CONNECTED, gone, Reason.CONNECTED, asked, Reason.CONNECTED]
    await client.unpair(adapter, address)
    assert read_bond(STORAGE, adapter.address, address) is None


async def test_a_device_that_was_never_there_is_unknown_and_leaves_nothing(
    client: Client, adapter: Adapter
) -> None:
    """On the way, what this release of bluetoothd tells of its radio."""
    assert (adapter.connectable is not None) == (release(adapter) >= TELLS_CONNECTABLE)
    async with client.pairing_window(adapter) as window:
        with pytest.raises(DeviceUnknown):
            await window.pair(Address("12:34:56:78:9A:BC"), deadline=5)
    assert not list(client.state.devices_of(adapter.address))


@pytest.fixture
async def slow(request: pytest.FixtureRequest, logs: Path, air: object) -> AsyncIterator[SlowPad]:
    """A gamepad that stops at the step that is the test's parameter."""
    from lab.controllers import SlowPad

    async with SlowPad(logs, request.param) as pad:
        yield pad


async def begun(
    client: Client, window: PairingWindow, slow: SlowPad, deadline: float
) -> asyncio.Task[object]:
    """A pairing that has come to its step; the deadline runs from when the pad is on the air."""
    pad = Address(slow.address)
    await slow.advertise()
    await client.until(lambda s: s.device(pad) is not None, PATIENCE)
    pairing = asyncio.ensure_future(window.pair(pad, deadline=deadline))
    await slow.wait_stuck(deadline)
    assert not pairing.done()
    return pairing


def left(client: Client, adapter: Adapter, address: Address) -> tuple[bool, bool, bool]:
    """Of a device: whether its object is there, whether bonded and trusted, and its key on disk."""
    device = client.state.device(address)
    held = read_bond(STORAGE, adapter.address, address)
    whole = device is not None and device.bonded and device.trusted
    return device is not None, whole, held is not None and bool(held.key_groups)


NOTHING, WHOLE = (False, False, False), (True, True, True)
STEPS = pytest.mark.parametrize(
    ("slow", "result"),
    [
        pytest.param("link", NOTHING, id="before the link"),
        pytest.param("bond", NOTHING, id="before the bond"),
        pytest.param("services", WHOLE, id="after the bond, before the reply"),
    ],
    indirect=["slow"],
)


@STEPS
async def test_a_pairing_canceled_leaves_nothing_or_a_trusted_bond(
    client: Client, adapter: Adapter, slow: SlowPad, result: tuple[bool, bool, bool]
) -> None:
    pad = Address(slow.address)
    async with client.pairing_window(adapter) as window:
        pairing = await begun(client, window, slow, PATIENCE)
        if result == WHOLE:
            await client.until(lambda s: s.require_device(pad).bonded, PATIENCE)
        pairing.cancel()
        await asyncio.wait({pairing})
        assert pairing.cancelled()
        await client.until(lambda _: left(client, adapter, pad) == result, PATIENCE)


@STEPS
async def test_a_pairing_out_of_time_leaves_nothing_or_is_a_success(
    client: Client, adapter: Adapter, slow: SlowPad, result: tuple[bool, bool, bool]
) -> None:
    pad = Address(slow.address)
    async with client.pairing_window(adapter) as window:
        pairing = await begun(client, window, slow, SHORT)
        await asyncio.wait({pairing})
        if result == WHOLE:
            assert pairing.exception() is None
        else:
            assert isinstance(pairing.exception(), PairingTimedOut)
        await client.until(lambda _: left(client, adapter, pad) == result, PATIENCE)


@pytest.mark.parametrize("slow", ["bond"], indirect=True)
@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_bluetoothd_ended_in_mid_pairing(
    client: Client, adapter: Adapter, slow: SlowPad, bluetoothd: Bluetoothd, end: str
) -> None:
    """SIGTERM and SIGKILL: the attempt ends by name, the window resumes with the next daemon."""
    pad = Address(slow.address)
    async with client.pairing_window(adapter) as window:
        pairing = await begun(client, window, slow, PATIENCE)
        await asyncio.to_thread(getattr(bluetoothd, end))
        await asyncio.wait({pairing}, timeout=30)
        # A clean stop turns the radios off and drops the devices before the name goes.
        clean = (AdapterUnpowered, AdapterMissing, DeviceGone, PairingCanceled)
        assert isinstance(pairing.exception(), (OwnerLost, *clean) if end == "stop" else OwnerLost)
        state = await client.until(lambda s: not s.available, 30, through_loss=True)
        assert not state.devices
        assert not window.open
        # The kernel would go on without bluetoothd, and the next one find a bond it never asked for.
        await slow.sleep()
        await slow.wait_connected(False)
        await slow.go_on()
        await asyncio.to_thread(bluetoothd.start)
        await client.until(lambda s: s.adapter(adapter.address) is not None, 60, through_loss=True)
        await client.set_powered(adapter, True)
        await window.until_open(60)
        await slow.advertise()
        device = await window.pair(pad, deadline=PATIENCE)
        assert (device.bonded, device.trusted) == (True, True)
