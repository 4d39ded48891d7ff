"""Lists, maps, sets and optionals.

Rules: cel-go ext/lists.go, ext/sets.go, cel/library.go at v0.29; k8s.io/apiserver/pkg/cel/library
lists.go at v0.37.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise

from ..errors import EvaluationError
from ..values import (
    NONE,
    Duration,
    Map,
    Optional,
    Uint,
    Value,
    compare,
    contains,
    equal,
    no_overload,
    type_name,
)
from .arithmetic import FUNCTIONS as _ARITHMETIC

Items = tuple[Value, ...]
# A list of this many numbers is more than any selector may pay for.
_MAX_RANGE = 10_000_000


def _slice(items: Items, start: int, end: int) -> Items:
    if start < 0 or end < 0 or start > end or end > len(items):
        raise EvaluationError(f"cannot slice({start}, {end}) of a list of length {len(items)}")
    return items[start:end]


def _flatten(items: Items, depth: int = 1) -> Items:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Value] = []
    for item in items:
        if isinstance(item, tuple) and depth > 0:
            flat.extend(_flatten(item, depth - 1))
        else:
            flat.append(item)
    return tuple(flat)


def _sort(items: Items) -> Items:
    return _sort_by(items, items)


def _sort_by(items: Items, keys: Items) -> Items:
    if len(keys) != len(items):
        raise EvaluationError("the list of keys has another length than the list")
    if keys and any(type_name(key) != type_name(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")

    def by_key(a: int, b: int) -> int:
        return compare(keys[a], keys[b])

    order = sorted(range(len(items)), key=cmp_to_key(by_key))
    return tuple(items[index] for index in order)


def _range(count: int) -> Items:
    if not 0 <= count <= _MAX_RANGE:
        raise EvaluationError(f"lists.range: {count} is not a length this evaluator builds")
    return tuple(range(count))


def _distinct(items: Items) -> Items:
    kept: list[Value] = []
    for item in items:
        if not contains(tuple(kept), item):
            kept.append(item)
    return tuple(kept)


def _is_sorted(items: Items) -> bool:
    return all(compare(a, b) <= 0 for a, b in pairwise(items))


def _extreme(name: str, sign: int) -> Callable[[Items], Value]:
    def find(items: Items) -> Value:
        if not items:
            raise EvaluationError(f"{name} called on empty list")
        best = items[0]
        for item in items[1:]:
            if compare(item, best) * sign > 0:
                best = item
        return best

    return find


def _sum(zero: Value, add: str) -> Callable[[Items], Value]:
    def total(items: Items) -> Value:
        result = zero
        for item in items:
            if type_name(item) != type_name(zero):
                raise no_overload("sum")
            result = _ARITHMETIC[add](result, item)
        return result

    return total


def _index_of(items: Items, wanted: Value) -> int:
    for index, item in enumerate(items):
        if equal(item, wanted):
            return index
    return -1


def _last_index_of(items: Items, wanted: Value) -> int:
    for index in range(len(items) - 1, -1, -1):
        if equal(items[index], wanted):
            return index
    return -1


def _includes(target: Value, wanted: Value) -> bool:
    if isinstance(target, tuple):
        return contains(target, wanted)
    return equal(target, wanted)


def _sets_contain(items: Items, part: Items) -> bool:
    return all(contains(items, item) for item in part)


def _insert(target: Map, *added: Value) -> Map:
    if len(added) == 2:
        return target.with_entry(added[0], added[1])
    other = added[0]
    assert isinstance(other, Map)
    for key, value in other.items():
        target = target.with_entry(key, value)
    return target


def _is_zero(value: Value) -> bool:
    if isinstance(value, Uint):
        return value.number == 0
    if isinstance(value, Duration):
        return value.nanos == 0
    if isinstance(value, Optional):
        return not value.some
    return (
        not value
        if isinstance(value, (bool, int, float, str, bytes, tuple, Map))
        else value is None
    )


def _value(optional: Optional) -> Value:
    if not optional.some:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _unwrap(items: Items) -> Items:
    return tuple(item.value for item in items if isinstance(item, Optional) and item.some)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    **dict.fromkeys(("size_list", "list_size", "size_map", "map_size"), len),
    "in_list": lambda item, items: contains(items, item),
    "in_map": lambda key, target: target.has(key),
    "slice": _slice,
    "flatten": _flatten,
    "sort": _sort,
    "@sortByAssociatedKeys": _sort_by,
    "lists.range": _range,
    "reverse": lambda items: items[::-1],
    "distinct": _distinct,
    "isSorted": _is_sorted,
    "max": _extreme("max", 1),
    "min": _extreme("min", -1),
    "list_int_sum_int": _sum(0, "add_int64"),
    "list_uint_sum_uint": _sum(Uint(0), "add_uint64"),
    "list_double_sum_double": _sum(0.0, "add_double"),
    "list_duration_sum_duration": _sum(Duration(0), "add_duration_duration"),
    "list_a_index_of_int": _index_of,
    "list_a_last_index_of_int": _last_index_of,
    "includes": _includes,
    "sets.contains": _sets_contain,
    "sets.equivalent": lambda a, b: _sets_contain(a, b) and _sets_contain(b, a),
    "sets.intersects": lambda a, b: any(contains(b, item) for item in a),
    "cel.@mapInsert": _insert,
    "optional.of": Optional,
    "optional.ofNonZeroValue": lambda value: NONE if _is_zero(value) else Optional(value),
    "optional.none": lambda: NONE,
    "value": _value,
    "hasValue": lambda optional: optional.some,
    "last": lambda items: Optional(items[-1]) if items else NONE,
    "first": lambda items: Optional(items[0]) if items else NONE,
    "optional.unwrap": _unwrap,
    "unwrapOpt": _unwrap,
}
