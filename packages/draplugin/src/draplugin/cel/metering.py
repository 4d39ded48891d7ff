"""What an evaluation costs, in the units in which the scheduler limits it.

Rules: cel-go interpreter/runtimecost.go and ext/lists.go, ext/sets.go at v0.29;
k8s.io/apiserver/pkg/cel/library/cost.go (`CallCost`) at v0.37. The estimate of the worst case is
draplugin.cel.estimate; a change here needs one there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .errors import AbortedError, CostExceededError, EvaluationError
from .quantity import Quantity
from .semver import Version
from .values import Address, Format, Map, Network, Optional, Url, Value, size

PER_CHARACTER = 0.1
PER_PATTERN_CHARACTER = 0.25
NEW_LIST, NEW_MAP, NEW_MESSAGE = 10, 30, 40

_CHEAP_EQUALITY = (Quantity, Version, Url, Address, Network, Format)
Args = Sequence[Value]
# Variants whose price looks into an argument, by its index: where that argument has no value,
# cel-go v0.29 stops the whole evaluation with an internal error.
_LOOKED_INTO = {"list_distinct": 0, "list_flatten_int": 1}
Rule = Callable[[Args, Value], int]


class Meter:
    """Adds up the cost of one evaluation; raises `CostExceededError` beyond the limit."""

    __slots__ = ("cost", "limit")

    def __init__(self, limit: int | None) -> None:
        self.cost = 0
        self.limit = limit

    def add(self, units: int) -> None:
        """Count some units."""
        self.cost += units
        if self.limit is not None and self.cost > self.limit:
            raise CostExceededError(self.limit)


def call_cost(function: str, overload: str, args: Args, result: Value) -> int:
    """Units of one call; `overload` is empty where only the values decided which variant ran."""
    by_overload = _TRACKED.get(overload)
    if by_overload is not None:
        _check(overload, args)
        return by_overload(args, result)
    if function == "_==_" and isinstance(args[0], _CHEAP_EQUALITY):
        return 1
    by_function = _KUBERNETES.get(function)
    if by_function is not None:
        return by_function(args, result, overload)
    standard = _STANDARD.get(overload)
    return 1 if standard is None else standard(args, result)


def _check(overload: str, args: Args) -> None:
    index = _LOOKED_INTO.get(overload)
    if index is None:
        index = 0 if overload.endswith("_sort") else 1
        if not overload.endswith(("_sort", "_sortByAssociatedKeys")):
            return
    if isinstance(args[index], EvaluationError):
        raise AbortedError(f"internal error: {args[index]}")


def actual_size(value: Value) -> int:
    """What a value's size counts as: 1 for all that has none."""
    if isinstance(value, Optional):
        return actual_size(value.value) if value.some else 1
    if isinstance(value, (Address, Network)):
        return value.address.max_prefixlen // 8
    found = size(value)
    return 1 if found is None else found


def _scan(length: float, factor: float = PER_CHARACTER) -> int:
    return math.ceil(length * factor)


def _traversal(value: Value) -> int:
    if isinstance(value, str):
        return int(len(value.encode()) * PER_CHARACTER)
    if isinstance(value, bytes):
        return int(len(value) * PER_CHARACTER)
    if isinstance(value, tuple):
        return sum(map(_traversal, value))
    if isinstance(value, Map):
        return sum(_traversal(key) + _traversal(item) for key, item in value.items())
    return 1


def _smaller(args: Args, _: Value) -> int:
    return _scan(min(actual_size(args[0]), actual_size(args[1])))


def _pattern(args: Args, *_: object) -> int:
    text = _scan(1.0 + actual_size(args[0]))
    return text * _scan(actual_size(args[1]), PER_PATTERN_CHARACTER)


def _contains(args: Args, _: Value) -> int:
    return _scan(actual_size(args[0])) * _scan(actual_size(args[1]))


_STANDARD: dict[str, Rule] = {
    "starts_with_string": lambda args, _: _scan(actual_size(args[1])),
    "ends_with_string": lambda args, _: _scan(actual_size(args[1])),
    "string_to_bytes": lambda args, _: _scan(actual_size(args[0])),
    "bytes_to_string": lambda args, _: _scan(actual_size(args[0])),
    "strings_quote": lambda args, _: _scan(actual_size(args[0])),
    "string_format": lambda args, _: _scan(actual_size(args[0])),
    "in_list": lambda args, _: actual_size(args[1]),
    "add_string": lambda args, _: _scan(actual_size(args[0]) + actual_size(args[1])),
    "add_bytes": lambda args, _: _scan(actual_size(args[0]) + actual_size(args[1])),
    "matches": _pattern,
    "matches_string": _pattern,
    "contains_string": _contains,
    "equals": _smaller,
    "not_equals": _smaller,
    **{
        f"{order}_{kind}": _smaller
        for order in ("less", "greater", "less_equals", "greater_equals")
        for kind in ("string", "bytes")
    },
}


def _first_traversal(args: Args, *_: object) -> int:
    return _traversal(args[0])


def _first_scan(args: Args, *_: object) -> int:
    return _scan(actual_size(args[0]))


def _twice_scan(args: Args, *_: object) -> int:
    return _scan(actual_size(args[0]), 2 * PER_CHARACTER)


def _join(_: Args, result: Value, __: str) -> int:
    return _scan(actual_size(result), 2 * PER_CHARACTER)


def _one(*_: object) -> int:
    return 1


def _ip(args: Args, _: Value, overload: str) -> int:
    return 1 if overload == "cidr_ip" else _scan(actual_size(args[0]))


def _contains_ip(args: Args, _: Value, overload: str) -> int:
    parsed = _scan(actual_size(args[1])) if overload == "cidr_contains_ip_string" else 0
    return _scan(2 * actual_size(args[0])) + parsed


def _contains_cidr(args: Args, _: Value, overload: str) -> int:
    parsed = _scan(actual_size(args[1])) if overload == "cidr_contains_cidr_string" else 0
    masked = _scan(actual_size(args[0])) + 1
    return _scan(2 * actual_size(args[0])) + masked + parsed


def _validate(args: Args, *_: object) -> int:
    weight = args[0].weight if isinstance(args[0], Format) else 1
    return _scan(1.0 + actual_size(args[1])) * _scan(weight, PER_PATTERN_CHARACTER)


#: Functions that Kubernetes prices by name, whichever variant runs.
_KUBERNETES: dict[str, Callable[[Args, Value, str], int]] = {
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _first_traversal
    ),
    **dict.fromkeys(
        ("url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR"),
        _first_scan,
    ),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _first_scan),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _twice_scan),
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _pattern),
    "ip": _ip,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    **dict.fromkeys(
        (
            *("masked", "prefixLength", "family", "isUnspecified", "isLoopback"),
            *("isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast", "format.named"),
            *("sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan"),
            *("isLessThan", "compareTo", "add", "sub", "major", "minor", "patch"),
            *("getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery"),
        ),
        _one,
    ),
}


def _new_list(factor: float, length: int) -> int:
    return int(length * max(factor, 0.0)) + 1 + NEW_LIST


def _output(_: Args, result: Value) -> int:
    return _new_list(1, actual_size(result))


def _flatten(args: Args, _: Value) -> int:
    depth = args[1] if len(args) == 2 and isinstance(args[1], int) else 1
    return _new_list(depth if depth >= 0 else 1, actual_size(args[0]))


def _squared(index: int) -> Rule:
    def cost(args: Args, _: Value) -> int:
        items = args[index]
        length = actual_size(items)
        text = isinstance(items, tuple) and items and isinstance(items[0], (str, bytes))
        return _new_list(2 + PER_CHARACTER if text else 2, length * length)

    return cost


def _sets(factor: int) -> Rule:
    return lambda args, _: 1 + actual_size(args[0]) * actual_size(args[1]) * factor


_SORTED = (
    *("int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp"),
    *("string", "bytes"),
)
_TRACKED: dict[str, Rule] = {
    "list_slice": _output,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _output,
    "list_reverse": _output,
    "list_distinct": _squared(0),
    **{f"list_{name}_sort": _squared(0) for name in _SORTED},
    **{f"list_{name}_sortByAssociatedKeys": _squared(1) for name in _SORTED},
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}
