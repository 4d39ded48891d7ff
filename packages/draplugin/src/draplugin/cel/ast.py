"""The tree of an expression, as the parser makes it and the checker completes it.

Macros are expanded while parsing, as cel-go does, so a tree holds calls and comprehensions only.
Nodes are compared by identity: `type` and `overloads` belong to this place in this expression.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .types import DYN, Type
from .values import Value

#: Operators are functions with these names, as in cel-go's common/operators.
NOT_STRICTLY_FALSE = "@not_strictly_false"
ACCUMULATOR = "@result"


@dataclass(slots=True, eq=False, kw_only=True)
class Node:
    """A place in an expression. `at` is its offset in code points; `type` what the checker found.

    `overloads` are the ids of the function variants that may apply to a call.
    """

    at: int
    type: Type = DYN
    overloads: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A value written in the expression."""

    value: Value


@dataclass(slots=True, eq=False)
class Ident(Node):
    """A variable, or the dotted name of a type."""

    name: str


@dataclass(slots=True, eq=False)
class Select(Node):
    """`operand.field`; `test` asks whether it is there instead (`has`)."""

    operand: Node
    field: str
    test: bool = False


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function, a method (with `target`) or an operator."""

    function: str
    args: list[Node]
    target: Node | None = None

    @property
    def operands(self) -> list[Node]:
        """The arguments as the function gets them, the target first."""
        return self.args if self.target is None else [self.target, *self.args]


@dataclass(slots=True, eq=False)
class ListNode(Node):
    """`[a, ?b]`; `optional` are the indices with a question mark."""

    items: list[Node]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Entry:
    """`key: value` of a map literal."""

    key: Node
    value: Node
    optional: bool


@dataclass(slots=True, eq=False)
class MapNode(Node):
    """`{key: value, ?key: value}`."""

    entries: list[Entry]


@dataclass(slots=True, eq=False)
class Message(Node):
    """`name{field: value}`."""

    name: str
    fields: list[tuple[str, Node]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Comprehension(Node):
    """A loop: what every macro over lists and maps becomes; with an empty range, `cel.bind`."""

    over: Node
    var: str
    var2: str
    accumulator: str
    initial: Node
    condition: Node
    step: Node
    result: Node

    @property
    def is_bind(self) -> bool:
        """Whether it never loops and only names a value."""
        no_range = isinstance(self.over, ListNode) and not self.over.items
        stops = isinstance(self.condition, Literal) and self.condition.value is False
        return no_range and stops and self.accumulator != ACCUMULATOR


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below, in the order of the text."""
    match node:
        case Select():
            yield node.operand
        case Call():
            yield from node.operands
        case ListNode():
            yield from node.items
        case MapNode():
            for entry in node.entries:
                yield entry.key
                yield entry.value
        case Message():
            yield from (value for _, value in node.fields)
        case Comprehension():
            yield from (node.over, node.initial, node.condition, node.step, node.result)


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(list(children(current))))


def qualified_name(node: Node | None) -> str | None:
    """`a.b.c` where the node is nothing but names joined by dots."""
    names: list[str] = []
    while isinstance(node, Select) and not node.test:
        names.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(names)])
