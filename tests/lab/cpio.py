"""An initramfs is a cpio archive in the "newc" format; this writes one.

Source of the format: the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping

_TRAILER = "TRAILER!!!"


def archive(files: Mapping[str, tuple[int, bytes]]) -> bytes:
    """Archive of path -> (mode with file type, content); folders are added as needed."""
    entries: dict[str, tuple[int, bytes]] = {}
    for path, entry in files.items():
        parts = path.split("/")
        for depth in range(1, len(parts)):
            entries.setdefault("/".join(parts[:depth]), (stat.S_IFDIR | 0o755, b""))
        entries[path] = entry
    records = [
        _record(number, path, mode, data)
        for number, (path, (mode, data)) in enumerate(entries.items(), 1)
    ]
    return b"".join([*records, _record(0, _TRAILER, 0, b"")])


def file(data: bytes, mode: int = 0o644) -> tuple[int, bytes]:
    """A regular file for `archive`."""
    return stat.S_IFREG | mode, data


def _record(inode: int, path: str, mode: int, data: bytes) -> bytes:
    name = path.encode() + b"\0"
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
