"""The program of the pad-reader image: prints what comes from the input devices it was given.

One line per event, on every node below /dev/input that the container has::

    reading /dev/input/event4 Wireless Controller
    /dev/input/event4 BTN_SOUTH 1
    /dev/input/event4 ABS_HAT0X -1
    gone /dev/input/event4

Keys and buttons have 1 for pressed and 0 for released. Sticks, motion and touch are left out,
because they never rest; with ``--all`` every event is printed. Ends with status 1 when it was
given no device, or when the last one is gone.
"""

from __future__ import annotations

import selectors
import signal
import sys
from pathlib import Path
from typing import TypeAlias

import evdev
from evdev import ecodes

Node: TypeAlias = "evdev.InputDevice[str]"

# Names of ranges, not of keys; input-event-codes.h gives them the number of their first key.
_RANGES = {
    "BTN_MISC",
    "BTN_MOUSE",
    "BTN_JOYSTICK",
    "BTN_GAMEPAD",
    "BTN_DIGI",
    "BTN_WHEEL",
    "BTN_TRIGGER_HAPPY",
    "KEY_MIN_INTERESTING",
}
_FIRST_HAT, _LAST_HAT = ecodes.ABS_HAT0X, ecodes.ABS_HAT3Y


def name(kind: int, code: int) -> str:
    """The name of an event's code; of several the one that says most: BTN_SOUTH, not BTN_A."""
    known = ecodes.bytype[kind].get(code, f"{ecodes.EV[kind]}_{code:#x}")
    names = [known] if isinstance(known, str) else [one for one in known if one not in _RANGES]
    return max(names, key=len)


def wanted(kind: int, code: int, everything: bool) -> bool:
    """Whether an event is printed."""
    if kind == ecodes.EV_KEY:
        return True
    hat = kind == ecodes.EV_ABS and _FIRST_HAT <= code <= _LAST_HAT
    return hat or (everything and kind != ecodes.EV_SYN)


def open_all() -> dict[str, Node]:
    """Open every node there is and say so."""
    nodes: dict[str, Node] = {}
    for path in sorted(map(str, Path("/dev/input").glob("event*")), key=lambda it: (len(it), it)):
        device: Node = evdev.InputDevice(path)
        nodes[path] = device
        print(f"reading {path} {device.name}")
    return nodes


def pump(device: Node, path: str, everything: bool) -> bool:
    """Print what a node has to say; whether it is still there."""
    try:
        for event in device.read():
            if wanted(event.type, event.code, everything):
                print(f"{path} {name(event.type, event.code)} {event.value}")
    except OSError as error:
        print(f"gone {path}: {error.strerror}")
        return False
    return True


def main() -> int:
    """Read until the last node is gone."""
    # Process 1 of a container ignores every signal it has no handler for.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    selector = selectors.DefaultSelector()
    nodes = open_all()
    for path, node in nodes.items():
        selector.register(node, selectors.EVENT_READ, path)
    if not selector.get_map():
        print("no input device was given to this container")
    while selector.get_map():
        for key, _ in selector.select():
            if not pump(nodes[key.data], key.data, "--all" in sys.argv):
                selector.unregister(key.fileobj)
    return 1


if __name__ == "__main__":
    sys.exit(main())
