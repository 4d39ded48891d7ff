"""Why a link ended, as a client tells it over time."""

from __future__ import annotations

import asyncio

import pytest
from bluezclient import Address, Client, Link, Reason
from bluezclient.mgmt import LinkEnd
from bluezclient.properties import DEVICE
from bluezclient.reasons import Wire
from bluezclient.testing import FakeBluez, LoopbackBroker

from .conftest import ADAPTER, PAD, restart

pytestmark = pytest.mark.looptime

SPEAKER = Address("11:22:33:44:55:66")
AUDIO = "0000110b-0000-1000-8000-00805f9b34fb"


async def linked(client: Client, fake: FakeBluez, hci0: str, address: Address = PAD) -> str:
    """A bonded gamepad (or, for another address, speaker) that is connected."""
    kind = {"Class": 0x002508} if address == PAD else {"Class": 0x240404, "UUIDs": [AUDIO]}
    path = fake.add_device(hci0, address, **kind)
    fake.connect_device(path)
    await client.until(lambda state: path in state.devices and state.devices[path].connected, 1)
    return path


def link(client: Client, address: Address = PAD) -> Link:
    return client.state.links[(ADAPTER, address)]


async def settle() -> None:
    await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("wire", "address", "reason"),
    [
        ("Timeout", PAD, Reason.ASLEEP),
        ("Timeout", SPEAKER, Reason.LINK_LOST),
        ("Remote", PAD, Reason.DISCONNECTED_BY_DEVICE),
        ("Local", PAD, Reason.DISCONNECTED_BY_HOST),
        ("Authentication", PAD, Reason.AUTHENTICATION_FAILED),
        ("Suspend", PAD, Reason.HOST_SUSPENDED),
        ("Unknown", PAD, Reason.UNSPECIFIED),
        ("OfALaterBlueZ", PAD, Reason.UNSPECIFIED),
        (None, PAD, Reason.UNSPECIFIED),
    ],
)
async def test_the_wires_word(
    client: Client,
    fake_bluez: FakeBluez,
    hci0: str,
    wire: str | None,
    address: Address,
    reason: Reason,
) -> None:
    path = await linked(client, fake_bluez, hci0, address)
    assert link(client, address).reason is Reason.CONNECTED
    fake_bluez.disconnect_device(path, wire)
    await settle()
    assert (link(client, address).connected, link(client, address).reason) == (False, reason)
    fake_bluez.connect_device(path)
    await settle()
    assert link(client, address).connected is True


async def test_a_disconnect_we_asked_for_is_told_from_the_hosts_own(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    path = await linked(client, fake_bluez, hci0)
    await client.disconnect(PAD)
    await settle()
    assert link(client).reason is Reason.DISCONNECTED_BY_REQUEST
    fake_bluez.connect_device(path)
    await asyncio.sleep(6)
    fake_bluez.disconnect_device(path, "Local")
    await settle()
    assert link(client).reason is Reason.DISCONNECTED_BY_HOST


async def test_two_links_timing_out_together_are_the_radios_trouble(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    pad = await linked(client, fake_bluez, hci0)
    speaker = await linked(client, fake_bluez, hci0, SPEAKER)
    fake_bluez.disconnect_device(pad, "Timeout")
    await settle()
    assert link(client).reason is Reason.ASLEEP
    await asyncio.sleep(1)
    fake_bluez.disconnect_device(speaker, "Timeout")
    await settle()
    assert link(client).reason is Reason.LINK_LOST


@pytest.mark.parametrize("wire", ["Local", "Remote", "Unknown", None])
async def test_power_off_is_the_reason_while_off_and_after_for_links_it_ended(
    client: Client, fake_bluez: FakeBluez, hci0: str, wire: str | None
) -> None:
    await linked(client, fake_bluez, hci0)
    asleep = await linked(client, fake_bluez, hci0, SPEAKER)
    fake_bluez.disconnect_device(asleep, "Remote")
    await asyncio.sleep(5)
    fake_bluez.power(hci0, on=False, reason=wire)
    await settle()
    assert link(client).reason is link(client, SPEAKER).reason is Reason.ADAPTER_POWERED_OFF
    fake_bluez.power(hci0, on=True)
    await settle()
    assert link(client).reason is Reason.ADAPTER_POWERED_OFF
    assert link(client, SPEAKER).reason is Reason.DISCONNECTED_BY_DEVICE


async def test_a_link_we_had_ended_before_the_radio_went_off_was_ended_by_us(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    await linked(client, fake_bluez, hci0)
    await client.disconnect(PAD)
    await asyncio.sleep(1)
    fake_bluez.power(hci0, on=False)
    await asyncio.sleep(1)
    fake_bluez.power(hci0, on=True)
    await settle()
    assert link(client).reason is Reason.DISCONNECTED_BY_REQUEST


@pytest.mark.parametrize("wire", ["Local", "Remote", "Unknown", None])
async def test_a_link_that_a_clean_stop_of_bluetoothd_ended_was_ended_by_nobody(
    client: Client, fake_bluez: FakeBluez, broker: LoopbackBroker, hci0: str, wire: str | None
) -> None:
    await linked(client, fake_bluez, hci0)
    fake_bluez.stop(reason=wire)
    broker.release("org.bluez")
    await settle()
    assert link(client).reason is Reason.BLUETOOTH_UNAVAILABLE
    await restart(fake_bluez, broker)
    fake_bluez.add_device(fake_bluez.add_adapter(ADAPTER), PAD)
    await client.until(lambda state: state.device(PAD) is not None, 1, through_loss=True)
    assert link(client).reason is Reason.UNSPECIFIED


@pytest.mark.parametrize(
    ("wire", "reason"),
    [("Remote", Reason.DISCONNECTED_BY_DEVICE), ("Local", Reason.DISCONNECTED_BY_HOST)],
)
async def test_a_link_that_ended_before_bluetoothd_was_killed_keeps_its_reason(
    client: Client,
    fake_bluez: FakeBluez,
    broker: LoopbackBroker,
    hci0: str,
    wire: str,
    reason: Reason,
) -> None:
    path = await linked(client, fake_bluez, hci0)
    fake_bluez.disconnect_device(path, wire)
    await asyncio.sleep(1)
    fake_bluez.crash()
    broker.release("org.bluez")
    await settle()
    await restart(fake_bluez, broker)
    fake_bluez.add_device(fake_bluez.add_adapter(ADAPTER), PAD)
    await client.until(lambda state: state.device(PAD) is not None, 1, through_loss=True)
    assert link(client).reason is reason


async def test_a_device_removed_by_nobody_here_is_judged_after_two_seconds(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    path = await linked(client, fake_bluez, hci0)
    fake_bluez.disconnect_device(path, "Remote")
    fake_bluez.withdraw(path)
    await asyncio.sleep(1.9)
    assert link(client).reason is Reason.DISCONNECTED_BY_DEVICE
    await asyncio.sleep(0.2)
    assert link(client).reason is Reason.BOND_REMOVED


async def test_a_device_back_within_two_seconds_was_not_unpaired(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    path = await linked(client, fake_bluez, hci0)
    fake_bluez.withdraw(path)
    await asyncio.sleep(1)
    fake_bluez.add_device(hci0, PAD)
    await asyncio.sleep(3)
    assert link(client).reason is Reason.UNSPECIFIED


async def test_three_refused_keys_in_a_row_mean_the_device_has_forgotten_us(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """bluez #433; nothing is deleted for it."""
    path = await linked(client, fake_bluez, hci0)
    missing = []
    for _ in range(3):
        fake_bluez.connect_device(path)
        await asyncio.sleep(20)
        fake_bluez.disconnect_device(path, "Authentication")
        await settle()
        missing.append(link(client).key_missing)
    assert missing == [False, False, True]
    assert client.state.devices[path].bonded
    fake_bluez.connect_device(path)
    await asyncio.sleep(20)
    fake_bluez.disconnect_device(path, "Remote")
    await settle()
    assert not link(client).key_missing


async def test_three_short_sessions_in_a_minute_are_flapping_until_the_minute_is_over(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """bluez #917, xpadneo #166."""
    path = await linked(client, fake_bluez, hci0)
    flapping = []
    for _ in range(3):
        fake_bluez.connect_device(path)
        await asyncio.sleep(5)
        fake_bluez.disconnect_device(path, "Timeout")
        await settle()
        flapping.append(link(client).flapping)
    assert flapping == [False, False, True]
    await asyncio.sleep(61)
    assert not link(client).flapping


async def test_a_device_merely_on_the_air_has_no_link(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    fake_bluez.add_device(hci0, PAD, Paired=False, Bonded=False)
    await client.until(lambda state: state.device(PAD) is not None, 1)
    assert client.state.link(client.state.require_device(PAD)) is None


@pytest.mark.parametrize("kernel_first", [True, False])
async def test_the_kernels_word_serves_where_bluetoothd_has_none(
    client: Client, fake_bluez: FakeBluez, hci0: str, kernel_first: bool
) -> None:
    """BlueZ 5.82 and older; the two sockets have no common order."""
    path = await linked(client, fake_bluez, hci0)
    end = LinkEnd(0, PAD, Wire.TIMEOUT)
    if kernel_first:
        client._link_ended(end)
    fake_bluez.change(path, DEVICE, Connected=False)
    await settle()
    if not kernel_first:
        client._link_ended(end)
    await settle()
    assert link(client).reason is Reason.ASLEEP


async def test_since_is_the_wall_clock_of_the_change_of_reason(
    client: Client, fake_bluez: FakeBluez, hci0: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])
    path = await linked(client, fake_bluez, hci0)
    clock[0] = 2000.0
    fake_bluez.disconnect_device(path, "Timeout")
    await settle()
    assert (link(client).reason, link(client).since) == (Reason.ASLEEP, 2000.0)
    clock[0] = 3000.0
    fake_bluez.change(path, DEVICE, Alias="x")
    await settle()
    assert link(client).since == 2000.0
