"""The DualSense as a peer: BR/EDR, SDP records of a HID gamepad, HIDP, reports by hid-tools.

Runs in its own process (`serve.py`). The records' values are those of the HID profile 1.1
section 5.3 and the Device ID profile 1.3.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from bumble.core import (
    BT_HIDP_PROTOCOL_ID,
    BT_HUMAN_INTERFACE_DEVICE_SERVICE,
    BT_L2CAP_PROTOCOL_ID,
    UUID,
    ConnectionError,  # noqa: A004 - bumble's own
    PhysicalTransport,
)
from bumble.device import Connection, Device, DeviceConfiguration
from bumble.hci import HCI_PAGE_TIMEOUT_ERROR, Address
from bumble.hid import HID_CONTROL_PSM, HID_INTERRUPT_PSM
from bumble.hid import Device as HidDevice
from bumble.sdp import SDP_PUBLIC_BROWSE_ROOT, DataElement, ServiceAttribute
from hidtools.device.sony_gamepad import PS5ControllerBluetooth, PSTouchPoint

from lab.controllers.peer import Peer, RefusedError, note

NAME = "DualSense Wireless Controller"
GAMEPAD_CLASS = 0x2508
VENDOR, PRODUCT, VERSION = 0x054C, 0x0CE6, 0x0100

# What a peer that sends no MTU option is ready to take (Core 5.4, Vol 3 Part A 5.1).
DEFAULT_MTU = 672
# Pairs of event name and raw value's place in input report 0x31, which hid-tools has no word for.
_TRIGGERS = {"ABS_Z": 6, "ABS_RZ": 7}
_STICKS = {
    "ABS_X": ("left", 0),
    "ABS_Y": ("left", 1),
    "ABS_RX": ("right", 0),
    "ABS_RY": ("right", 1),
}
_CRC_SEED, _CRC_PLACE = 0xA1, 74

# The real pad sends hundreds of reports a second, changed or not; that would be all an
# emulated machine does. Two are enough for the kernel to know the axes at rest.
_STREAM_SECONDS = 0.5
# bluetoothd drops the link at the end of a pairing, when SDP is done and nothing holds it.
_RETURN_SECONDS = 1.0
_RETURNS = 5
# A host listens again some 25 ms after a link's end; a real page, of 5.12 s, lasts until then.
_LISTENS_SECONDS = 0.3
# On the air a host knows a link's features long before anybody can be authenticated. Asked at once
# through a dongle, Linux 7.2 served the pad and now and then never told of the connection.
_FEATURES_SECONDS = 0.5


class Hid(HidDevice):  # type: ignore[misc]
    """bumble's HID device, told the MTU that the specification means by silence."""

    def __init__(self, device: Any, usable: Callable[[], None]) -> None:
        super().__init__(device)
        self._usable = usable

    def on_l2cap_channel_open(self, l2cap_channel: Any) -> None:
        super().on_l2cap_channel_open(l2cap_channel)
        self.settle()

    async def open(self, link: Any) -> None:
        """Open both channels from this side."""
        self.connection = link
        self.remote_device_bd_address = link.peer_address
        await self.connect_control_channel()
        self.settle()
        await self.connect_interrupt_channel()
        self.settle()

    def settle(self) -> None:
        """Correct the MTU, and say when reports can flow."""
        for channel in (self.l2cap_ctrl_channel, self.l2cap_intr_channel):
            if channel:
                channel.peer_mtu = max(DEFAULT_MTU, channel.peer_mtu)
        if self.l2cap_ctrl_channel and self.l2cap_intr_channel:
            self._usable()


class DualSensePeer(Peer):
    """See lab.controllers.DualSense for the verbs."""

    def make(self, source: Any, sink: Any) -> Any:
        configuration = DeviceConfiguration(
            name=NAME, class_of_device=GAMEPAD_CLASS, classic_enabled=True, le_enabled=False
        )
        device = Device.from_config_with_hci(configuration, source, sink)
        self.pad = PS5ControllerBluetooth()
        self.pad.buttons = tuple(self.pad.buttons_map)
        self.triggers = dict.fromkeys(_TRIGGERS, 0)
        self.sent: list[str] = []
        self.host: Any = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.awake = True
        self.returns = _RETURNS
        device.sdp_service_records = records(bytes(self.pad.report_descriptor))
        self.hid = Hid(device, lambda: self.emit(event="usable", usable=True))
        self.hid.register_get_report_cb(self._get_report)
        self.hid.register_set_report_cb(self._set_report)
        self.hid.on("interrupt_data", lambda data: self.sent.append(data[1:].hex()))
        return device

    def address(self) -> str:
        text = str(self.device.public_address).split("/")[0].upper()
        # hid-playstation takes the pad's own address from feature report 0x09.
        self.pad.uniq = text.lower()
        self._spawn(self._stream())
        return text

    # -- verbs

    async def advertise(self) -> None:
        self.awake = True
        await self.device.set_discoverable(True)
        await self.device.set_connectable(True)

    async def hide(self) -> None:
        self.awake = False
        await self.device.set_discoverable(False)
        await self.device.set_connectable(False)

    async def press(self, name: str) -> None:
        self._button(name, True)

    async def release(self, name: str) -> None:
        self._button(name, False)

    async def move(self, axes: dict[str, int]) -> None:
        for name, value in axes.items():
            if name in _STICKS:
                stick, place = _STICKS[name]
                both = list(getattr(self.pad, stick))
                both[place] = value
                setattr(self.pad, stick, tuple(both))
            elif name in _TRIGGERS:
                self.triggers[name] = value
            elif name == "HAT":
                self.pad.hat_switch = value
            else:
                raise RefusedError(f"no axis {name}")
        self._report()

    async def touch(self, points: list[tuple[int, int]]) -> None:
        fingers = [PSTouchPoint(number, x, y) for number, (x, y) in enumerate(points)]
        # create_report takes an empty list for "unchanged".
        self.pad.store_touchpad_state(fingers)
        self._report()

    async def outputs(self) -> dict[str, Any]:
        return {"reports": self.sent}

    async def hang_up(self) -> None:
        if self.hid.l2cap_intr_channel is None:
            raise RefusedError("the host has not opened HID")
        await self.hid.disconnect_interrupt_channel()
        await self.hid.disconnect_control_channel()
        self.emit(event="usable", usable=False)

    async def wake(self) -> None:
        if self.host is None:
            raise RefusedError("no host to come back to: it was never paired")
        self.awake = True
        await self.device.set_connectable(True)
        await self._open()

    # -- the link

    def on_link(self) -> None:
        self.host = self.link.peer_address

    def on_no_link(self) -> None:
        paired_only = self.hid.l2cap_intr_channel is None
        self.hid.l2cap_intr_channel = self.hid.l2cap_ctrl_channel = None
        if paired_only and self.awake and self.returns:
            self.returns -= 1
            self._spawn(self._return())

    async def _return(self) -> None:
        """Open HID after the pairing, which ended with the link dropped."""
        await asyncio.sleep(_RETURN_SECONDS)
        if self.link is None and self.awake:
            note("coming back after the pairing")
            with contextlib.suppress(Exception):
                await self._open()

    async def _open(self) -> None:
        address = Address(str(self.host).split("/")[0], Address.PUBLIC_DEVICE_ADDRESS)
        link = self.link or await self._page(address)
        await link.authenticate()
        await link.encrypt(True)
        await self.hid.open(link)
        self.returns = 0
        self._report()

    async def _page(self, host: Address) -> Connection:
        """Page the host; twice, since btvirt only looks at a page's start whether it listens."""
        await asyncio.sleep(_LISTENS_SECONDS)
        try:
            link = await self.device.connect(host, transport=PhysicalTransport.BR_EDR)
        except ConnectionError as error:
            if error.error_code != HCI_PAGE_TIMEOUT_ERROR:
                raise
            link = await self.device.connect(host, transport=PhysicalTransport.BR_EDR)
        await asyncio.sleep(_FEATURES_SECONDS)
        return link

    async def _stream(self) -> None:
        while True:
            await asyncio.sleep(_STREAM_SECONDS)
            if self.hid.l2cap_intr_channel:
                with contextlib.suppress(Exception):
                    self._report()

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    # -- reports

    def _button(self, name: str, down: bool) -> None:
        number = next((n for n, known in self.pad.buttons_map.items() if known == name), None)
        if number is None:
            raise RefusedError(f"no button {name}")
        self._report(buttons={number: down})

    def _report(self, **changes: Any) -> None:
        if self.hid.l2cap_intr_channel is None and changes:
            raise RefusedError("the host has not opened HID")
        report = self.pad.create_report(**changes)
        for name, place in _TRIGGERS.items():
            report[place] = self.triggers[name]
        self.pad._sign_report(report, _CRC_SEED, _CRC_PLACE)
        self.hid.send_data(bytes(report))

    def _get_report(self, number: int, kind: int, _size: int) -> Any:
        error, data = self.pad.get_report(None, number, kind)
        note(f"get report {number:#x}: {'unknown' if error else f'{len(data)} bytes'}")
        known, unknown = Hid.GetSetReturn.SUCCESS, Hid.GetSetReturn.REPORT_ID_NOT_FOUND
        if error:
            return Hid.GetSetStatus(status=unknown)
        return Hid.GetSetStatus(data=bytes(data[1:]), status=known)

    def _set_report(self, number: int, _kind: int, _size: int, data: bytes) -> Any:
        self.sent.append(bytes([number]).hex() + data.hex())
        return Hid.GetSetStatus(status=Hid.GetSetReturn.SUCCESS)


# -- SDP

_U8, _U16 = DataElement.unsigned_integer_8, DataElement.unsigned_integer_16
_U32, _LIST = DataElement.unsigned_integer_32, DataElement.sequence
_PNP_SERVICE = UUID.from_16_bits(0x1200)
_REPORT_DESCRIPTOR = 0x22
_ENGLISH, _STRINGS_BASE = 0x0409, 0x0100


def records(report_descriptor: bytes) -> dict[int, list[Any]]:
    """The pad's SDP records by handle."""
    return {
        0x10001: _attributes(0x10001, _hid(report_descriptor)),
        0x10002: _attributes(0x10002, _pnp()),
    }


def _attributes(handle: int, values: dict[int, Any]) -> list[Any]:
    common = {0x0000: _U32(handle), 0x0005: _LIST([DataElement.uuid(SDP_PUBLIC_BROWSE_ROOT)])}
    return [ServiceAttribute(number, value) for number, value in {**common, **values}.items()]


def _profile(service: Any, version: int) -> Any:
    return _LIST([_LIST([DataElement.uuid(service), _U16(version)])])


def _stack(psm: int) -> Any:
    lower = _LIST([DataElement.uuid(BT_L2CAP_PROTOCOL_ID), _U16(psm)])
    return _LIST([lower, _LIST([DataElement.uuid(BT_HIDP_PROTOCOL_ID)])])


def _hid(report_descriptor: bytes) -> dict[int, Any]:
    descriptor = _LIST([_U8(_REPORT_DESCRIPTOR), DataElement.text_string(report_descriptor)])
    return {
        0x0001: _LIST([DataElement.uuid(BT_HUMAN_INTERFACE_DEVICE_SERVICE)]),
        0x0004: _stack(HID_CONTROL_PSM),
        0x000D: _LIST([_stack(HID_INTERRUPT_PSM)]),
        0x0009: _profile(BT_HUMAN_INTERFACE_DEVICE_SERVICE, 0x0101),
        0x0100: DataElement.text_string(b"Wireless Controller"),
        0x0200: _U16(0x0100),  # HIDDeviceReleaseNumber
        0x0201: _U16(0x0111),  # HIDParserVersion
        0x0202: _U8(0x08),  # HIDDeviceSubclass: gamepad
        0x0203: _U8(0x00),  # HIDCountryCode
        0x0204: DataElement.boolean(True),  # HIDVirtualCable
        0x0205: DataElement.boolean(True),  # HIDReconnectInitiate
        0x0206: _LIST([descriptor]),
        0x0207: _LIST([_LIST([_U16(_ENGLISH), _U16(_STRINGS_BASE)])]),
        0x020B: _U16(0x0100),  # HIDProfileVersion
        0x020E: DataElement.boolean(False),  # HIDBootDevice
    }


def _pnp() -> dict[int, Any]:
    return {
        0x0001: _LIST([DataElement.uuid(_PNP_SERVICE)]),
        0x0009: _profile(_PNP_SERVICE, 0x0103),
        0x0200: _U16(0x0103),  # SpecificationID
        0x0201: _U16(VENDOR),
        0x0202: _U16(PRODUCT),
        0x0203: _U16(VERSION),
        0x0204: DataElement.boolean(True),  # PrimaryRecord
        0x0205: _U16(0x0002),  # VendorIDSource: USB Implementer's Forum
    }
