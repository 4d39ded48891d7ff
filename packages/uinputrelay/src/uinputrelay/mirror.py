"""A mirror: the uinput device made from a snapshot alone, whose node keeps its number.

``blueprint`` decides, purely, what is asked of the kernel and in what it cannot equal the snapshot;
``Mirror`` asks for it. What a mirror never declares, and why:

* EV_FF: an upload nobody answers blocks the player for 30 s, and events go one way here.
* EV_REP: the real node repeats already; its repeats pass through as value 2, once.
* fuzz: the kernel would filter a second time what the real node has filtered.
* the switch and the keys by which the kernel itself turns radios off and on (net/rfkill/input.c,
  rfkill_ids): it has heard them from the real node. A switch is off when its device is made, which
  turns off every radio of the host, and a key's second press takes back the first (seen with 7.2).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from . import codes, kernel
from .model import AbsInfo, Snapshot
from .rest import rests
from .state import UNKNOWN_SLOT, State

UINPUT = "/dev/uinput"
_DROPPED_TYPES = frozenset({codes.EV_SYN, codes.EV_REP, codes.EV_FF})
_RADIOS = {
    codes.EV_KEY: frozenset(
        {codes.KEY_BLUETOOTH, codes.KEY_WLAN, codes.KEY_UWB, codes.KEY_WWAN, codes.KEY_RFKILL}
    ),
    codes.EV_SW: frozenset({codes.SW_RFKILL_ALL}),
}
_NAME_BYTES = 80  # UINPUT_MAX_NAME_SIZE
_MOST_SLOTS = 100  # drivers/input/misc/uinput.c, uinput_validate_absinfo


@dataclass(frozen=True)
class Blueprint:
    """What to ask uinput for: like a snapshot, within what uinput accepts."""

    name: bytes
    ids: tuple[int, int, int, int]
    props: tuple[int, ...]
    types: Mapping[int, tuple[int, ...]]
    absinfo: Mapping[int, AbsInfo]
    differences: tuple[str, ...] = ()


def blueprint(shot: Snapshot) -> Blueprint:
    """Return what the mirror of ``shot`` has to be, with every forced difference in words."""
    differences: list[str] = []
    kinds = {
        kind: _without_radios(kind, listed, differences)
        for kind, listed in shot.types.items()
        if kind not in _DROPPED_TYPES
    }
    if shot.has_keyboard_key:
        kinds[codes.EV_KEY] = tuple(sorted({*kinds[codes.EV_KEY], codes.KEY_UNKNOWN}))
    resting = rests(shot)
    axes = {
        code: _axis(code, axis._replace(value=resting.get(code, axis.value)), differences)
        for code, axis in shot.absinfo.items()
    }
    return Blueprint(
        name=_name(shot.name, differences),
        ids=(shot.bus, shot.vendor, shot.product, shot.version),
        props=shot.props,
        types=kinds,
        absinfo=axes,
        differences=tuple(differences),
    )


def _name(text: str, differences: list[str]) -> bytes:
    raw = text.encode("utf-8", "surrogateescape")
    if not raw:
        differences.append("name: empty, which uinput refuses; a question mark stands for it")
        return b"?"
    if len(raw) > _NAME_BYTES:
        differences.append(f"name: {len(raw)} bytes, cut to the {_NAME_BYTES} uinput keeps")
    return raw[:_NAME_BYTES]


def _without_radios(kind: int, listed: tuple[int, ...], differences: list[str]) -> tuple[int, ...]:
    radios = _RADIOS.get(kind, frozenset())
    differences += [
        f"code {code:#x} of event type {kind:#x}: the kernel turns radios off by it"
        for code in listed
        if code in radios
    ]
    return tuple(code for code in listed if code not in radios)


def _axis(code: int, axis: AbsInfo, differences: list[str]) -> AbsInfo:
    """Bring one axis within drivers/input/misc/uinput.c, uinput_validate_absinfo."""
    low, high, flat = axis.minimum, axis.maximum, axis.flat
    if low > high:
        differences.append(f"axis {code:#x}: range {low}..{high} is turned round")
        low, high = high, low
    if code == codes.ABS_MT_SLOT:
        if high >= _MOST_SLOTS:
            differences.append(
                f"axis {code:#x}: {high + 1} slots, uinput has {_MOST_SLOTS} at most"
            )
            high = _MOST_SLOTS - 1
        elif high < 0:
            differences.append(f"axis {code:#x}: slots up to {high}, one stands for them")
            high = 0
        return AbsInfo(0, min(low, high), high, 0, 0, axis.resolution)
    if high - low <= codes.INT32_MAX and flat > high - low:
        differences.append(f"axis {code:#x}: flat {flat} is cut to the range {high - low}")
        flat = high - low
    return AbsInfo(axis.value, low, high, 0, flat, axis.resolution)


class Mirror:
    """A created uinput device. ``fd`` takes input_event bytes and gives consumers' LED writes."""

    def __init__(self, plan: Blueprint, phys: str, uinput: str = UINPUT) -> None:
        """Create it. Raises OSError naming the step that failed; nothing is left behind."""
        self.fd = _open_uinput(uinput)
        try:
            self.differences = plan.differences + _declare(self.fd, plan, phys)
            kernel.control(self.fd, kernel.UI_DEV_CREATE, 0, "UI_DEV_CREATE")
            self.sysname = kernel.sysname(self.fd)
            self.path, self.major, self.minor = _node_of(self.sysname)
        except BaseException:
            os.close(self.fd)
            raise
        self._asking = -1
        self._plain = tuple(code for code in plan.absinfo if not _is_mt(code))
        self._slots = _slot_codes(plan.absinfo)

    def state(self) -> State:
        """Ask the kernel what the mirror holds down now. Raises OSError.

        The current slot stays unknown: the kernel tells the one it announced last, not the one the
        next ABS_MT_* value would go to.
        """
        return replace(read_state(self._node(), self._plain, *self._slots), slot=UNKNOWN_SLOT)

    def set_flat(self, flats: Mapping[int, int]) -> None:
        """Tell readers of the mirror which flat an axis has; the kernel itself ignores it."""
        for code, flat in flats.items():
            now = kernel.absinfo(self._node(), code)
            if now.flat != flat:
                kernel.set_absinfo(self._node(), code, now._replace(flat=flat))

    def drain(self) -> None:
        """Throw away what consumers wrote (LEDs, sounds): events go one way.

        Nothing waits for this: the kernel keeps the last 15 and overwrites them (drivers/input/
        misc/uinput.c, uinput_dev_event). Of each EV_MSC that is mirrored it keeps an echo there,
        so to be woken for them would double what moving a frame costs.
        """
        try:
            while len(os.read(self.fd, kernel.BATCH * kernel.EVENT_SIZE)):
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Destroy the device; its readers get ENODEV."""
        if self._asking >= 0:
            os.close(self._asking)
            self._asking = -1
        os.close(self.fd)

    def _node(self) -> int:
        """Open the mirror's own node once, to ask it; no event wakes or fills that descriptor.

        Closing an evdev node waits for every processor (drivers/input/evdev.c,
        evdev_detach_client, synchronize_rcu). Done at each loss it took longer than the real node's
        queue lasts, and the next loss was certain.
        """
        if self._asking < 0:
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                kernel.set_mask(fd, frozenset())
            except BaseException:
                os.close(fd)
                raise
            self._asking = fd
        return self._asking


def _open_uinput(path: str) -> int:
    """Open the kernel's device; where there is none, the error says what to do."""
    try:
        return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
            raise
        why = f"{os.strerror(error.errno)}; load the kernel's module with: modprobe uinput"
        raise OSError(error.errno, why, path) from None


def _declare(fd: int, plan: Blueprint, phys: str) -> tuple[str, ...]:
    """Describe the device to uinput, bits before UI_ABS_SETUP's values; say what it does not know.

    A snapshot may come from a newer kernel: codes of switches have been added several times.
    """
    bits = [(kernel.UI_SET_EVBIT, kind, f"event type {kind:#x}") for kind in plan.types]
    bits += [
        (kernel.UI_SET_CODE[kind], code, f"code {code:#x} of event type {kind:#x}")
        for kind, listed in plan.types.items()
        for code in (listed if kind in kernel.UI_SET_CODE else ())
    ]
    bits += [(kernel.UI_SET_PROPBIT, prop, f"property {prop}") for prop in plan.props]
    unknown = tuple(what for request, bit, what in bits if not _set_bit(fd, request, bit, what))
    kernel.control(fd, kernel.UI_SET_PHYS, phys.encode() + b"\0", "UI_SET_PHYS")
    kernel.setup(fd, plan.ids, plan.name)
    for code, axis in plan.absinfo.items():
        kernel.setup_axis(fd, code, axis)
    return tuple(f"{what}: unknown to this kernel" for what in unknown)


def _set_bit(fd: int, request: int, bit: int, what: str) -> bool:
    try:
        kernel.control(fd, request, bit, what)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return False
    return True


def _node_of(sysname: str, sysfs: str = "/sys/devices/virtual/input") -> tuple[str, int, int]:
    """Find the evdev node of a uinput device: its path and numbers."""
    for node in Path(sysfs, sysname).glob("event*"):
        major, minor = (node / "dev").read_text().split(":")
        return f"/dev/input/{node.name}", int(major), int(minor)
    raise FileNotFoundError(
        2, f"{sysname} has no event node: no evdev module, or all of its numbers are taken"
    )


def _is_mt(code: int) -> bool:
    return codes.ABS_MT_SLOT <= code <= codes.ABS_MT_LAST


def _slot_codes(axes: Mapping[int, AbsInfo]) -> tuple[int, tuple[int, ...]]:
    """Return the number of slots and the codes each slot has."""
    if codes.ABS_MT_SLOT not in axes:
        return 0, ()
    per_slot = tuple(code for code in axes if _is_mt(code) and code != codes.ABS_MT_SLOT)
    return axes[codes.ABS_MT_SLOT].maximum + 1, per_slot


def read_state(fd: int, plain: tuple[int, ...], count: int, per_slot: tuple[int, ...]) -> State:
    """Ask an evdev node what is held: ``plain`` axes, and ``count`` slots of ``per_slot`` codes."""
    columns = [kernel.slots(fd, code, count) for code in per_slot] if count else []
    slotted = bool(columns) and all(columns)
    rows = zip(*columns, strict=True) if slotted else ()
    return State(
        keys=kernel.keys(fd),
        switches=kernel.switches(fd),
        axes={code: kernel.absinfo(fd, code).value for code in plain},
        slot=kernel.absinfo(fd, codes.ABS_MT_SLOT).value if slotted else 0,
        contacts=tuple(dict(zip(per_slot, row, strict=True)) for row in rows),
    )
