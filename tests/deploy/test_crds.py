"""What the API server accepts of the three kinds, and the words with which it refuses the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from cluster.controlplane import ControlPlane

from deploy.server import DRY, Server

pytestmark = pytest.mark.api

API = "/apis/bluetooth.liken.sh/v1alpha1"
ADAPTERS, PERIPHERALS = f"{API}/adapters", f"{API}/peripherals"
REQUESTS = f"{API}/namespaces/default/pairingrequests"

RADIO, PAD = "04-4a-69-66-92-27", "a0-ab-51-33-b7-12"
PAD_ADDRESS = "A0:AB:51:33:B7:12"
NOW = "2026-01-02T03:04:05Z"

Object = dict[str, Any]


def thing(kind: str, name: str, spec: Object | None = None, status: Object | None = None) -> Object:
    made: Object = {
        "apiVersion": "bluetooth.liken.sh/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
    }
    if spec is not None:
        made["spec"] = spec
    if status is not None:
        made["status"] = status
    return made


def request(**spec: object) -> Object:
    return thing("PairingRequest", "pad", {"adapter": RADIO, **spec})


def condition(**fields: object) -> Object:
    return {
        "type": "Ready",
        "status": "True",
        "reason": "Powered",
        "message": "",
        "lastTransitionTime": NOW,
        **fields,
    }


def check(refusal: str | None, expected: str | None) -> None:
    """Equal for None; else the words have to be in the refusal."""
    if expected is None:
        assert refusal is None
    else:
        assert refusal is not None
        assert expected in refusal


NAMED_A = "an Adapter is named by its radio's address in lower case with dashes"
NAMED_P = "a Peripheral is named by its device's address in lower case with dashes"


@pytest.mark.parametrize(
    ("name", "spec", "refusal"),
    [
        pytest.param(RADIO, None, None, id="no spec at all"),
        pytest.param(RADIO, {}, None, id="nothing wished"),
        pytest.param(RADIO, {"alias": "Living room"}, None, id="an alias"),
        pytest.param(RADIO, {"alias": ""}, None, id="an empty alias"),
        pytest.param(RADIO, {"alias": "a" * 248}, None, id="the longest alias"),
        pytest.param(RADIO, {"alias": "ä" * 124}, None, id="the longest alias of two-byte letters"),
        pytest.param(RADIO, {"alias": "a" * 249}, "may not be more than 248", id="one too many"),
        pytest.param(
            RADIO, {"alias": "ä" * 125}, "alias is at most 248 bytes of UTF-8", id="bytes count"
        ),
        pytest.param(RADIO, {"alias": "a\nb"}, "no control characters", id="a line break"),
        pytest.param(RADIO, {"alias": 7}, "must be of type string", id="a number"),
        pytest.param(RADIO, {"power": True}, 'unknown field "spec.power"', id="an unknown field"),
        pytest.param("hci0", None, NAMED_A, id="a name that is no address"),
        pytest.param("04:4a:69:66:92:27", None, NAMED_A, id="colons"),
        pytest.param("04-4a-69-66-92", None, NAMED_A, id="five pairs"),
        pytest.param("04-4a-69-66-92-2g", None, NAMED_A, id="no hexadecimal digit"),
        pytest.param("04-4A-69-66-92-27", None, "Invalid value", id="upper case"),
        pytest.param("04-4a-69-66-92-27-media", None, NAMED_A, id="more than the address"),
    ],
)
def test_an_adapter(server: Server, name: str, spec: Object | None, refusal: str | None) -> None:
    check(server.call("POST", ADAPTERS + DRY, thing("Adapter", name, spec)).refusal, refusal)


@pytest.mark.parametrize(
    ("name", "spec", "refusal"),
    [
        pytest.param(PAD, None, None, id="no spec at all"),
        pytest.param(PAD, {"alias": "Player 1", "trusted": False}, None, id="everything wished"),
        pytest.param(PAD, {"trusted": "yes"}, "must be of type boolean", id="a word for a boolean"),
        pytest.param(PAD, {"alias": "b" * 249}, "may not be more than 248", id="a long alias"),
        pytest.param(PAD, {"alias": "\x1b[0m"}, "no control characters", id="an escape sequence"),
        pytest.param("dualsense", None, NAMED_P, id="a name that is no address"),
        pytest.param(PAD, {"adapter": RADIO}, 'unknown field "spec.adapter"', id="unknown field"),
    ],
)
def test_a_peripheral(server: Server, name: str, spec: Object | None, refusal: str | None) -> None:
    check(server.call("POST", PERIPHERALS + DRY, thing("Peripheral", name, spec)).refusal, refusal)


ADAPTER_NAME = "adapter is the name of an Adapter, an address in lower case with dashes"
ONE_ADDRESS = "device is empty or one address: six pairs of hexadecimal digits"


@pytest.mark.parametrize(
    ("made", "refusal"),
    [
        pytest.param(request(), None, id="an adapter is enough"),
        pytest.param(thing("PairingRequest", "pad"), "spec: Required value", id="no spec"),
        pytest.param(
            thing("PairingRequest", "pad", {}), "spec.adapter: Required value", id="no adapter"
        ),
        pytest.param(request(adapter=""), ADAPTER_NAME, id="an empty adapter"),
        pytest.param(request(adapter="hci0"), ADAPTER_NAME, id="a kernel name"),
        pytest.param(request(adapter="04:4A:69:66:92:27"), ADAPTER_NAME, id="the address itself"),
        pytest.param(request(windowSeconds=15), None, id="the shortest window"),
        pytest.param(request(windowSeconds=900), None, id="the longest window"),
        pytest.param(
            request(windowSeconds=14), "should be greater than or equal to 15", id="too short"
        ),
        pytest.param(
            request(windowSeconds=901), "should be less than or equal to 900", id="too long"
        ),
        pytest.param(request(windowSeconds=60.5), "must be of type integer", id="half seconds"),
        pytest.param(request(windowSeconds="60"), "must be of type integer", id="a word"),
        pytest.param(request(device=""), None, id="nobody approved"),
        pytest.param(request(device=PAD_ADDRESS), None, id="approved from the start"),
        pytest.param(request(device=PAD_ADDRESS.lower()), None, id="lower case with colons"),
        pytest.param(request(device=PAD), None, id="lower case with dashes"),
        pytest.param(request(device=PAD.upper()), None, id="upper case with dashes"),
        pytest.param(request(device="A0:AB-51:33-B7:12"), ONE_ADDRESS, id="colons and dashes"),
        pytest.param(request(device="A0AB5133B712"), ONE_ADDRESS, id="digits alone"),
        pytest.param(request(device="DualSense"), ONE_ADDRESS, id="a name"),
        pytest.param(request(device=f" {PAD_ADDRESS}"), ONE_ADDRESS, id="a blank before"),
        pytest.param(request(device=f"{PAD_ADDRESS}\n"), ONE_ADDRESS, id="a line break after"),
        pytest.param(request(device=f"{PAD_ADDRESS},{PAD_ADDRESS}"), ONE_ADDRESS, id="two"),
        pytest.param(request(device="x" * 65), "may not be more than 64", id="far too long"),
        pytest.param(request(ttlSecondsAfterFinished=0), None, id="goes at once"),
        pytest.param(
            request(ttlSecondsAfterFinished=-1),
            "should be greater than or equal to 0",
            id="a negative time to live",
        ),
        pytest.param(
            request(ttlSecondsAfterFinished=2**31), "spec.ttlSecondsAfterFinished", id="68 years"
        ),
        pytest.param(request(force=True), 'unknown field "spec.force"', id="an unknown field"),
    ],
)
def test_a_pairing_request(server: Server, made: Object, refusal: str | None) -> None:
    check(server.call("POST", REQUESTS + DRY, made).refusal, refusal)


def test_what_is_left_out_gets_its_default(server: Server) -> None:
    def made(path: str, obj: Object) -> object:
        answer = server.call("POST", path + DRY, obj)
        assert answer.refusal is None
        return answer.body["spec"]

    assert made(ADAPTERS, thing("Adapter", RADIO)) == {}
    assert made(PERIPHERALS, thing("Peripheral", PAD)) == {"trusted": True}
    assert made(REQUESTS, request()) == {
        "adapter": RADIO,
        "windowSeconds": 180,
        "device": "",
        "ttlSecondsAfterFinished": 86400,
    }


@pytest.fixture
def pending(server: Server) -> Iterator[str]:
    """The path of a request that nobody has approved yet."""
    server.create(REQUESTS, request())
    yield f"{REQUESTS}/pad"
    server.delete(f"{REQUESTS}/pad")


ONCE = "device can be approved once and not be changed after"


@pytest.mark.parametrize(
    ("before", "edit", "refusal"),
    [
        pytest.param("", {"device": PAD_ADDRESS}, None, id="the approval"),
        pytest.param("", {"device": PAD}, None, id="the approval by name"),
        pytest.param("", {"device": "pad"}, ONE_ADDRESS, id="an approval of no address"),
        pytest.param("", {"windowSeconds": 600}, None, id="a longer window"),
        pytest.param(
            "", {"adapter": "00-11-22-33-44-55"}, "adapter cannot be changed", id="another adapter"
        ),
        pytest.param(PAD_ADDRESS, {"device": PAD_ADDRESS}, None, id="approved again"),
        pytest.param(PAD_ADDRESS, {"device": "00:11:22:33:44:55"}, ONCE, id="another device"),
        pytest.param(PAD_ADDRESS, {"device": ""}, ONCE, id="taken back"),
        pytest.param(PAD_ADDRESS, {"device": None}, ONCE, id="taken back by removal"),
        pytest.param(PAD_ADDRESS, {"ttlSecondsAfterFinished": 0}, None, id="gone sooner"),
    ],
)
def test_an_edit_of_a_pairing_request(
    server: Server, pending: str, before: str, edit: Object, refusal: str | None
) -> None:
    if before:
        assert server.merge(pending, {"spec": {"device": before}}).refusal is None
    check(server.merge(pending + DRY, {"spec": edit}).refusal, refusal)


@pytest.fixture
def standing(server: Server) -> Iterator[dict[str, str]]:
    """One object of each kind, by kind: the path of its status."""
    made = {
        "Adapter": (ADAPTERS, thing("Adapter", RADIO)),
        "Peripheral": (PERIPHERALS, thing("Peripheral", PAD)),
        "PairingRequest": (REQUESTS, request()),
    }
    for path, obj in made.values():
        server.create(path, obj)
    names = {kind: f"{path}/{obj['metadata']['name']}" for kind, (path, obj) in made.items()}
    yield {kind: f"{path}/status" for kind, path in names.items()}
    for path in names.values():
        server.delete(path)


FULL: dict[str, Object] = {
    "Adapter": {
        "observedGeneration": 1,
        "address": "04:4A:69:66:92:27",
        "node": "liken-1",
        "powered": True,
        "conditions": [condition(observedGeneration=1)],
    },
    "Peripheral": {
        "observedGeneration": 1,
        "address": PAD_ADDRESS,
        "deviceName": "DualSense Wireless Controller",
        "adapter": RADIO,
        "node": "liken-1",
        "connected": True,
        "bonded": True,
        "battery": 85,
        "inputs": ["accelerometer", "joystick", "touchpad"],
        "claims": ["games/living-room-pad"],
        "secret": f"bluetooth-bond-{PAD}",
        "pairedAt": NOW,
        "request": "default/pad",
        "conditions": [
            condition(type=each)
            for each in ("Ready", "Connected", "Bonded", "BondStored", "InputReady")
        ],
    },
    "PairingRequest": {
        "observedGeneration": 1,
        "phase": "Open",
        "windowClosesAt": NOW,
        "seen": [
            {"address": PAD_ADDRESS, "name": "DualSense", "firstSeen": NOW, "kind": "gamepad"},
            {"address": "00:11:22:33:44:55"},
        ],
        "peripheral": PAD,
        "passkey": "000042",
        "finishedAt": NOW,
        "message": "approve an address",
        "conditions": [condition()],
    },
}


@pytest.mark.parametrize("kind", list(FULL))
def test_a_status_keeps_every_field_it_is_given(
    server: Server, standing: dict[str, str], kind: str
) -> None:
    answer = server.merge(standing[kind], {"status": FULL[kind]})
    assert answer.refusal is None
    assert answer.body["status"] == FULL[kind]


def many(count: int) -> list[Object]:
    return [{"address": f"00:00:00:00:00:{number:02X}"} for number in range(count)]


@pytest.mark.parametrize(
    ("kind", "status", "refusal"),
    [
        ("Adapter", {"address": "04:4a:69:66:92:27"}, "status.address"),
        ("Adapter", {"address": "00:11:22:33:44:55"}, "is not the address that the name"),
        ("Adapter", {"conditions": [condition(), condition()]}, "Duplicate value"),
        ("Adapter", {"conditions": [condition(status="yes")]}, 'supported values: "True"'),
        ("Adapter", {"conditions": [condition(reason="")]}, "conditions[0].reason"),
        ("Adapter", {"conditions": [condition(reason="two words")]}, "conditions[0].reason"),
        ("Adapter", {"conditions": [condition(lastTransitionTime="now")]}, "lastTransitionTime"),
        ("Adapter", {"conditions": [{"type": "Ready"}]}, "conditions[0].status: Required value"),
        ("Peripheral", {"address": "00:11:22:33:44:55"}, "is not the address that the name"),
        ("Peripheral", {"battery": 101}, "should be less than or equal to 100"),
        ("Peripheral", {"battery": -1}, "should be greater than or equal to 0"),
        ("Peripheral", {"inputs": ["key", "key"]}, "Duplicate value"),
        ("Peripheral", {"claims": ["a/b", "a/b"]}, "Duplicate value"),
        ("Peripheral", {"pairedAt": "yesterday"}, "status.pairedAt"),
        ("PairingRequest", {"phase": "Done"}, 'supported values: "Pending"'),
        ("PairingRequest", {"seen": many(16)}, None),
        ("PairingRequest", {"seen": many(17)}, "must have at most 16 items"),
        ("PairingRequest", {"seen": many(2) + many(1)}, "Duplicate value"),
        ("PairingRequest", {"seen": [{"name": "pad"}]}, "seen[0].address: Required value"),
        ("PairingRequest", {"seen": [{"address": PAD}]}, "seen[0].address"),
        ("PairingRequest", {"passkey": "1" * 17}, "may not be more than 16"),
    ],
)
def test_a_status(
    server: Server, standing: dict[str, str], kind: str, status: Object, refusal: str | None
) -> None:
    check(server.merge(standing[kind] + DRY, {"status": status}).refusal, refusal)


def test_a_status_write_never_touches_what_a_person_wished(
    server: Server, standing: dict[str, str]
) -> None:
    answer = server.merge(standing["PairingRequest"], {"spec": {"device": PAD_ADDRESS}})
    assert answer.refusal is None
    assert answer.body["spec"]["device"] == ""
    assert answer.body["metadata"]["generation"] == 1


def columns(text: str) -> list[list[str]]:
    """The cells of kubectl's table, which stand at least three blanks apart."""
    return [re.split(r" {3,}", line.rstrip()) for line in text.splitlines()]


TABLES = {
    "adapters": (
        ["NAME", "NODE", "POWERED", "READY", "REASON", "AGE"],
        [RADIO, "liken-1", "true", "True", "Powered"],
    ),
    "peripherals": (
        ["NAME", "DEVICE", "NODE", "CONNECTED", "IN USE BY", "READY", "REASON", "AGE"],
        [
            PAD,
            "DualSense Wireless Controller",
            "liken-1",
            "true",
            "games/living-room-pad",
            "True",
            "Powered",
        ],
    ),
    "pairingrequests": (
        ["NAME", "PHASE", "DEVICE", "PASSKEY", "MESSAGE", "AGE"],
        ["pad", "Open", PAD_ADDRESS, "000042", "approve an address"],
    ),
}
WIDE = {
    "adapters": ["ALIAS", "MESSAGE"],
    "peripherals": ["ALIAS", "ADAPTER", "LINK", "BATTERY", "INPUTS", "MESSAGE"],
    "pairingrequests": ["ADAPTER", "CLOSES AT", "SEEN", "PERIPHERAL"],
}


@pytest.fixture
def filled(server: Server, standing: dict[str, str]) -> None:
    for kind, path in standing.items():
        assert server.merge(path, {"status": FULL[kind]}).refusal is None
    pad = standing["PairingRequest"].removesuffix("/status")
    assert server.merge(pad, {"spec": {"device": PAD_ADDRESS}}).refusal is None


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("kind", list(TABLES))
def test_a_person_reads_the_state_in_the_table(deployed: ControlPlane, kind: str) -> None:
    header, row = TABLES[kind]
    first, second = columns(deployed.kubectl("get", kind))
    assert first == header
    assert second[:-1] == row
    wide, _ = columns(deployed.kubectl("get", kind, "-o", "wide"))
    assert wide == header + WIDE[kind]


@pytest.mark.usefixtures("filled")
def test_one_word_lists_everything_of_bluetooth(deployed: ControlPlane) -> None:
    found = deployed.kubectl("get", "bluetooth", "--all-namespaces", "-o", "name").split()
    assert sorted(found) == [
        f"adapter.bluetooth.liken.sh/{RADIO}",
        "pairingrequest.bluetooth.liken.sh/pad",
        f"peripheral.bluetooth.liken.sh/{PAD}",
    ]


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("adapter", "one Bluetooth radio of one node"),
        ("adapter.status.conditions", "Ready says whether the radio can pair"),
        ("bta.spec.alias", "The name the radio shows to other devices"),
        ("peripheral", "Deleting it unpairs the device"),
        ("btp.spec.trusted", "Whether the device may connect by itself"),
        ("pairingrequest", "nothing is ever paired without that"),
        ("btr.spec.device", "Writing an address approves it, once"),
        ("pairingrequest.spec.windowSeconds", "how many seconds the radio listens"),
    ],
)
def test_kubectl_explains_it_to_a_newcomer(deployed: ControlPlane, field: str, words: str) -> None:
    assert words in " ".join(deployed.kubectl("explain", field).split())
