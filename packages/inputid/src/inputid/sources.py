"""Where capabilities come from on a running machine: sysfs attributes and evdev ioctls.

Nothing here decides anything; each function returns the keyword arguments of ``Capabilities``.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct

from . import bitmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NATIVE_WORD_BITS = struct.calcsize("L") * 8

# Event type of each bitmap that EVIOCGBIT answers (linux/input-event-codes.h).
_TYPES = {
    "ev": 0x00,
    "key": 0x01,
    "rel": 0x02,
    "abs": 0x03,
    "msc": 0x04,
    "sw": 0x05,
    "led": 0x11,
    "snd": 0x12,
    "ff": 0x15,
}
_IDS = ("bustype", "vendor", "product", "version")

# Four architectures keep the direction of an ioctl one bit lower (asm/ioctl.h of each).
_READ = 2 << (29 if os.uname().machine.startswith(("alpha", "mips", "ppc", "sparc")) else 30)


class NotAnInputDeviceError(ValueError):
    """The path or descriptor exists, but no input device stands behind it."""


def _ioctl_read(fd: int, number: int, size: int) -> bytes:
    """Run one reading ioctl of linux/input.h and return the bytes the kernel filled in."""
    return fcntl.ioctl(fd, _READ | size << 16 | ord("E") << 8 | number, bytes(size))


def _ioctl_bits(fd: int, number: int, width: int) -> int:
    """Ask for a bitmap: the kernel fills an array of ``unsigned long``, lowest word first."""
    filled = _ioctl_read(fd, number, width // 8)
    words = struct.unpack(f"{width // NATIVE_WORD_BITS}L", filled)
    return sum(word << place * NATIVE_WORD_BITS for place, word in enumerate(words))


def _ioctl_axis(fd: int, axis: int) -> tuple[int, int, int] | None:
    """Return (minimum, maximum, resolution); None for a device without absolute axes (EINVAL)."""
    try:
        _value, low, high, _fuzz, _flat, resolution = struct.unpack(
            "6i", _ioctl_read(fd, 0x40 + axis, 24)
        )
    except OSError:
        return None
    return (low, high, resolution)


def fd_fields(fd: int) -> dict[str, Any]:
    """Ask an open evdev node for everything."""
    try:
        _ioctl_read(fd, 0x01, 4)
    except OSError as error:
        if error.errno in (errno.ENOTTY, errno.EINVAL):
            raise NotAnInputDeviceError("not an evdev node") from None
        raise
    fields: dict[str, Any] = {
        name: _ioctl_bits(fd, 0x20 + kind, bitmap.WIDTHS[name]) for name, kind in _TYPES.items()
    }
    fields["props"] = _ioctl_bits(fd, 0x09, bitmap.WIDTHS["props"])
    fields.update(zip(_IDS, struct.unpack("4H", _ioctl_read(fd, 0x02, 8)), strict=True))
    return {**fields, "x": _ioctl_axis(fd, 0), "y": _ioctl_axis(fd, 1)}


def node_name(fd: int) -> str:
    """Return the kernel's name of an open evdev node."""
    return _ioctl_read(fd, 0x06, 256).partition(b"\0")[0].decode("utf-8", "replace")


def open_node(path: str | os.PathLike[str]) -> int:
    """Open a device node the way udev does: read-only, never waiting, never becoming a terminal."""
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)


def node_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Open a node, ask it, close it."""
    if not stat.S_ISCHR(os.stat(path).st_mode):
        raise NotAnInputDeviceError("not a device node")
    fd = open_node(path)
    try:
        return fd_fields(fd)
    finally:
        os.close(fd)


def attribute_fields(texts: Mapping[str, str], word_bits: int) -> dict[str, Any]:
    """Turn attribute texts into numbers, as forgiving as udev."""
    fields = {n: bitmap.parse_words(texts.get(n, ""), bitmap.WIDTHS[n], word_bits) for n in _TYPES}
    props = texts.get("props", texts.get("properties", ""))
    fields["props"] = bitmap.parse_words(props, bitmap.WIDTHS["props"], word_bits)
    for name in _IDS:
        # A number that cannot be read is zero, as in udev (safe_atoux16 leaves the field alone).
        fields[name] = bitmap.parse_hex(bitmap.attribute_text(texts.get(name, "")), 0xFFFF) or 0
    return fields


def attribute(directory: str, name: str) -> str:
    """Return an attribute's text; one that is missing or cannot be read is empty, as in udev."""
    try:
        with open(os.path.join(directory, name), "rb") as file:
            return file.read(4096).decode("latin-1")
    except OSError:
        return ""


def input_directory(path: str | os.PathLike[str]) -> str:
    """Find the directory with ``capabilities/ev``: ``path`` or its nearest parent that has one.

    A copied ``eventN`` directory has its parent as ``device``.
    """
    start = os.path.realpath(path)
    os.stat(start)
    for candidate in (start, os.path.join(start, "device")):
        if os.path.isfile(os.path.join(candidate, "capabilities", "ev")):
            return candidate
    parent = os.path.dirname(start)
    while parent != os.path.dirname(parent):
        if os.path.isfile(os.path.join(parent, "capabilities", "ev")):
            return parent
        parent = os.path.dirname(parent)
    raise NotAnInputDeviceError("no capabilities/ev here or in a parent directory")


def sysfs_node(path: str | os.PathLike[str]) -> str | None:
    """Name the device node of an ``eventN`` directory below /sys; None for anything else.

    A copy of a directory must not ask this machine's node of the same number.
    """
    start = os.path.realpath(path)
    if not (start.startswith("/sys/") and os.path.basename(start).startswith("event")):
        return None
    lines = attribute(start, "uevent").splitlines()
    names = [line[8:] for line in lines if line.startswith("DEVNAME=")]
    return os.path.join("/dev", names[0]) if names else None


def _is_node_of(directory: str, node: str) -> bool:
    """Tell whether the node has the directory's own number: a container's /dev may be another."""
    status = os.stat(node)
    number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    return stat.S_ISCHR(status.st_mode) and number == attribute(directory, "dev").strip()


def _alias_keys(directory: str) -> set[int]:
    """The interesting key codes a modalias spells out: ``input:b...-e0,1,3,k130,131,r...``."""
    lines = [*attribute(directory, "uevent").splitlines(), "MODALIAS="]
    alias = next(line for line in lines if line.startswith("MODALIAS="))
    codes = alias.partition("-e")[2].partition("k")[2].partition("r")[0].split(",")
    return {bitmap.parse_hex(code, 0x2FF) or 0 for code in codes if code}


def _copied_word_bits(directory: str, texts: Mapping[str, str]) -> int:
    """Tell which kind of machine a copied directory comes from.

    Bitmaps alone do not always say; the modalias, which has no words, does when it names a key.
    """
    named = _alias_keys(directory)
    for word_bits in (64, 32):
        key = bitmap.parse_words(texts["key"], bitmap.WIDTHS["key"], word_bits)
        if named and all(key >> code & 1 for code in named):
            return word_bits
    return bitmap.guess_word_bits([texts])


def _axes_of(node: str | os.PathLike[str]) -> dict[str, tuple[int, int, int] | None]:
    fd = open_node(node)
    try:
        return {"x": _ioctl_axis(fd, 0), "y": _ioctl_axis(fd, 1)}
    finally:
        os.close(fd)


def _size_fields(
    path: str | os.PathLike[str], node: str | os.PathLike[str] | None
) -> dict[str, Any]:
    """Ask the node for its axes; an absent or closed node leaves the size unknown."""
    try:
        if node is not None:
            return _axes_of(node)
        own = sysfs_node(path)
        if own is not None and _is_node_of(os.path.realpath(path), own):
            return _axes_of(own)
    except OSError:
        pass
    return {}


def sysfs_fields(
    path: str | os.PathLike[str], word_bits: int | None, node: str | os.PathLike[str] | None
) -> dict[str, Any]:
    """Read one input directory of sysfs and, where udev would, its node's axes."""
    directory = input_directory(path)
    texts = {name: attribute(directory, f"capabilities/{name}") for name in _TYPES}
    texts["props"] = attribute(directory, "properties")
    texts.update((name, attribute(directory, f"id/{name}")) for name in _IDS)
    if word_bits is None:
        real = directory.startswith("/sys/")
        word_bits = NATIVE_WORD_BITS if real else _copied_word_bits(directory, texts)
    fields = attribute_fields(texts, word_bits)
    return {**fields, **_size_fields(path, node)}
