"""What bluetoothd says, as frozen values decoded once at the edge.

Unknown properties land in `extra` and a property of the wrong type counts as absent: a newer or
patched bluetoothd must never be fatal to a reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from bluezclient.address import Address, AddressError
from bluezclient.errors import AdapterMissing, DeviceAmbiguous, DeviceUnknown
from bluezclient.properties import (
    ADAPTER,
    ADAPTER_PROPERTIES,
    BATTERY,
    BATTERY_PROPERTIES,
    DEVICE,
    DEVICE_PROPERTIES,
    INPUT,
    INPUT_PROPERTIES,
    Prop,
)
from bluezclient.reasons import Reason

Extra = Mapping[str, object]
# How bluetoothd introduces itself: the Linux Foundation's vendor number, its own product number and
# its release, 5.87 as d0557 (BlueZ src/main.c, the default of DeviceID).
_BLUEZ_MODALIAS = re.compile(r"usb:v1D6Bp0246d([0-9A-F]{2})([0-9A-F]{2})")
_NOTHING: Extra = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Battery:
    """`org.bluez.Battery1`: percentage 0-100, None until bluetoothd has read one."""

    percentage: int | None = None
    source: str | None = None
    extra: Extra = field(default_factory=lambda: _NOTHING, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """`org.bluez.Adapter1`. Identified by `address`: `path` (hci0, hci1) changes at a replug."""

    path: str
    address: Address
    address_type: str = "public"
    name: str = ""
    alias: str = ""
    class_of_device: int = 0
    powered: bool = False
    power_state: str | None = None
    discoverable: bool = False
    discoverable_timeout: int = 0
    pairable: bool = False
    pairable_timeout: int = 0
    connectable: bool | None = None
    discovering: bool = False
    uuids: frozenset[str] = frozenset()
    modalias: str | None = None
    roles: frozenset[str] = frozenset()
    manufacturer: int | None = None
    version: int | None = None
    extra: Extra = field(default_factory=lambda: _NOTHING, hash=False)

    @property
    def blocked(self) -> bool:
        """Whether rfkill holds the radio off, as far as bluetoothd says so (5.73 and later)."""
        return self.power_state == "off-blocked"

    @property
    def bluez_version(self) -> tuple[int, int] | None:
        """The release of the bluetoothd behind it, (5, 87); None where its DeviceID was changed."""
        told = _BLUEZ_MODALIAS.fullmatch(self.modalias or "")
        return (int(told[1], 16), int(told[2], 16)) if told else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """`org.bluez.Device1` with its `Battery1` and `Input1`.

    Identified by (`adapter_address`, `address`). `path` is good for one life of bluetoothd only and
    does not follow `address` when an LE device reveals its identity. `adapter_address` is
    `Address.ZERO` while the adapter's own object has not been announced.
    """

    path: str
    adapter: str
    adapter_address: Address
    address: Address
    address_type: str = "public"
    name: str | None = None
    alias: str = ""
    class_of_device: int | None = None
    appearance: int | None = None
    icon: str | None = None
    modalias: str | None = None
    uuids: frozenset[str] = frozenset()
    paired: bool = False
    bonded: bool = False
    trusted: bool = False
    blocked: bool = False
    legacy_pairing: bool = False
    cable_pairing: bool = False
    connected: bool = False
    services_resolved: bool = False
    rssi: int | None = None
    tx_power: int | None = None
    wake_allowed: bool | None = None
    reconnect_mode: str | None = None
    battery: Battery | None = None
    extra: Extra = field(default_factory=lambda: _NOTHING, hash=False)

    @property
    def key(self) -> tuple[Address, Address]:
        """(adapter address, device address): the identity across lives of bluetoothd."""
        return (self.adapter_address, self.address)

    @property
    def known(self) -> bool:
        """Whether bluetoothd will have it back: bonded, or paired by cable.

        A DualShock 3 knows no keys and is never bonded; `CablePairing` stands for its bond (5.83).
        """
        return self.bonded or self.cable_pairing


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The state of one device's connection and why; kept across restarts of bluetoothd.

    `connected` is None (unknown) while bluetoothd cannot be asked. `since` is the wall-clock time
    in seconds since the epoch at which this reason began. `flapping`: three short sessions within a
    minute. `key_missing`: three authentication failures in a row, so the device has most likely
    forgotten us; nothing is deleted because of it.
    """

    connected: bool | None
    reason: Reason
    since: float
    flapping: bool = False
    key_missing: bool = False


class Availability(StrEnum):
    """Whether bluetoothd can be asked, and if not, why."""

    CONNECTING = "Connecting"
    AVAILABLE = "Available"
    NO_OWNER = "NoOwner"
    BUS_LOST = "BusLost"
    PERMISSION_DENIED = "PermissionDenied"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything bluetoothd says at one instant, or that it cannot be asked.

    While not `available`, `adapters` and `devices` are empty, because nothing is known; `links`
    still lists every device ever seen bonded or connected, with `connected=None`. `detail` is a
    sentence for a person. Iteration order of the mappings is by object path.
    """

    availability: Availability = Availability.CONNECTING
    detail: str = ""
    adapters: Mapping[str, Adapter] = field(default_factory=dict)
    devices: Mapping[str, Device] = field(default_factory=dict)
    links: Mapping[tuple[Address, Address], Link] = field(default_factory=dict)

    @property
    def available(self) -> bool:
        """Whether bluetoothd answered and the objects here are its own."""
        return self.availability is Availability.AVAILABLE

    @property
    def reason(self) -> str:
        """`availability` as a CamelCase word for a condition."""
        return str(self.availability)

    def adapter(self, address: Address) -> Adapter | None:
        """The adapter with that address, or None."""
        return next((a for a in self.adapters.values() if a.address == address), None)

    def require_adapter(self, address: Address) -> Adapter:
        """The adapter with that address; raises `AdapterMissing` if absent."""
        adapter = self.adapter(address)
        if adapter is None:
            raise AdapterMissing(f"no adapter {address} is present")
        return adapter

    def devices_of(self, adapter: Address) -> Iterator[Device]:
        """The devices one adapter knows."""
        return (d for d in self.devices.values() if d.adapter_address == adapter)

    def device(self, address: Address, adapter: Address | None = None) -> Device | None:
        """The device with that address (on that adapter), or None.

        Raises `DeviceAmbiguous` when two adapters know it and none was named.
        """
        found = [
            device
            for device in self.devices.values()
            if device.address == address and adapter in (None, device.adapter_address)
        ]
        if len(found) > 1 and adapter is None:
            raise DeviceAmbiguous(f"{address} is known to {len(found)} adapters; name one")
        return found[0] if found else None

    def require_device(self, address: Address, adapter: Address | None = None) -> Device:
        """As `device`, but raises `DeviceUnknown` instead of returning None."""
        device = self.device(address, adapter)
        if device is None:
            raise DeviceUnknown(f"bluetoothd knows no device {address}")
        return device

    def rejected(self, adapter: Address, restored: Iterable[Address]) -> frozenset[Address]:
        """The restored devices that this adapter has not, or has without a bond."""
        known = {device.address for device in self.devices_of(adapter) if device.known}
        return frozenset(restored) - known

    def link(self, device: Device) -> Link | None:
        """Connection and reason of a device; None for one never bonded nor connected."""
        return self.links.get(device.key)


def decode_adapter(path: str, properties: Mapping[str, Any]) -> Adapter | None:
    """The adapter of an `Adapter1` property map (plain values); None without a usable address."""
    values, extra = _decode(ADAPTER_PROPERTIES, properties)
    address = _address(values.pop("address", None))
    if address is None:
        return None
    return Adapter(path=path, address=address, extra=extra, **values)


def decode_battery(properties: Mapping[str, Any]) -> Battery:
    """The battery of a `Battery1` property map."""
    values, extra = _decode(BATTERY_PROPERTIES, properties)
    return Battery(extra=extra, **values)


def decode_device(
    path: str, interfaces: Mapping[str, Mapping[str, Any]], adapters: Mapping[str, Adapter]
) -> Device | None:
    """The device of one object's interfaces (plain values); None without a usable address."""
    values, extra = _decode(DEVICE_PROPERTIES, interfaces[DEVICE])
    address = _address(values.pop("address", None))
    if address is None:
        return None
    adapter = values.pop("adapter", "")
    known = adapters.get(adapter)
    battery = interfaces.get(BATTERY)
    reconnection, _ = _decode(INPUT_PROPERTIES, interfaces.get(INPUT, {}))
    return Device(
        path=path,
        adapter=adapter,
        adapter_address=known.address if known else Address.ZERO,
        address=address,
        battery=None if battery is None else decode_battery(battery),
        extra=extra,
        **values,
        **reconnection,
    )


def _address(text: object) -> Address | None:
    try:
        return Address(text) if isinstance(text, str) else None
    except AddressError:
        return None


def _decode(
    table: tuple[Prop, ...], properties: Mapping[str, Any]
) -> tuple[dict[str, Any], Mapping[str, object]]:
    values: dict[str, Any] = {}
    known = {prop.name: prop for prop in table}
    extra: dict[str, object] = {}
    for name, value in properties.items():
        prop = known.get(name)
        if prop is None or not _fits(prop.signature, value):
            extra[name] = value
        else:
            values[prop.field] = frozenset(value) if prop.signature == "as" else value
    return values, MappingProxyType(extra)


_RANGES = {"y": (0, 0xFF), "q": (0, 0xFFFF), "n": (-0x8000, 0x7FFF), "u": (0, 0xFFFFFFFF)}


def _fits(signature: str, value: object) -> bool:
    if signature == "b":
        return isinstance(value, bool)
    if signature in _RANGES:
        low, high = _RANGES[signature]
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    if signature == "as":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, str)


def decode_objects(
    objects: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> tuple[dict[str, Adapter], dict[str, Device]]:
    """Adapters and devices by path, in order, of a plain `GetManagedObjects` mapping."""
    adapters: dict[str, Adapter] = {}
    devices: dict[str, Device] = {}
    for path in sorted(objects):
        if ADAPTER in objects[path]:
            adapter = decode_adapter(path, objects[path][ADAPTER])
            if adapter is not None:
                adapters[path] = adapter
    for path in sorted(objects):
        if DEVICE in objects[path]:
            device = decode_device(path, objects[path], adapters)
            if device is not None:
                devices[path] = device
    return adapters, devices
