"""What a claim may ask of a controller: the opaque parameters, read strictly and said back clearly.

The blocks arrive weakest first (class, then claim); each key is taken from the last block that
states it. Everything that is refused here is also refused by the admission policy in deploy/base,
which is only the earlier of the two: a claim made before the policy existed still ends here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import inputid
from draplugin import Refused
from evdev import ecodes

from . import names

KIND = "ControllerParameters"
_FIELDS = ("apiVersion", "axes", "inputs", "kind")
_AXIS_FIELDS = ("flat", "fuzz")
_INT32_MAX = 2**31 - 1

# linux/input-event-codes.h. ABS_MT_SLOT is left out: the kernel does not change the number of
# contacts that a device has reserved. ABS_MAX and ABS_CNT are counts, not axes.
AXES: Mapping[str, int] = {
    name: code
    for name, code in sorted(ecodes.ecodes.items())
    if name.startswith("ABS_") and name not in ("ABS_MAX", "ABS_CNT", "ABS_MT_SLOT")
}


class ParametersRefused(Refused):
    """The parameters cannot be used; the text names the field and what is accepted."""


@dataclass(frozen=True, slots=True)
class AxisDemand:
    """What one axis is asked to filter; None leaves what the device reported."""

    fuzz: int | None = None
    flat: int | None = None


@dataclass(frozen=True, slots=True)
class Parameters:
    """What one claim asks of one controller; `inputs` None is every class and all that has none."""

    inputs: frozenset[str] | None = None
    axes: Mapping[str, AxisDemand] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """The form in which the demand is kept beside the prepared claim."""
        axes = {
            name: {k: v for k, v in (("fuzz", axis.fuzz), ("flat", axis.flat)) if v is not None}
            for name, axis in self.axes.items()
        }
        return {
            **({} if self.inputs is None else {"inputs": sorted(self.inputs)}),
            **({"axes": axes} if axes else {}),
        }


def combine(blocks: Iterable[object]) -> Parameters:
    """The demand of parameter blocks, weakest first. Raises ParametersRefused.

    Every block is checked, also where a later one overrides all that it says.
    """
    inputs: frozenset[str] | None = None
    axes: Mapping[str, AxisDemand] = {}
    for block in blocks:
        fields = _object(block)
        if "inputs" in fields:
            inputs = _inputs(fields["inputs"])
        if "axes" in fields:
            axes = _axes(fields["axes"])
    return Parameters(inputs, axes)


def _object(block: object) -> Mapping[str, object]:
    if not isinstance(block, Mapping):
        raise ParametersRefused("parameters: must be a JSON object with inputs, axes or both")
    unknown = sorted(str(key) for key in block if key not in _FIELDS)
    if unknown:
        raise ParametersRefused(
            f"parameters: unknown field {unknown[0]!r}; accepted: {', '.join(_FIELDS)}"
        )
    for key, expected in (("apiVersion", names.API_VERSION), ("kind", KIND)):
        if key in block and block[key] != expected:
            raise ParametersRefused(f"{key}: {block[key]!r} is not accepted; accepted: {expected}")
    return block


def _inputs(value: object) -> frozenset[str]:
    accepted = f"accepted: {', '.join(sorted(inputid.CLASSES))}"
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ParametersRefused(f"inputs: must be a list of input classes; {accepted}")
    if not value:
        raise ParametersRefused(
            f"inputs: must name at least one class, or be left out for all; {accepted}"
        )
    for name in value:
        if name not in inputid.CLASSES:
            raise ParametersRefused(f"inputs: unknown class {name!r}; {accepted}")
    return frozenset(value)


def _axes(value: object) -> Mapping[str, AxisDemand]:
    if not isinstance(value, Mapping):
        raise ParametersRefused("axes: must be an object of axis names with fuzz, flat or both")
    return {str(name): _axis(name, value[name]) for name in sorted(value, key=str)}


def _axis(name: object, value: object) -> AxisDemand:
    if name == "ABS_MT_SLOT":
        raise ParametersRefused(
            "axes.ABS_MT_SLOT: cannot be set, the kernel does not change the number of contacts"
            " that a device reserved"
        )
    if name not in AXES:
        raise ParametersRefused(
            f"axes: unknown axis {name!r}; accepted: the ABS_* names of linux/input-event-codes.h,"
            f" such as ABS_X, ABS_RX, ABS_HAT0X"
        )
    where = f"axes.{name}"
    if not isinstance(value, Mapping) or not value:
        raise ParametersRefused(f"{where}: must be an object with fuzz, flat or both")
    for key in value:
        if key not in _AXIS_FIELDS:
            raise ParametersRefused(f"{where}: unknown field {key!r}; accepted: fuzz, flat")
    return AxisDemand(_amount(where, value, "fuzz"), _amount(where, value, "flat"))


def _amount(where: str, value: Mapping[object, object], key: str) -> int | None:
    if key not in value:
        return None
    amount = value[key]
    # A JSON 4.0 is 4 to the admission policy's CEL, so it is to us; True is an int only to Python.
    if isinstance(amount, float) and amount.is_integer():
        amount = int(amount)
    if not isinstance(amount, int) or isinstance(amount, bool) or not 0 <= amount <= _INT32_MAX:
        raise ParametersRefused(f"{where}.{key}: must be a whole number from 0 to {_INT32_MAX}")
    return amount
