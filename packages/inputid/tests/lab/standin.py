"""A stand-in for /sys that holds devices no kernel would register: any text in any attribute."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

IDS = ("bustype", "vendor", "product", "version")


class Sysfs:
    """A tree below ``root`` in which udevadm finds ``/sys/.../inputN/eventN``."""

    def __init__(self, root: Path) -> None:
        """Make the empty tree."""
        self.root = root
        self._count = 0
        for place in ("class/input", "bus", "dev/char"):
            (root / place).mkdir(parents=True)

    def add(self, attributes: Mapping[str, bytes]) -> Path:
        """Add a device of these attribute texts; the path is the one below /sys."""
        number = self._count = self._count + 1
        place = Path(f"devices/virtual/input/input{number}")
        parent = self.root / place
        event = parent / f"event{number}"
        event.mkdir(parents=True)
        (parent / "subsystem").symlink_to("../../../../class/input")
        (event / "subsystem").symlink_to("../../../../../class/input")
        (parent / "uevent").write_text("PRODUCT=0/0/0/0\n")
        # No node has this number, so nothing is opened and no size is asked for.
        (event / "uevent").write_text(f"MAJOR=13\nMINOR={900000 + number}\n")
        (event / "dev").write_text(f"13:{900000 + number}\n")
        for name, text in attributes.items():
            file = parent / _place(name)
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(text)
        return Path("/sys") / place / event.name


def _place(name: str) -> str:
    if name == "properties":
        return name
    return f"id/{name}" if name in IDS else f"capabilities/{name}"
