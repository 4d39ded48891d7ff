"""The life of a PairingRequest, a row for each thing that can be true when it is looked at."""

from __future__ import annotations

from typing import Any

import pytest
from bluetooth_operator.actions import Apply, Delete, WindowWish
from bluetooth_operator.plan.requests import next_instant, requests, windows
from bluezclient import Address, Seen

RADIO = Address("04:4A:69:66:92:27")
PAD = Address("A0:AB:51:33:B7:12")
# The builders' now is 2027-01-15T08:00:00Z.
LATER, EARLIER = "2027-01-15T08:02:00Z", "2027-01-15T07:59:59Z"
SEEN = Seen(PAD, "DualSense Wireless Controller", "gamepad", -50, 1_799_999_990.0)
SEEN_SAID = {
    "address": "A0:AB:51:33:B7:12",
    "name": "DualSense Wireless Controller",
    "firstSeen": "2027-01-15T07:59:50Z",
    "kind": "gamepad",
}
CHOSEN = {"type": "Pairing", "status": "True", "lastTransitionTime": EARLIER}


def status_of(world: Any) -> dict[str, Any]:
    """The one status that the plan writes."""
    (action,) = requests(world)
    assert isinstance(action, Apply)
    assert action.status
    return dict(action.body["status"])


def short(status: dict[str, Any]) -> tuple[str, str, str]:
    """Phase, reason and message."""
    return status["phase"], status["conditions"][0]["reason"], status["message"]


def test_a_new_request_opens_its_window_for_as_long_as_it_asks(build: Any) -> None:
    world = build.world(kube=build.kube(requests=[build.request_object()]))
    status = status_of(world)
    assert short(status)[:2] == ("Open", "WindowOpen")
    assert status["windowClosesAt"] == "2027-01-15T08:03:00Z"
    assert list(windows(world)) == []


TROUBLE: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, str, str]]] = {
    "an adapter nobody has, served by the holder of the lease": (
        {"adapter": "11-22-33-44-55-66"},
        {"serves_unheld": True},
        (
            "Pending",
            "AdapterUnknown",
            (
                "no adapter '11-22-33-44-55-66' in this cluster; known adapters: 04-4a-69-66-92-27"
                " (kubectl get adapters)"
            ),
        ),
    ),
    "an adapter that is no address": (
        {"adapter": "hci0"},
        {"serves_unheld": True},
        (
            "Pending",
            "AdapterUnknown",
            (
                "no adapter 'hci0' in this cluster; known adapters: 04-4a-69-66-92-27"
                " (kubectl get adapters)"
            ),
        ),
    ),
    "bluetoothd is away": (
        {},
        {"available": False},
        ("Pending", "BluetoothUnavailable", "bluetoothd is not on the bus"),
    ),
    "its radio is unplugged": (
        {},
        {"adapter": None},
        ("Pending", "AdapterRemoved", "radio 04-4a-69-66-92-27 is not plugged in"),
    ),
    "an open window keeps its phase while bluetoothd is away": (
        {"phase": "Open", "windowClosesAt": LATER},
        {"available": False},
        ("Open", "BluetoothUnavailable", "bluetoothd is not on the bus"),
    ),
}


@pytest.mark.parametrize(("request_", "world", "expected"), TROUBLE.values(), ids=TROUBLE)
def test_what_keeps_a_window_closed_is_said(
    build: Any, request_: dict[str, Any], world: dict[str, Any], expected: Any
) -> None:
    asked = build.request_object(**request_)
    assert short(status_of(build.world(kube=build.kube(requests=[asked]), **world))) == expected


def test_a_request_for_an_unknown_adapter_is_left_to_the_holder_of_the_lease(build: Any) -> None:
    asked = build.request_object(adapter="11-22-33-44-55-66")
    assert list(requests(build.world(kube=build.kube(requests=[asked])))) == []


def test_a_powered_off_radio_is_named(build: Any) -> None:
    world = build.world(
        adapter=build.radio(powered=False), kube=build.kube(requests=[build.request_object()])
    )
    assert short(status_of(world)) == ("Pending", "AdapterPoweredOff", "the radio is off")


def test_a_second_request_waits_for_the_window_of_the_first(build: Any) -> None:
    first = build.request_object(phase="Open", windowClosesAt=LATER)
    second = build.request_object(name="second")
    world = build.world(kube=build.kube(requests=[first, second]), windows=build.window())
    bodies = [dict(each.body) for each in requests(world) if isinstance(each, Apply)]
    said = next(each for each in bodies if each["metadata"]["name"] == "second")
    assert short(said["status"]) == (
        "Pending",
        "AdapterBusy",
        "waiting for the window of games/pad to close",
    )
    assert [each.uid for each in windows(world)] == ["uid-pad"]


def open_request(build: Any, device: str = "", *conditions: Any, closes: str = LATER) -> Any:
    return build.request_object(
        device, phase="Open", windowClosesAt=closes, conditions=list(conditions)
    )


def test_what_is_heard_is_listed_and_nothing_is_paired_without_an_approval(build: Any) -> None:
    world = build.world(
        kube=build.kube(requests=[open_request(build)]), windows=build.window(seen=(SEEN,))
    )
    status = status_of(world)
    assert status["seen"] == [SEEN_SAID]
    assert short(status) == (
        "Open",
        "WindowOpen",
        "approve a device by setting spec.device to one of status.seen",
    )
    closes = 1_800_000_120.0
    assert list(windows(world)) == [WindowWish("uid-pad", RADIO, closes, None)]


def test_what_an_earlier_life_heard_stays_listed_and_at_most_sixteen_are(build: Any) -> None:
    heard = [{"address": f"00:00:00:00:00:{n:02X}", "firstSeen": EARLIER} for n in range(15)]
    asked = build.request_object(phase="Open", windowClosesAt=LATER, seen=heard)
    other = Seen(Address("11:22:33:44:55:66"), "", "", None, 1_799_999_991.0)
    world = build.world(kube=build.kube(requests=[asked]), windows=build.window(seen=(SEEN, other)))
    assert status_of(world)["seen"] == [*heard, SEEN_SAID]


def test_an_approval_is_written_down_before_bluetoothd_is_asked_to_pair(build: Any) -> None:
    asked = open_request(build, "a0-ab-51-33-b7-12")
    world = build.world(kube=build.kube(requests=[asked]), windows=build.window(seen=(SEEN,)))
    assert [each.device for each in windows(world)] == [None]
    status = status_of(world)
    assert short(status) == ("Open", "Pairing", "pairing A0:AB:51:33:B7:12")
    assert [(each["type"], each["status"]) for each in status["conditions"]] == [
        ("Open", "True"),
        ("Pairing", "True"),
        ("Complete", "False"),
    ]
    asked = open_request(build, "a0-ab-51-33-b7-12", CHOSEN)
    world = build.world(kube=build.kube(requests=[asked]), windows=build.window(seen=(SEEN,)))
    assert [each.device for each in windows(world)] == [PAD]


def test_an_approval_for_an_address_not_heard_yet_says_so_and_goes_on_listening(build: Any) -> None:
    asked = open_request(build, "11:22:33:44:55:66")
    world = build.world(kube=build.kube(requests=[asked]), windows=build.window(seen=(SEEN,)))
    assert short(status_of(world)) == (
        "Open",
        "DeviceNotSeen",
        "11:22:33:44:55:66 has not been heard in this window yet; hold its pairing buttons",
    )


ENDS: dict[str, tuple[str, tuple[Any, ...], str, dict[str, Any], tuple[str, str, str]]] = {
    "paired": (
        "A0:AB:51:33:B7:12", (CHOSEN,), LATER, {"paired": PAD},
        ("Paired", "Paired", "A0:AB:51:33:B7:12 is paired"),
    ),
    "failed": (
        "A0:AB:51:33:B7:12", (CHOSEN,), LATER, {"failure": ("PairingRejected", "it said no")},
        ("Failed", "PairingRejected", "it said no"),
    ),
    "nobody approved anything": (
        "", (), EARLIER, {"seen": (SEEN,)},
        (
            "Expired", "NotApproved",
            "the window closed and no device was chosen; seen: A0:AB:51:33:B7:12",
        ),
    ),
    "approved and never heard": (
        "11:22:33:44:55:66", (CHOSEN,), EARLIER, {},
        (
            "Expired", "DeviceNeverSeen",
            ("11:22:33:44:55:66 was never heard while the window was open; seen: nothing."
            " Hold its pairing buttons until its light blinks fast, and ask again"),
        ),
    ),
    "approved and waited for in vain": (
        "11:22:33:44:55:66", (CHOSEN,), LATER,
        {"seen": (SEEN,), "failure": ("DeviceUnknown", "was not heard")},
        (
            "Expired", "DeviceNeverSeen",
            ("11:22:33:44:55:66 was never heard while the window was open; seen: A0:AB:51:33:B7:12."
            " Hold its pairing buttons until its light blinks fast, and ask again"),
        ),
    ),
    "approved too late": (
        "A0:AB:51:33:B7:12", (), EARLIER, {"seen": (SEEN,)},
        (
            "Expired", "WindowClosed",
            "the window closed before A0:AB:51:33:B7:12 was paired; ask again",
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("device", "conditions", "closes", "window", "expected"), ENDS.values(), ids=ENDS
)
def test_how_it_ends(
    build: Any, device: str, conditions: Any, closes: str, window: Any, expected: Any
) -> None:
    asked = open_request(build, device, *conditions, closes=closes)
    world = build.world(kube=build.kube(requests=[asked]), windows=build.window(**window))
    status = status_of(world)
    assert short(status) == expected
    assert status["finishedAt"] == "2027-01-15T08:00:00Z"
    assert ("peripheral" in status) == (expected[0] == "Paired")


def test_a_pairing_under_way_outlives_the_end_of_its_window(build: Any) -> None:
    asked = open_request(build, "A0:AB:51:33:B7:12", CHOSEN, closes=EARLIER)
    world = build.world(
        kube=build.kube(requests=[asked]), windows=build.window(seen=(SEEN,), pairing=PAD)
    )
    assert short(status_of(world))[:2] == ("Open", "Pairing")
    assert [each.device for each in windows(world)] == [PAD]


def test_a_bond_made_before_the_operator_was_killed_counts_for_its_request(build: Any) -> None:
    asked = open_request(build, "A0:AB:51:33:B7:12", CHOSEN)
    world = build.world(device=build.pad(), kube=build.kube(requests=[asked]))
    assert short(status_of(world))[:2] == ("Paired", "Paired")


def test_a_bond_that_was_there_before_the_approval_does_not(build: Any) -> None:
    asked = open_request(build, "A0:AB:51:33:B7:12")
    world = build.world(device=build.pad(), kube=build.kube(requests=[asked]))
    assert short(status_of(world))[0] == "Open"


def test_a_finished_request_goes_after_its_time_and_not_before(build: Any) -> None:
    kept = build.request_object(phase="Paired", finishedAt="2027-01-15T07:59:01Z")
    world = build.world(kube=build.kube(requests=[kept]))
    assert list(requests(world)) == []
    assert next_instant(world) == 1_800_000_001.0
    due = build.request_object(phase="Paired", finishedAt="2027-01-15T07:59:00Z")
    (action,) = requests(build.world(kube=build.kube(requests=[due])))
    assert isinstance(action, Delete)
    assert (action.name, action.namespace, action.uid) == ("pad", "games", "uid-pad")


def test_a_status_that_is_right_already_is_not_written_again(build: Any) -> None:
    asked = open_request(build)
    world = build.world(kube=build.kube(requests=[asked]), windows=build.window(seen=(SEEN,)))
    asked["status"] = status_of(world)
    assert list(requests(world)) == []
