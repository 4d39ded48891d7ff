"""Gives every node of a tree its type, or says what does not fit and where.

Rules: cel-go checker/checker.go at v0.29. What is found is written into the nodes:
their types, and for calls the ids of the variants that may apply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import types
from .ast import (
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Message,
    Node,
    Select,
    qualified_name,
    walk,
)
from .signatures import Overload
from .types import BOOL, DYN, ERROR, INT, NAMED, STRING, Type
from .values import Uint, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

Functions = Mapping[str, tuple[Overload, ...]]
Fields = Mapping[str, Mapping[str, Type]]
Problem = tuple[int, str]
_LOGIC = frozenset({"_&&_", "_||_"})


def check(
    root: Node, functions: Functions, variables: Mapping[str, Type], fields: Fields
) -> list[Problem]:
    """Fill in the types of a tree; the problems found, each with its place.

    `fields` are those of the object types by the type's name.
    """
    checker = _Checker(functions, variables, fields)
    checker.check(root)
    checker.settle(root)
    return checker.problems


def literal_type(value: Value) -> Type:
    """The type of a value written in an expression."""
    for kind, t in (
        (bool, BOOL),
        (int, INT),
        (Uint, types.UINT),
        (float, types.DOUBLE),
        (str, STRING),
        (bytes, types.BYTES),
    ):
        if isinstance(value, kind):
            return t
    return types.NULL


class _Checker:
    def __init__(self, functions: Functions, variables: Mapping[str, Type], fields: Fields) -> None:
        self.problems: list[Problem] = []
        self._functions = functions
        self._globals = variables
        self._fields = fields
        self._scopes: list[dict[str, Type]] = []
        self._bound: types.Bindings = {}
        self._free = 0

    def settle(self, root: Node) -> None:
        """Replace what stayed a parameter."""
        for node in walk(root):
            node.type = types.substitute(self._bound, node.type, free_to_dyn=True)

    def check(self, node: Node) -> None:
        match node:
            case Literal():
                node.type = literal_type(node.value)
            case Ident():
                node.type = self._ident(node)
            case Select():
                self._select(node)
            case Call():
                self._call(node)
            case ListNode():
                node.type = types.list_of(self._items(node))
            case MapNode():
                self._map(node)
            case Message():
                self._message(node)
            case Comprehension():
                self._comprehension(node)

    def _wrong(self, node: Node, message: str) -> Type:
        self.problems.append((node.at, message))
        return ERROR

    def _now(self, t: Type) -> Type:
        return types.substitute(self._bound, t)

    def _fits(self, wanted: Type, given: Type) -> bool:
        return self._all_fit([wanted], [given])

    def _all_fit(self, wanted: list[Type], given: list[Type]) -> bool:
        bound = types.assignable(self._bound, wanted, given)
        if bound is not None:
            self._bound = bound
        return bound is not None

    def _new_parameter(self) -> Type:
        self._free += 1
        return types.param(f"_{self._free}")

    def _local(self, name: str) -> Type | None:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None)

    @contextmanager
    def _scope(self, names: Mapping[str, Type]) -> Iterator[None]:
        self._scopes.append(dict(names))
        yield
        self._scopes.pop()

    def _ident(self, node: Ident) -> Type:
        local = self._local(node.name)
        if local is not None:
            return local
        found = self._global(node.name)
        return found or self._wrong(node, f"undeclared reference to {node.name!r}")

    def _global(self, name: str) -> Type | None:
        name = name.removeprefix(".")
        if name in self._globals:
            return self._globals[name]
        return types.type_of(NAMED[name]) if name in NAMED else None

    def _select(self, node: Select) -> None:
        name = qualified_name(node)
        if name is not None and self._local(name.partition(".")[0]) is None:
            found = self._global(name)
            if found is not None:
                node.type = found
                node.overloads = (name,)
                return
        result = self._field(node, node.operand, node.field, optional=False)
        node.type = BOOL if node.test else self._now(result)

    def _field(self, node: Node, operand: Node, field: str, optional: bool) -> Type:
        self.check(operand)
        target, was_optional = types.unwrap_optional(self._now(operand.type))
        result = DYN
        if target.kind == "map":
            result = target.params[1]
        elif target.kind == "struct":
            result = self._struct_field(node, target, field)
        elif target.kind == "param":
            self._fits(DYN, target)
        elif not target.is_dyn and target.kind != "error":
            self._wrong(node, f"type '{target}' does not support field selection")
        return types.optional_of(result) if optional or was_optional else result

    def _struct_field(self, node: Node, target: Type, field: str) -> Type:
        found = self._fields.get(target.name, {}).get(field)
        return found or self._wrong(node, f"undefined field '{field}'")

    def _call(self, node: Call) -> None:
        if node.function == "_?._":
            field = node.args[1]
            assert isinstance(field, Literal)
            found = self._field(node, node.args[0], str(field.value), optional=True)
            field.type = STRING
            node.type, node.overloads = self._now(found), ("select_optional_field",)
            return
        for argument in node.args:
            self.check(argument)
        if self._is_qualified(node):
            node.function = f"{qualified_name(node.target)}.{node.function}"
            node.target = None
        elif node.target is not None:
            self.check(node.target)
        variants = self._functions.get(node.function.removeprefix("."))
        if variants is None:
            node.type = self._wrong(node, f"undeclared reference to {node.function!r}")
            return
        node.function = node.function.removeprefix(".")
        node.type = self._resolve(node, variants)

    def _is_qualified(self, node: Call) -> bool:
        """Whether `a.b(c)` calls the function `a.b`, not the method `b` of `a`."""
        name = qualified_name(node.target)
        return name is not None and f"{name}.{node.function}" in self._functions

    def _resolve(self, node: Call, variants: Iterable[Overload]) -> Type:
        if node.function in _LOGIC:
            return self._logic(node)
        given = [operand.type for operand in node.operands]
        result: Type | None = None
        for variant in variants:
            if variant.is_method != (node.target is not None):
                continue
            found = self._try(variant, given)
            if found is None:
                continue
            node.overloads += (variant.id,)
            if result is None:
                result = found
            elif not result.is_dyn and found != result:
                result = DYN
        return self._unmatched(node, given) if result is None else result

    def _logic(self, node: Call) -> Type:
        node.overloads = ("logical_and" if node.function == "_&&_" else "logical_or",)
        good = True
        for argument in node.args:
            if not self._fits(argument.type, BOOL):
                self._mismatch(argument, BOOL, argument.type)
                good = False
        return BOOL if good else ERROR

    def _try(self, variant: Overload, given: list[Type]) -> Type | None:
        fresh: types.Bindings = {}
        for name in _parameters(variant):
            fresh[name] = self._new_parameter()
        wanted = [types.substitute(fresh, t) for t in variant.params]
        if not self._all_fit(given, wanted):
            return None
        return self._now(types.substitute(fresh, variant.result))

    def _unmatched(self, node: Call, given: list[Type]) -> Type:
        shown = [str(types.substitute(self._bound, t, free_to_dyn=True)) for t in given]
        method = node.target is not None
        signature = f"{shown[0]}.({', '.join(shown[1:])})" if method else f"({', '.join(shown)})"
        return self._wrong(
            node, f"found no matching overload for '{node.function}' applied to '{signature}'"
        )

    def _mismatch(self, node: Node, wanted: Type, given: Type) -> Type:
        shown = types.substitute(self._bound, given, free_to_dyn=True)
        return self._wrong(node, f"expected type '{wanted}' but found '{shown}'")

    def _join(self, before: Type | None, now: Type) -> Type:
        if before is None:
            return now
        # What differs is refused later (draplugin.cel.validators), but not inside format().
        return types.most_general(before, now) if self._fits(before, now) else DYN

    def _maybe(self, node: Node, optional: bool) -> Type:
        if not optional:
            return node.type
        inner, was = types.unwrap_optional(node.type)
        if not was and not inner.is_dyn:
            self._mismatch(node, types.optional_of(inner), inner)
        return inner

    def _items(self, node: ListNode) -> Type:
        joined: Type | None = None
        for index, item in enumerate(node.items):
            self.check(item)
            joined = self._join(joined, self._maybe(item, index in node.optional))
        return joined or self._new_parameter()

    def _map(self, node: MapNode) -> None:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            self.check(entry.key)
            key = self._join(key, entry.key.type)
            self.check(entry.value)
            value = self._join(value, self._maybe(entry.value, entry.optional))
        node.type = types.map_of(key or self._new_parameter(), value or self._new_parameter())

    def _message(self, node: Message) -> None:
        for _, value in node.fields:
            self.check(value)
        node.type = self._wrong(node, f"{node.name!r} is not a type that can be constructed")

    def _comprehension(self, node: Comprehension) -> None:
        self.check(node.over)
        self.check(node.initial)
        over = self._now(node.over.type)
        with self._scope({node.accumulator: node.initial.type}):
            with self._scope(self._loop_variables(node, over)):
                self.check(node.condition)
                self._expect(node.condition, BOOL)
                self.check(node.step)
                self._expect(node.step, node.initial.type)
            self.check(node.result)
        node.type = self._now(node.result.type)

    def _expect(self, node: Node, wanted: Type) -> None:
        if not self._fits(wanted, node.type):
            self._mismatch(node, wanted, node.type)

    def _loop_variables(self, node: Comprehension, over: Type) -> dict[str, Type]:
        first, second = self._item_types(node, over)
        if not node.var2:
            return {node.var: first if over.kind != "list" else second}
        return {node.var: first, node.var2: second}

    def _item_types(self, node: Comprehension, over: Type) -> tuple[Type, Type]:
        """The types of key (or index) and value."""
        if over.kind == "list":
            return INT, over.params[0]
        if over.kind == "map":
            return over.params[0], over.params[1]
        # `any`, the type of an attribute while lists are off, is no range; `dyn` is.
        if over.kind in ("dyn", "error", "param"):
            self._fits(DYN, over)
            return DYN, DYN
        self._wrong(
            node.over,
            f"expression of type '{over}' cannot be range of a comprehension"
            " (must be list, map, or dynamic)",
        )
        return ERROR, ERROR


def _parameters(variant: Overload) -> set[Type]:
    found: set[Type] = set()
    stack = [*variant.params, variant.result]
    while stack:
        t = stack.pop()
        if t.kind == "param":
            found.add(t)
        stack.extend(t.params)
    return found
