"""What a Peripheral says and how it goes, a row for each state of bond, radio, relay and claims."""

from __future__ import annotations

from typing import Any

import pytest
from bluetooth_operator.actions import Apply, Bluez, Delete, Release
from bluetooth_operator.plan.peripherals import peripherals
from bluezclient import Battery, Reason


def told(world: Any) -> dict[str, tuple[str, str]]:
    """Condition type -> (status, reason) of the status that is written."""
    statuses = [each for each in peripherals(world) if isinstance(each, Apply) and each.status]
    (action,) = statuses
    return {c["type"]: (c["status"], c["reason"]) for c in action.body["status"]["conditions"]}


def status(world: Any) -> dict[str, Any]:
    (action,) = (each for each in peripherals(world) if isinstance(each, Apply) and each.status)
    return {k: v for k, v in action.body["status"].items() if k != "conditions"}


def test_a_bond_without_a_peripheral_is_adopted_and_leaves_the_spec_to_the_user(build: Any) -> None:
    world = build.world(device=build.pad(), kube=build.kube(peripherals=[]))
    (action,) = peripherals(world)
    assert isinstance(action, Apply)
    assert action.body == {
        "metadata": {
            "name": "a0-ab-51-33-b7-12",
            "labels": {"bluetooth.liken.sh/adapter": "04-4a-69-66-92-27"},
            "finalizers": ["bluetooth.liken.sh/unpair"],
        },
        "spec": {},
    }


def test_a_secret_without_a_peripheral_is_adopted_too(build: Any) -> None:
    world = build.world(kube=build.kube(peripherals=[], bonds=[build.stored()]))
    (action,) = peripherals(world)
    assert action.target == "Peripheral a0-ab-51-33-b7-12"


def test_the_status_names_everything_that_is_known(build: Any) -> None:
    paired = build.request_object(
        phase="Paired", peripheral="a0-ab-51-33-b7-12", finishedAt="2027-01-15T07:30:00Z"
    )
    node = build.mirror()
    world = build.world(
        device=build.pad(battery=Battery(percentage=80)),
        kube=build.kube(bonds=[build.stored(build.pad_node)], requests=[paired]),
        prepared=(build.claim(nodes=[node]),),
    )
    assert status(world) == {
        "address": "A0:AB:51:33:B7:12",
        "deviceName": "DualSense Wireless Controller",
        "adapter": "04-4a-69-66-92-27",
        "node": "node-1",
        "connected": True,
        "bonded": True,
        "battery": 80,
        "inputs": ["joystick"],
        "claims": ["games/claim-c1"],
        "secret": "bluetooth-bond-a0-ab-51-33-b7-12",
        "pairedAt": "2027-01-15T07:30:00Z",
        "request": "games/pad",
        "observedGeneration": 1,
    }


CONDITIONS: dict[str, tuple[dict[str, Any], dict[str, tuple[str, str]]]] = {
    "paired, stored, read": (
        {"device": {}, "stored": True},
        {
            "Ready": ("True", "Claimable"),
            "Bonded": ("True", "Bonded"),
            "BondStored": ("True", "Stored"),
            "InputReady": ("True", "NodesHeld"),
            "Connected": ("True", "Connected"),
        },
    ),
    "asleep is as ready as awake": (
        {"device": {"connected": False}, "stored": True, "reason": Reason.ASLEEP},
        {
            "Ready": ("True", "Claimable"),
            "Bonded": ("True", "Bonded"),
            "BondStored": ("True", "Stored"),
            "InputReady": ("True", "NodesHeld"),
            "Connected": ("False", "Asleep"),
        },
    ),
    "just bonded": (
        {"device": {"connected": False}, "nodes": ()},
        {
            "Ready": ("False", "Sealing"),
            "Bonded": ("True", "Bonded"),
            "BondStored": ("False", "Sealing"),
            "InputReady": ("False", "NoInputNode"),
            "Connected": ("False", "NeverConnected"),
        },
    ),
    "bluetoothd is away": (
        {"available": False, "stored": True},
        {
            "Ready": ("False", "BluetoothUnavailable"),
            "Bonded": ("Unknown", "BluetoothUnavailable"),
            "BondStored": ("True", "Stored"),
            "InputReady": ("True", "NodesHeld"),
            "Connected": ("Unknown", "BluetoothUnavailable"),
        },
    ),
    "its radio is unplugged": (
        {"adapter": None, "stored": True, "reason": Reason.ADAPTER_REMOVED},
        {
            "Ready": ("False", "AdapterRemoved"),
            "Bonded": ("Unknown", "AdapterRemoved"),
            "BondStored": ("True", "Stored"),
            "InputReady": ("True", "NodesHeld"),
            "Connected": ("False", "AdapterRemoved"),
        },
    ),
    "the stored bond did not come back": (
        {"stored": True},
        {
            "Ready": ("False", "BondMissing"),
            "Bonded": ("False", "BondMissing"),
            "BondStored": ("True", "Stored"),
            "InputReady": ("True", "NodesHeld"),
            "Connected": ("False", "NeverConnected"),
        },
    ),
    "the relay is away": (
        {"device": {}, "stored": True, "relay": None},
        {
            "Ready": ("False", "RelayUnavailable"),
            "Bonded": ("True", "Bonded"),
            "BondStored": ("True", "Stored"),
            "InputReady": ("False", "RelayUnavailable"),
            "Connected": ("True", "Connected"),
        },
    ),
}


@pytest.mark.parametrize(("facts", "expected"), CONDITIONS.values(), ids=CONDITIONS)
def test_conditions(build: Any, facts: dict[str, Any], expected: Any) -> None:
    facts = dict(facts)
    device = facts.pop("device", None)
    bonds = [build.stored(build.pad_node)] if facts.pop("stored", False) else []
    if "nodes" in facts:
        facts["relay"] = build.observed(*facts.pop("nodes"))
    world = build.world(
        device=None if device is None else build.pad(**device),
        kube=build.kube(bonds=bonds),
        **facts,
    )
    assert told(world) == expected


def test_a_condition_keeps_its_time_while_its_status_is_the_same(build: Any) -> None:
    known = build.peripheral_object()
    long_ago = "2026-01-01T00:00:00Z"
    known["status"] = {
        "conditions": [
            {"type": "Connected", "status": "True", "lastTransitionTime": long_ago},
            {"type": "Ready", "status": "True", "lastTransitionTime": long_ago},
        ]
    }
    world = build.world(device=build.pad(), kube=build.kube(peripherals=[known]))
    (action,) = peripherals(world)
    assert isinstance(action, Apply)
    times = {c["type"]: c["lastTransitionTime"] for c in action.body["status"]["conditions"]}
    assert times["Connected"] == long_ago
    assert times["Ready"] == "2027-01-15T08:00:00Z"


def test_a_status_that_is_right_already_is_not_written_again(build: Any) -> None:
    known = build.peripheral_object()
    world = build.world(
        device=build.pad(), kube=build.kube(peripherals=[known], bonds=[build.stored()])
    )
    (action,) = peripherals(world)
    assert isinstance(action, Apply)
    known["status"] = action.body["status"]
    assert list(peripherals(world)) == []


SPEC = {
    "trust is given": ({}, {"trusted": False}, [("trusted", True)]),
    "trust is taken": ({"trusted": False}, {}, [("trusted", False)]),
    "trust waits for the bond": ({}, {"trusted": False, "bonded": False}, []),
    "a name is set": ({"alias": "Player 1"}, {}, [("alias", "Player 1")]),
    "no name is no wish": ({}, {"alias": "whatever"}, []),
}


@pytest.mark.parametrize(("spec", "facts", "expected"), SPEC.values(), ids=SPEC)
def test_spec(build: Any, spec: dict[str, Any], facts: dict[str, Any], expected: Any) -> None:
    kube = build.kube(peripherals=[build.peripheral_object(**spec)], bonds=[build.stored()])
    world = build.world(device=build.pad(**facts), kube=kube)
    calls = [each for each in peripherals(world) if isinstance(each, Bluez)]
    assert [(each.verb, each.value) for each in calls] == expected


STEPS: dict[str, tuple[dict[str, Any], bool, bool, str]] = {
    "trust goes first": ({"trusted": True}, True, True, "bluetoothd trusted"),
    "then the link": ({"trusted": False}, True, True, "bluetoothd disconnect"),
    "then the claims are waited for": (
        {"trusted": False, "connected": False}, True, True, "",
    ),
    "then the bond": (
        {"trusted": False, "connected": False}, False, True, "bluetoothd unpair",
    ),
    "then the Secret": ({}, False, True, "delete Secret"),
    "and last the finalizer": ({}, False, False, "finalizer of Peripheral"),
}  # fmt: skip


@pytest.mark.parametrize(("facts", "claimed", "stored", "step"), STEPS.values(), ids=STEPS)
def test_a_deleted_peripheral_goes_one_step_at_a_time(
    build: Any, facts: dict[str, Any], claimed: bool, stored: bool, step: str
) -> None:
    node = build.mirror()
    world = build.world(
        device=build.pad(**facts) if facts else None,
        kube=build.kube(
            peripherals=[build.peripheral_object(deleting=True)],
            bonds=[build.stored()] if stored else [],
        ),
        prepared=(build.claim(nodes=[node]),) if claimed else (),
    )
    done = [each for each in peripherals(world) if not isinstance(each, Apply)]
    assert [each.target.startswith(step) for each in done] == ([True] if step else [])


def test_nothing_is_unpaired_while_bluetoothd_cannot_be_asked(build: Any) -> None:
    world = build.world(
        available=False,
        kube=build.kube(
            peripherals=[build.peripheral_object(deleting=True)], bonds=[build.stored()]
        ),
    )
    assert [each for each in peripherals(world) if not isinstance(each, Apply)] == []


def test_with_the_radio_gone_for_good_the_secret_goes_and_then_the_object(build: Any) -> None:
    deleting = build.peripheral_object(deleting=True)
    world = build.world(
        adapter=None, kube=build.kube(peripherals=[deleting], bonds=[build.stored()])
    )
    done = [each for each in peripherals(world) if not isinstance(each, Apply)]
    assert [type(each) for each in done] == [Delete]
    world = build.world(adapter=None, kube=build.kube(peripherals=[deleting]))
    (done_then,) = peripherals(world)
    assert done_then == Release(done_then.resource, "a0-ab-51-33-b7-12", ())  # type: ignore[union-attr]


def test_a_peripheral_whose_bond_vanished_is_reported_and_never_deleted(build: Any) -> None:
    world = build.world(kube=build.kube())
    assert set(told(world).values()) == {("False", "BondRemoved")}
    assert [type(each) for each in peripherals(world)] == [Apply]


def test_a_peripheral_of_another_nodes_radio_is_left_alone(build: Any) -> None:
    known = build.peripheral_object()
    known["metadata"]["labels"] = {"bluetooth.liken.sh/adapter": "11-22-33-44-55-66"}
    assert list(peripherals(build.world(kube=build.kube(peripherals=[known])))) == []
