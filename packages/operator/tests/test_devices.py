"""What the slice lists: devices, attributes and taints, a row for each state of pad and radio."""

from __future__ import annotations

from typing import Any

import pytest
from bluetooth_operator.plan.devices import cut, devices
from bluezclient import Address
from draplugin import Device, Taint

DISCONNECTED = Taint("bluetooth.liken.sh/disconnected", "NoExecute")
NO_NODE = Taint("bluetooth.liken.sh/no-input-node", "NoSchedule")
MOVED = Taint("bluetooth.liken.sh/node-moved", "NoExecute")


def controller(found: tuple[Device, ...]) -> Device:
    return next(each for each in found if not each.name.endswith("-media"))


def test_a_connected_pad_carries_what_bluetoothd_and_its_nodes_say(build: Any) -> None:
    world = build.world(device=build.pad(modalias="usb:v054Cp0CE6d0100"))
    assert devices(world) == (
        Device(
            name="a0-ab-51-33-b7-12",
            attributes={
                "address": "A0:AB:51:33:B7:12",
                "connected": True,
                "name": "DualSense Wireless Controller",
                "classOfDevice": 9480,
                "modalias": "usb:v054Cp0CE6d0100",
                "icon": "input-gaming",
                "addressType": "public",
                "majorClass": "peripheral",
                "minorClass": "gamepad",
                "input": True,
                "joystick": True,
            },
        ),
        Device(
            name="04-4a-69-66-92-27-media",
            attributes={
                "address": "04:4A:69:66:92:27",
                "kind": "mediaBus",
                "sound.liken.sh/supportsSound": True,
            },
        ),
    )


TAINTS = {
    "connected with its nodes held": ({}, (), ()),
    "asleep with its nodes held": ({"connected": False}, (), (DISCONNECTED,)),
    "never connected since it was bonded": (
        {"connected": False},
        ("no nodes",),
        (DISCONNECTED, NO_NODE),
    ),
    "connected, its nodes not read yet": ({}, ("no nodes",), (NO_NODE,)),
    "claimed and renumbered": ({}, ("claimed as event9",), (MOVED,)),
    "claimed as it is": ({}, ("claimed as event7",), ()),
    "claimed while the relay is away": ({}, ("claimed as event7", "no relay"), (NO_NODE,)),
}


@pytest.mark.parametrize(("facts", "also", "expected"), TAINTS.values(), ids=TAINTS)
def test_taints(build: Any, facts: dict[str, Any], also: tuple[str, ...], expected: Any) -> None:
    changes: dict[str, Any] = {}
    if "no nodes" in also:
        changes["relay"] = build.observed()
    if "no relay" in also:
        changes["relay"] = None
    for text in also:
        if text.startswith("claimed as event"):
            given = build.mirror(number=int(text.removeprefix("claimed as event")))
            changes["prepared"] = (build.claim(nodes=[given]),)
    world = build.world(device=build.pad(**facts), **changes)
    assert controller(devices(world)).taints == expected


def test_a_pad_stays_listed_by_its_stored_bond_when_its_radio_is_unplugged(build: Any) -> None:
    world = build.world(
        adapter=None, kube=build.kube(bonds=[build.stored(build.pad_node)]), relay=build.observed()
    )
    pad, bus = devices(world)
    assert pad.attributes == {
        "address": "A0:AB:51:33:B7:12",
        "connected": False,
        "name": "DualSense Wireless Controller",
        "classOfDevice": 9480,
        "addressType": "public",
        "majorClass": "peripheral",
        "minorClass": "gamepad",
        "input": True,
        "joystick": True,
    }
    assert pad.taints == (DISCONNECTED, NO_NODE)
    assert bus.taints == (Taint("bluetooth.liken.sh/disconnected", "NoSchedule"),)


def test_without_a_radio_and_without_a_bond_nothing_is_listed(build: Any) -> None:
    assert devices(build.world(adapter=None, kube=build.kube(adapters=[]))) == ()


def test_a_bond_of_another_nodes_radio_is_not_listed_here(build: Any) -> None:
    elsewhere = build.adapter_object(node="node-2")
    world = build.world(adapter=None, kube=build.kube(adapters=[elsewhere], bonds=[build.stored()]))
    assert devices(world) == ()


def test_an_unbonded_device_on_the_air_is_not_listed(build: Any) -> None:
    world = build.world(device=build.pad(bonded=False, paired=False))
    assert [each.name for each in devices(world)] == ["04-4a-69-66-92-27-media"]


def test_a_pad_bonded_to_two_radios_is_one_device_and_the_link_that_is_up_wins(build: Any) -> None:
    other = Address("04:4A:69:66:92:28")
    asleep = build.pad(connected=False)
    awake = build.pad(path="/org/bluez/hci1/dev_X", adapter_address=other)
    world = build.world(device=asleep)
    second = build.radio(path="/org/bluez/hci1", address=other)
    state = world.bluez
    world.bluez.adapters["/org/bluez/hci1"] = second
    state.devices[awake.path] = awake
    found = [each for each in devices(world) if not each.name.endswith("-media")]
    assert [(each.name, each.attributes["connected"]) for each in found] == [
        ("a0-ab-51-33-b7-12", True)
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pad", "pad"),
        ("x" * 64, "x" * 64),
        ("x" * 65, "x" * 64),
        ("x" * 63 + "é", "x" * 63),
        ("é" * 40, "é" * 32),
        ("🎮" * 20, "🎮" * 16),
    ],
)
def test_strings_are_cut_at_64_bytes_between_characters(name: str, expected: str) -> None:
    assert cut(name) == expected
