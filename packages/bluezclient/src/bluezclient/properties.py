"""The D-Bus properties of bluetoothd as data: one table for the decoder, the fake and the docs.

Source: BlueZ `doc/org.bluez.Adapter.rst`, `org.bluez.Device.rst`, `org.bluez.Battery.rst`,
`org.bluez.Input.rst` and `src/adapter.c`, `src/device.c` (5.87). `since` names the first release
that has the property outside `--experimental`; "" means older than anything supported here.
"""

from __future__ import annotations

from dataclasses import dataclass

ADAPTER = "org.bluez.Adapter1"
DEVICE = "org.bluez.Device1"
BATTERY = "org.bluez.Battery1"
INPUT = "org.bluez.Input1"
AGENT_MANAGER = "org.bluez.AgentManager1"
AGENT = "org.bluez.Agent1"
OBJECT_MANAGER = "org.freedesktop.DBus.ObjectManager"
PROPERTIES = "org.freedesktop.DBus.Properties"


@dataclass(frozen=True, slots=True)
class Prop:
    """One property: its D-Bus name and signature, and the field it fills in the model.

    `optional` properties are absent until bluetoothd knows them and decode to None.
    """

    name: str
    signature: str
    field: str
    doc: str
    optional: bool = False
    writable: bool = False
    since: str = ""


ADAPTER_PROPERTIES = (
    Prop("Address", "s", "address", "the radio's own address"),
    Prop("AddressType", "s", "address_type", "public, or random for a radio with a static address"),
    Prop("Name", "s", "name", "the host's name for it"),
    Prop("Alias", "s", "alias", "the name shown to others", writable=True),
    Prop("Class", "u", "class_of_device", "24-bit class word"),
    Prop("Powered", "b", "powered", "the radio is on", writable=True),
    Prop(
        "PowerState", "s", "power_state", "on, off, off-blocked, ...", optional=True, since="5.73"
    ),
    Prop("Discoverable", "b", "discoverable", "answers inquiries", writable=True),
    Prop(
        "DiscoverableTimeout", "u", "discoverable_timeout", "seconds, 0 = for ever", writable=True
    ),
    Prop("Pairable", "b", "pairable", "pairings are kept (bondable)", writable=True),
    Prop("PairableTimeout", "u", "pairable_timeout", "seconds, 0 = for ever", writable=True),
    Prop(
        "Connectable",
        "b",
        "connectable",
        "answers pages, so bonded devices can come back",
        optional=True,
        writable=True,
        since="5.79",
    ),
    Prop("Discovering", "b", "discovering", "some client's discovery is running"),
    Prop("UUIDs", "as", "uuids", "profiles offered by the host"),
    Prop("Modalias", "s", "modalias", "PnP id of the host", optional=True),
    Prop("Roles", "as", "roles", "LE roles the radio supports"),
    Prop(
        "Manufacturer", "q", "manufacturer", "company id of the chip", optional=True, since="5.72"
    ),
    Prop("Version", "y", "version", "HCI version of the chip", optional=True, since="5.72"),
)

DEVICE_PROPERTIES = (
    Prop("Address", "s", "address", "the identity address once known; it can change"),
    Prop("AddressType", "s", "address_type", "public or random"),
    Prop("Adapter", "o", "adapter", "object path of its adapter"),
    Prop("Name", "s", "name", "the name the device gives", optional=True),
    Prop("Alias", "s", "alias", "the name to show", writable=True),
    Prop("Class", "u", "class_of_device", "24-bit class word (BR/EDR)", optional=True),
    Prop("Appearance", "q", "appearance", "appearance value (LE)", optional=True),
    Prop("Icon", "s", "icon", "BlueZ's icon name", optional=True),
    Prop("Modalias", "s", "modalias", "PnP id, usb:v054Cp0CE6d0100", optional=True),
    Prop("UUIDs", "as", "uuids", "service UUIDs, lower case"),
    Prop("Paired", "b", "paired", "keys are in use; late, after service discovery"),
    Prop("Bonded", "b", "bonded", "keys are kept; the truth of a pairing", since="5.65"),
    Prop("Trusted", "b", "trusted", "may connect with no agent present", writable=True),
    Prop("Blocked", "b", "blocked", "refused", writable=True),
    Prop("LegacyPairing", "b", "legacy_pairing", "pairs the pre-2.1 way"),
    Prop("CablePairing", "b", "cable_pairing", "was paired over USB", since="5.83"),
    Prop("Connected", "b", "connected", "some bearer is connected"),
    Prop("ServicesResolved", "b", "services_resolved", "service discovery is done"),
    Prop("RSSI", "n", "rssi", "dBm; present only if heard in this discovery", optional=True),
    Prop("TxPower", "n", "tx_power", "dBm", optional=True),
    Prop("WakeAllowed", "b", "wake_allowed", "may wake the host", optional=True, writable=True),
)

BATTERY_PROPERTIES = (
    Prop("Percentage", "y", "percentage", "0 to 100", optional=True),
    Prop("Source", "s", "source", "who reports it", optional=True),
)

INPUT_PROPERTIES = (
    Prop("ReconnectMode", "s", "reconnect_mode", "none, host, device or any", optional=True),
)

TABLES: dict[str, tuple[Prop, ...]] = {
    ADAPTER: ADAPTER_PROPERTIES,
    DEVICE: DEVICE_PROPERTIES,
    BATTERY: BATTERY_PROPERTIES,
    INPUT: INPUT_PROPERTIES,
}


def as_markdown() -> str:
    """The table as a page: what each property is called on D-Bus, and where it is in the model."""
    lines = ["# Properties", "", "What bluetoothd publishes and where the model has it; written by"]
    lines += [
        "`python -m bluezclient.properties`. Anything else bluetoothd says is in `extra`.",
        "",
    ]
    for interface, table in TABLES.items():
        lines += [
            f"## {interface}",
            "",
            "| Property | Type | Field | Meaning |",
            "|---|---|---|---|",
        ]
        lines += [_row(prop) for prop in table]
        lines.append("")
    return "\n".join(lines)


def _row(prop: Prop) -> str:
    marks = [
        "can be absent" if prop.optional else "",
        "writable" if prop.writable else "",
        f"since {prop.since}" if prop.since else "",
    ]
    notes = ", ".join(mark for mark in marks if mark)
    meaning = f"{prop.doc} ({notes})" if notes else prop.doc
    return f"| {prop.name} | `{prop.signature}` | `{prop.field}` | {meaning} |"
