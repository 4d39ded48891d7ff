"""Static types of CEL and when a value of one may stand where another is asked for.

Types are plain values compared by content. Type parameters (`A`) are bound during a check, in a
`Bindings` that is copied before each attempt so that a failed one leaves nothing behind.
Rules: cel-go checker/types.go at v0.29.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_NULLABLE = frozenset({"opaque", "struct", "any", "duration", "timestamp"})
_COMPOSED = frozenset({"opaque", "list", "map"})


@dataclass(frozen=True, slots=True)
class Type:
    """A type: what kind it is, its name where kinds have several, and its parameters."""

    kind: str
    name: str = ""
    params: tuple[Type, ...] = ()

    def __str__(self) -> str:
        if self.kind in {"list", "map", "type"} and self.params:
            return f"{self.kind}({', '.join(map(str, self.params))})"
        if self.kind == "opaque":
            inner = f"({', '.join(map(str, self.params))})" if self.params else ""
            return self.name + inner
        return _SHOWN.get(self.kind, self.name or self.kind)

    @property
    def is_dyn(self) -> bool:
        """Whether nothing is known of it before a device is there."""
        return self.kind in {"dyn", "any"}

    @property
    def runtime_name(self) -> str:
        """The name that `type(x)` compares."""
        return self.name or _RUNTIME.get(self.kind, self.kind)


_SHOWN = {"null": "null", "error": "!error!", "any": "any"}
_RUNTIME = {
    "null": "null_type",
    "duration": "google.protobuf.Duration",
    "timestamp": "google.protobuf.Timestamp",
    "any": "google.protobuf.Any",
}

ANY, BOOL, BYTES, DOUBLE = Type("any"), Type("bool"), Type("bytes"), Type("double")
DURATION, DYN, ERROR, INT = Type("duration"), Type("dyn"), Type("error"), Type("int")
NULL, STRING, TIMESTAMP, UINT = Type("null"), Type("string"), Type("timestamp"), Type("uint")
QUANTITY = Type("struct", "kubernetes.Quantity")
SEMVER = Type("struct", "kubernetes.Semver")
URL = Type("struct", "kubernetes.URL")
FORMAT = Type("struct", "kubernetes.NamedFormat")
IP = Type("opaque", "net.IP")
CIDR = Type("opaque", "net.CIDR")
DEVICE = Type("struct", "kubernetes.DRADevice")

#: Names of types that an expression may use as values; Kubernetes registers no other of its own.
NAMED: dict[str, Type] = {
    t.runtime_name: t
    for t in (*(BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, UINT, IP, CIDR),)
}


def list_of(item: Type) -> Type:
    """The type of lists of this item."""
    return Type("list", params=(item,))


def map_of(key: Type, value: Type) -> Type:
    """The type of maps from key to value."""
    return Type("map", params=(key, value))


def optional_of(item: Type) -> Type:
    """The type of what may be absent."""
    return Type("opaque", "optional_type", (item,))


def type_of(item: Type) -> Type:
    """The type of the type itself."""
    return Type("type", params=(item,))


def param(name: str) -> Type:
    """A type parameter of a signature."""
    return Type("param", name)


NAMED |= {
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "type": Type("type"),
    "optional_type": optional_of(DYN),
}


def unwrap_optional(t: Type) -> tuple[Type, bool]:
    """What an optional holds, and whether it was one."""
    if t.kind == "opaque" and t.name == "optional_type":
        return t.params[0], True
    return t, False


Bindings = dict[Type, Type]


def assignable(bound: Bindings, wanted: Sequence[Type], given: Sequence[Type]) -> Bindings | None:
    """The bindings with which each wanted type takes the given one, None where one does not."""
    attempt = dict(bound)
    return attempt if _all_assignable(attempt, wanted, given) else None


def substitute(bound: Bindings, t: Type, free_to_dyn: bool = False) -> Type:
    """The type with its bound parameters replaced; free ones become dyn where asked."""
    if t in bound:
        return substitute(bound, bound[t], free_to_dyn)
    if t.kind == "param":
        return DYN if free_to_dyn else t
    if t.params:
        return Type(t.kind, t.name, tuple(substitute(bound, p, free_to_dyn) for p in t.params))
    return t


def most_general(a: Type, b: Type) -> Type:
    """The one of two compatible types that says less."""
    return a if _less_specific(a, b) else b


def _less_specific(a: Type, b: Type) -> bool:
    if a.is_dyn or a.kind == "param":
        return True
    if b.is_dyn or b.kind == "param" or a.kind != b.kind:
        return False
    if a.kind == "type":
        return True
    if a.kind in _COMPOSED:
        same = a.name == b.name and len(a.params) == len(b.params)
        return same and all(map(_less_specific, a.params, b.params))
    return a == b


def _all_assignable(bound: Bindings, left: Sequence[Type], right: Sequence[Type]) -> bool:
    return len(left) == len(right) and all(
        _assignable(bound, a, b) for a, b in zip(left, right, strict=True)
    )


def _assignable(bound: Bindings, a: Type, b: Type) -> bool:
    if b.kind == "param":
        valid, had = _bind(bound, a, b)
        if valid:
            return True
        if had:
            return False
    if a.kind == "param":
        return _bind(bound, b, a)[0]
    if {a.kind, b.kind} & {"dyn", "any", "error"}:
        return True
    if a.kind == "null" or b.kind == "null":
        other = b if a.kind == "null" else a
        return other.kind in _NULLABLE or other.kind == "null"
    return _same_shape(bound, a, b)


def _same_shape(bound: Bindings, a: Type, b: Type) -> bool:
    if a.kind == "type":
        return b.kind == "type"
    if a.kind in _COMPOSED:
        same = a.kind == b.kind and a.name == b.name
        return same and _all_assignable(bound, a.params, b.params)
    return a == b


def _bind(bound: Bindings, t: Type, parameter: Type) -> tuple[bool, bool]:
    """Whether the parameter can be the type, and whether it was bound before."""
    if t == parameter:
        return True, True
    if parameter in bound:
        return _rebind(bound, t, parameter)
    if _free_of(bound, parameter, t):
        bound[parameter] = t
        return True, False
    return False, False


def _rebind(bound: Bindings, t: Type, parameter: Type) -> tuple[bool, bool]:
    before = bound[parameter]
    if t == before:
        return True, True
    if not _assignable(bound, t, before):
        return False, True
    general = most_general(t, before)
    if _free_of(bound, parameter, general):
        bound[parameter] = general
    return True, True


def _free_of(bound: Bindings, parameter: Type, within: Type) -> bool:
    if parameter == within:
        return False
    if within.kind == "param":
        return within not in bound or _free_of(bound, parameter, bound[within])
    return all(_free_of(bound, parameter, inner) for inner in within.params)
