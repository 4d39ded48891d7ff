"""Input devices as the kernel lists them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Node:
    """An entry of /proc/bus/input/devices with an evdev node. uniq is as the kernel has it."""

    name: str
    uniq: str
    phys: str
    path: Path


def nodes(text: str | None = None) -> list[Node]:
    """The kernel's evdev nodes, or those in a text of that form."""
    if text is None:
        text = Path("/proc/bus/input/devices").read_text()
    return [node for block in text.split("\n\n") if (node := _node(block))]


def of(address: str) -> list[Node]:
    """The nodes of a peripheral by its address."""
    return [node for node in nodes() if node.uniq.upper() == address.upper()]


def wait(done: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Wait for a state of the kernel; AssertionError with its list of nodes if it fails to come."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise AssertionError(f"no {what} in {seconds:.0f} s; the kernel has {nodes()}")
        time.sleep(0.05)


def wait_for(address: str, count: int, seconds: float = 60.0) -> list[Node]:
    """The nodes of a peripheral when there are that many."""
    wait(lambda: len(of(address)) == count, f"{count} nodes of {address}", seconds)
    return of(address)


def _node(block: str) -> Node | None:
    event = re.search(r"\bevent\d+", block)
    if not event:
        return None
    return Node(
        _field(block, "Name"),
        _field(block, "Uniq"),
        _field(block, "Phys"),
        Path("/dev/input", event[0]),
    )


def _field(block: str, name: str) -> str:
    found = re.search(rf'{name}="?(.*?)"?$', block, re.MULTILINE)
    return found[1] if found else ""
