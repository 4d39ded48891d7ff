"""Macros: calls that the parser replaces by comprehensions or presence tests.

Rules: cel-go parser/macro.go, ext/bindings.go, ext/comprehensions.go, ext/lists.go, cel/library.go
at v0.29. Every node that a macro makes is placed where the macro's call is, as cel-go places it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from .ast import (
    ACCUMULATOR,
    NOT_STRICTLY_FALSE,
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Message,
    Node,
    Select,
)
from .values import Value

#: Gets the place of the call, its target and arguments; None leaves the call as it is.
Macro = Callable[[int, Node | None, list[Node]], Node | None]
_UNUSED = "#unused"
_SORT_INPUT = "@__sortBy_input__"
_NAMES = "argument must be a simple name"


class MacroError(Exception):
    """The macro's arguments are not of the shape it needs."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def _has(at: int, _: Node | None, args: list[Node]) -> Node:
    (argument,) = args
    if not isinstance(argument, Select) or argument.test:
        raise MacroError(argument.at, "has() takes a field selection such as has(a.b)")
    return Select(argument.operand, argument.field, test=True, at=at)


def _accumulator(at: int) -> Ident:
    return Ident(ACCUMULATOR, at=at)


def _call(at: int, function: str, *args: Node) -> Call:
    return Call(function, list(args), at=at)


def _literal(at: int, value: Value) -> Literal:
    return Literal(value, at=at)


def _variables(args: list[Node], count: int, message: str = _NAMES) -> list[str]:
    names = []
    for argument in args[:count]:
        if not isinstance(argument, Ident):
            raise MacroError(argument.at, message)
        if argument.name in names:
            raise MacroError(argument.at, f"duplicate variable name: {argument.name}")
        if argument.name in (ACCUMULATOR, "__result__"):
            raise MacroError(argument.at, "iteration variable overwrites accumulator variable")
        names.append(argument.name)
    return names


def _loop(
    at: int, over: Node | None, names: list[str], initial: Node, condition: Node, step: Node
) -> Comprehension:
    assert over is not None
    var, var2 = [*names, ""][:2]
    return Comprehension(
        over, var, var2, ACCUMULATOR, initial, condition, step, _accumulator(at), at=at
    )


def _all(count: int) -> Macro:
    def expand(at: int, target: Node | None, args: list[Node]) -> Node:
        names = _variables(args, count)
        condition = _call(at, NOT_STRICTLY_FALSE, _accumulator(at))
        step = _call(at, "_&&_", _accumulator(at), args[count])
        return _loop(at, target, names, _literal(at, True), condition, step)

    return expand


def _exists(count: int) -> Macro:
    def expand(at: int, target: Node | None, args: list[Node]) -> Node:
        names = _variables(args, count)
        condition = _call(at, NOT_STRICTLY_FALSE, _call(at, "!_", _accumulator(at)))
        step = _call(at, "_||_", _accumulator(at), args[count])
        return _loop(at, target, names, _literal(at, False), condition, step)

    return expand


def _exists_one(count: int) -> Macro:
    def expand(at: int, target: Node | None, args: list[Node]) -> Node:
        names = _variables(args, count)
        more = _call(at, "_+_", _accumulator(at), _literal(at, 1))
        step = _call(at, "_?_:_", args[count], more, _accumulator(at))
        loop = _loop(at, target, names, _literal(at, 0), _literal(at, True), step)
        loop.result = _call(at, "_==_", _accumulator(at), _literal(at, 1))
        return loop

    return expand


def _filtered(at: int, condition: Node | None, step: Node) -> Node:
    return step if condition is None else _call(at, "_?_:_", condition, step, _accumulator(at))


def _collect(count: int, filtered: bool, message: str) -> Macro:
    def expand(at: int, target: Node | None, args: list[Node]) -> Node:
        names = _variables(args, count, message)
        condition = args[count] if filtered else None
        step = _call(at, "_+_", _accumulator(at), ListNode([args[-1]], at=at))
        step = _filtered(at, condition, step)  # type: ignore[assignment]
        return _loop(at, target, names, ListNode([], at=at), _literal(at, True), step)

    return expand


def _filter(at: int, target: Node | None, args: list[Node]) -> Node:
    names = _variables(args, 1, "argument is not an identifier")
    item = _call(at, "_+_", _accumulator(at), ListNode([args[0]], at=at))
    step = _filtered(at, args[1], item)
    return _loop(at, target, names, ListNode([], at=at), _literal(at, True), step)


def _transform_map(filtered: bool, entry: bool) -> Macro:
    def expand(at: int, target: Node | None, args: list[Node]) -> Node:
        names = _variables(args, 2)
        key = [] if entry else [Ident(names[0], at=at)]
        inserted = _call(at, "cel.@mapInsert", _accumulator(at), *key, args[-1])
        step = _filtered(at, args[2] if filtered else None, inserted)
        return _loop(at, target, names, MapNode([], at=at), _literal(at, True), step)

    return expand


def _named(at: int, name: str, initial: Node, result: Node) -> Comprehension:
    """A comprehension that never loops: its accumulator is the name of a value."""
    return Comprehension(
        ListNode([], at=at),
        _UNUSED,
        "",
        name,
        initial,
        _literal(at, False),
        Ident(name, at=at),
        result,
        at=at,
    )


def _simple_name(node: Node, macro: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.at, f"the variable of {macro} must be a simple name")
    return node.name


def _bind(at: int, target: Node | None, args: list[Node]) -> Node | None:
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    return _named(at, _simple_name(args[0], "cel.bind()"), args[1], args[2])


def _opt_map(flat: bool) -> Macro:
    def expand(at: int, target: Node | None, args: list[Node]) -> Node:
        assert target is not None
        name = _simple_name(args[0], "optFlatMap()" if flat else "optMap()")
        value = Call("value", [], copy.deepcopy(target), at=at)
        mapped: Node = _named(at, name, value, args[1])
        if not flat:
            mapped = _call(at, "optional.of", mapped)
        present = Call("hasValue", [], target, at=at)
        return _call(at, "_?_:_", present, mapped, _call(at, "optional.none"))

    return expand


def _sort_by(at: int, target: Node | None, args: list[Node]) -> Node:
    assert target is not None
    if isinstance(target, (Literal, MapNode, Message)):
        raise MacroError(target.at, "sortBy needs a list")
    keys = _collect(1, False, "argument is not an identifier")(at, Ident(_SORT_INPUT, at=at), args)
    assert keys is not None
    ordered = Call("@sortByAssociatedKeys", [keys], Ident(_SORT_INPUT, at=at), at=at)
    return _named(at, _SORT_INPUT, target, ordered)


#: Of the language itself.
STANDARD: dict[tuple[str, int, bool], Macro] = {
    ("has", 1, False): _has,
    ("all", 2, True): _all(1),
    ("exists", 2, True): _exists(1),
    ("exists_one", 2, True): _exists_one(1),
    ("map", 2, True): _collect(1, False, "argument is not an identifier"),
    ("map", 3, True): _collect(1, True, "argument is not an identifier"),
    ("filter", 2, True): _filter,
}
BINDINGS: dict[tuple[str, int, bool], Macro] = {("bind", 3, True): _bind}
OPTIONALS: dict[tuple[str, int, bool], Macro] = {
    ("optMap", 2, True): _opt_map(flat=False),
    ("optFlatMap", 2, True): _opt_map(flat=True),
}
SORTING: dict[tuple[str, int, bool], Macro] = {("sortBy", 2, True): _sort_by}
TWO_VARIABLES: dict[tuple[str, int, bool], Macro] = {
    ("all", 3, True): _all(2),
    ("exists", 3, True): _exists(2),
    ("existsOne", 3, True): _exists_one(2),
    ("exists_one", 3, True): _exists_one(2),
    ("transformList", 3, True): _collect(2, False, _NAMES),
    ("transformList", 4, True): _collect(2, True, _NAMES),
    ("transformMap", 3, True): _transform_map(filtered=False, entry=False),
    ("transformMap", 4, True): _transform_map(filtered=True, entry=False),
    ("transformMapEntry", 3, True): _transform_map(filtered=False, entry=True),
    ("transformMapEntry", 4, True): _transform_map(filtered=True, entry=True),
}
