"""A device as it is told to people: its capabilities, and what the source calls it."""

from __future__ import annotations

from .capabilities import Capabilities


class Device:
    """One device of a dump or of this machine.

    ``name`` is the kernel's name of it, ``devpath`` its path below /sys, ``node`` its path below
    /dev; each is empty where the source does not say.
    """

    __slots__ = ("capabilities", "devpath", "name", "node")

    def __init__(
        self, capabilities: Capabilities, *, name: str = "", devpath: str = "", node: str = ""
    ) -> None:
        """Keep the four together."""
        self.capabilities = capabilities
        self.name = name
        self.devpath = devpath
        self.node = node

    def __repr__(self) -> str:
        return f"Device({self.capabilities!r}, name={self.name!r})"
