"""Batteries that the kernel's HID drivers report and bluetoothd does not.

A DualSense says its charge in HID reports, so it is a power supply of the kernel's and never a
`Battery1` (bluetui #134). Drivers put the controller's address into the supply's name:
`ps-controller-battery-a0:ab:51:33:b7:12` (drivers/hid/hid-playstation.c),
`sony_controller_battery_...` (hid-sony.c), `nintendo_switch_controller_battery_...`
(hid-nintendo.c), `hid-...-battery` (hid-input.c).
"""

from __future__ import annotations

import re
from pathlib import Path

from bluezclient.address import Address
from bluezclient.model import Battery

POWER_SUPPLIES = Path("/sys/class/power_supply")


def kernel_battery(address: Address, supplies: Path = POWER_SUPPLIES) -> Battery | None:
    """The battery the kernel has for a device; None without one, or while its charge is unknown.

    A read of two small files; nothing announces a change, so read it when it is wanted.
    """
    for supply in sorted(supplies.glob("*")):
        if address.colons.lower() in supply.name.lower():
            percentage = _percentage(supply / "capacity")
            if percentage is not None:
                return Battery(percentage=percentage, source=supply.name)
    return None


def _percentage(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if re.fullmatch(r"\d{1,3}", text, re.ASCII) and int(text) <= 100 else None
