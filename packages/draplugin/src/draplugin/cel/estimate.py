"""The worst that an expression can cost, known before there is a device.

The API server refuses a new expression whose estimate exceeds the limit. Sizes are ranges: what is
written in the expression has one size, what a device holds the range that its declaration allows,
anything else is unbounded. A path (`device.attributes.@values.x`) leads from an expression back to
the declaration.
Rules: cel-go checker/cost.go, ext/lists.go, ext/sets.go at v0.29; k8s.io/apiserver/pkg/cel/library
cost.go (`EstimateCallCost`) at v0.37. What an evaluation really costs is draplugin.cel.metering.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .ast import ACCUMULATOR, Call, Comprehension, Ident, ListNode, Literal, MapNode, Node, Select
from .metering import NEW_LIST, NEW_MAP, PER_CHARACTER, PER_PATTERN_CHARACTER
from .types import Type
from .values import size

MAX = 2**64 - 1
_NAME_PATTERN = 128  # length that a format's pattern is taken to have
_SCALARS = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})
_TEXTS = frozenset({"string", "bytes"})


class Range(NamedTuple):
    """From least to most; sums and products stop at 64 bits."""

    least: int
    most: int

    def plus(self, other: Range) -> Range:
        """The sum of two ranges."""
        return Range(min(self.least + other.least, MAX), min(self.most + other.most, MAX))

    def times(self, other: Range) -> Range:
        """The product of two ranges."""
        return Range(min(self.least * other.least, MAX), min(self.most * other.most, MAX))

    def scaled(self, factor: float) -> Range:
        """The range times a factor, rounded up."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))

    def union(self, other: Range) -> Range:
        """The range that covers both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def _scaled(number: int, factor: float) -> int:
    product = float(number) * factor
    return MAX if product >= 2.0**64 else min(math.ceil(product), MAX)


def fixed(number: int) -> Range:
    """A range of one number."""
    return Range(number, number)


ZERO, ONE, UNKNOWN = fixed(0), fixed(1), Range(0, MAX)
Path = tuple[str, ...]
#: The size that the declaration at the end of a path allows, None where there is none.
SizeOf = Callable[[Path], Range | None]


@dataclass(frozen=True, slots=True)
class _Entries:
    """Sizes of the keys and values (or items) that a container holds."""

    kind: str
    key: Range
    value: Range


@dataclass(frozen=True, slots=True)
class _Local:
    path: Path
    size: Range | None
    entries: _Entries | None


@dataclass(frozen=True, slots=True)
class _Arg:
    """What the price of a function may look at: path, type and size of an argument."""

    node: Node | None
    path: Path
    type: Type
    size: Range | None


@dataclass(frozen=True, slots=True)
class _Price:
    cost: Range
    size: Range | None = None


def worst_case(root: Node, size_of: SizeOf) -> int:
    """The most units that a checked expression can cost."""
    return _Estimator(size_of).cost(root).most


@dataclass(slots=True)
class _Estimator:
    size_of: SizeOf
    paths: dict[Node, Path] = field(default_factory=dict)
    sizes: dict[Node, Range] = field(default_factory=dict)
    entries: dict[Node, _Entries] = field(default_factory=dict)
    locals: dict[str, list[_Local]] = field(default_factory=dict)

    def cost(self, node: Node) -> Range:
        match node:
            case Ident():
                self.paths[node] = self._path(node) or (node.name,)
                return ONE
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListNode():
                return self._list(node)
            case MapNode():
                return self._map(node)
            case Comprehension():
                return self._bind(node) if node.is_bind else self._loop(node)
        return ZERO

    def _path(self, node: Node) -> Path:
        if isinstance(node, Ident):
            local = self._local(node.name)
            if local is not None:
                return local.path
        return self.paths.get(node, ())

    def _local(self, name: str) -> _Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def _push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def _pop(self, *names: str) -> None:
        for name in filter(None, names):
            self.locals[name].pop()

    def _select(self, node: Select) -> Range:
        operand = self.cost(node.operand)
        if node.overloads or node.test:
            return operand
        self.paths[node] = (*self._path(node.operand), node.field)
        priced = node.operand.type.kind in ("map", "struct", "param")
        return operand.plus(ONE) if priced else operand

    def _list(self, node: ListNode) -> Range:
        total, item = ZERO, ZERO if not node.items else Range(MAX, 0)
        for part in node.items:
            total = total.plus(self.cost(part))
            item = item.union(self.size_or_unknown(part))
        self.entries[node] = _Entries("list", ONE, item)
        return total.plus(fixed(NEW_LIST))

    def _map(self, node: MapNode) -> Range:
        total = ZERO
        key = value = ZERO if not node.entries else Range(MAX, 0)
        for entry in node.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            key = key.union(self.size_or_unknown(entry.key))
            value = value.union(self.size_or_unknown(entry.value))
        self.entries[node] = _Entries("map", key, value)
        return total.plus(fixed(NEW_MAP))

    def _bind(self, node: Comprehension) -> Range:
        total = self.cost(node.over).plus(self.cost(node.initial))
        self._push(node.accumulator, self._named(node.initial))
        total = total.plus(self.cost(node.result))
        self._pop(node.accumulator)
        self._copy(node, node.result)
        return total

    def _named(self, node: Node) -> _Local:
        return _Local(self._path(node), self.size(node), self._entries(node))

    def _copy(self, target: Node, source: Node) -> None:
        found, entries = self.size(source), self._entries(source)
        if found is not None:
            self.sizes[target] = found
        if entries is not None:
            self.entries[target] = entries

    def _loop(self, node: Comprehension) -> Range:
        total = self.cost(node.over).plus(self.cost(node.initial))
        self._push(node.accumulator, self._named(node.initial))
        self._push_variables(node)
        turn = self.cost(node.condition)
        turn = self.cost(node.step).plus(turn)
        self._pop(node.var, node.var2)
        total = total.plus(self.cost(node.result))
        self._pop(node.accumulator)
        count = self.size_or_unknown(node.over)
        self._size_of_loop(node, count)
        return total.plus(count.times(turn))

    def _size_of_loop(self, node: Comprehension, count: Range) -> None:
        if isinstance(node.initial, Literal):
            found = self.size(node.initial)
            if found is not None:
                self.sizes[node] = found
        elif isinstance(node.initial, (ListNode, MapNode)):
            self.sizes[node] = count
            entries = self._entries(node.step)
            if entries is not None:
                self.entries[node] = entries

    def _push_variables(self, node: Comprehension) -> None:
        entries = self._entries(node.over)
        is_list = (entries.kind if entries else node.over.type.kind) == "list"
        path = self._path(node.over)
        key = _Local(
            (*path, "@indices" if is_list else "@keys"), entries.key if entries else None, None
        )
        value = _Local(
            (*path, "@items" if is_list else "@values"), entries.value if entries else None, None
        )
        if node.var2:
            self._push(node.var, key)
            self._push(node.var2, value)
        else:
            self._push(node.var, value if is_list else key)

    def size_or_unknown(self, node: Node) -> Range:
        """The size of an expression, unbounded where nothing is known."""
        return self.size(node) or UNKNOWN

    def size(self, node: Node) -> Range | None:
        if node in self.sizes:
            return self.sizes[node]
        written = _written_size(node)
        if written is not None:
            return fixed(written)
        declared = self.size_of(self._path(node))
        if declared is not None:
            self.sizes[node] = declared
            return declared
        if _is_scalar(node.type):
            return ONE
        local = self._local(node.name) if isinstance(node, Ident) else None
        return local.size if local is not None else None

    def _entries(self, node: Node) -> _Entries | None:
        if node in self.entries:
            return self.entries[node]
        local = self._local(node.name) if isinstance(node, Ident) else None
        return local.entries if local is not None else None

    def _arg(self, node: Node) -> _Arg:
        path = self._path(node)
        if path and path[0] in (ACCUMULATOR, "__result__"):
            path = ()
        return _Arg(node, path, node.type, self.size(node))

    def _call(self, node: Call) -> Range:
        if node.function == "dyn" and node.overloads:
            return self._dyn(node)
        costs, args = [], []
        for argument in node.args:
            costs.append(self.cost(argument))
            args.append(self._arg(argument))
        if not node.overloads:
            return ZERO
        total, target = ZERO, None
        if node.target is not None:
            total = self.cost(node.target)
            target = self._arg(node.target)
        price = self._over_overloads(node, target, args, costs)
        if price.size is not None:
            self.sizes[node] = price.size
        return total.plus(price.cost)

    def _dyn(self, node: Call) -> Range:
        (argument,) = node.args
        cost = self.cost(argument)
        self._copy(node, argument)
        return cost.plus(ONE)

    def _over_overloads(
        self, node: Call, target: _Arg | None, args: list[_Arg], costs: list[Range]
    ) -> _Price:
        """The range over all variants that may run."""
        total: Range | None = None
        found: Range | None = None
        for overload in node.overloads:
            price = self._price(node, overload, target, args, costs)
            total = price.cost if total is None else total.union(price.cost)
            if price.size is not None:
                found = price.size if found is None else found.union(price.size)
            item = _INDEXES.get(overload)
            if item is not None:
                entries = self._entries(node.args[0])
                found = entries.value if entries is not None else None
                self.paths[node] = (*self._path(node.args[0]), item)
            if found is None:
                found = self.size(node)
        assert total is not None
        return _Price(total, found)

    def _price(
        self, node: Call, overload: str, target: _Arg | None, args: list[_Arg], costs: list[Range]
    ) -> _Price:
        if overload in ("logical_and", "logical_or"):
            return _Price(Range(costs[0].least, costs[0].plus(costs[1]).most))
        if overload == "conditional":
            return self._conditional(node, args, costs)
        price = self._function(node, overload, target, args)
        total = price.cost
        for cost in costs:
            total = total.plus(cost)
        return _Price(total, price.size)

    def _conditional(self, node: Call, args: list[_Arg], costs: list[Range]) -> _Price:
        left, right = self._entries(node.args[1]), self._entries(node.args[2])
        if left is not None and right is not None:
            self.entries[node] = _merged(left, right)
        result = (args[1].size or UNKNOWN).union(args[2].size or UNKNOWN)
        return _Price(costs[0].plus(costs[1].union(costs[2])), result)

    def _function(self, node: Call, overload: str, target: _Arg | None, args: list[_Arg]) -> _Price:
        by_overload = _EXTENDED.get(overload)
        if by_overload is not None:
            found = by_overload(self, target, args)
            if found is not None:
                return found
        by_name = _KUBERNETES.get(node.function)
        if by_name is not None:
            found = by_name(self, target, args, overload)
            if found is not None:
                return found
        standard = _STANDARD.get(overload)
        if standard is not None:
            return standard(self, node, target, args)
        return _Price(ONE)

    def known(self, arg: _Arg) -> Range:
        """The size of an argument by its expression or its declaration."""
        return arg.size or self.size_of(arg.path) or UNKNOWN

    def items(self, arg: _Arg) -> _Arg | None:
        """What a list holds, as an argument of its own; None where it is no typed container."""
        if not arg.type.params:
            return None
        path = (*arg.path, "@items") if arg.path else ()
        return _Arg(None, path, arg.type.params[0], None)

    def joined(self, node: Call) -> None:
        """Remember what a sum of two lists holds."""
        left, right = self._entries(node.args[0]), self._entries(node.args[1])
        if left is not None and right is not None:
            self.entries[node] = _merged(left, right)


def _merged(a: _Entries, b: _Entries) -> _Entries:
    return _Entries(a.kind, a.key.union(b.key), a.value.union(b.value))


def _written_size(node: Node) -> int | None:
    if isinstance(node, ListNode):
        return len(node.items)
    if isinstance(node, MapNode):
        return len(node.entries)
    if isinstance(node, Literal):
        found = size(node.value)
        return 1 if found is None else found
    return None


def _is_scalar(t: Type) -> bool:
    if t.name == "optional_type":
        return _is_scalar(t.params[0])
    return t.kind in _SCALARS


_INDEXES = {"index_list": "@items", "index_map": "@values"}


def _scan(found: Range, factor: float = PER_CHARACTER) -> Range:
    return found.scaled(factor)


def _size(arg: _Arg) -> Range:
    return arg.size or UNKNOWN


def _affix(_: _Estimator, __: Call, ___: _Arg | None, args: list[_Arg]) -> _Price:
    return _Price(_scan(_size(args[0])))


def _to_bytes(_: _Estimator, __: Call, ___: _Arg | None, args: list[_Arg]) -> _Price:
    found = _size(args[0])
    return _Price(_scan(found), Range(found.least, found.most * 4 & MAX))


def _from_bytes(_: _Estimator, __: Call, ___: _Arg | None, args: list[_Arg]) -> _Price:
    found = _size(args[0])
    return _Price(_scan(found), Range(found.least // 4, found.most))


def _quoted(_: _Estimator, __: Call, ___: _Arg | None, args: list[_Arg]) -> _Price:
    found = _size(args[0])
    return _Price(_scan(found), Range(found.least + 2 & MAX, found.most * 2 + 2 & MAX))


def _in_list(_: _Estimator, __: Call, ___: _Arg | None, args: list[_Arg]) -> _Price:
    return _Price(_size(args[1]).scaled(1))


def _format(_: _Estimator, __: Call, target: _Arg | None, ___: list[_Arg]) -> _Price:
    assert target is not None
    return _Price(_scan(_size(target)))


def _pattern(text: Range, pattern: Range) -> Range:
    return _scan(text.plus(ONE)).times(pattern.scaled(PER_PATTERN_CHARACTER))


def _matches(_: _Estimator, __: Call, target: _Arg | None, args: list[_Arg]) -> _Price:
    text, pattern = [*([target] if target else []), *args]
    return _Price(_pattern(_size(text), _size(pattern)))


def _contains(_: _Estimator, __: Call, target: _Arg | None, args: list[_Arg]) -> _Price:
    assert target is not None
    return _Price(_scan(_size(target)).times(_scan(_size(args[0]))))


def _compared(_: _Estimator, __: Call, ___: _Arg | None, args: list[_Arg]) -> _Price:
    most = min(_size(args[0]).most, _size(args[1]).most)
    return _Price(_scan(Range(1 if most else 0, most)))


def _added(text: bool) -> Callable[..., _Price]:
    def price(estimator: _Estimator, node: Call, _: _Arg | None, args: list[_Arg]) -> _Price:
        found = _size(args[0]).plus(_size(args[1]))
        estimator.joined(node)
        return _Price(_scan(found) if text else ONE, found)

    return price


_STANDARD: dict[str, Callable[..., _Price]] = {
    "starts_with_string": _affix,
    "ends_with_string": _affix,
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _from_bytes,
    "strings_quote": _quoted,
    "string_format": _format,
    "in_list": _in_list,
    "matches": _matches,
    "matches_string": _matches,
    "contains_string": _contains,
    "add_string": _added(text=True),
    "add_bytes": _added(text=True),
    "add_list": _added(text=False),
    "equals": _compared,
    "not_equals": _compared,
    **{
        f"{order}_{kind}": _compared
        for order in ("less", "greater", "less_equals", "greater_equals")
        for kind in ("string", "bytes")
    },
}


def _find(estimator: _Estimator, target: _Arg | None, args: list[_Arg], _: str) -> _Price | None:
    if target is None:
        return None
    text = estimator.known(target)
    cost = _pattern(text, estimator.known(args[0]))
    return _Price(cost, Range(0, text.most))


def _search(
    estimator: _Estimator, target: _Arg | None, _: list[_Arg], __: str, includes: bool = False
) -> _Price | None:
    if target is None:
        return None
    length, item = estimator.known(target), estimator.items(target)
    if item is None:
        # A string, or for includes() a value that may turn out to be a list.
        return _Price(length.times(ONE) if includes else _scan(length))
    each = ONE
    if item.type.kind in _TEXTS:
        each = each.plus(_scan(estimator.known(item)))
    return _Price(length.times(each))


def _includes(
    estimator: _Estimator, target: _Arg | None, args: list[_Arg], name: str
) -> _Price | None:
    return _search(estimator, target, args, name, includes=True)


def _scanned_target(
    estimator: _Estimator, target: _Arg | None, _: list[_Arg], __: str
) -> _Price | None:
    if target is None:
        return None
    found = estimator.known(target)
    return _Price(_scan(found), found)


def _scanned_argument(
    estimator: _Estimator, _: _Arg | None, args: list[_Arg], __: str
) -> _Price | None:
    return _Price(_scan(estimator.known(args[0]))) if args else None


def _url(estimator: _Estimator, _: _Arg | None, args: list[_Arg], __: str) -> _Price | None:
    found = estimator.known(args[0])
    return _Price(_scan(found), found)


def _replace(estimator: _Estimator, target: _Arg | None, args: list[_Arg], _: str) -> _Price | None:
    if target is None:
        return None
    text, old, new = (estimator.known(arg) for arg in (target, args[0], args[1]))
    count_least, kept_least = _replaced_least(text, old, new)
    count_most, kept_most = _replaced_most(text, old, new)
    result = Range(count_least, count_most).times(new).plus(Range(kept_least, kept_most))
    return _Price(_scan(text, 2 * PER_CHARACTER), result)


def _replaced_most(text: Range, old: Range, new: Range) -> tuple[int, int]:
    if old.least == 0:
        return min(text.most + 1, MAX), text.most
    if new.most <= old.least:
        return 0, text.most
    return _ceil(text.most, old.least), 0


def _replaced_least(text: Range, old: Range, new: Range) -> tuple[int, int]:
    if old.most == 0:
        return min(text.least + 1, MAX), text.least
    if old.most <= new.least:
        return 0, text.least
    return _ceil(text.least, old.most), 0


def _ceil(a: int, b: int) -> int:
    return min(math.ceil(float(a) / float(b)), MAX)


def _split(estimator: _Estimator, target: _Arg | None, args: list[_Arg], _: str) -> _Price | None:
    if target is None:
        return None
    text = estimator.known(target)
    most = text.most
    if len(args) > 1 and isinstance(args[1].node, Literal) and isinstance(args[1].node.value, int):
        most = args[1].node.value & MAX
    return _Price(_scan(text, 2 * PER_CHARACTER), Range(0, most))


def _join(estimator: _Estimator, target: _Arg | None, args: list[_Arg], _: str) -> _Price | None:
    if target is None:
        return None
    length, item = estimator.known(target), estimator.items(target)
    found = length.times(estimator.known(item)) if item is not None else ZERO
    if args:
        between = Range(max(length.least - 1, 0), max(length.most - 1, 0))
        found = found.plus(estimator.known(args[0]).times(between))
    return _Price(_scan(found), found)


def _ip(
    estimator: _Estimator, target: _Arg | None, args: list[_Arg], overload: str
) -> _Price | None:
    if overload == "cidr_ip":
        return _Price(ONE)
    return _scanned_argument(estimator, target, args, overload)


def _canonical(estimator: _Estimator, _: _Arg | None, args: list[_Arg], __: str) -> _Price | None:
    return _Price(_scan(estimator.known(args[0]), 2 * PER_CHARACTER))


_BYTES = Range(4, 16)


def _contains_ip(
    estimator: _Estimator, _: _Arg | None, args: list[_Arg], overload: str
) -> _Price | None:
    cost = _scan(_BYTES.plus(_BYTES))
    if overload == "cidr_contains_ip_string":
        cost = cost.plus(_scan(estimator.known(args[0])))
    return _Price(cost)


def _contains_cidr(
    estimator: _Estimator, _: _Arg | None, args: list[_Arg], overload: str
) -> _Price | None:
    cost = _scan(_BYTES.plus(_BYTES)).plus(_scan(_BYTES)).plus(ONE)
    if overload == "cidr_contains_cidr_string":
        cost = cost.plus(_scan(estimator.known(args[0])))
    return _Price(cost)


def _validate(estimator: _Estimator, _: _Arg | None, args: list[_Arg], __: str) -> _Price | None:
    text = _scan(estimator.known(args[0]))
    return _Price(text.scaled(_NAME_PATTERN * PER_PATTERN_CHARACTER))


def _one(*_: object) -> _Price:
    return _Price(ONE)


def _equality(_: _Estimator, __: _Arg | None, args: list[_Arg], ___: str) -> _Price | None:
    if args[0].type != args[1].type:
        return None
    name = args[0].type.name
    if name in ("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"):
        return _Price(ONE)
    if name == "kubernetes.NamedFormat":
        return _Price(_scan(Range(1, 64)))
    if name == "kubernetes.URL":
        found = ONE
        if args[1].size is not None:
            found = args[1].size
        return _Price(_scan(Range(1, found.most)))
    return None


#: Functions that Kubernetes prices by name; None leaves it to the tables of CEL itself.
_KUBERNETES: dict[str, Callable[..., _Price | None]] = {
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _search),
    "includes": _includes,
    "url": _url,
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _scanned_target),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(
        ("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"),
        _scanned_argument,
    ),
    "ip": _ip,
    "ip.isCanonical": _canonical,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "_==_": _equality,
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


def _new_list(factor: float, length: Range) -> _Price:
    return _Price(length.scaled(factor).plus(fixed(1 + NEW_LIST)), length)


def _number(arg: _Arg, default: int) -> int:
    node = arg.node
    if not isinstance(node, Literal) or type(node.value) is not int:
        return default
    return max(node.value, 0)


def _slice(estimator: _Estimator, target: _Arg | None, args: list[_Arg]) -> _Price | None:
    assert target is not None
    start = _number(args[0], 0)
    end = _number(args[1], estimator.known(target).most)
    return _new_list(1, fixed(end - start & MAX))


def _range(_: _Estimator, __: _Arg | None, args: list[_Arg]) -> _Price | None:
    return _new_list(1, fixed(_number(args[0], MAX)))


def _reverse(estimator: _Estimator, target: _Arg | None, _: list[_Arg]) -> _Price | None:
    assert target is not None
    return _new_list(1, estimator.known(target))


def _flatten(estimator: _Estimator, target: _Arg | None, args: list[_Arg]) -> _Price | None:
    assert target is not None
    depth = _number(args[0], MAX) if args else 1
    return _new_list(float(depth), estimator.known(target))


def _squared(factor: float) -> Callable[..., _Price | None]:
    def price(estimator: _Estimator, target: _Arg | None, args: Sequence[_Arg]) -> _Price | None:
        keys = args[0] if args else target
        assert keys is not None
        found = estimator.known(keys)
        return _new_list(factor, found.times(found))

    return price


def _sets(factor: int) -> Callable[..., _Price | None]:
    def price(estimator: _Estimator, _: _Arg | None, args: Sequence[_Arg]) -> _Price | None:
        product = estimator.known(args[0]).times(estimator.known(args[1]))
        return _Price(product.scaled(factor).plus(ONE))

    return price


_PLAIN = (
    *("int", "uint", "double", "bool"),
    *("google.protobuf.Duration", "google.protobuf.Timestamp"),
)
_EXTENDED: dict[str, Callable[..., _Price | None]] = {
    "list_slice": _slice,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": _squared(2),
    **{
        f"list_{name}_{what}": _squared(2)
        for name in _PLAIN
        for what in ("sort", "sortByAssociatedKeys")
    },
    **{
        f"list_{name}_{what}": _squared(2 + PER_CHARACTER)
        for name in ("string", "bytes")
        for what in ("sort", "sortByAssociatedKeys")
    },
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}
