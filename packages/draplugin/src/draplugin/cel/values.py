"""Values while an expression runs: what they are, when two are equal, which comes first.

Python's own types stand for themselves where they agree with CEL: bool, int (64 bit), float, str,
bytes, None and tuple (a list). The rest has a class here, because CEL keeps apart what Python
does not: an unsigned 1 from a signed one, `true` from 1 as a key of a map.
Rules: cel-go common/types at v0.29.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import SplitResult

from .errors import EvaluationError
from .quantity import Quantity
from .semver import Version
from .types import CIDR, FORMAT, IP, QUANTITY, SEMVER, URL, Type

#: Anything an expression can compute.
Value = object
_Ordered = bytes | bool | int | float

INT64 = range(-(2**63), 2**63)
UINT64 = range(2**64)


@dataclass(frozen=True, slots=True)
class Uint:
    """An unsigned 64-bit number."""

    number: int


@dataclass(frozen=True, slots=True)
class Duration:
    """A span of time in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A moment in nanoseconds since 1970 UTC; `offset` is the zone it was written in."""

    nanos: int
    offset: timedelta = field(default=timedelta(), compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Optional:
    """A value that may be absent; `some` is False for `optional.none()`."""

    value: Value = None
    some: bool = True


NONE = Optional(some=False)


@dataclass(frozen=True, slots=True, eq=False)
class Url:
    """A parsed URL, as Go's net/url splits it."""

    parts: SplitResult


@dataclass(frozen=True, slots=True, eq=False)
class Address:
    """An IP address."""

    address: IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """An IP address with a prefix length, host bits kept."""

    address: IPv4Address | IPv6Address
    prefix: int

    @property
    def network(self) -> IPv4Network | IPv6Network:
        """The range that it stands for."""
        kind = IPv4Network if isinstance(self.address, IPv4Address) else IPv6Network
        return kind((int(self.address), self.prefix), strict=False)


@dataclass(frozen=True, slots=True, eq=False)
class Format:
    """A named format; `problems` lists what is wrong with a text, `weight` is its regex size."""

    name: str
    problems: Callable[[str], list[str]]
    weight: int


class Missing:
    """The type of `MISSING`: no such key."""


MISSING = Missing()


class Map:
    """A map of CEL. With a `default`, a lookup by `[]` or `.` never fails; `in` tells the truth."""

    __slots__ = ("_entries", "default")

    def __init__(
        self, pairs: Iterable[tuple[Value, Value]] = (), default: Value | Missing = MISSING
    ) -> None:
        self._entries = {_key(key): (key, value) for key, value in pairs}
        self.default = default

    def find(self, key: Value) -> Value | Missing:
        """The value of the key, the default where there is one, or `MISSING`."""
        entry = self._entry(key)
        return self.default if entry is None else entry[1]

    def has(self, key: Value) -> bool:
        """Whether `key in map` holds; a default does not make it so."""
        return self._entry(key) is not None

    def with_entry(self, key: Value, value: Value) -> Map:
        """A copy with one more entry; raises `EvaluationError` where the key is there."""
        if self._entry(key) is not None:
            raise EvaluationError(f"insert failed: key {show(key)} already exists")
        return Map([*self.items(), (key, value)], self.default)

    def items(self) -> Iterator[tuple[Value, Value]]:
        """The entries."""
        return iter(self._entries.values())

    def __iter__(self) -> Iterator[Value]:
        return (key for key, _ in self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def _entry(self, key: Value) -> tuple[Value, Value] | None:
        return self._entries.get(_key(key)) if is_key(key) else None


def is_key(value: Value) -> bool:
    """Whether a value can be the key of a map."""
    return isinstance(value, (bool, int, Uint, float, str))


def _key(value: Value) -> tuple[str, Value]:
    # Numbers of one value are one key, whatever their type.
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, Uint):
        return ("number", value.number)
    if isinstance(value, (int, float)):
        return ("number", value)
    if isinstance(value, str):
        return ("string", value)
    raise EvaluationError(f"unsupported key type: {type_name(value)}")


_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (int, "int"),
    (Uint, "uint"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (type(None), "null_type"),
    (tuple, "list"),
    (Map, "map"),
    (Duration, "google.protobuf.Duration"),
    (Timestamp, "google.protobuf.Timestamp"),
    (Optional, "optional_type"),
    (Quantity, QUANTITY.name),
    (Version, SEMVER.name),
    (Url, URL.name),
    (Address, IP.name),
    (Network, CIDR.name),
    (Format, FORMAT.name),
    (Type, "type"),
)


def type_name(value: Value) -> str:
    """The name of the value's type, as `type()` compares it."""
    return next((name for kind, name in _TYPES if isinstance(value, kind)), type(value).__name__)


def no_overload(what: str = "") -> EvaluationError:
    """The error of a function that does not take these values."""
    return EvaluationError(f"no such overload: {what}" if what else "no such overload")


def is_number(value: Value) -> bool:
    """Whether the value is an int, uint or double."""
    return isinstance(value, (int, Uint, float)) and not isinstance(value, bool)


def plain(value: Value) -> int | float:
    """The number behind an int, uint or double."""
    if isinstance(value, Uint):
        return value.number
    assert isinstance(value, (int, float))
    return value


def equal(a: Value, b: Value) -> bool:
    """CEL's equality: across number types, false between other types.

    Kubernetes' own types are the exception: with one of them on the left, another type on the
    right is an error (apiserver/pkg/cel, quantity.go, semver.go).
    """
    if a is None or b is None:
        return a is None and b is None
    if is_number(a) and is_number(b):
        return _numbers_equal(plain(a), plain(b))
    for kinds, same in _EQUAL:
        if isinstance(a, kinds):
            return same(a, b)
    raise no_overload("_==_")


def _numbers_equal(a: int | float, b: int | float) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        # A double beyond 64 bits differs from every integer; nearer ones are compared as doubles.
        for one, other in ((a, b), (b, a)):
            if isinstance(other, int) and isinstance(one, float):
                return not math.isnan(one) and -(2.0**63) <= one <= 2.0**64 and one == float(other)
    return a == b


def _same(a: Value, b: Value) -> bool:
    return type(a) is type(b) and a == b


def _lists_equal(a: tuple[Value, ...], b: Value) -> bool:
    return isinstance(b, tuple) and len(a) == len(b) and all(map(not_unequal, a, b))


def not_unequal(a: Value, b: Value) -> bool:
    """False where the values differ for sure; inside lists an error counts as no difference."""
    try:
        return equal(a, b)
    except EvaluationError:
        return True


def _maps_equal(a: Map, b: Value) -> bool:
    if not isinstance(b, Map) or len(a) != len(b):
        return False
    for key, value in a.items():
        other = b.find(key)
        if other is MISSING or not not_unequal(value, other):
            return False
    return True


def _optionals_equal(a: Optional, b: Value) -> bool:
    if not isinstance(b, Optional) or not (a.some and b.some):
        return isinstance(b, Optional) and a.some == b.some
    return equal(a.value, b.value)


def _strict(kind: type, same: Callable[..., bool]) -> Callable[..., bool]:
    def compare(a: Value, b: Value) -> bool:
        if not isinstance(b, kind):
            raise no_overload("_==_")
        return same(a, b)

    return compare


def _quantities_equal(a: Quantity, b: Quantity) -> bool:
    if b.derived:
        raise no_overload("_==_")
    return a.compare(b) == 0


def _urls_equal(a: Url, b: Url) -> bool:
    return a.parts == b.parts


_EQUAL: tuple[tuple[type | tuple[type, ...], Callable[..., bool]], ...] = (
    ((bool, str, bytes, Duration, Timestamp, int, float, Uint), _same),
    (tuple, _lists_equal),
    (Map, _maps_equal),
    (Optional, _optionals_equal),
    (Quantity, _strict(Quantity, _quantities_equal)),
    (Version, _strict(Version, lambda a, b: a.compare(b) == 0)),
    (Url, _strict(Url, _urls_equal)),
    (Address, _strict(Address, lambda a, b: a.address == b.address)),
    (Network, _strict(Network, lambda a, b: (a.address, a.prefix) == (b.address, b.prefix))),
    (Format, _strict(Format, lambda a, b: a.name == b.name)),
    (
        Type,
        lambda a, b: isinstance(b, Type) and a.runtime_name == b.runtime_name,
    ),
)


def contains(items: tuple[Value, ...], item: Value) -> bool:
    """Whether the list holds the item; what cannot be compared is not it."""
    for other in items:
        try:
            if equal(item, other):
                return True
        except EvaluationError:
            continue
    return False


def compare(a: Value, b: Value) -> int:
    """-1, 0 or 1; raises `EvaluationError` for what has no order."""
    if is_number(a) and is_number(b):
        return _compare_numbers(plain(a), plain(b))
    for kind in (bool, str, bytes):
        if isinstance(a, kind) and isinstance(b, kind):
            # Go orders strings by their bytes.
            left = a.encode() if isinstance(a, str) else a
            right = b.encode() if isinstance(b, str) else b
            return _order(left, right)
    for span in (Duration, Timestamp):
        if isinstance(a, span) and isinstance(b, span):
            return _order(a.nanos, b.nanos)
    raise no_overload()


def _compare_numbers(a: int | float, b: int | float) -> int:
    if math.isnan(a) or math.isnan(b):
        raise EvaluationError("NaN values cannot be ordered")
    if isinstance(a, float) != isinstance(b, float) and max(abs(a), abs(b)) < 2.0**64:
        return _order(float(a), float(b))
    return _order(a, b)


def _order(a: _Ordered, b: _Ordered) -> int:
    return bool(a > b) - bool(a < b)  # type: ignore[operator]


def size(value: Value) -> int | None:
    """The length of a string (code points), bytes, list or map; None for anything else."""
    return len(value) if isinstance(value, (str, bytes, tuple, Map)) else None


def show(value: Value) -> str:
    """A value for a message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Uint):
        return str(value.number)
    return str(value)
