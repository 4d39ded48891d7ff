"""Finding a device's real event nodes, through udev, at the start and as they come and go.

Level-triggered: whatever happens, the whole of /sys/class/input is looked at again, so a lost
netlink message costs nothing but the wait for the next one. Nothing is opened here: an interloper
that took a node's number is told apart by its sysfs attributes before anybody opens it.

A look holds up every event, and a device's queue lasts 16 ms at 8,000 events/s. So udev is asked
about each appearance of a node once; after that a look is one directory and a link for each node.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyudev

from .model import PeripheralWish
from .numbers import INPUT_MAJOR
from .source import Identity

_UDEV_CONTROL = Path("/run/udev/control")
_INPUTS = Path("/sys/class/input")
_NUMBERS = Path("/sys/dev/char")
_NUMBER = re.compile(r"\d+$")


@dataclass(frozen=True)
class RealNode:
    """One event node of the kernel's own.

    ``key`` names this very appearance: the kernel never reuses an ``inputN`` while it runs.
    ``order`` is the order in which the driver registered the nodes. ``settled`` means udev's rules
    have run, or no udev is there to run them. ``hid_uniq`` and ``hid_phys`` are those of the HID
    device above it, empty where it is none: hid-playstation gives its input devices the uniq and no
    phys (drivers/hid/hid-playstation.c, ps_allocate_input_dev).
    """

    key: str
    path: str
    minor: int
    name: str
    uniq: str
    phys: str
    order: int
    settled: bool
    hid_uniq: str = ""
    hid_phys: str = ""

    @property
    def identity(self) -> Identity:
        """What the node has to answer once it is open."""
        return Identity(self.uniq, self.phys)


Belongs = Callable[[PeripheralWish, RealNode], bool]


def by_uniq(wish: PeripheralWish, node: RealNode) -> bool:
    """Match HID uniq with the address and HID phys with the adapter, in any case of letters.

    HIDP sets both in net/bluetooth/hidp/core.c; bluetoothd sets both in UHID_CREATE2.
    """
    if (node.hid_uniq or node.uniq).upper() != wish.address:
        return False
    phys = node.hid_phys or node.phys
    return wish.adapter is None or phys.upper().startswith(wish.adapter)


class Discovery:
    """Lists real nodes, and says when to look again: poll ``fds`` and call ``drain``."""

    def __init__(self, own_prefix: str, inputs: Path = _INPUTS) -> None:
        """``own_prefix`` begins the phys of our own mirrors, which are never listed."""
        self._own = own_prefix
        self._inputs = inputs
        self._known: dict[str, RealNode] = {}
        self._context = pyudev.Context()
        self._monitors = [self._monitor(source) for source in ("kernel", "udev")]

    def _monitor(self, source: str) -> pyudev.Monitor:
        """Listen to the kernel and to udevd: in a container only one of them may be heard."""
        monitor = pyudev.Monitor.from_netlink(self._context, source=source)
        monitor.filter_by("input")
        monitor.start()
        return monitor

    @property
    def fds(self) -> tuple[int, ...]:
        """Readable when something changed."""
        return tuple(monitor.fileno() for monitor in self._monitors)

    def drain(self) -> None:
        """Forget the notifications; the caller scans once for all of them."""
        for monitor in self._monitors:
            try:
                while monitor.poll(timeout=0) is not None:
                    pass
            except OSError:  # ENOBUFS: some were lost, and a scan is due anyway
                pass

    def scan(self) -> list[RealNode]:
        """List every event node that is not one of our mirrors, in order of registration."""
        names = _event_nodes(self._inputs)
        looks = {link: self._known.get(link) or self._look(name) for link, name in names.items()}
        nodes = {link: node for link, node in looks.items() if node is not None}
        # The link names the inputN, which the kernel never gives twice.
        self._known = {link: node for link, node in nodes.items() if node.settled}
        real = (n for n in nodes.values() if not (self._own and n.phys.startswith(self._own)))
        return sorted(real, key=lambda node: node.order)

    def _look(self, name: str) -> RealNode | None:
        """Ask udev about a node; None when it has just gone, or has no device node yet."""
        try:
            device = pyudev.Devices.from_sys_path(self._context, str(self._inputs / name))
        except pyudev.DeviceNotFoundAtPathError:
            return None
        parent = device.parent
        numbered = _NUMBER.search(parent.sys_name) if parent is not None else None
        if numbered is None or not device.device_node:
            return None
        hid = device.find_parent("hid")
        return RealNode(
            key=device.sys_path,
            path=device.device_node,
            minor=os.minor(device.device_number),
            name=_attribute(parent, "name"),
            uniq=_attribute(parent, "uniq"),
            phys=_attribute(parent, "phys"),
            order=int(numbered.group()),
            settled=device.is_initialized or not _UDEV_CONTROL.exists(),
            hid_uniq=hid.properties.get("HID_UNIQ", "") if hid is not None else "",
            hid_phys=hid.properties.get("HID_PHYS", "") if hid is not None else "",
        )

    def close(self) -> None:
        """Stop listening."""
        self._monitors.clear()


def used_minors(numbers: Path = _NUMBERS) -> frozenset[int]:
    """List every minor of the input major that is taken, by whichever kind of input node."""
    taken = (path.name for path in numbers.glob(f"{INPUT_MAJOR}:*"))
    return frozenset(int(name.partition(":")[2]) for name in taken)


def _event_nodes(inputs: Path) -> dict[str, str]:
    """Map where each event node's link leads to its name."""
    names: dict[str, str] = {}
    for path in inputs.glob("event*"):
        with suppress(FileNotFoundError):  # it went away while we looked
            names[str(path.readlink())] = path.name
    return names


def _attribute(device: pyudev.Device, name: str) -> str:
    value: bytes | None = device.attributes.get(name)
    return (value or b"").decode("utf-8", "surrogateescape").rstrip("\n")
