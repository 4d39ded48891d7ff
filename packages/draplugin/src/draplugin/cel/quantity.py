"""Kubernetes quantities, exact, with the corners of the parser that selectors can see.

A quantity is kept either as a 64-bit number times a power of ten or as a decimal of any size;
`asInteger` and `isInteger` answer only for the first form, so the form is part of the value.
Rules: k8s.io/apimachinery/pkg/api/resource, quantity.go and amount.go at v0.37.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_DECIMAL = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_TEXT = re.compile(
    r"(?P<value>(?P<sign>[+-]?)0*(?P<num>[0-9]*)(?:\.(?P<denom>[0-9]*))?)"
    r"(?P<suffix>[eEinumkKMGTP]*[+-]?[0-9]*)\Z",
    re.ASCII,
)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)\Z", re.ASCII)
_INT64 = range(-(2**63), 2**63)
_MAX = 2**63 - 1
_FACTORS = 18  # decimal digits that always fit in 64 bits
_NANO = -9
# Two numbers this many digits apart are compared, but never brought to one scale.
_MAX_DIGITS = 20_000


class QuantityError(ValueError):
    """The text is no quantity."""


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """`unscaled` times ten to the power of `exponent`; `small` when 64 bits hold `unscaled`.

    `derived` marks the result of a sum: on the right of `==` Kubernetes does not know it for a
    quantity (apiserver/pkg/cel/library, quantity.go: `add` returns a pointer, `Equal` wants none).
    """

    unscaled: int
    exponent: int
    small: bool = True
    derived: bool = False

    def compare(self, other: Quantity) -> int:
        """-1, 0 or 1: this quantity against the other."""
        mine, theirs = _sign(self.unscaled), _sign(other.unscaled)
        if mine != theirs or mine == 0:
            return _sign(mine - theirs)
        gap = self._magnitude() - other._magnitude()
        if abs(gap) > 1:
            return mine * _sign(gap)
        left, right, _ = _aligned(self, other)
        return _sign(left - right)

    def sign(self) -> int:
        """-1, 0 or 1."""
        return _sign(self.unscaled)

    def as_integer(self) -> int | None:
        """The value where its form gives a 64-bit integer, None otherwise."""
        if not self.small or self.exponent < 0:
            return None
        if self.exponent > _FACTORS and self.unscaled:
            return None
        value = self.unscaled * 10 ** min(self.exponent, _FACTORS)
        return value if value in _INT64 else None

    def as_float(self) -> float:
        """The nearest that a floating-point number comes."""
        try:
            return float(f"{self.unscaled}e{self.exponent}")
        except OverflowError:
            return float("inf") * _sign(self.unscaled)

    def plus(self, other: Quantity) -> Quantity:
        """The sum; raises `QuantityError` where it would have absurdly many digits."""
        return self._combine(other, 1)

    def minus(self, other: Quantity) -> Quantity:
        """The difference; raises `QuantityError` where it would have absurdly many digits."""
        return self._combine(other, -1)

    def _combine(self, other: Quantity, factor: int) -> Quantity:
        if self.small and other.small:
            if other.unscaled == 0:
                return replace(self, derived=True)
            if self.unscaled == 0:
                return Quantity(factor * other.unscaled, other.exponent, derived=True)
        left, right, exponent = _aligned(self, other)
        total = left + factor * right
        small = self.small and other.small and all(n in _INT64 for n in (left, right, total))
        return Quantity(total, exponent, small, derived=True)

    def _magnitude(self) -> int:
        return len(str(abs(self.unscaled))) + self.exponent


def from_int(value: int) -> Quantity:
    """The quantity of a whole number."""
    return Quantity(value, 0)


def parse(text: str) -> Quantity:
    """Read a quantity as the API server does; raises `QuantityError`."""
    if not text:
        raise QuantityError("quantities must not be empty")
    found = _TEXT.match(text)
    if found is None:
        raise QuantityError(f"{text!r} is not a number with a unit such as 500m, 4Gi or 1e3")
    base, exponent = _suffix(found["suffix"])
    num, denom = found["num"] or "0", found["denom"] or ""
    negative = -1 if found["sign"] == "-" else 1
    small = _small(num, denom, base, exponent)
    if small is not None:
        return Quantity(negative * small.unscaled, small.exponent)
    return _large(found["value"], num, denom, base, exponent, negative)


def _suffix(suffix: str) -> tuple[int, int]:
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix]
    if suffix in _BINARY:
        return 2, _BINARY[suffix]
    found = _EXPONENT.match(suffix)
    if found is None or int(found[1]) not in _INT64:
        raise QuantityError(
            f"{suffix!r} is no unit; use one of n u m k M G T P E Ki Mi Gi Ti Pi Ei"
        )
    # The server keeps 32 bits of the exponent.
    return 10, (int(found[1]) + 2**31) % 2**32 - 2**31


def _small(num: str, denom: str, base: int, exponent: int) -> Quantity | None:
    if base == 10:
        precision, scale, factor = _FACTORS - len(num + denom), exponent, 1
    elif not denom:
        precision = 15 - len(num) - exponent * 3 // 10 - 1
        scale, factor = 0, 1 << exponent
    else:
        return None
    scale -= len(denom)
    value = int(num + denom) * factor
    if precision < 0 or scale < _NANO or value not in _INT64:
        return None
    return Quantity(value, scale)


def _large(value: str, num: str, denom: str, base: int, exponent: int, negative: int) -> Quantity:
    if not any(char.isdigit() for char in value):
        raise QuantityError(f"{value!r} has a unit and no number")
    unscaled, scale = int(num + denom), -len(denom)
    if base == 10:
        scale += exponent
    else:
        unscaled <<= exponent
    if unscaled and scale < _NANO:
        unscaled, scale = _round_up(unscaled, _NANO - scale), _NANO
    if base == 2 and _exceeds(unscaled, scale, _MAX):
        unscaled, scale = _MAX, 0
    return Quantity(negative * unscaled, scale, small=False)


def _round_up(unscaled: int, digits: int) -> int:
    if digits > len(str(unscaled)):
        return 1
    return -(-unscaled // _power(digits))


def _exceeds(unscaled: int, scale: int, limit: int) -> bool:
    return unscaled > limit * _power(-scale) if scale < 0 else unscaled * _power(scale) > limit


def _power(exponent: int) -> int:
    return int(10**exponent)


def _aligned(left: Quantity, right: Quantity) -> tuple[int, int, int]:
    exponent = min(left.exponent, right.exponent)
    if max(left.exponent, right.exponent) - exponent > _MAX_DIGITS:
        raise QuantityError("the two quantities are too far apart to be added")
    return (
        left.unscaled * 10 ** (left.exponent - exponent),
        right.unscaled * 10 ** (right.exponent - exponent),
        exponent,
    )


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
