"""Numbers, order and logic. Sums beyond 64 bits and divisions by zero are errors."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..errors import EvaluationError
from ..values import INT64, UINT64, Duration, Timestamp, Uint, Value, compare

_YEAR_1, _YEAR_9999 = -62135596800, 253402300799
_NANOS = 10**9


def whole(value: int, what: str = "integer overflow") -> int:
    """The number if 64 bits hold it; raises `EvaluationError` otherwise."""
    if value not in INT64:
        raise EvaluationError(what)
    return value


def moment(nanos: int) -> Timestamp:
    """The timestamp if it lies in the years 1 to 9999; raises `EvaluationError` otherwise."""
    if not _YEAR_1 <= nanos // _NANOS <= _YEAR_9999:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanos)


def _unsigned(value: int) -> Uint:
    if value not in UINT64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(value)


def _truncated(a: int, b: int) -> int:
    if b == 0:
        raise EvaluationError("division by zero")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    if b == 0:
        raise EvaluationError("modulus by zero")
    if (a, b) == (INT64.start, -1):
        raise EvaluationError("integer overflow")
    return a - b * _truncated(a, b)


def _divide(a: float, b: float) -> float:
    if b == 0:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def _int(operation: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: whole(operation(a, b))


def _uint(operation: Callable[[int, int], int]) -> Callable[[Uint, Uint], Uint]:
    return lambda a, b: _unsigned(operation(a.number, b.number))


def _multiply(a: float, b: float) -> float:
    return a * b


def _since(a: Timestamp, b: Timestamp) -> Duration:
    return Duration(whole(a.nanos - b.nanos, "timestamp overflow"))


def _later(t: Timestamp, d: Duration) -> Timestamp:
    return moment(t.nanos + d.nanos)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "!_": lambda a: not a,
    "_<_": lambda a, b: compare(a, b) < 0,
    "_<=_": lambda a, b: compare(a, b) <= 0,
    "_>_": lambda a, b: compare(a, b) > 0,
    "_>=_": lambda a, b: compare(a, b) >= 0,
    "add_int64": _int(lambda a, b: a + b),
    "add_uint64": _uint(lambda a, b: a + b),
    "add_double": lambda a, b: a + b,
    "add_string": lambda a, b: a + b,
    "add_bytes": lambda a, b: a + b,
    "add_list": lambda a, b: a + b,
    "add_duration_duration": lambda a, b: Duration(whole(a.nanos + b.nanos)),
    "add_duration_timestamp": lambda d, t: _later(t, d),
    "add_timestamp_duration": _later,
    "subtract_int64": _int(lambda a, b: a - b),
    "subtract_uint64": _uint(lambda a, b: a - b),
    "subtract_double": lambda a, b: a - b,
    "subtract_duration_duration": lambda a, b: Duration(whole(a.nanos - b.nanos)),
    "subtract_timestamp_duration": lambda t, d: moment(t.nanos - d.nanos),
    "subtract_timestamp_timestamp": _since,
    "multiply_int64": _int(lambda a, b: a * b),
    "multiply_uint64": _uint(lambda a, b: a * b),
    "multiply_double": _multiply,
    "divide_int64": _int(_truncated),
    "divide_uint64": _uint(_truncated),
    "divide_double": _divide,
    "modulo_int64": _remainder,
    "modulo_uint64": _uint(_remainder),
    "negate_int64": lambda a: whole(-a),
    "negate_double": lambda a: -a,
}
