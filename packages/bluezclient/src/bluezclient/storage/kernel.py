"""The adapter's address from the kernel, before bluetoothd runs.

A raw HCI socket answers two ioctls without any daemon (`include/net/bluetooth/hci_sock.h`,
`net/bluetooth/hci_core.c`: hci_get_dev_list, hci_get_dev_info). For about a second after plugging
in a radio its address reads all zero: that means "not yet", never an address.
"""

from __future__ import annotations

import errno
import fcntl
import socket
import struct
from dataclasses import dataclass

from bluezclient.address import Address
from bluezclient.errors import PermissionDenied

_AF_BLUETOOTH, _BTPROTO_HCI = 31, 1
_HCIGETDEVLIST, _HCIGETDEVINFO = 0x800448D2, 0x800448D3
_MOST_DEVICES = 16
# struct hci_dev_list_req: u16 count, padding; then per device u16 index, padding, u32 flags.
_LIST_HEADER, _LIST_ENTRY = struct.Struct("=H2x"), struct.Struct("=H2xI")
# struct hci_dev_info: u16 index, char name[8], bdaddr[6] lowest octet first, ... (under 128 bytes).
_INFO_SIZE, _INFO_ADDRESS = 128, slice(10, 16)
_NO_BLUETOOTH = (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT)


@dataclass(frozen=True, slots=True)
class KernelAdapter:
    """One HCI device: `index` (0 for hci0); `address` is None while it is not known yet."""

    index: int
    address: Address | None


def kernel_adapters() -> tuple[KernelAdapter, ...]:
    """The HCI devices of this network namespace, by index.

    Empty where there is no Bluetooth; a device that leaves in between is left out. Raises
    `PermissionDenied` when the socket is refused.
    """
    try:
        with socket.socket(_AF_BLUETOOTH, socket.SOCK_RAW, _BTPROTO_HCI) as hci:
            adapters = [_adapter(hci.fileno(), index) for index in _indexes(hci.fileno())]
    except PermissionError as error:
        raise PermissionDenied(f"the kernel refuses an HCI socket: {error}") from error
    except OSError as error:
        if error.errno in _NO_BLUETOOTH:
            return ()
        raise
    return tuple(sorted((a for a in adapters if a is not None), key=lambda a: a.index))


def _indexes(fd: int) -> list[int]:
    request = bytearray(_LIST_HEADER.size + _MOST_DEVICES * _LIST_ENTRY.size)
    _LIST_HEADER.pack_into(request, 0, _MOST_DEVICES)
    fcntl.ioctl(fd, _HCIGETDEVLIST, request, True)
    return parse_device_list(bytes(request))


def parse_device_list(reply: bytes) -> list[int]:
    """The indexes in an HCIGETDEVLIST reply."""
    (count,) = _LIST_HEADER.unpack_from(reply)
    entries = reply[_LIST_HEADER.size :][: count * _LIST_ENTRY.size]
    return [index for index, _ in _LIST_ENTRY.iter_unpack(entries)]


def _adapter(fd: int, index: int) -> KernelAdapter | None:
    request = bytearray(_INFO_SIZE)
    struct.pack_into("=H", request, 0, index)
    try:
        fcntl.ioctl(fd, _HCIGETDEVINFO, request, True)
    except OSError as error:
        if error.errno == errno.ENODEV:
            return None
        raise
    return parse_device_info(bytes(request))


def parse_device_info(reply: bytes) -> KernelAdapter:
    """Index and address of an HCIGETDEVINFO reply."""
    (index,) = struct.unpack_from("=H", reply)
    return KernelAdapter(index, Address.from_little_endian(reply[_INFO_ADDRESS]) or None)
