"""Pure decoders: addresses, class words, appearances, profiles, reasons, errors, the property table."""

from __future__ import annotations

import dataclasses
import struct
from pathlib import Path
from typing import Any

import pytest
from bluezclient import (
    Adapter,
    AdapterFate,
    AdapterUnpowered,
    Address,
    AddressError,
    AuthenticationFailed,
    Battery,
    BluezError,
    Busy,
    CallFailed,
    Device,
    DeviceGone,
    DeviceUnreachable,
    Evidence,
    OwnerLost,
    PairingRejected,
    Reason,
    Session,
    Wire,
    classify,
    disconnect_reason,
    errors,
    is_benign,
    is_flapping,
    is_sleeper,
)
from bluezclient.mgmt import LinkEnd, parse
from bluezclient.model import decode_objects
from bluezclient.properties import (
    ADAPTER_PROPERTIES,
    BATTERY_PROPERTIES,
    DEVICE,
    DEVICE_PROPERTIES,
    INPUT_PROPERTIES,
    as_markdown,
)
from hypothesis import given
from hypothesis import strategies as st

from .conftest import ADAPTER, PAD

# -- addresses ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spelling",
    [
        "A0:AB:51:33:B7:12",
        "a0:ab:51:33:b7:12",
        "a0-ab-51-33-b7-12",
        "A0_AB_51_33_B7_12",
        "a0ab5133b712",
    ],
)
def test_every_spelling_is_one_address(spelling: str) -> None:
    address = Address(spelling)
    assert address == PAD
    assert hash(address) == hash(PAD)
    assert (address.colons, address.dashes) == ("A0:AB:51:33:B7:12", "a0-ab-51-33-b7-12")
    assert address.bluez == "dev_A0_AB_51_33_B7_12"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A0:AB:51:33:B7",
        "A0:AB:51:33:B7:12:00",
        "A0:AB-51:33:B7:12",
        "G0:AB:51:33:B7:12",
        "A0:AB:51:33:B7:12\n",
        " A0:AB:51:33:B7:12",
        "dev_A0_AB_51_33_B7_12",
        "/org/bluez/hci0/dev_A0_AB_51_33_B7_12",
        "\u0661" * 12,
    ],
)
def test_anything_else_is_refused_with_the_text_quoted(text: str) -> None:
    with pytest.raises(AddressError) as caught:
        Address(text)
    assert repr(text) in str(caught.value)


@given(st.binary(min_size=6, max_size=6))
def test_an_address_survives_each_of_its_spellings(octets: bytes) -> None:
    address = Address.from_little_endian(octets)
    assert address.little_endian == octets
    assert Address(address.colons) == Address(address.dashes) == Address(str(address)) == address
    assert bool(address) == any(octets)


@given(st.lists(st.binary(min_size=6, max_size=6)))
def test_addresses_sort_as_they_are_written(octets: list[bytes]) -> None:
    addresses = [Address.from_little_endian(o) for o in octets]
    assert [a.colons for a in sorted(addresses)] == sorted(a.colons for a in addresses)


# -- names from numbers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "major", "minor", "services"),
    [
        (0x002508, "peripheral", "gamepad", {"limitedDiscoverable"}),
        (0x000508, "peripheral", "gamepad", set()),
        (0x002504, "peripheral", "joystick", {"limitedDiscoverable"}),
        (0x00050C, "peripheral", "remote", set()),
        (0x002540, "peripheral", "keyboard", {"limitedDiscoverable"}),
        (0x000540, "peripheral", "keyboard", set()),
        (0x002580, "peripheral", "pointing", {"limitedDiscoverable"}),
        (0x0025C0, "peripheral", "combo", {"limitedDiscoverable"}),
        (0x2C0418, "audioVideo", "headphones", {"rendering", "capturing", "audio"}),
        (0x240404, "audioVideo", "headset", {"rendering", "audio"}),
        (0x040680, "imaging", "printer", {"rendering"}),
        (
            0x5A020C,
            "phone",
            "smartphone",
            {"networking", "capturing", "objectTransfer", "telephony"},
        ),
        (0x001F00, "uncategorized", None, set()),
        (0x001E00, None, None, set()),
        (0, "miscellaneous", None, set()),
    ],
)
def test_a_class_word_is_unpacked(
    value: int, major: str | None, minor: str | None, services: set[str]
) -> None:
    decoded = classify.class_of_device(value)
    assert (decoded.major, decoded.minor, set(decoded.services)) == (major, minor, services)


@given(st.integers(min_value=0))
def test_any_number_can_be_unpacked(value: int) -> None:
    assert classify.class_of_device(value) == classify.class_of_device(value & 0xFFFFFF)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (0x03C4, "gamepad"),
        (0x0180, "remote"),
        (0x0181, "remote"),
        (0x03C1, "keyboard"),
        (0x03CF, "hid"),
        (0x0000, None),
        (0xFFFF, None),
    ],
)
def test_an_appearance_is_named(value: int, word: str | None) -> None:
    assert classify.appearance(value) == word


@pytest.mark.parametrize(
    ("shorts", "flags"),
    [
        (["1124"], {"input"}),
        (["1812", "180f"], {"input", "battery"}),
        (["110b", "110c", "110e"], {"audioSink", "avrcpTarget"}),
        (["110b", "110e"], {"audioSink", "avrcpController"}),
        (["110f"], {"avrcpController"}),
        (["111e", "1108", "1101", "110a"], {"handsfree", "headset", "serialPort", "audioSource"}),
        (["1200", "180a", "1813"], set()),
    ],
)
def test_profiles_are_flagged(shorts: list[str], flags: set[str]) -> None:
    uuids = [f"0000{short}-0000-1000-8000-00805f9b34fb" for short in shorts]
    assert classify.profile_flags(uuids) == flags
    assert classify.profile_flags(uuid.upper() for uuid in uuids) == flags


@given(st.lists(st.text(max_size=40)))
def test_no_text_is_mistaken_for_a_profile(texts: list[str]) -> None:
    base = "-0000-1000-8000-00805f9b34fb"
    strange = [text for text in texts if not text.lower().endswith(base)]
    assert classify.profile_flags(strange) == frozenset()


@pytest.mark.parametrize(
    ("class_word", "look", "shorts", "word"),
    [
        (0x002508, None, (), "gamepad"),
        (None, 0x0180, ("1812",), "remote"),
        (None, None, ("1812",), "input"),
        (0x001F00, 0x03C1, (), "keyboard"),
        (None, None, (), ""),
    ],
)
def test_one_word_for_a_person(
    class_word: int | None, look: int | None, shorts: tuple[str, ...], word: str
) -> None:
    uuids = [f"0000{short}-0000-1000-8000-00805f9b34fb" for short in shorts]
    assert classify.kind(class_word, look, uuids) == word


# -- reasons -----------------------------------------------------------------------------------

GONE, OFF, REMOVED = {"daemon_available": False}, AdapterFate.OFF, AdapterFate.REMOVED


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        ({"connected": True}, Reason.CONNECTED),
        ({"ever_connected": False}, Reason.NEVER_CONNECTED),
        ({"wire": Wire.TIMEOUT, "sleeper": True}, Reason.ASLEEP),
        ({"wire": Wire.TIMEOUT}, Reason.LINK_LOST),
        ({"wire": Wire.TIMEOUT, "sleeper": True, "burst": True}, Reason.LINK_LOST),
        ({"wire": Wire.REMOTE, "sleeper": True}, Reason.DISCONNECTED_BY_DEVICE),
        ({"wire": Wire.LOCAL, "requested": True}, Reason.DISCONNECTED_BY_REQUEST),
        ({"wire": Wire.LOCAL}, Reason.DISCONNECTED_BY_HOST),
        ({"wire": Wire.TIMEOUT, "requested": True}, Reason.LINK_LOST),
        ({"wire": Wire.AUTHENTICATION, "requested": True}, Reason.AUTHENTICATION_FAILED),
        ({"wire": Wire.SUSPEND}, Reason.HOST_SUSPENDED),
        ({"wire": Wire.UNKNOWN}, Reason.UNSPECIFIED),
        ({}, Reason.UNSPECIFIED),
        ({"bond_removed": True, "wire": Wire.SUSPEND}, Reason.BOND_REMOVED),
        ({"adapter": OFF, "bond_removed": True}, Reason.ADAPTER_POWERED_OFF),
        ({"adapter": OFF, "connected": True}, Reason.ADAPTER_POWERED_OFF),
        ({"adapter": REMOVED, "wire": Wire.TIMEOUT, "sleeper": True}, Reason.ADAPTER_REMOVED),
        ({**GONE, "adapter": REMOVED}, Reason.BLUETOOTH_UNAVAILABLE),
        ({**GONE, "connected": True}, Reason.BLUETOOTH_UNAVAILABLE),
    ],
)
def test_the_reason(evidence: dict[str, Any], reason: Reason) -> None:
    assert disconnect_reason(Evidence(**evidence)) is reason


ANY_EVIDENCE = st.builds(
    Evidence,
    connected=st.booleans(),
    wire=st.none() | st.sampled_from(Wire),
    ever_connected=st.booleans(),
    daemon_available=st.booleans(),
    adapter=st.sampled_from(AdapterFate),
    bond_removed=st.booleans(),
    requested=st.booleans(),
    sleeper=st.booleans(),
    burst=st.booleans(),
)


@given(ANY_EVIDENCE)
def test_only_a_connected_device_of_a_working_radio_is_called_connected(e: Evidence) -> None:
    working = e.daemon_available and e.adapter is AdapterFate.POWERED
    assert (disconnect_reason(e) is Reason.CONNECTED) == (e.connected and working)


@given(ANY_EVIDENCE)
def test_asleep_is_said_of_sleepers_only(e: Evidence) -> None:
    if disconnect_reason(e) is Reason.ASLEEP:
        assert e.sleeper
        assert e.wire is Wire.TIMEOUT
        assert not e.burst


@pytest.mark.parametrize("reason", list(Reason))
def test_what_is_benign(reason: Reason) -> None:
    alarming = {
        Reason.LINK_LOST,
        Reason.DISCONNECTED_BY_HOST,
        Reason.AUTHENTICATION_FAILED,
        Reason.ADAPTER_POWERED_OFF,
        Reason.ADAPTER_REMOVED,
        Reason.BOND_REMOVED,
        Reason.UNSPECIFIED,
        Reason.BLUETOOTH_UNAVAILABLE,
    }
    assert is_benign(reason) == (reason not in alarming)


def device(**facts: Any) -> Device:
    uuids = frozenset(
        f"0000{short}-0000-1000-8000-00805f9b34fb" for short in facts.pop("services", ())
    )
    return Device(
        path="/d", adapter="/a", adapter_address=ADAPTER, address=PAD, uuids=uuids, **facts
    )


@pytest.mark.parametrize(
    ("facts", "sleeps"),
    [
        ({"services": ["1812"]}, True),
        ({"services": ["1124"]}, False),
        ({"services": ["1124"], "reconnect_mode": "device"}, True),
        ({"services": ["1124"], "reconnect_mode": "any"}, True),
        ({"services": ["1124"], "reconnect_mode": "host"}, False),
        ({"class_of_device": 0x002508}, True),
        ({"class_of_device": 0x240404}, False),
        ({"appearance": 0x0180}, True),
        ({"appearance": 0x03C4}, True),
        ({"appearance": 0x03CA}, True),
        ({"appearance": 0x03CB}, False),
        ({"appearance": 0x0340}, False),
        ({"services": ["1812", "110b"]}, False),
        ({"class_of_device": 0x002508, "services": ["1108"]}, False),
        ({}, False),
    ],
)
def test_who_sleeps(facts: dict[str, Any], sleeps: bool) -> None:
    assert is_sleeper(device(**facts)) is sleeps


@pytest.mark.parametrize(
    ("sessions", "now", "flapping"),
    [
        ([(0, 5), (10, 15), (20, 25)], 30, True),
        ([(0, 5), (10, 15)], 30, False),
        ([(0, 5), (10, 20), (30, 35)], 40, False),
        ([(0, 5), (10, 15), (20, 25)], 65, True),
        ([(0, 5), (10, 15), (20, 25)], 66, False),
    ],
)
def test_what_flaps(sessions: list[tuple[int, int]], now: int, flapping: bool) -> None:
    assert is_flapping([Session(*session) for session in sessions], now) is flapping


def test_sessions_ended_by_suspend_are_no_flaps() -> None:
    """bluez #919."""
    sessions = [Session(n, n + 1, Wire.SUSPEND) for n in range(5)]
    assert not is_flapping(sessions, 6)


# -- the management socket ---------------------------------------------------------------------


def frame(reason: int, opcode: int = 0x000C, extra: bytes = b"") -> bytes:
    body = PAD.little_endian + bytes([0, reason]) + extra
    return struct.pack("<HHH", opcode, 1, len(body)) + body


@pytest.mark.parametrize(
    ("reason", "wire"),
    [
        (0, Wire.UNKNOWN),
        (1, Wire.TIMEOUT),
        (2, Wire.LOCAL),
        (3, Wire.REMOTE),
        (4, Wire.AUTHENTICATION),
        (5, Wire.SUSPEND),
        (9, Wire.UNKNOWN),
    ],
)
def test_the_kernels_reason(reason: int, wire: Wire) -> None:
    assert parse(frame(reason)) == LinkEnd(1, PAD, wire)


@pytest.mark.parametrize("bad", [b"", frame(1)[:-1], frame(1, opcode=0x000B), frame(1) + b"x"])
def test_other_and_truncated_frames_are_passed_over(bad: bytes) -> None:
    assert parse(bad) is None


@given(st.binary(max_size=40))
def test_no_frame_is_fatal(data: bytes) -> None:
    assert parse(data) is None or data[0] == 0x0C


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("org.bluez.Error.ConnectionAttemptFailed", "Page Timeout", DeviceUnreachable),
        ("org.bluez.Error.AuthenticationRejected", "", PairingRejected),
        ("org.bluez.Error.NotReady", "", AdapterUnpowered),
        ("org.bluez.Error.Failed", "br-connection-create-socket", DeviceUnreachable),
        ("org.bluez.Error.Failed", "Host is down", DeviceUnreachable),
        ("org.bluez.Error.Failed", "br-connection-aborted-by-remote", DeviceUnreachable),
        ("org.bluez.Error.Failed", "le-connection-abort-by-remote", DeviceUnreachable),
        ("org.bluez.Error.Failed", "le-connection-aborted-by-remote", CallFailed),
        ("org.bluez.Error.Failed", "br-connection-key-missing", AuthenticationFailed),
        ("org.bluez.Error.Failed", "br-connection-busy", Busy),
        ("org.bluez.Error.Failed", "anything else", CallFailed),
        ("org.freedesktop.DBus.Error.NoReply", "", OwnerLost),
        ("org.freedesktop.DBus.Error.UnknownObject", "", DeviceGone),
        ("com.example.Error", "what", CallFailed),
    ],
)
def test_an_error_is_named_for_the_decision_and_keeps_its_origin(
    name: str, text: str, kind: type[BluezError]
) -> None:
    error = errors.error_from_dbus(name, text)
    assert (type(error), error.name, error.text) == (kind, name, text)
    assert str(error)


# -- the property table ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "tables"),
    [
        (Adapter, (ADAPTER_PROPERTIES,)),
        (Device, (DEVICE_PROPERTIES, INPUT_PROPERTIES)),
        (Battery, (BATTERY_PROPERTIES,)),
    ],
)
def test_every_property_has_its_field_and_every_optional_one_can_be_absent(
    kind: type[Any], tables: tuple[tuple[Any, ...], ...]
) -> None:
    made = {"path", "adapter_address", "battery", "extra"}
    fields = {f.name: f for f in dataclasses.fields(kind)}
    properties = {prop.field: prop for table in tables for prop in table}
    assert set(properties) == set(fields) - made
    for name, prop in properties.items():
        if prop.optional:
            assert fields[name].default is None


def test_the_page_of_properties_is_the_table() -> None:
    page = Path(__file__).parents[1] / "PROPERTIES.md"
    assert page.read_text() == as_markdown()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = st.sampled_from([prop.name for prop in DEVICE_PROPERTIES]) | st.text(max_size=10)


@given(st.dictionaries(NAMES, VALUES))
def test_no_property_of_any_value_is_fatal(properties: dict[str, Any]) -> None:
    _, devices = decode_objects({"/d": {DEVICE: {"Address": PAD.colons, **properties}}})
    for decoded in devices.values():
        assert isinstance(decoded.bonded, bool)
        assert decoded.rssi is None or isinstance(decoded.rssi, int)
        assert all(isinstance(uuid, str) for uuid in decoded.uuids)
