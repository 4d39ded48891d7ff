"""Pairing windows on the fake bluetoothd: order on the wire, and every way to fail."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from bluezclient import (
    AdapterMissing,
    AdapterUnpowered,
    Address,
    AuthenticationFailed,
    Busy,
    CallFailed,
    Client,
    DeviceUnknown,
    DeviceUnreachable,
    NotBonded,
    OwnerLost,
    PairingCanceled,
    PairingRejected,
    PairingTimedOut,
    PinRequired,
    Prompt,
    PromptKind,
    StaleKernelKey,
    State,
)
from bluezclient.testing import FakeBluez, LoopbackBroker, Peer
from dbus_fast import Message

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
        "hci0.Set(org.bluez.Adapter1, Pairable, False)",
        "bluez.UnregisterAgent(/liken/bluezclient/agent)",
    ]


def calls(fake: FakeBluez, member: str) -> int:
    return sum(call.member == member for call in fake.calls)


@pytest.mark.parametrize(
    ("outcomes", "pairs"),
    [
        pytest.param([], 1, id="at the first try"),
        pytest.param(["AuthenticationFailed"], 2, id="at the second try after a failure (#605)"),
        pytest.param(["AuthenticationCanceled"], 2, id="at the second try after the pad left"),
        pytest.param(["ConnectionAttemptFailed"] * 3, 4, id="at the fourth advert (#627)"),
    ],
)
async def test_pairing_succeeds(
    client: Client, fake_bluez: FakeBluez, outcomes: list[str], pairs: int
) -> None:
    fake_bluez.peers.append(replace(PEER, outcomes=outcomes))
    async with client.pairing_window(ADAPTER) as window:
        device = await window.pair(PAD)
    assert device.trusted
    assert calls(fake_bluez, "Pair") == pairs


@pytest.mark.parametrize(
    ("outcomes", "error", "pairs"),
    [
        pytest.param(["AuthenticationFailed"] * 2, AuthenticationFailed, 2, id="fails twice"),
        pytest.param(["AuthenticationRejected"], PairingRejected, 1, id="is rejected"),
        pytest.param(["AuthenticationTimeout"], PairingTimedOut, 1, id="times out by itself"),
        pytest.param(["AuthenticationCanceled"] * 2, PairingCanceled, 2, id="is canceled twice"),
        pytest.param(["ConnectionAttemptFailed"] * 99, DeviceUnreachable, 7, id="never answers"),
        pytest.param(["non-bonding"], NotBonded, 1, id="keeps no key (xpadneo #239)"),
        pytest.param(["silent"], PairingTimedOut, 1, id="goes silent"),
    ],
)
async def test_a_pairing_that(
    client: Client,
    fake_bluez: FakeBluez,
    outcomes: list[str],
    error: type[Exception],
    pairs: int,
) -> None:
    fake_bluez.peers.append(replace(PEER, outcomes=outcomes))
    async with client.pairing_window(ADAPTER) as window:
        with pytest.raises(error):
            await window.pair(PAD, deadline=45)
        await client.until(lambda state: not state.devices, 1)
    assert calls(fake_bluez, "Pair") == pairs
    assert calls(fake_bluez, "CancelPairing") == 0
    assert not any("Trusted" in call.arguments for call in fake_bluez.calls)


async def test_an_address_that_was_never_seen_is_unknown(
    client: Client, fake_bluez: FakeBluez
) -> None:
    async with client.pairing_window(ADAPTER) as window:
        with pytest.raises(DeviceUnknown, match="was not heard"):
            await window.pair(PAD, deadline=30)
    assert calls(fake_bluez, "Pair") == 0


async def test_a_device_that_vanishes_between_choosing_and_pairing_is_found_again(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    fake_bluez.peers.append(replace(PEER))
    path = f"{hci0}/{PAD.bluez}"
    vanished: list[bool] = []

    def vanish_at_the_end_of_the_scan(state: State) -> None:
        if path in state.devices and not state.adapters[hci0].discovering and not vanished:
            vanished.append(True)
            fake_bluez.vanish(path)

    client.subscribe(vanish_at_the_end_of_the_scan)
    async with client.pairing_window(ADAPTER) as window:
        device = await window.pair(PAD)
    assert vanished
    assert device.bonded
    assert calls(fake_bluez, "StartDiscovery") == 2
    assert calls(fake_bluez, "Pair") == 1


async def test_a_device_object_that_vanishes_in_the_middle_of_pairing_is_tried_again(
    client: Client, fake_bluez: FakeBluez
) -> None:
    fake_bluez.peers.append(replace(PEER, outcomes=["vanish"]))
    async with client.pairing_window(ADAPTER) as window:
        assert (await window.pair(PAD)).bonded
    assert calls(fake_bluez, "Pair") == 2


async def test_an_old_bond_of_a_pad_in_pairing_mode_is_removed_first(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """hass-omron PR#165, bluez #2475: over a stale bond `Pair` returns at once."""
    fake_bluez.add_device(hci0, PAD)
    fake_bluez.peers.append(replace(PEER))
    async with client.pairing_window(ADAPTER) as window:
        device = await window.pair(PAD)
    assert device.bonded
    members = [call.member for call in fake_bluez.calls]
    assert members.index("RemoveDevice") < members.index("Pair")
    assert members.count("Pair") == 1


async def test_an_old_bond_of_a_pad_that_is_not_there_is_kept(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    fake_bluez.add_device(hci0, PAD)
    async with client.pairing_window(ADAPTER) as window:
        with pytest.raises(DeviceUnknown):
            await window.pair(PAD, deadline=30)
    assert client.state.require_device(PAD).bonded


async def test_a_key_only_the_kernel_remembers_is_removed_and_the_pairing_tried_once_more(
    client: Client, fake_bluez: FakeBluez
) -> None:
    """bluez #698: "Already Paired" for a device that is not bonded."""
    fake_bluez.kernel_keys.add(PAD)
    fake_bluez.peers.append(replace(PEER))
    async with client.pairing_window(ADAPTER) as window:
        assert (await window.pair(PAD)).bonded
    members = [call.member for call in fake_bluez.calls if call.member in ("Pair", "RemoveDevice")]
    assert members == ["Pair", "RemoveDevice", "Pair"]


async def test_a_kernel_key_that_will_not_go_is_named(
    client: Client, fake_bluez: FakeBluez
) -> None:
    fake_bluez.peers.append(replace(PEER))
    fake_bluez.fail_next("Pair", "AlreadyExists")
    fake_bluez.fail_next("Pair", "AlreadyExists")
    async with client.pairing_window(ADAPTER) as window:
        with pytest.raises(StaleKernelKey):
            await window.pair(PAD)


async def test_a_bond_is_a_success_even_if_the_reply_is_an_error(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """Before 5.87 `Pair` also returned errors of the service discovery after the bond."""
    fake_bluez.peers.append(replace(PEER, services_after=20.0))
    async with client.pairing_window(ADAPTER) as window:
        pairing = asyncio.create_task(window.pair(PAD))
        await client.until(lambda state: any(d.bonded for d in state.devices.values()), 10)
        fake_bluez.abort_pairing(f"{hci0}/{PAD.bluez}", "Failed")
        assert (await pairing).trusted


@pytest.mark.parametrize(
    ("deadline", "bonded"),
    [
        pytest.param(1.7, False, id="before the link"),
        pytest.param(2.2, False, id="before the bond"),
        pytest.param(3.0, True, id="after the bond, before the reply"),
    ],
)
@pytest.mark.parametrize("how", ["deadline", "cancel"])
async def test_ending_early(
    client: Client, fake_bluez: FakeBluez, how: str, deadline: float, bonded: bool
) -> None:
    """Heard at 1 s, Pair at 1.5 s, link at 2 s, bond at 2.5 s, reply at 4.5 s."""
    fake_bluez.peers.append(replace(PEER))
    async with client.pairing_window(ADAPTER) as window:
        pairing = asyncio.create_task(
            window.pair(PAD, deadline=deadline if how == "deadline" else 60)
        )
        if how == "cancel":
            await asyncio.sleep(deadline)
            pairing.cancel()
        await asyncio.wait({pairing})
        if how == "cancel":
            assert pairing.cancelled()
        elif bonded:
            assert pairing.result().trusted
        else:
            assert isinstance(pairing.exception(), PairingTimedOut)
        device = client.state.device(PAD)
        assert (device is not None and device.bonded and device.trusted) == bonded
        assert (device is None) == (not bonded)
    assert calls(fake_bluez, "CancelPairing") == 0


@pytest.mark.parametrize(
    ("deadline", "seconds"),
    [
        pytest.param(90, 32.5, id="are given half a minute after the bond"),
        pytest.param(20, 20, id="but no longer than the deadline"),
        pytest.param(2.6, 7.5, id="or five seconds, where the bond came late"),
    ],
)
async def test_services_that_are_never_found(
    client: Client, fake_bluez: FakeBluez, deadline: float, seconds: float
) -> None:
    """Bonded 2.5 s after the beginning."""
    fake_bluez.peers.append(replace(PEER, services_after=1000.0))
    async with client.pairing_window(ADAPTER) as window:
        began = asyncio.get_running_loop().time()
        assert (await window.pair(PAD, deadline=deadline)).trusted
        assert asyncio.get_running_loop().time() - began == pytest.approx(seconds, abs=0.1)


async def test_a_bond_that_wins_the_race_against_the_deadline_is_a_success(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """As seen with BlueZ 5.87: not bonded at the deadline, bonded while the pairing is called off."""
    fake_bluez.peers.append(replace(PEER, bond_after=60.0))
    path = f"{hci0}/{PAD.bluez}"

    def bond_at_the_last_moment(call: str) -> None:
        if call == "Disconnect":
            fake_bluez.change(path, "org.bluez.Device1", Bonded=True)

    fake_bluez.before_call = bond_at_the_last_moment
    async with client.pairing_window(ADAPTER) as window:
        device = await window.pair(PAD, deadline=10)
    assert (device.bonded, device.trusted) == (True, True)
    assert calls(fake_bluez, "RemoveDevice") == 0


async def test_an_le_device_keeps_its_path_and_gets_its_identity_address(
    client: Client, fake_bluez: FakeBluez
) -> None:
    private, identity = Address("5A:11:22:33:44:55"), Address("C4:11:22:33:44:55")
    remote = Peer(private, "Remote", None, 0x0180, "random", identity=identity)
    fake_bluez.peers.append(remote)
    async with client.pairing_window(ADAPTER) as window:
        device = await window.pair(private)
        assert [(seen.address, seen.kind) for seen in window.seen] == [(identity, "remote")]
    assert device.address == identity
    assert device.path.endswith(private.bluez)


async def test_two_pairings_at_once_in_one_window_are_refused(
    client: Client, fake_bluez: FakeBluez
) -> None:
    fake_bluez.peers.append(replace(PEER))
    async with client.pairing_window(ADAPTER) as window:
        first = asyncio.create_task(window.pair(PAD))
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await window.pair(PAD)
        assert (await first).bonded


# -- the agent ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "answer", "prompt"),
    [
        (
            ("DisplayPasskey", "uq", (42, 3)),
            None,
            Prompt(PromptKind.SHOW_PASSKEY, PAD, "000042", 3),
        ),
        (("RequestConfirmation", "u", (123456,)), True, Prompt(PromptKind.CONFIRM, PAD, "123456")),
        (("RequestPasskey", "", ()), "123456", Prompt(PromptKind.ENTER_PASSKEY, PAD)),
        (("RequestPinCode", "", ()), "0000", Prompt(PromptKind.ENTER_PIN, PAD)),
        (("DisplayPinCode", "s", ("1234",)), None, Prompt(PromptKind.SHOW_PIN, PAD, "1234")),
    ],
)
async def test_a_code_is_handed_to_the_caller(
    client: Client,
    fake_bluez: FakeBluez,
    ask: tuple[str, str, tuple[object, ...]],
    answer: bool | str | None,
    prompt: Prompt,
) -> None:
    prompts: list[Prompt] = []
    held: list[Prompt | None] = []

    async def on_prompt(asked: Prompt) -> bool | str | None:
        prompts.append(asked)
        held.append(window.prompt)
        return answer

    fake_bluez.peers.append(replace(PEER, asks=[ask]))
    async with client.pairing_window(ADAPTER, "KeyboardDisplay", on_prompt=on_prompt) as window:
        assert (await window.pair(PAD)).bonded
        assert window.prompt is None
    assert prompts == held == [prompt]


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        pytest.param(("RequestPinCode", "", ()), PinRequired, id="a PIN"),
        pytest.param(("RequestPasskey", "", ()), PinRequired, id="a passkey"),
        pytest.param(
            ("AuthorizeService", "s", ("x",)), PairingRejected, id="a service before the bond"
        ),
        pytest.param(("Unheard", "", ()), PairingRejected, id="a method of a later BlueZ"),
    ],
)
async def test_an_agent_without_a_person_refuses(
    client: Client,
    fake_bluez: FakeBluez,
    ask: tuple[str, str, tuple[object, ...]],
    error: type[Exception],
) -> None:
    fake_bluez.peers.append(replace(PEER, asks=[ask]))
    async with client.pairing_window(ADAPTER) as window:
        with pytest.raises(error):
            await window.pair(PAD)


@pytest.mark.parametrize(
    "ask", [("RequestAuthorization", "", ()), ("RequestConfirmation", "u", (7,))]
)
async def test_just_works_is_accepted_for_the_chosen_device(
    client: Client, fake_bluez: FakeBluez, ask: tuple[str, str, tuple[object, ...]]
) -> None:
    fake_bluez.peers.append(replace(PEER, asks=[ask]))
    async with client.pairing_window(ADAPTER) as window:
        assert (await window.pair(PAD)).bonded


async def test_another_device_that_asks_during_the_window_is_rejected(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    other = fake_bluez.add_device(hci0, Address("11:22:33:44:55:66"), Bonded=False, Paired=False)
    fake_bluez.peers.append(replace(PEER))
    async with client.pairing_window(ADAPTER) as window:
        assert await fake_bluez.ask(other, "RequestAuthorization") == "org.bluez.Error.Rejected"
        await window.pair(PAD)
        assert await fake_bluez.ask(other, "RequestAuthorization") == "org.bluez.Error.Rejected"


async def test_a_caller_that_is_not_bluetoothd_is_rejected(
    client: Client, fake_bluez: FakeBluez, broker: LoopbackBroker, hci0: str
) -> None:
    fake_bluez.peers.append(replace(PEER, bond_after=30.0))
    intruder = await broker.connect()
    async with client.pairing_window(ADAPTER) as window:
        pairing = asyncio.create_task(window.pair(PAD))
        await asyncio.sleep(5)
        reply = await intruder.call(
            Message(
                destination=fake_bluez.default_agent or "",
                path="/liken/bluezclient/agent",
                interface="org.bluez.Agent1",
                member="RequestAuthorization",
                signature="o",
                body=[f"{hci0}/{PAD.bluez}"],
            )
        )
        assert reply is not None
        assert reply.error_name == "org.bluez.Error.Rejected"
        pairing.cancel()
        await asyncio.wait({pairing})


# -- the window through bad days ---------------------------------------------------------------


async def test_bluetoothd_killed_in_mid_pairing_ends_it_by_name_and_the_window_resumes(
    client: Client, fake_bluez: FakeBluez, broker: LoopbackBroker
) -> None:
    fake_bluez.peers.append(replace(PEER, bond_after=60.0))
    async with client.pairing_window(ADAPTER) as window:
        pairing = asyncio.create_task(window.pair(PAD))
        await asyncio.sleep(5)
        fake_bluez.crash()
        broker.release("org.bluez")
        await asyncio.wait({pairing})
        assert isinstance(pairing.exception(), OwnerLost)
        assert not window.open

        fake_bluez.calls.clear()
        fake_bluez.peers[0] = replace(PEER)
        again = await broker.connect()
        fake_bluez.move_to(again)
        broker.own(again, "org.bluez")
        fake_bluez.add_adapter(ADAPTER)
        assert (await window.pair(PAD)).bonded
        assert [call.member for call in fake_bluez.calls if call.member != "Get"][:6] == [
            "GetManagedObjects",
            "RegisterAgent",
            "RequestDefaultAgent",
            "Set",
            "SetDiscoveryFilter",
            "StartDiscovery",
        ]


async def test_a_power_cycle_restarts_the_discovery_it_killed_without_a_word(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    async with client.pairing_window(ADAPTER) as window:
        fake_bluez.power(hci0, on=False)
        await client.until(lambda state: not state.adapters[hci0].powered, 1)
        assert not window.open
        fake_bluez.power(hci0, on=True)
        fake_bluez.peers.append(replace(PEER))
        await asyncio.sleep(3)
        assert window.open
        assert [seen.address for seen in window.seen] == [PAD]


async def test_power_off_in_mid_pairing_is_named(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    fake_bluez.peers.append(replace(PEER, bond_after=60.0))
    async with client.pairing_window(ADAPTER) as window:
        pairing = asyncio.create_task(window.pair(PAD))
        await asyncio.sleep(5)
        fake_bluez.power(hci0, on=False)
        with pytest.raises(AdapterUnpowered):
            await pairing


async def test_an_adapter_pulled_in_mid_pairing_is_named(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    fake_bluez.peers.append(replace(PEER, bond_after=60.0))
    async with client.pairing_window(ADAPTER) as window:
        pairing = asyncio.create_task(window.pair(PAD))
        await asyncio.sleep(5)
        fake_bluez.unplug(hci0)
        with pytest.raises((AdapterMissing, AdapterUnpowered)):
            await pairing


async def test_an_adapter_pulled_at_the_end_of_the_scan_is_named_at_once(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    fake_bluez.peers.append(replace(PEER))
    began = asyncio.get_running_loop().time()
    async with client.pairing_window(ADAPTER) as window:
        pairing = asyncio.ensure_future(window.pair(PAD))
        await asyncio.sleep(1.2)
        fake_bluez.unplug(hci0)
        with pytest.raises(AdapterMissing):
            await pairing
    assert asyncio.get_running_loop().time() - began < 5


async def test_pairable_cleared_by_somebody_else_is_set_again(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    async with client.pairing_window(ADAPTER):
        fake_bluez.change(hci0, "org.bluez.Adapter1", Pairable=False)
        await asyncio.sleep(1)
        assert client.state.adapters[hci0].pairable
    await client.until(lambda state: not state.adapters[hci0].pairable, 1)


async def test_the_bus_lost_in_a_window_is_survived_with_a_new_connection(
    client: Client, fake_bluez: FakeBluez, broker: LoopbackBroker
) -> None:
    fake_bluez.peers.append(replace(PEER))
    async with client.pairing_window(ADAPTER) as window:
        broker.stop()
        await asyncio.sleep(1)
        assert not window.open
        broker.start()
        bus = await broker.connect()
        fake_bluez.move_to(bus)
        broker.own(bus, "org.bluez")
        assert (await window.pair(PAD)).bonded


@pytest.mark.parametrize(
    ("powered", "address", "error"),
    [(False, ADAPTER, AdapterUnpowered), (True, PAD, AdapterMissing)],
)
async def test_a_window_does_not_open_on(
    client: Client,
    fake_bluez: FakeBluez,
    hci0: str,
    powered: bool,
    address: Address,
    error: type[Exception],
) -> None:
    if not powered:
        fake_bluez.power(hci0, on=False)
        await client.until(lambda state: not state.adapters[hci0].powered, 1)
    with pytest.raises(error):
        async with client.pairing_window(address):
            pass


async def test_a_window_that_bluetoothd_will_not_open_is_tried_again_once_a_second(
    client: Client, fake_bluez: FakeBluez
) -> None:
    for _ in range(3):
        fake_bluez.fail_next("RegisterAgent", "NotPermitted")
    began = asyncio.get_running_loop().time()
    async with client.pairing_window(ADAPTER):
        assert 3 <= asyncio.get_running_loop().time() - began < 4
    assert calls(fake_bluez, "RegisterAgent") == 4


async def test_a_window_that_bluetoothd_never_opens_ends_with_its_reason(
    client: Client, fake_bluez: FakeBluez
) -> None:
    for _ in range(99):
        fake_bluez.fail_next("RegisterAgent", "NotPermitted", "not for you")
    with pytest.raises(CallFailed, match="not for you"):
        async with client.pairing_window(ADAPTER):
            pass


async def test_two_radios_have_their_windows_at_once(client: Client, fake_bluez: FakeBluez) -> None:
    second = Address("04:4A:69:66:92:28")
    fake_bluez.add_adapter(second, 1)
    await client.until(lambda state: len(state.adapters) == 2, 1)
    fake_bluez.peers.append(replace(PEER))
    async with client.pairing_window(ADAPTER) as one, client.pairing_window(second) as two:
        devices = await asyncio.gather(one.pair(PAD), two.pair(PAD))
    assert [device.adapter_address for device in devices] == [ADAPTER, second]


# -- what users ran into, by thread ------------------------------------------------------------


async def test_half_a_second_passes_between_the_end_of_the_scan_and_the_pairing(
    client: Client, fake_bluez: FakeBluez
) -> None:
    """bluest #44: pairing right after discovery fails."""
    fake_bluez.peers.append(replace(PEER))
    async with client.pairing_window(ADAPTER) as window:
        await window.pair(PAD)
    at = {call.member: call.at for call in reversed(fake_bluez.calls)}
    assert at["Pair"] - at["StopDiscovery"] >= 0.5


async def test_a_discovery_already_in_progress_is_running_and_one_not_started_is_stopped(
    client: Client, fake_bluez: FakeBluez
) -> None:
    """bluer #47, habluetooth PR#153: discovery stuck in InProgress."""
    fake_bluez.peers.append(replace(PEER))
    fake_bluez.fail_next("StartDiscovery", "InProgress", "Operation already in progress")
    fake_bluez.fail_next("StopDiscovery", "Failed", "No discovery started")
    async with client.pairing_window(ADAPTER) as window:
        assert (await window.pair(PAD)).bonded


async def test_a_window_never_connects_a_device_that_is_not_bonded(
    client: Client, fake_bluez: FakeBluez
) -> None:
    """blueman #2219, #2261: Connect before Pair leaves the device unusable."""
    fake_bluez.peers.append(replace(PEER, outcomes=["AuthenticationFailed"]))
    async with client.pairing_window(ADAPTER) as window:
        await window.pair(PAD)
    assert calls(fake_bluez, "Connect") == 0


async def test_a_pad_in_another_mode_is_another_device_and_the_old_bond_stays(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """bluez #1914, batocera #9006: 8BitDo pads have an address for each mode."""
    other = Address("E4:17:D8:00:00:02")
    fake_bluez.add_device(hci0, PAD, Name="Pad", Alias="Pad")
    fake_bluez.peers.append(replace(PEER, address=other, name="Pad"))
    async with client.pairing_window(ADAPTER) as window:
        await window.pair(other)
    assert client.state.require_device(PAD).bonded
    assert client.state.require_device(other).bonded


async def test_a_device_that_refuses_its_key_is_never_unpaired_by_itself(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """bluez #2475, #433."""
    path = fake_bluez.add_device(hci0, PAD)
    for _ in range(5):
        fake_bluez.connect_device(path)
        fake_bluez.disconnect_device(path, "Authentication")
        await asyncio.sleep(1)
    assert client.state.links[(ADAPTER, PAD)].key_missing
    assert calls(fake_bluez, "RemoveDevice") == 0


async def test_discovery_of_its_own_ends_with_its_block(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    fake_bluez.peers.append(replace(PEER))
    async with client.discovering(ADAPTER, transport="bredr"):
        await client.until(lambda state: state.device(PAD) is not None, 5)
    state = await client.until(lambda state: not state.adapters[hci0].discovering, 5)
    assert state.require_device(PAD).rssi is None
