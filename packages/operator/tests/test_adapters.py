"""What an Adapter says and asks for, and why a radio that is plugged in cannot be deleted."""

from __future__ import annotations

from typing import Any

import pytest
from bluetooth_operator.actions import Apply, Bluez, Release
from bluetooth_operator.plan.adapters import adapters

FINALIZER = "bluetooth.liken.sh/adapter-present"


def conditions(world: Any) -> list[tuple[str, str, str]]:
    (action,) = (each for each in adapters(world) if isinstance(each, Apply) and each.status)
    listed = action.body["status"]["conditions"]
    return [(each["type"], each["status"], each["reason"]) for each in listed]


def test_a_radio_without_an_object_is_adopted(build: Any) -> None:
    (action,) = adapters(build.world(kube=build.kube(adapters=[])))
    assert isinstance(action, Apply)
    assert action.body == {
        "metadata": {"name": "04-4a-69-66-92-27", "finalizers": [FINALIZER]},
        "spec": {},
    }


ROWS: dict[str, tuple[dict[str, Any], list[tuple[str, str, str]]]] = {
    "powered": ({}, [("Ready", "True", "Powered")]),
    "unplugged": ({"adapter": None}, [("Ready", "False", "AdapterRemoved")]),
    "bluetoothd is away": ({"available": False}, [("Ready", "False", "BluetoothUnavailable")]),
}


@pytest.mark.parametrize(("facts", "expected"), ROWS.values(), ids=ROWS)
def test_ready(build: Any, facts: dict[str, Any], expected: Any) -> None:
    assert conditions(build.world(**facts)) == expected


def test_a_radio_that_is_off_is_switched_on_and_one_held_by_rfkill_is_left(build: Any) -> None:
    off = build.world(adapter=build.radio(powered=False))
    assert [each for each in adapters(off) if isinstance(each, Bluez)] == [
        Bluez("powered", build.radio_address, value=True)
    ]
    blocked = build.world(adapter=build.radio(powered=False, power_state="off-blocked"))
    assert [each for each in adapters(blocked) if isinstance(each, Bluez)] == []
    assert conditions(blocked) == [("Ready", "False", "Blocked")]


def test_the_alias_of_the_spec_is_given_to_the_radio(build: Any) -> None:
    known = build.adapter_object()
    known["spec"] = {"alias": "arcade"}
    calls = [
        each
        for each in adapters(build.world(kube=build.kube(adapters=[known])))
        if isinstance(each, Bluez)
    ]
    assert calls == [Bluez("adapterAlias", build.radio_address, value="arcade")]


def test_deleting_a_radio_that_is_plugged_in_is_refused_in_words(build: Any) -> None:
    known = build.adapter_object()
    known["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    world = build.world(kube=build.kube(adapters=[known]))
    assert conditions(world)[1] == ("DeletionRefused", "True", "AdapterPresent")
    assert not [each for each in adapters(world) if isinstance(each, Release)]


def test_deleting_a_radio_that_is_gone_lets_the_object_go(build: Any) -> None:
    known = build.adapter_object()
    known["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    released = [
        each
        for each in adapters(build.world(adapter=None, kube=build.kube(adapters=[known])))
        if isinstance(each, Release)
    ]
    assert [(each.name, each.finalizers) for each in released] == [("04-4a-69-66-92-27", ())]
