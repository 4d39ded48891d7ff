"""The properties udev would store for a node: its classes, ID_INPUT itself, the size.

Also the place where a caller may override the verdict, as udev's hardware database does around the
builtin. The builtin knows no overrides; nothing here applies any unless asked.
"""

from __future__ import annotations

from .rules import CLASSES, NEWEST_CHANGE
from .rules import classes as builtin_classes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .capabilities import Axis, Capabilities

    Override = Callable[[Capabilities, Mapping[str, str]], Mapping[str, str | None]]

_PREFIX = "ID_INPUT_"


def _int32(value: int) -> int:
    """Wrap as a C int does: udev subtracts two of them."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _millimetres(axis: Axis) -> int:
    """Divide as C does, towards zero; Python's ``//`` differs below it."""
    low, high, resolution = axis
    span = _int32(high - low)
    return span // resolution if span >= 0 else -(-span // resolution)


def _size(x: Axis | None, y: Axis | None) -> dict[str, str]:
    """Width and height, only when both axes state a resolution in units per millimetre."""
    if x is None or y is None or x[2] <= 0 or y[2] <= 0:
        return {}
    return {
        f"{_PREFIX}WIDTH_MM": str(_millimetres(x)),
        f"{_PREFIX}HEIGHT_MM": str(_millimetres(y)),
    }


def properties(
    capabilities: Capabilities,
    systemd: int = NEWEST_CHANGE,
    override: Override | None = None,
) -> dict[str, str]:
    """Return the properties in udev's order, ready to be printed as ``NAME=value``.

    ``ID_INPUT`` comes first and is there for every input device, classless ones too; then one per
    class, then ``ID_INPUT_WIDTH_MM`` and ``ID_INPUT_HEIGHT_MM`` for any class as soon as both axes
    have a resolution.

    ``override`` is no part of udev's builtin. It gets the capabilities and the properties and
    returns changes: a value to set, None to remove one (the hardware database's ``id-input:``
    entries do this to some 14 devices).
    """
    found = {"ID_INPUT": "1"}
    found.update((_PREFIX + name.upper(), "1") for name in builtin_classes(capabilities, systemd))
    found.update(_size(capabilities.x, capabilities.y))
    if override is not None:
        for name, value in override(capabilities, dict(found)).items():
            if value is None:
                found.pop(name, None)
            else:
                found[name] = value
    return found


def classes_in(found: Mapping[str, str]) -> tuple[str, ...]:
    """Return the classes a set of properties states, in udev's order; empty and ``0`` mean no.

    For properties from elsewhere: an override's result, a recording, udev's own database.
    """
    return tuple(name for name in CLASSES if found.get(_PREFIX + name.upper(), "") not in ("", "0"))
