"""Quantities and versions (k8s.io/apiserver/pkg/cel/library, quantity.go and semverlib.go)."""

from __future__ import annotations

from collections.abc import Callable

from .. import quantity, semver
from ..errors import EvaluationError
from ..quantity import Quantity, QuantityError
from ..semver import Version, VersionError
from ..values import Value
from .arithmetic import whole


def _quantity(text: str) -> Quantity:
    try:
        return quantity.parse(text)
    except QuantityError as error:
        raise EvaluationError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except QuantityError:
        return False
    return True


def _as_integer(value: Quantity) -> int:
    found = value.as_integer()
    if found is None:
        raise EvaluationError("cannot convert value to integer")
    return found


def _added(combine: Callable[[Quantity, Quantity], Quantity]) -> Callable[..., Quantity]:
    def run(value: Quantity, other: Quantity | int) -> Quantity:
        try:
            return combine(value, quantity.from_int(other) if isinstance(other, int) else other)
        except QuantityError as error:
            raise EvaluationError(str(error)) from None

    return run


def _parse(text: str, tolerant: bool) -> Version:
    return semver.parse_tolerant(text) if tolerant else semver.parse(text)


def _version(text: str, tolerant: bool = False) -> Version:
    try:
        return _parse(text, tolerant)
    except VersionError as error:
        raise EvaluationError(str(error)) from None


def _is_version(text: str, tolerant: bool = False) -> bool:
    try:
        _parse(text, tolerant)
    except VersionError:
        return False
    return True


def _wrapped(number: int) -> int:
    # Go's conversion of a 64-bit unsigned number wraps around.
    return whole(number if number < 2**63 else number - 2**64)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "quantity": _quantity,
    "isQuantity": _is_quantity,
    "sign": Quantity.sign,
    "isGreaterThan": lambda a, b: a.compare(b) > 0,
    "isLessThan": lambda a, b: a.compare(b) < 0,
    "compareTo": lambda a, b: a.compare(b),
    "asApproximateFloat": Quantity.as_float,
    "asInteger": _as_integer,
    "isInteger": lambda value: value.as_integer() is not None,
    "add": _added(Quantity.plus),
    "sub": _added(Quantity.minus),
    "semver": _version,
    "isSemver": _is_version,
    "major": lambda value: _wrapped(value.major),
    "minor": lambda value: _wrapped(value.minor),
    "patch": lambda value: _wrapped(value.patch),
}
