"""Which ID_INPUT_* classes would udev give this evdev node?

``classes(Capabilities.from_node("/dev/input/event3"))`` answers without udev, its database or root.
"""

from __future__ import annotations

from .capabilities import Capabilities
from .eventtypes import event_types
from .props import classes_in, properties
from .rules import CLASSES, Rule, Step, classes, explain
from .sources import NotAnInputDeviceError

__all__ = [
    "CLASSES",
    "Capabilities",
    "NotAnInputDeviceError",
    "Rule",
    "Step",
    "classes",
    "classes_in",
    "event_types",
    "explain",
    "properties",
]

__version__ = "0.1.0"
