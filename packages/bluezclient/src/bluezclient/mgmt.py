"""The kernel's management socket, for one thing: why a link ended, where bluetoothd does not say.

`Device1.Disconnected` exists since BlueZ 5.83; before that the reason is only in mgmt event 0x000C
(BlueZ `doc/mgmt-protocol.rst`, Device Disconnected). The socket needs CAP_NET_ADMIN in the first
network namespace. Python's own socket module could bind an HCI channel only from 3.14 on, hence
libc's bind.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bluezclient.address import Address
from bluezclient.errors import PermissionDenied, Unavailable
from bluezclient.reasons import Wire

_AF_BLUETOOTH, _BTPROTO_HCI = 31, 1
_HCI_DEV_NONE, _HCI_CHANNEL_CONTROL = 0xFFFF, 3
_SOCKADDR_HCI = struct.Struct("=HHH")
_HEADER = struct.Struct("<HHH")
_DEVICE_DISCONNECTED = 0x000C
_DISCONNECTED_BODY = 8
_MOST_OCTETS = 1024


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """One ended link: the adapter's index (0 for hci0), the device, and the kernel's reason."""

    index: int
    device: Address
    wire: Wire


def parse(frame: bytes) -> LinkEnd | None:
    """The ended link a management frame tells of; None for all others, truncated ones included."""
    if len(frame) < _HEADER.size:
        return None
    opcode, index, length = _HEADER.unpack_from(frame)
    body = frame[_HEADER.size :]
    if opcode != _DEVICE_DISCONNECTED or length != len(body) or length < _DISCONNECTED_BODY:
        return None
    return LinkEnd(index, Address.from_little_endian(body[:6]), Wire.from_mgmt(body[7]))


def open_socket() -> socket.socket:
    """A management socket, non-blocking.

    Raises `PermissionDenied` without CAP_NET_ADMIN and `Unavailable` without Bluetooth in the
    kernel.
    """
    try:
        control = socket.socket(
            _AF_BLUETOOTH,
            socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK,
            _BTPROTO_HCI,
        )
    except PermissionError as error:
        raise PermissionDenied(f"the kernel refuses a management socket: {error}") from error
    except OSError as error:
        raise Unavailable(f"no Bluetooth in this kernel or network namespace: {error}") from error
    address = _SOCKADDR_HCI.pack(_AF_BLUETOOTH, _HCI_DEV_NONE, _HCI_CHANNEL_CONTROL)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.bind(control.fileno(), address, len(address)) != 0:
        number = ctypes.get_errno()
        control.close()
        raise PermissionDenied(f"the kernel refuses the management channel: {os.strerror(number)}")
    return control


@contextlib.contextmanager
def following(callback: Callable[[LinkEnd], None]) -> Iterator[None]:
    """Call `callback` in the loop for every ended link while the block runs."""
    loop = asyncio.get_running_loop()
    with open_socket() as control:

        def read() -> None:
            with contextlib.suppress(BlockingIOError):
                end = parse(control.recv(_MOST_OCTETS))
                if end is not None:
                    callback(end)

        loop.add_reader(control, read)
        try:
            yield
        finally:
            loop.remove_reader(control)
