"""Which event types the reader of a class reads, to narrow a node to them (EVIOCSMASK).

EV_SYN is never filtered by the kernel and is left out. The rows say what the well-known readers
take from such a node: libinput 1.28 (src/evdev*.c), SDL 3 (src/joystick/linux), the kernel's own
documentation (Documentation/input/event-codes.rst).
"""

from __future__ import annotations

from .codes import EV_ABS, EV_KEY, EV_MSC, EV_REL, EV_SW
from .rules import has_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .capabilities import Capabilities

EVENT_TYPES: dict[str, frozenset[int]] = {
    # MSC_TIMESTAMP times the samples of a motion sensor (DualSense, hid-playstation).
    "accelerometer": frozenset({EV_ABS, EV_MSC}),
    "pointingstick": frozenset({EV_KEY, EV_REL}),
    # EV_ABS for the absolute mouse of a virtual machine (QEMU USB Tablet).
    "mouse": frozenset({EV_KEY, EV_REL, EV_ABS}),
    # MSC_TIMESTAMP again: libinput corrects its speed by it (hid-multitouch touchpads).
    "touchpad": frozenset({EV_KEY, EV_ABS, EV_MSC}),
    "touchscreen": frozenset({EV_KEY, EV_ABS}),
    "joystick": frozenset({EV_KEY, EV_ABS}),
    # EV_REL for the wheel of an art pen's mouse, MSC_SERIAL tells tools apart (Wacom Intuos).
    "tablet": frozenset({EV_KEY, EV_ABS, EV_REL, EV_MSC}),
    # EV_REL for dials (XP-PEN Artist 22R Pro), EV_ABS for rings and strips (Wacom Intuos pad).
    "tablet_pad": frozenset({EV_KEY, EV_ABS, EV_REL}),
    # Not EV_MSC: MSC_SCAN repeats what the key says, and on other nodes EV_MSC is a stream.
    "key": frozenset({EV_KEY}),
    "keyboard": frozenset({EV_KEY}),
    "switch": frozenset({EV_SW}),
}


def event_types(class_name: str, capabilities: Capabilities | None = None) -> frozenset[int]:
    """Return the EV_* numbers a reader of this class needs; ValueError for an unknown class.

    With the node's ``capabilities`` the one exception is seen: a node without any KEY_* code is of
    class ``key`` only for its wheel, so there EV_REL is among what such a reader reads.
    """
    try:
        types = EVENT_TYPES[class_name]
    except KeyError:
        known = ", ".join(EVENT_TYPES)
        raise ValueError(f"unknown input class {class_name!r}; known: {known}") from None
    if class_name == "key" and capabilities is not None and not has_keys(capabilities):
        announced = types if capabilities.ev >> EV_KEY & 1 else frozenset()
        return announced | {EV_REL}
    return types
