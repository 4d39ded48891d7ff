"""The media remote as a peer: LE, HID over GATT (HOGP 1.1), battery, device information.

Runs in its own process (`serve.py`). Usages are those of the HID Usage Tables 1.5,
pages 0x07 (keyboard) and 0x0C (consumer).
"""

from __future__ import annotations

import asyncio
import string
from typing import Any

from bumble.core import AdvertisingData
from bumble.device import Device
from bumble.gatt import (
    GATT_BATTERY_LEVEL_CHARACTERISTIC,
    GATT_BATTERY_SERVICE,
    GATT_DEVICE_INFORMATION_SERVICE,
    GATT_HID_CONTROL_POINT_CHARACTERISTIC,
    GATT_HID_INFORMATION_CHARACTERISTIC,
    GATT_HUMAN_INTERFACE_DEVICE_SERVICE,
    GATT_PNP_ID_CHARACTERISTIC,
    GATT_PROTOCOL_MODE_CHARACTERISTIC,
    GATT_REPORT_CHARACTERISTIC,
    GATT_REPORT_MAP_CHARACTERISTIC,
    GATT_REPORT_REFERENCE_DESCRIPTOR,
    Characteristic,
    Descriptor,
    Service,
)
from bumble.hci import Address

from lab.controllers.peer import Peer, RefusedError

KEYBOARD_APPEARANCE = 0x03C1
# pid.codes' vendor number, which no driver of the kernel claims.
PNP_ID = bytes([0x02, 0x09, 0x12, 0x01, 0x00, 0x01, 0x00])
# bcdHID 1.11, no country, remote wake and normally connectable.
HID_INFORMATION = bytes([0x11, 0x01, 0x00, 0x03])
REPORT_PROTOCOL = bytes([0x01])
LE_LIMITED_NO_BREDR = bytes([0x05])

# Report 1: six keys held at a time. Report 2: one consumer control.
REPORT_MAP = bytes.fromhex(
    "05010906a1018501050719002973150025737508950681 00c0"
    "050c0901a101850219002a9c021500269c0275109501 8100c0".replace(" ", "")
)
KEY_SLOTS = 6

KEYS = {
    **{f"KEY_{letter}": 0x04 + place for place, letter in enumerate(string.ascii_uppercase)},
    **{f"KEY_{digit}": 0x1E + place for place, digit in enumerate("1234567890")},
    "KEY_ENTER": 0x28,
    "KEY_ESC": 0x29,
    "KEY_RIGHT": 0x4F,
    "KEY_LEFT": 0x50,
    "KEY_DOWN": 0x51,
    "KEY_UP": 0x52,
}
CONTROLS = {
    "KEY_PLAYPAUSE": 0x00CD,
    "KEY_MUTE": 0x00E2,
    "KEY_VOLUMEUP": 0x00E9,
    "KEY_VOLUMEDOWN": 0x00EA,
    "KEY_HOMEPAGE": 0x0223,
    "KEY_BACK": 0x0224,
}

# Long enough for a host to hear it and connect, on an emulated machine too.
_HEARD_SECONDS = 5.0

_READ, _WRITE = Characteristic.Properties.READ, Characteristic.Properties.WRITE
_NOTIFY = Characteristic.Properties.NOTIFY
_BLIND_WRITE = Characteristic.Properties.WRITE_WITHOUT_RESPONSE
_READABLE, _WRITABLE = Characteristic.READABLE, Characteristic.WRITEABLE
_INPUT_REPORT = 0x01


class RemotePeer(Peer):
    """See lab.controllers.Remote for the verbs."""

    def make(self, source: Any, sink: Any) -> Any:
        device = Device.with_hci(
            self.settings["name"], Address(self.settings["address"]), source, sink
        )
        self.held: list[int] = []
        self.control = 0
        self.bonded = False
        self.advertising: asyncio.Task[None] | None = None
        self.keys = _report(1, bytes(KEY_SLOTS))
        self.controls = _report(2, bytes(2))
        self.level = Characteristic(
            GATT_BATTERY_LEVEL_CHARACTERISTIC,
            _READ | _NOTIFY,
            _READABLE,
            bytes([self.settings["battery"]]),
        )
        self.keys.on("subscription", self._subscribed)
        device.add_services(self._services())
        device.advertising_data = bytes(self._advertisement())
        return device

    def address(self) -> str:
        return str(self.device.random_address).split("/")[0].upper()

    # -- verbs

    async def advertise(self) -> None:
        await self.hide()
        if not self.link:
            self.advertising = asyncio.create_task(self._advertise())

    # A bonded remote that wakes advertises, and the host connects.
    wake = advertise

    async def hide(self) -> None:
        if self.advertising:
            self.advertising.cancel()
            await asyncio.gather(self.advertising, return_exceptions=True)
            self.advertising = None
        await self.device.stop_advertising()

    async def _advertise(self) -> None:
        """Be heard again and again, as on a real air: btvirt passes on one packet for each start."""
        while not self.link:
            await self.device.start_advertising(auto_restart=False)
            await asyncio.sleep(_HEARD_SECONDS)
            if not self.link:
                await self.device.stop_advertising()

    async def press(self, name: str) -> None:
        await self._key(name, True)

    async def release(self, name: str) -> None:
        await self._key(name, False)

    async def discharge(self, battery: int) -> None:
        self.level.value = bytes([battery])
        if self.link:
            await self.device.notify_subscribers(self.level)

    # -- the link

    def on_link(self) -> None:
        self.link.on("connection_encryption_change", self._encrypted)

    def _subscribed(self, _link: Any, notify: bool, _indicate: bool) -> None:
        self.bonded = self.bonded or notify
        self.emit(event="usable", usable=notify)

    def _encrypted(self) -> None:
        # A bonded host's subscriptions last (Core, Vol 3 Part G 3.3.3.3), so bluetoothd does
        # not write them again.
        if self.bonded:
            self.emit(event="usable", usable=True)

    # -- reports

    async def _key(self, name: str, down: bool) -> None:
        if not self.link:
            raise RefusedError("no host is connected")
        if name in KEYS:
            await self._key_report(KEYS[name], down)
        elif name in CONTROLS:
            self.control = CONTROLS[name] if down else 0
            await self._notify(self.controls, self.control.to_bytes(2, "little"))
        else:
            raise RefusedError(f"no key {name}")

    async def _key_report(self, usage: int, down: bool) -> None:
        if down and usage not in self.held:
            self.held.append(usage)
        elif not down and usage in self.held:
            self.held.remove(usage)
        await self._notify(self.keys, bytes(self.held).ljust(KEY_SLOTS, b"\0")[:KEY_SLOTS])

    async def _notify(self, report: Characteristic[bytes], value: bytes) -> None:
        # By force: bumble forgets subscriptions with the link, see _encrypted.
        await self.device.notify_subscriber(self.link, report, value, force=True)

    # -- what the host reads

    def _services(self) -> list[Service]:
        return [
            Service(
                GATT_DEVICE_INFORMATION_SERVICE, [_constant(GATT_PNP_ID_CHARACTERISTIC, PNP_ID)]
            ),
            Service(
                GATT_HUMAN_INTERFACE_DEVICE_SERVICE,
                [
                    _constant(GATT_PROTOCOL_MODE_CHARACTERISTIC, REPORT_PROTOCOL),
                    _constant(GATT_HID_INFORMATION_CHARACTERISTIC, HID_INFORMATION),
                    _constant(GATT_REPORT_MAP_CHARACTERISTIC, REPORT_MAP),
                    Characteristic(
                        GATT_HID_CONTROL_POINT_CHARACTERISTIC, _BLIND_WRITE, _WRITABLE, bytes(1)
                    ),
                    self.keys,
                    self.controls,
                ],
            ),
            Service(GATT_BATTERY_SERVICE, [self.level]),
        ]

    def _advertisement(self) -> AdvertisingData:
        hid = bytes(GATT_HUMAN_INTERFACE_DEVICE_SERVICE)
        return AdvertisingData(
            [
                (AdvertisingData.FLAGS, LE_LIMITED_NO_BREDR),
                (AdvertisingData.COMPLETE_LOCAL_NAME, self.settings["name"].encode()),
                (AdvertisingData.INCOMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, hid),
                (AdvertisingData.APPEARANCE, KEYBOARD_APPEARANCE.to_bytes(2, "little")),
            ]
        )


def _constant(uuid: Any, value: bytes) -> Characteristic[bytes]:
    return Characteristic(uuid, _READ, _READABLE, value)


def _report(number: int, rest: bytes) -> Characteristic[bytes]:
    reference = Descriptor(
        GATT_REPORT_REFERENCE_DESCRIPTOR, _READABLE, bytes([number, _INPUT_REPORT])
    )
    return Characteristic(
        GATT_REPORT_CHARACTERISTIC,
        _READ | _WRITE | _NOTIFY,
        _READABLE | _WRITABLE,
        rest,
        [reference],
    )
