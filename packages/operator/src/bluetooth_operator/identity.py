"""What a controller says it is, from bluetoothd while it can be asked, else from the stored bond.

The slice must list a bonded controller in every state, also before bluetoothd has started and after
its radio was unplugged; the bond's `info` file then knows all but the icon (BlueZ 5.87,
src/device.c: store_device_info).
"""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from dataclasses import dataclass

from bluezclient import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The facts of one controller; None or empty where nobody has said it."""

    name: str | None = None
    class_of_device: int | None = None
    appearance: int | None = None
    modalias: str | None = None
    icon: str | None = None
    address_type: str | None = None
    uuids: frozenset[str] = frozenset()


def of_device(device: Device) -> Identity:
    """The identity as bluetoothd tells it."""
    return Identity(
        name=device.alias or device.name,
        class_of_device=device.class_of_device,
        appearance=device.appearance,
        modalias=device.modalias,
        icon=device.icon,
        address_type=device.address_type,
        uuids=device.uuids,
    )


def of_info(info: bytes) -> Identity:
    """The identity in a bond's `info` file; what cannot be read is absent, nothing raises."""
    parser = configparser.RawConfigParser(
        strict=False, interpolation=None, delimiters=("=",), allow_no_value=True
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(info.decode("utf-8", "replace"))
    except configparser.Error:
        return Identity()
    general = dict(parser["General"]) if parser.has_section("General") else {}
    known = dict(parser["DeviceID"]) if parser.has_section("DeviceID") else {}
    return Identity(
        name=general.get("Alias") or general.get("Name") or None,
        class_of_device=_number(general.get("Class")),
        appearance=_number(general.get("Appearance")),
        modalias=_modalias(known),
        # GKeyFile says `static` where D-Bus says `random`; BR/EDR bonds have no such key.
        address_type="random" if general.get("AddressType") == "static" else "public",
        uuids=frozenset(each for each in (general.get("Services") or "").split(";") if each),
    )


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text, 16)
    except ValueError:
        return None


def _modalias(known: Mapping[str, str | None]) -> str | None:
    """The PnP id in the form of BlueZ's bt_modalias (lib/bluetooth/uuid helpers, src/device.c)."""
    numbers = []
    for key in ("Source", "Vendor", "Product", "Version"):
        try:
            numbers.append(int(known.get(key) or "", 10))
        except ValueError:
            return None
    source = {1: "bluetooth", 2: "usb"}.get(numbers[0])
    if source is None:
        return None
    return f"{source}:v{numbers[1]:04X}p{numbers[2]:04X}d{numbers[3]:04X}"
