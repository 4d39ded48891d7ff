"""Parts of timestamps and durations. Without a zone the answer is in UTC, as Kubernetes sets it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..errors import EvaluationError
from ..signatures import _CALENDAR, _OF_DURATION
from ..values import Duration, Timestamp, Value

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET = re.compile(r"([+-]?)(\d{2}):(\d{2})\Z", re.ASCII)
_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDate": lambda at: at.day,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
    "getMilliseconds": lambda at: at.microsecond // 1000,
}
_SPANS: dict[str, Callable[[int], int]] = {
    "getHours": lambda nanos: _whole(nanos, 3600 * 10**9),
    "getMinutes": lambda nanos: _whole(nanos, 60 * 10**9),
    "getSeconds": lambda nanos: _whole(nanos, 10**9),
    "getMilliseconds": lambda nanos: _whole(nanos, 10**6),
}


def _whole(nanos: int, unit: int) -> int:
    return -(-nanos // unit) if nanos < 0 else nanos // unit


def _zone(name: str) -> tzinfo:
    found = _OFFSET.match(name)
    if found:
        span = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return timezone(-span if found[1] == "-" else span)
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    def part(value: Timestamp, zone: str = "UTC") -> int:
        there = _EPOCH + timedelta(microseconds=value.nanos // 1000)
        return read(there.astimezone(_zone(zone)))

    return part


def _span(read: Callable[[int], int]) -> Callable[[Duration], int]:
    return lambda value: read(value.nanos)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: _part(read) for name, read in _PARTS.items()},
    **{f"duration_to_{_CALENDAR[name]}": _span(_SPANS[name]) for name in _OF_DURATION},
}
