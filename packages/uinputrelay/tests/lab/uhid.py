"""Emulated HID devices: found by uniq and phys, as bluetoothd makes them.

hid-tools (GPL, run in tests only) knows the DualSense's reports. A kernel from 6.16 on asks a uhid
device when a node is opened, and waits for the answer: a thread answers, the test does the rest.
"""

from __future__ import annotations

import os
import select
import struct
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

# include/uapi/linux/uhid.h: type, name, phys, uniq, rd_size, bus, vendor, product, version, country
_CREATE2 = struct.Struct("<L128s64s64sHHLLLL4096s")
ADAPTER = "04:4A:69:66:92:27"

# A keyboard of eight modifiers and one key (HID 1.11, appendix B.1, cut short).
KEYBOARD = bytes.fromhex(
    "05010906a101050719e029e71500250175019508810295017508810395017508150025650507190029658100c0"
)


class Hid:
    """One uhid device, served by its own thread until unplugged."""

    def __init__(self, device: Any, uniq: str, adapter: str = ADAPTER) -> None:
        self.device = device
        device.uniq, device.phys = uniq.lower(), adapter.lower()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._create()
        self._thread.start()

    def _create(self) -> None:
        """UHID_CREATE2; hid-tools' own way to it runs an event loop inside the test's."""
        device = self.device
        told = bytes(device.rdesc)
        texts = (text.encode() for text in (device.name, device.phys, device.uniq))
        numbers = (len(told), int(device.bus), device.vid, device.pid, 0, 0)
        os.write(device.fd, _CREATE2.pack(11, *texts, *numbers, told))
        device._ready = True
        self._told = {f"HID_UNIQ={device.uniq}", f"HID_PHYS={device.phys}"}

    def _serve(self) -> None:

        poll = select.poll()
        poll.register(self.device.fd, select.POLLIN)
        while not self._stop.is_set():
            if poll.poll(20):
                with self._lock, suppress(BlockingIOError):
                    self.device._process_one_event()

    def report(self, **changes: Any) -> None:
        """Send one input report."""
        with self._lock:
            self.device.call_input_event(self.device.create_report(**changes))

    def raw(self, data: bytes) -> None:
        """Send one input report's bytes."""
        with self._lock:
            self.device.call_input_event(data)

    @property
    def nodes(self) -> Mapping[str, str]:
        """Return the event nodes' paths by their names."""
        return {
            (node.parent / "name").read_text().strip(): f"/dev/input/{node.name}"
            for folder in Path("/sys/bus/hid/devices").iterdir()
            if self._told <= set((folder / "uevent").read_text().splitlines())
            for node in folder.glob("input/input*/event*")
        }

    def unplug(self) -> None:
        """Take the device away; once is enough."""
        if not self._stop.is_set():
            self._stop.set()
            self._thread.join()
            self.device.destroy()


def dualsense(uniq: str, adapter: str = ADAPTER) -> Hid:
    """A DualSense as hid-playstation sees it over Bluetooth."""
    from hidtools.device.sony_gamepad import PS5ControllerBluetooth

    return Hid(PS5ControllerBluetooth(), uniq, adapter)


def keyboard(uniq: str, adapter: str = ADAPTER) -> Hid:
    """A one-key keyboard for hid-generic."""
    from hidtools.uhid import UHIDDevice
    from hidtools.util import BusType

    device = UHIDDevice()
    device.name, device.info, device.rdesc = "Remote", (BusType.BLUETOOTH, 0x1234, 1), KEYBOARD
    return Hid(device, uniq, adapter)
