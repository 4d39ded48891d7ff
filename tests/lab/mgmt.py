"""The kernel's management socket, asked one thing: which radios are ready for use.

A radio whose first reset was not answered in time is in /sys like any other; only the
management interface leaves it out. Layout: the kernel's Bluetooth Management API document
(bluez, doc/mgmt.rst), and sockaddr_hci of include/net/bluetooth/hci_sock.h.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct

_NO_DEVICE, _CONTROL_CHANNEL = 0xFFFF, 3
_READ_INDEX_LIST, _COMMAND_COMPLETE = 0x0003, 0x0001
# Event, index, length; then the command's opcode, its status, and the number of radios.
_ANSWER = struct.Struct("<HHHHBH")


def radios() -> list[int]:
    """Numbers of the radios that are set up, 0 for hci0."""
    with socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI) as line:
        _bind(line)
        line.settimeout(10)
        line.send(struct.pack("<HHH", _READ_INDEX_LIST, _NO_DEVICE, 0))
        while True:
            # Events of radios that come and go are among the answers, some only a header long.
            answer = line.recv(1024)
            found = indices(answer)
            if found is not None:
                return found


def indices(packet: bytes) -> list[int] | None:
    """The radios that an answer names; None if the packet is something else."""
    if len(packet) < _ANSWER.size:
        return None
    event, _, _, opcode, status, count = _ANSWER.unpack_from(packet)
    if (event, opcode, status) != (_COMMAND_COMPLETE, _READ_INDEX_LIST, 0):
        return None
    return sorted(struct.unpack_from(f"<{count}H", packet, _ANSWER.size))


def _bind(line: socket.socket) -> None:
    """What Python's own bind cannot say: a channel."""
    address = struct.pack("<HHH", socket.AF_BLUETOOTH, _NO_DEVICE, _CONTROL_CHANNEL)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.bind(line.fileno(), address, len(address)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
