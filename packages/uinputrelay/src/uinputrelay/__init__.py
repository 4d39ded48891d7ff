"""Virtual evdev nodes that outlive the controller they mirror."""

from .checks import InvalidValueError
from .model import (
    AbsInfo,
    Axis,
    Held,
    NodeState,
    NodeWish,
    Observed,
    PeripheralState,
    PeripheralWish,
    Snapshot,
    Wish,
    largest,
)

__version__ = "0.1.0"

__all__ = [
    "AbsInfo",
    "Axis",
    "Held",
    "InvalidValueError",
    "NodeState",
    "NodeWish",
    "Observed",
    "PeripheralState",
    "PeripheralWish",
    "Snapshot",
    "Wish",
    "__version__",
    "largest",
]
