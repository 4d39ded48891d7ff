"""The client on the fake bluetoothd: one honest picture, through every loss."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from bluezclient import (
    AdapterBlocked,
    AdapterMissing,
    AdapterUnpowered,
    Address,
    Availability,
    BusLost,
    CallFailed,
    Client,
    DeadlineExceeded,
    DeviceAmbiguous,
    DeviceInitiatesConnection,
    DeviceUnknown,
    NotBonded,
    OwnerLost,
    PermissionDenied,
    Reason,
    State,
)
from bluezclient.properties import ADAPTER as ADAPTER1
from bluezclient.properties import BATTERY, DEVICE, INPUT
from bluezclient.testing import FakeBluez, LoopbackBroker
from dbus_fast import Message, Variant

from .conftest import ADAPTER, PAD, restart

pytestmark = pytest.mark.looptime


async def settle() -> None:
    """Let everything that is on its way arrive; the fake clock makes it instant."""
    await asyncio.sleep(0.01)


# -- the picture -------------------------------------------------------------------------------


async def test_the_first_picture_is_the_reply_to_one_question_asked_after_subscribing(
    broker: LoopbackBroker, fake_bluez: FakeBluez
) -> None:
    fake_bluez.add_adapter(ADAPTER)
    await settle()
    before = len(broker.wire)
    async with Client.open(connect=broker.connect) as client:
        await client.until(lambda state: state.available, 1, through_loss=True)
    asked = [m.member for m in broker.wire[before:] if m.destination]
    assert asked[:4] == ["AddMatch", "AddMatch", "GetNameOwner", "GetManagedObjects"]


async def test_signals_sent_before_the_snapshot_reply_are_dropped_and_later_ones_believed(
    broker: LoopbackBroker, fake_bluez: FakeBluez
) -> None:
    hci0 = fake_bluez.add_adapter(ADAPTER, Alias="old")
    fake_bluez.hold_signals()
    fake_bluez.change(hci0, ADAPTER1, Alias="new")
    seen: list[str] = []
    async with Client.open(connect=broker.connect) as client:
        client.subscribe(lambda state: seen.extend(a.alias for a in state.adapters.values()))
        await settle()
        assert client.state.adapters[hci0].alias == "new"
        fake_bluez.release_signals()
        fake_bluez.change(hci0, ADAPTER1, Alias="newest")
        await settle()
        assert client.state.adapters[hci0].alias == "newest"


async def test_a_signal_of_anybody_but_the_owner_is_ignored(
    client: Client, broker: LoopbackBroker, hci0: str
) -> None:
    impostor = await broker.connect()
    body = [ADAPTER1, {"Powered": Variant("b", False)}, []]
    properties = "org.freedesktop.DBus.Properties"
    impostor.send(Message.new_signal(hci0, properties, "PropertiesChanged", "sa{sv}as", body))
    await settle()
    assert client.state.adapters[hci0].powered


async def test_interfaces_that_come_later_are_merged_and_go_alone(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    path = fake_bluez.add_device(hci0, PAD)
    fake_bluez.announce(path, {BATTERY: {"Percentage": 55}})
    fake_bluez.announce(path, {INPUT: {"ReconnectMode": "device"}})
    await settle()
    device = client.state.devices[path]
    assert device.battery is not None
    assert (device.battery.percentage, device.reconnect_mode) == (55, "device")
    fake_bluez.withdraw(path, [BATTERY])
    await settle()
    assert client.state.devices[path].battery is None
    assert client.state.devices[path].bonded


async def test_an_invalidated_property_is_gone(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    path = fake_bluez.add_device(hci0, PAD, RSSI=-40)
    await client.until(lambda state: path in state.devices, 1)
    assert client.state.devices[path].rssi == -40
    fake_bluez.change(path, DEVICE, ("RSSI",))
    await client.until(lambda state: state.devices[path].rssi is None, 1)


async def test_bonded_is_read_again_when_paired_turns_false(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """bluetoothd clears Bonded without a signal."""
    path = fake_bluez.add_device(hci0, PAD)
    await client.until(lambda state: path in state.devices, 1)
    fake_bluez.change(path, DEVICE, Paired=False, Bonded=False)
    state = await client.until(lambda state: not state.devices[path].bonded, 1)
    assert state.links[(ADAPTER, PAD)].reason is Reason.BOND_REMOVED


async def test_an_address_that_changes_under_its_path_stays_one_device(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """bluez #1079, #2466, #379, #282: after a suspend the private address is another one."""
    identity = Address("C0:AB:51:33:B7:12")
    path = fake_bluez.add_device(hci0, PAD, AddressType="random", Connected=True)
    await client.until(lambda state: path in state.devices, 1)
    fake_bluez.change(path, DEVICE, Address=identity.colons)
    state = await client.until(lambda state: state.device(identity) is not None, 1)
    assert state.device(PAD) is None
    assert list(state.links) == [(ADAPTER, identity)]


async def test_an_adapter_under_another_index_is_the_same_adapter(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """home-assistant/core #151283."""
    fake_bluez.add_device(hci0, PAD)
    await client.until(lambda state: state.device(PAD) is not None, 1)
    fake_bluez.unplug(hci0)
    state = await client.until(lambda state: not state.adapters, 1)
    assert state.links[(ADAPTER, PAD)].reason is Reason.ADAPTER_REMOVED
    hci1 = fake_bluez.add_adapter(ADAPTER, 1)
    fake_bluez.add_device(hci1, PAD)
    state = await client.until(lambda state: state.device(PAD) is not None, 1)
    assert state.require_adapter(ADAPTER).path == hci1
    assert state.links[(ADAPTER, PAD)].reason is Reason.NEVER_CONNECTED


async def test_an_unknown_property_is_kept_and_one_of_the_wrong_type_counts_as_absent(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    path = fake_bluez.add_device(
        hci0, PAD, Novelty=Variant("u", 7), RSSI=Variant("s", "loud"), Trusted=Variant("s", "yes")
    )
    state = await client.until(lambda state: path in state.devices, 1)
    device = state.devices[path]
    assert (device.rssi, device.trusted) == (None, False)
    assert dict(device.extra) == {"Novelty": 7, "RSSI": "loud", "Trusted": "yes"}


async def test_a_device_without_a_readable_address_is_left_out(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    path = fake_bluez.add_device(hci0, PAD, Address=Variant("s", "not an address"))
    other = fake_bluez.add_device(hci0, Address("11:22:33:44:55:66"))
    state = await client.until(lambda state: other in state.devices, 1)
    assert path not in state.devices


async def test_merged_and_late_signals_lead_to_the_same_picture(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    path = fake_bluez.add_device(hci0, PAD)
    await settle()
    fake_bluez.hold_signals()
    fake_bluez.connect_device(path)
    fake_bluez.disconnect_device(path)
    fake_bluez.change(path, DEVICE, Alias="Pad")
    await settle()
    assert client.state.devices[path].alias != "Pad"
    fake_bluez.release_signals(merge=True)
    await settle()
    assert client.state.devices[path].alias == "Pad"
    assert not client.state.devices[path].connected


async def test_a_subscriber_that_fails_does_not_keep_others_from_hearing(
    client: Client, fake_bluez: FakeBluez, hci0: str, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[State] = []

    def fail(_: State) -> None:
        raise RuntimeError("a subscriber's own trouble")

    client.subscribe(fail)
    unsubscribe = client.subscribe(heard.append)
    fake_bluez.change(hci0, ADAPTER1, Alias="x")
    await settle()
    assert [state.adapters[hci0].alias for state in heard] == ["x"]
    assert "a subscriber failed" in caplog.text
    unsubscribe()
    fake_bluez.change(hci0, ADAPTER1, Alias="y")
    await settle()
    assert len(heard) == 1


async def test_states_gives_the_newest_picture_and_skips_those_in_between(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    states = client.states()
    assert (await anext(states)).adapters[hci0].alias == "host"
    for alias in ("a", "b", "c"):
        fake_bluez.change(hci0, ADAPTER1, Alias=alias)
    await settle()
    assert (await anext(states)).adapters[hci0].alias == "c"
    await states.aclose()  # type: ignore[attr-defined]


# -- losses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["owner", "bus"])
async def test_every_pending_wait_ends_by_name_without_any_time_passing(
    client: Client, fake_bluez: FakeBluez, broker: LoopbackBroker, hci0: str, loss: str
) -> None:
    """bleak #1176, #942, #1737: a lost bus hung its callers."""
    loop = asyncio.get_running_loop()
    fake_bluez.hang_next("Set Alias")
    waits = [
        asyncio.ensure_future(client.until(lambda state: False, 60)),
        asyncio.ensure_future(client.set_adapter_alias(ADAPTER, "x")),
    ]
    await settle()
    instant = loop.time()
    if loss == "owner":
        fake_bluez.crash()
        broker.release("org.bluez")
    else:
        broker.stop()
    done, _ = await asyncio.wait(waits)
    assert loop.time() == instant
    expected = OwnerLost if loss == "owner" else BusLost
    assert [type(wait.exception()) for wait in waits] == [expected, expected]
    assert len(done) == 2


@pytest.mark.parametrize(
    ("loss", "availability"),
    [("owner", Availability.NO_OWNER), ("bus", Availability.BUS_LOST)],
)
async def test_a_loss_is_a_state_of_its_own_and_the_return_is_a_new_picture(
    client: Client,
    fake_bluez: FakeBluez,
    broker: LoopbackBroker,
    hci0: str,
    loss: str,
    availability: Availability,
) -> None:
    """signalk-server #3049, blueferry PR#25: a restart left stale objects."""
    fake_bluez.add_device(hci0, PAD, Connected=True)
    await client.until(lambda state: state.device(PAD) is not None, 1)
    fake_bluez.crash()
    if loss == "owner":
        broker.release("org.bluez")
    else:
        broker.stop()
    state = await client.until(lambda state: not state.available, 1, through_loss=True)
    assert (state.availability, dict(state.adapters), dict(state.devices)) == (availability, {}, {})
    link = state.links[(ADAPTER, PAD)]
    assert (link.connected, link.reason) == (None, Reason.BLUETOOTH_UNAVAILABLE)
    with pytest.raises((OwnerLost, BusLost)):
        await client.until(lambda state: True, 1)

    broker.start()
    await restart(fake_bluez, broker)
    path = fake_bluez.add_device(fake_bluez.add_adapter(ADAPTER), PAD)
    state = await client.until(lambda state: path in state.devices, 30, through_loss=True)
    assert state.links[(ADAPTER, PAD)].reason is Reason.UNSPECIFIED


async def test_no_bluetoothd_yet_is_a_state_and_its_start_is_noticed(
    broker: LoopbackBroker,
) -> None:
    async with Client.open(connect=broker.connect) as client:
        assert client.state.availability is Availability.NO_OWNER
        fake = FakeBluez(await broker.connect())
        fake.add_adapter(ADAPTER)
        await settle()
        broker.own(fake.bus, "org.bluez")  # type: ignore[arg-type]
        await client.until(lambda state: state.adapter(ADAPTER) is not None, 1, through_loss=True)
        fake.crash()


async def test_no_bus_at_all_is_a_state_and_is_tried_again(broker: LoopbackBroker) -> None:
    broker.stop()
    async with Client.open(connect=broker.connect) as client:
        assert client.state.availability is Availability.BUS_LOST
        assert "nobody listens" in client.state.detail
        broker.start()
        await client.until(
            lambda state: state.availability is Availability.NO_OWNER, 30, through_loss=True
        )


async def test_a_bus_that_refuses_us_is_named() -> None:
    async def connect() -> LoopbackBroker:
        raise PermissionError(13, "Permission denied")

    async with Client.open(connect=connect) as client:  # type: ignore[arg-type]
        assert client.state.availability is Availability.PERMISSION_DENIED
        with pytest.raises(PermissionDenied):
            await client.set_powered(ADAPTER, True)


async def test_a_policy_that_forbids_asking_bluetoothd_is_named(
    broker: LoopbackBroker, fake_bluez: FakeBluez
) -> None:
    denied = "org.freedesktop.DBus.Error.AccessDenied"
    fake_bluez.fail_next("GetManagedObjects", denied, "Rejected send message")
    async with Client.open(connect=broker.connect) as client:
        assert client.state.availability is Availability.PERMISSION_DENIED
        await client.until(lambda state: state.available, 30, through_loss=True)


async def test_a_bluetoothd_that_does_not_answer_is_asked_again(
    broker: LoopbackBroker, fake_bluez: FakeBluez
) -> None:
    fake_bluez.add_adapter(ADAPTER)
    fake_bluez.hang_next("GetManagedObjects")
    async with Client.open(connect=broker.connect, call_deadline=3) as client:
        assert client.state.availability is Availability.NO_OWNER
        assert "does not answer" in client.state.detail
        await client.until(lambda state: state.available, 30, through_loss=True)


async def test_a_clean_stop_is_not_mistaken_for_removed_bonds(
    client: Client, fake_bluez: FakeBluez, broker: LoopbackBroker, hci0: str
) -> None:
    fake_bluez.add_device(hci0, PAD)
    await client.until(lambda state: state.device(PAD) is not None, 1)
    fake_bluez.stop()
    broker.release("org.bluez")
    await asyncio.sleep(10)
    assert client.state.links[(ADAPTER, PAD)].reason is Reason.BLUETOOTH_UNAVAILABLE
    await restart(fake_bluez, broker)
    fake_bluez.add_device(fake_bluez.add_adapter(ADAPTER), PAD)
    state = await client.until(lambda state: state.device(PAD) is not None, 1, through_loss=True)
    assert state.links[(ADAPTER, PAD)].reason is Reason.NEVER_CONNECTED


# -- what may be asked -------------------------------------------------------------------------


async def test_a_call_that_is_never_answered_ends_at_its_deadline(
    broker: LoopbackBroker, fake_bluez: FakeBluez, hci0: str
) -> None:
    async with Client.open(connect=broker.connect, call_deadline=4) as client:
        await client.until(lambda state: bool(state.adapters), 1)
        fake_bluez.hang_next("Set Alias")
        began = asyncio.get_running_loop().time()
        with pytest.raises(DeadlineExceeded, match="Set in 4 s"):
            await client.set_adapter_alias(ADAPTER, "x")
        assert asyncio.get_running_loop().time() - began == 4


async def test_power_is_set_and_waited_for(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    await client.set_powered(ADAPTER, False)
    assert not client.state.adapters[hci0].powered
    await client.set_powered(ADAPTER, True)
    assert client.state.adapters[hci0].powered


async def test_a_bluetoothd_busy_with_the_power_is_waited_for_and_asked_again(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """AutoEnable turns the radio on right after the start; `Set Powered` is Busy meanwhile."""
    for _ in range(3):
        fake_bluez.fail_next("Set Powered", "Busy")
    await client.set_powered(ADAPTER, False)
    assert not client.state.adapters[hci0].powered
    fake_bluez.fail_next("Set Powered", "Busy")
    asked = len([call for call in fake_bluez.calls if "Powered" in call.arguments])
    on = asyncio.ensure_future(client.set_powered(ADAPTER, True))
    await settle()
    fake_bluez.power(hci0, on=True)
    await on
    assert len([call for call in fake_bluez.calls if "Powered" in call.arguments]) == asked + 1


async def test_a_bluetoothd_busy_for_ever_ends_at_the_deadline(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    for _ in range(99):
        fake_bluez.fail_next("Set Powered", "Busy")
    with pytest.raises(DeadlineExceeded):
        await client.set_powered(ADAPTER, False)


async def test_rfkill_is_named(broker: LoopbackBroker, fake_bluez: FakeBluez) -> None:
    fake_bluez.add_adapter(ADAPTER, powered=False, PowerState="off-blocked")
    async with Client.open(connect=broker.connect) as client:
        assert client.state.require_adapter(ADAPTER).blocked
        with pytest.raises(AdapterBlocked) as caught:
            await client.set_powered(ADAPTER, True)
    assert (caught.value.name, caught.value.text) == (
        "org.bluez.Error.Blocked",
        "Blocked through rfkill",
    )


async def test_connectable_is_set_again_whenever_it_is_cleared(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    fake_bluez.change(hci0, ADAPTER1, Discoverable=False, Connectable=False)
    await settle()
    assert client.state.adapters[hci0].connectable
    fake_bluez.power(hci0, on=False)
    fake_bluez.change(hci0, ADAPTER1, Connectable=False)
    await settle()
    assert client.state.adapters[hci0].connectable is False
    fake_bluez.power(hci0, on=True)
    await settle()
    assert client.state.adapters[hci0].connectable


async def test_connectable_turned_off_on_purpose_stays_off(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    await client.set_connectable(ADAPTER, False)
    await settle()
    assert client.state.adapters[hci0].connectable is False


async def test_trust_is_refused_before_the_bond(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """omarchy #7879: a trusted, unbonded pad reconnects for ever and never pairs."""
    fake_bluez.add_device(hci0, PAD, Paired=False, Bonded=False, Trusted=False)
    await client.until(lambda state: state.device(PAD) is not None, 1)
    with pytest.raises(NotBonded):
        await client.set_trusted(PAD, True)
    assert not any(call.member == "Set" for call in fake_bluez.calls)


async def test_alias_block_and_trust_reach_the_device(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    path = fake_bluez.add_device(hci0, PAD)
    await client.until(lambda state: path in state.devices, 1)
    await client.set_device_alias(PAD, "Sofa")
    await client.set_blocked(PAD, True)
    await client.set_trusted(PAD, False)
    await settle()
    device = client.state.devices[path]
    assert (device.alias, device.blocked, device.trusted) == ("Sofa", True, False)


async def test_a_pad_that_connects_by_itself_is_never_connected_from_here(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """bluez #1765: Operation already in progress (114)."""
    path = fake_bluez.add_device(hci0, PAD)
    fake_bluez.announce(path, {INPUT: {"ReconnectMode": "device"}})
    await settle()
    with pytest.raises(DeviceInitiatesConnection):
        await client.connect(PAD)
    fake_bluez.disconnect_device(path)
    await settle()
    assert not any(call.member == "Connect" for call in fake_bluez.calls)


async def test_unpair_returns_when_the_object_is_gone(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    fake_bluez.add_device(hci0, PAD, Connected=True)
    await client.until(lambda state: state.device(PAD) is not None, 1)
    fake_bluez.hold_signals()
    unpairing = asyncio.ensure_future(client.unpair(ADAPTER, PAD))
    await asyncio.sleep(3)
    assert not unpairing.done()
    fake_bluez.release_signals()
    await unpairing
    assert client.state.device(PAD) is None
    assert client.state.links[(ADAPTER, PAD)].reason is Reason.BOND_REMOVED
    asked = [call.member for call in fake_bluez.calls]
    assert asked.count("RemoveDevice") == 1
    assert "Disconnect" not in asked


async def test_unpairing_what_is_gone_is_done(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    await client.unpair(ADAPTER, PAD)
    fake_bluez.add_device(hci0, PAD)
    await client.until(lambda state: state.device(PAD) is not None, 1)
    fake_bluez.hold_signals()
    fake_bluez.vanish(f"{hci0}/{PAD.bluez}")
    unpairing = asyncio.ensure_future(client.unpair(ADAPTER, PAD))
    await settle()
    fake_bluez.release_signals()
    await unpairing


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        pytest.param(lambda c: c.set_powered(PAD, True), AdapterMissing, id="no such adapter"),
        pytest.param(lambda c: c.unpair(PAD, PAD), AdapterMissing, id="unpair on no adapter"),
        pytest.param(lambda c: c.disconnect(PAD), DeviceUnknown, id="no such device"),
        pytest.param(lambda c: c.set_trusted(PAD, True), DeviceUnknown, id="trust a stranger"),
    ],
)
async def test_asking_for_what_is_not_there(
    client: Client, ask: Callable[[Client], Awaitable[None]], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await ask(client)


async def test_unpairing_on_a_radio_that_is_off_says_so(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    fake_bluez.add_device(hci0, PAD)
    fake_bluez.power(hci0, on=False)
    await settle()
    with pytest.raises(AdapterUnpowered):
        await client.unpair(ADAPTER, PAD)


async def test_a_device_two_radios_know_must_be_named_with_its_radio(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    second = Address("04:4A:69:66:92:28")
    hci1 = fake_bluez.add_adapter(second, 1)
    fake_bluez.add_device(hci0, PAD)
    fake_bluez.add_device(hci1, PAD)
    await settle()
    with pytest.raises(DeviceAmbiguous):
        await client.set_trusted(PAD, False)
    await client.set_trusted(PAD, False, adapter=second)
    await settle()
    assert client.state.require_device(PAD, ADAPTER).trusted
    assert not client.state.require_device(PAD, second).trusted


async def test_an_error_of_no_decision_keeps_its_name_and_text(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    fake_bluez.fail_next("Set Alias", "Quaint", "out of ink")
    with pytest.raises(CallFailed, match="out of ink") as caught:
        await client.set_adapter_alias(ADAPTER, "x")
    assert caught.value.name == "org.bluez.Error.Quaint"


async def test_a_bluetoothd_that_takes_over_leaves_nothing_of_the_old_one_in_force(
    client: Client, fake_bluez: FakeBluez, broker: LoopbackBroker, hci0: str
) -> None:
    """The name can pass from one connection to the next in one signal."""
    waiting = asyncio.ensure_future(client.until(lambda state: False, 60))
    await settle()
    states: list[Availability] = []
    client.subscribe(lambda state: states.append(state.availability))
    second = FakeBluez(await broker.connect())
    second.hang_next("GetManagedObjects")
    broker.own(second.bus, "org.bluez")  # type: ignore[arg-type]
    await settle()
    assert states == [Availability.NO_OWNER]
    assert isinstance(waiting.exception(), OwnerLost)
    assert not client.state.adapters
    await client.until(lambda state: state.available, 30, through_loss=True)


async def test_a_state_reached_in_the_turn_of_the_deadline_is_reached(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    loop = asyncio.get_running_loop()

    def decide() -> None:
        client._cache.properties_changed(hci0, ADAPTER1, {"Alias": "now"}, ())  # type: ignore[union-attr]
        client._publish()

    loop.call_at(loop.time() + 5, decide)
    state = await client.until(lambda s: s.adapters[hci0].alias == "now", 5)
    assert state.adapters[hci0].alias == "now"


async def test_a_list_of_objects_of_another_form_is_no_picture_and_is_asked_for_again(
    broker: LoopbackBroker, fake_bluez: FakeBluez, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_bluez.add_adapter(ADAPTER)
    key = ("org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
    true_list = FakeBluez._METHODS[key]
    monkeypatch.setitem(FakeBluez._METHODS, key, lambda *_: ("s", ["none"]))
    async with Client.open(connect=broker.connect) as client:
        assert client.state.availability is Availability.NO_OWNER
        monkeypatch.setitem(FakeBluez._METHODS, key, true_list)
        await client.until(lambda state: state.available, 30, through_loss=True)


@pytest.mark.parametrize(
    ("modalias", "version"),
    [
        ("usb:v1D6Bp0246d0557", (5, 87)),
        ("usb:v1D6Bp0246d0542", (5, 66)),
        ("usb:v054Cp0CE6d0100", None),
        ("", None),
    ],
)
async def test_the_release_of_bluetoothd_is_read_from_how_it_introduces_itself(
    broker: LoopbackBroker, fake_bluez: FakeBluez, modalias: str, version: tuple[int, int] | None
) -> None:
    fake_bluez.add_adapter(ADAPTER, Modalias=modalias)
    async with Client.open(connect=broker.connect) as client:
        assert client.state.require_adapter(ADAPTER).bluez_version == version
