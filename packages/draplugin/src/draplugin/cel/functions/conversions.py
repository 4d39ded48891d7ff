"""`int(x)`, `string(x)` and their like (cel-go common/types, `ConvertToType`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

from ..errors import EvaluationError
from ..types import Type
from ..values import (
    INT64,
    UINT64,
    Address,
    Duration,
    Network,
    Timestamp,
    Uint,
    Value,
    type_name,
)
from .arithmetic import moment, whole

_INTEGER = re.compile(r"[+-]?[0-9]+\Z", re.ASCII)
_FLOAT = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)\Z",
    re.ASCII | re.IGNORECASE,
)
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_SPAN = re.compile(r"(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?P<unit>ns|us|µs|μs|ms|s|m|h)")
_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:[.,](\d+))?(Z|[+-]\d{2}:\d{2})\Z", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _refuse(value: Value, wanted: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{type_name(value)}' to '{wanted}'")


def parse_int(text: str) -> int:
    """A decimal integer of 64 bits; raises `EvaluationError`."""
    if not _INTEGER.match(text) or int(text) not in INT64:
        raise _refuse(text, "int")
    return int(text)


def _parse_uint(text: str) -> Uint:
    if not text.isdecimal() or not text.isascii() or int(text) not in UINT64:
        raise _refuse(text, "uint")
    return Uint(int(text))


def _parse_double(text: str) -> float:
    if not _FLOAT.match(text):
        raise _refuse(text, "double")
    value = float(text)
    if math.isinf(value) and "inf" not in text.lower():
        raise _refuse(text, "double")
    return value


def _parse_bool(text: str) -> bool:
    if text not in _TRUE | _FALSE:
        raise _refuse(text, "bool")
    return text in _TRUE


def parse_duration(text: str) -> Duration:
    """`1h30m`, `-1.5s`; raises `EvaluationError` (Go's time.ParseDuration)."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return Duration(0)
    total, at = 0, 0
    while at < len(rest):
        found = _SPAN.match(rest, at)
        if found is None or not (found["whole"] or found["part"]):
            raise _refuse(text, "google.protobuf.Duration")
        unit, part = _UNITS[found["unit"]], found["part"] or ""
        total += int(found["whole"] or "0") * unit
        total += int(part or "0") * unit // 10 ** len(part)
        at = found.end()
    if not rest or total not in INT64:
        raise _refuse(text, "google.protobuf.Duration")
    return Duration(-total if text.startswith("-") else total)


def parse_timestamp(text: str) -> Timestamp:
    """A moment by RFC 3339; raises `EvaluationError`."""
    found = _MOMENT.match(text)
    try:
        if found is None:
            raise ValueError(text)
        zone = _zone(found[3])
        there = datetime.fromisoformat(found[1]).replace(tzinfo=timezone(zone))
    except ValueError:
        raise _refuse(text, "google.protobuf.Timestamp") from None
    seconds = (there - _EPOCH) // timedelta(seconds=1)
    nanos = int((found[2] or "0")[:9].ljust(9, "0"))
    return Timestamp(moment(seconds * 10**9 + nanos).nanos, zone)


def _zone(text: str) -> timedelta:
    if text == "Z":
        return timedelta()
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 24 or minutes > 59:
        raise ValueError(text)
    span = timedelta(hours=hours, minutes=minutes)
    return -span if text[0] == "-" else span


def _double_to_int(value: float) -> int:
    if not -(2.0**63) < value < 2.0**63:
        raise EvaluationError("integer overflow")
    return int(value)


def _double_to_uint(value: float) -> Uint:
    if not 0 <= value < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(int(value))


def _int_to_uint(value: int) -> Uint:
    if value < 0:
        raise EvaluationError("unsigned integer overflow")
    return Uint(value)


def _utf8(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def double_text(value: float) -> str:
    """A double as Go's `%g` prints it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    shortest = next(t for n in range(17) if float(t := f"{value:.{n}e}") == value)
    digits, _, power = shortest.partition("e")
    if not -4 <= int(power) < 6:
        return f"{digits}e{power}"
    decimals = max(len(digits.lstrip("-").replace(".", "")) - 1 - int(power), 0)
    return f"{value:.{decimals}f}"


def _duration_text(value: Duration) -> str:
    seconds, nanos = divmod(abs(value.nanos), 10**9)
    part = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{'-' if value.nanos < 0 else ''}{seconds}{part}s"


def _timestamp_text(value: Timestamp) -> str:
    seconds, nanos = divmod(value.nanos, 10**9)
    there = (_EPOCH + timedelta(seconds=seconds)).astimezone(timezone(value.offset))
    part = f".{nanos:09d}".rstrip("0") if nanos else ""
    zone = there.strftime("%z")
    shown = "Z" if not value.offset else f"{zone[:3]}:{zone[3:5]}"
    return f"{there.year:04d}-{there:%m-%dT%H:%M:%S}{part}{shown}"


def as_text(value: Value) -> str:
    """What `string(value)` gives; raises `EvaluationError` for lists, maps and the like."""
    for kind, convert in _TEXTS:
        if isinstance(value, kind):
            return convert(value)
    raise _refuse(value, "string")


def cidr_text(value: Network) -> str:
    """`address/length`, host bits kept."""
    return f"{value.address}/{value.prefix}"


_TEXTS: tuple[tuple[type, Callable[..., str]], ...] = (
    (bool, lambda value: "true" if value else "false"),
    (str, lambda value: value),
    (int, str),
    (Uint, lambda value: str(value.number)),
    (float, double_text),
    (bytes, _utf8),
    (Duration, _duration_text),
    (Timestamp, _timestamp_text),
    (Address, lambda value: str(value.address)),
    (Network, cidr_text),
    (Type, lambda value: value.runtime_name),
)


def _same(value: Value) -> Value:
    return value


def _type_of(value: Value) -> Type:
    if isinstance(value, Type):
        return Type("type")
    return Type("value", type_name(value))


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "type": _type_of,
    "dyn": _same,
    **dict.fromkeys(
        (
            *("bool_to_bool", "bytes_to_bytes", "double_to_double", "duration_to_duration"),
            *("int64_to_int64", "string_to_string", "timestamp_to_timestamp", "uint64_to_uint64"),
        ),
        _same,
    ),
    "string_to_bool": _parse_bool,
    "string_to_bytes": lambda value: value.encode(),
    "int64_to_double": float,
    "uint64_to_double": lambda value: float(value.number),
    "string_to_double": _parse_double,
    "string_to_duration": parse_duration,
    "double_to_int64": _double_to_int,
    "duration_to_int64": lambda value: value.nanos,
    "string_to_int64": parse_int,
    "timestamp_to_int64": lambda value: value.nanos // 10**9,
    "uint64_to_int64": lambda value: whole(value.number),
    "int64_to_timestamp": lambda value: moment(value * 10**9),
    "string_to_timestamp": parse_timestamp,
    "double_to_uint64": _double_to_uint,
    "int64_to_uint64": _int_to_uint,
    "string_to_uint64": _parse_uint,
    "string": as_text,
}
