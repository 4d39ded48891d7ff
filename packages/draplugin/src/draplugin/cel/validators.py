"""What a checked tree may still not contain (cel-go cel/validator.go and ext/formatting.go).

Literals that could never work are refused when compiled: patterns, durations, timestamps, format
strings whose arguments do not fit, and lists or maps whose members are not of one type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .ast import Call, ListNode, Literal, MapNode, Node, children, walk
from .checker import Problem
from .errors import EvaluationError
from .formatting import Clause, clauses
from .functions.conversions import parse_duration, parse_timestamp
from .regex import compiled
from .types import Type, unwrap_optional
from .values import Value

_LITERALS: dict[str, Callable[[str], Value]] = {
    "duration": parse_duration,
    "timestamp": parse_timestamp,
    "matches": compiled,
}
_PRINTABLE = frozenset(
    {
        *("list", "map", "int", "uint", "double", "bool", "string"),
        *("timestamp", "bytes", "duration", "type", "null"),
    }
)
_TAKES = {
    "s": _PRINTABLE,
    "d": frozenset({"int", "uint"}),
    "f": frozenset({"double", "string"}),
    "e": frozenset({"double", "string"}),
    "b": frozenset({"int", "uint", "bool"}),
    "x": frozenset({"int", "uint", "string", "bytes"}),
    "X": frozenset({"int", "uint", "string", "bytes"}),
    "o": frozenset({"int", "uint"}),
}


def problems(root: Node) -> list[Problem]:
    """What is refused in a checked tree."""
    found: list[Problem] = []
    for node in walk(root):
        if isinstance(node, Call):
            found.extend(_literals(node))
            found.extend(_format(node))
    for node in _outside_format(root):
        found.extend(_mixed(node))
    return found


def _outside_format(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if not (isinstance(current, Call) and current.function == "format"):
            stack.extend(children(current))


def _literals(node: Call) -> Iterator[Problem]:
    check = _LITERALS.get(node.function)
    if check is None or not node.args:
        return
    argument = node.args[0]
    if isinstance(argument, Literal) and isinstance(argument.value, str):
        try:
            check(argument.value)
        except EvaluationError:
            yield argument.at, f"invalid {node.function} argument"


def _unknown_optional(node: Node, optional: bool) -> Iterator[Problem]:
    """`[?x]` with an x of unknown type: cel-go v0.29 panics on it, so no server takes it."""
    if optional and node.type.is_dyn:
        yield node.at, f"expected an optional value but found '{node.type}'"


def _mixed(node: Node) -> Iterator[Problem]:
    if isinstance(node, ListNode):
        for index, item in enumerate(node.items):
            yield from _unknown_optional(item, index in node.optional)
        types = [
            (item, unwrap_optional(item.type)[0] if index in node.optional else item.type)
            for index, item in enumerate(node.items)
        ]
        yield from _differing(types, first_only=True)
    elif isinstance(node, MapNode):
        for entry in node.entries:
            yield from _unknown_optional(entry.value, entry.optional)
        yield from _differing([(entry.key, entry.key.type) for entry in node.entries])
        values = [
            (e.value, unwrap_optional(e.value.type)[0] if e.optional else e.value.type)
            for e in node.entries
        ]
        yield from _differing(values)


def _differing(typed: list[tuple[Node, Type]], first_only: bool = False) -> Iterator[Problem]:
    for node, t in typed[1:]:
        if t != typed[0][1]:
            yield node.at, f"expected type '{typed[0][1]}' but found '{t}'"
            if first_only:
                return


def _format(node: Call) -> Iterator[Problem]:
    target = node.target
    if node.function != "format" or not isinstance(target, Literal) or len(node.args) != 1:
        return
    (args,) = node.args
    if not isinstance(target.value, str) or not isinstance(args, ListNode):
        return
    try:
        wanted = [part for part in clauses(target.value) if isinstance(part, Clause)]
    except EvaluationError as error:
        yield node.at, str(error)
        return
    yield from _arguments(node, wanted, args.items)


def _arguments(node: Call, wanted: list[Clause], args: list[Node]) -> Iterator[Problem]:
    for index, clause in enumerate(wanted):
        if index >= len(args):
            yield node.at, f"index {index} out of range"
            return
        bad = _unfit(args[index], clause)
        if bad is not None:
            yield bad.at, f"a value of type '{bad.type}' cannot be formatted with %{clause.verb}"
            return
    if len(args) > len(wanted):
        count = f"expected {len(wanted)}, got {len(args)}"
        yield node.at, f"too many arguments supplied to string.format ({count})"


def _unfit(node: Node, clause: Clause) -> Node | None:
    if node.type.kind != "dyn" and node.type.kind not in _TAKES[clause.verb]:
        return node
    if clause.verb == "s" and isinstance(node, (ListNode, MapNode)):
        return next(filter(None, (_unfit(part, clause) for part in children(node))), None)
    return None
