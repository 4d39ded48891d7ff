"""The ioctls of evdev and uinput, one small function each, with what failed in every error.

Numbers and layouts: include/uapi/linux/input.h and uinput.h, for the generic ioctl encoding
(x86, arm, riscv; not mips, powerpc or sparc). python-evdev has no EVIOCSMASK, no EVIOCGMTSLOTS
and no batch writing, and its UInput keeps a reader of its own open, so the calls are made here.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
import time
from collections.abc import Iterable, Iterator

from . import codes
from .model import AbsInfo, Snapshot

EVENT = struct.Struct("@qqHHi")  # struct input_event where long is 64 bits
EVENT_SIZE = EVENT.size
BATCH = 64  # events a read or write: the smallest client buffer of evdev, so no reader overflows

_WRITE, _READ = 1, 2
_ABSINFO = struct.Struct("@6i")
_ID = struct.Struct("@4H")
_SETUP = struct.Struct("@4H80sI")
_ABS_SETUP = struct.Struct("@H2x6i")
_MASK = struct.Struct("@IIQ")


def _ioc(direction: int, family: str, number: int, size: int) -> int:
    return direction << 30 | size << 16 | ord(family) << 8 | number


EVIOCGID = _ioc(_READ, "E", 0x02, _ID.size)
EVIOCSMASK = _ioc(_WRITE, "E", 0x93, _MASK.size)
EVIOCSCLOCKID = _ioc(_WRITE, "E", 0xA0, 4)
UI_DEV_CREATE = _ioc(0, "U", 1, 0)
UI_DEV_DESTROY = _ioc(0, "U", 2, 0)
UI_DEV_SETUP = _ioc(_WRITE, "U", 3, _SETUP.size)
UI_ABS_SETUP = _ioc(_WRITE, "U", 4, _ABS_SETUP.size)
UI_SET_EVBIT = _ioc(_WRITE, "U", 100, 4)
UI_SET_PHYS = _ioc(_WRITE, "U", 108, ctypes.sizeof(ctypes.c_void_p))
UI_SET_PROPBIT = _ioc(_WRITE, "U", 110, 4)
UI_SET_CODE = {
    kind: _ioc(_WRITE, "U", number, 4)
    for kind, number in {
        codes.EV_KEY: 101,
        codes.EV_REL: 102,
        codes.EV_ABS: 103,
        codes.EV_MSC: 104,
        codes.EV_LED: 105,
        codes.EV_SND: 106,
        codes.EV_SW: 109,
    }.items()
}
_GNAME, _GPHYS, _GUNIQ, _GPROP, _GMTSLOTS, _GKEY, _GSW, _GBIT = 6, 7, 8, 9, 10, 0x18, 0x1B, 0x20
_GABS, _SABS = 0x40, 0xC0


def encode(events: Iterable[tuple[int, int, int]]) -> bytes:
    """Pack (type, code, value) triples as input_event bytes; the kernel stamps the time."""
    return b"".join(EVENT.pack(0, 0, *event) for event in events)


def decode(data: bytes) -> list[tuple[int, int, int]]:
    """Unpack input_event bytes into (type, code, value) triples."""
    return [(kind, code, value) for _, _, kind, code, value in EVENT.iter_unpack(data)]


def control(fd: int, request: int, argument: int | bytes | bytearray, what: str) -> int:
    """Make one ioctl; an OSError says which one it was."""
    try:
        # With bytes the answer is a copy of them; nothing here asks that way.
        got = fcntl.ioctl(fd, request, argument)
    except OSError as error:
        raise OSError(error.errno, f"{what}: {os.strerror(error.errno or 0)}") from None
    return got if isinstance(got, int) else 0


def _ask(fd: int, number: int, size: int, what: str) -> bytes:
    """Read ``size`` bytes at most; the kernel says how many it has."""
    buffer = bytearray(size)
    got = control(fd, _ioc(_READ, "E", number, size), buffer, what)
    return bytes(buffer[:got])


def _text(fd: int, number: int, what: str) -> str:
    """Read a string that may be unset (ENOENT); bytes that are no UTF-8 survive as surrogates."""
    try:
        raw = _ask(fd, number, 512, what)
    except FileNotFoundError:
        return ""
    return raw.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def name(fd: int) -> str:
    """EVIOCGNAME."""
    return _text(fd, _GNAME, "EVIOCGNAME")


def phys(fd: int) -> str:
    """EVIOCGPHYS; empty where unset."""
    return _text(fd, _GPHYS, "EVIOCGPHYS")


def uniq(fd: int) -> str:
    """EVIOCGUNIQ; empty where unset, as on every uinput device."""
    return _text(fd, _GUNIQ, "EVIOCGUNIQ")


def bits(fd: int, number: int, count: int, what: str) -> tuple[int, ...]:
    """Read one bitmap and list its set bits."""
    value = int.from_bytes(_ask(fd, number, (count + 63) // 64 * 8, what), "little")
    return tuple(set_bits(value & (1 << count) - 1))


def set_bits(value: int) -> Iterator[int]:
    """Yield the numbers of the set bits, in order; most bitmaps hold few."""
    while value:
        lowest = value & -value
        yield lowest.bit_length() - 1
        value ^= lowest


def absinfo(fd: int, code: int) -> AbsInfo:
    """EVIOCGABS."""
    buffer = bytearray(_ABSINFO.size)
    control(fd, _ioc(_READ, "E", _GABS + code, _ABSINFO.size), buffer, f"EVIOCGABS({code:#x})")
    return AbsInfo(*_ABSINFO.unpack(buffer))


def set_absinfo(fd: int, code: int, info: AbsInfo) -> None:
    """EVIOCSABS: global to the node, and it writes the axis' value as well."""
    request = _ioc(_WRITE, "E", _SABS + code, _ABSINFO.size)
    control(fd, request, _ABSINFO.pack(*info), f"EVIOCSABS({code:#x})")


def keys(fd: int) -> frozenset[int]:
    """EVIOCGKEY: keys held now. Queued key events of this client are thrown away by it."""
    return frozenset(bits(fd, _GKEY, codes.CODE_COUNTS[codes.EV_KEY], "EVIOCGKEY"))


def switches(fd: int) -> frozenset[int]:
    """EVIOCGSW: switches on now. Queued switch events of this client are thrown away by it."""
    return frozenset(bits(fd, _GSW, codes.CODE_COUNTS[codes.EV_SW], "EVIOCGSW"))


def slots(fd: int, code: int, count: int) -> tuple[int, ...]:
    """EVIOCGMTSLOTS: one ABS_MT_* value per slot; empty where the device keeps no slots."""
    form = struct.Struct(f"@I{count}i")
    buffer = bytearray(form.pack(code, *([0] * count)))
    try:
        control(fd, _ioc(_READ, "E", _GMTSLOTS, form.size), buffer, f"EVIOCGMTSLOTS({code:#x})")
    except OSError as error:
        if error.errno == 22:  # EINVAL: ABS_MT_SLOT is declared, but input_mt_init_slots never ran
            return ()
        raise
    return form.unpack(buffer)[1:]


def snapshot(fd: int) -> Snapshot:
    """Read everything a mirror is made of. Consumes no event."""
    ids = bytearray(_ID.size)
    control(fd, EVIOCGID, ids, "EVIOCGID")
    bus, vendor, product, version = _ID.unpack(ids)
    types = {}
    for kind in bits(fd, _GBIT, codes.EV_CNT, "EVIOCGBIT(0)"):
        asked = kind in codes.CODE_COUNTS and kind not in (codes.EV_SYN, codes.EV_REP)
        # EVIOCGBIT knows no codes of EV_REP and EV_PWR (drivers/input/evdev.c, handle_eviocgbit).
        types[kind] = (
            bits(fd, _GBIT + kind, codes.CODE_COUNTS[kind], f"EVIOCGBIT({kind:#x})")
            if asked
            else ()
        )
    return Snapshot(
        name=name(fd),
        bus=bus,
        vendor=vendor,
        product=product,
        version=version,
        props=bits(fd, _GPROP, codes.PROP_CNT, "EVIOCGPROP"),
        types=types,
        absinfo={code: absinfo(fd, code) for code in types.get(codes.EV_ABS, ())},
    )


def set_mask(fd: int, kinds: frozenset[int] | None) -> None:
    """EVIOCSMASK: let only these event types wake and reach this client; None lets all.

    The mask of type 0 filters whole types (drivers/input/evdev.c, __evdev_is_filtered);
    its size has to be a multiple of 8 bytes.
    """
    value = (1 << 64) - 1 if kinds is None else sum(1 << kind for kind in kinds)
    mask = ctypes.create_string_buffer(value.to_bytes(8, "little"), 8)
    packed = _MASK.pack(codes.EV_SYN, 8, ctypes.addressof(mask))
    control(fd, EVIOCSMASK, packed, "EVIOCSMASK")


def set_monotonic(fd: int) -> None:
    """EVIOCSCLOCKID: stamp events so that a newer uinput can keep the hardware's time.

    Since about 6.9 uinput keeps written times of the last ten seconds; older ones ignore them.
    """
    control(fd, EVIOCSCLOCKID, struct.pack("@i", time.CLOCK_MONOTONIC), "EVIOCSCLOCKID")


def setup(fd: int, ids: tuple[int, int, int, int], label: bytes) -> None:
    """UI_DEV_SETUP: ids and name (at most 80 bytes, no terminating NUL needed)."""
    control(fd, UI_DEV_SETUP, _SETUP.pack(*ids, label, 0), "UI_DEV_SETUP")


def setup_axis(fd: int, code: int, info: AbsInfo) -> None:
    """UI_ABS_SETUP: one axis with its initial value."""
    control(fd, UI_ABS_SETUP, _ABS_SETUP.pack(code, *info), f"UI_ABS_SETUP({code:#x})")


def sysname(fd: int) -> str:
    """UI_GET_SYSNAME: ``inputN`` of a created uinput device."""
    buffer = bytearray(64)
    control(fd, _ioc(_READ, "U", 44, 64), buffer, "UI_GET_SYSNAME")
    return bytes(buffer).split(b"\0", 1)[0].decode()
