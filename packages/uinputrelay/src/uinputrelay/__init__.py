"""Virtual evdev nodes that outlive the controller they mirror."""

from typing import TYPE_CHECKING

from .checks import InvalidValueError
from .client import Client, SupersededError
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

if TYPE_CHECKING:
    from .engine import Engine

__version__ = "0.1.0"

__all__ = [
    "AbsInfo",
    "Axis",
    "Client",
    "Engine",
    "Held",
    "InvalidValueError",
    "NodeState",
    "NodeWish",
    "Observed",
    "PeripheralState",
    "PeripheralWish",
    "Snapshot",
    "SupersededError",
    "Wish",
    "__version__",
    "largest",
]


def __getattr__(name: str) -> object:
    """Import the engine when it is asked for: a client needs neither pyudev nor libudev."""
    if name == "Engine":
        from .engine import Engine

        return Engine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
