"""Which reads of a selector nothing guards, found in its tree.

`has(x) && x == 1` is safe in either order, because `&&` absorbs the error of the one side where the
other is false; so each side of `&&` may rely on what the other says is there, each side of `||` on
what the other says is missing, and the branches of `?:` on the condition.
"""

from __future__ import annotations

from collections.abc import Iterator

from .ast import Call, Comprehension, Ident, Literal, Node, Select, children, walk

Facts = frozenset[str]
_NONE: Facts = frozenset()
Names = dict[str, Node]


def unguarded(root: Node) -> list[str]:
    """The attributes and capacities that are read without a check, each once, as written."""
    return list(dict.fromkeys(_reads(root, _NONE, {})))


def reads_driver(root: Node) -> bool:
    """Whether the expression looks at `device.driver`."""
    return any(
        isinstance(node, Select) and node.field == "driver" and _is_device(node.operand)
        for node in walk(root)
    )


def _is_device(node: Node) -> bool:
    return isinstance(node, Ident) and node.name == "device"


def path_of(node: Node, names: Names) -> str | None:
    """`device.attributes["d"].x` for a read of that, through names given by `cel.bind`."""
    if isinstance(node, Ident):
        bound = names.get(node.name)
        if bound is not None:
            return path_of(bound, {n: v for n, v in names.items() if n != node.name})
        return "device" if node.name == "device" else None
    if isinstance(node, Select):
        inner = path_of(node.operand, names)
        return None if inner is None else f"{inner}.{node.field}"
    if isinstance(node, Call) and node.function == "_[_]" and isinstance(node.args[1], Literal):
        inner, key = path_of(node.args[0], names), node.args[1].value
        if inner is None:
            return None
        return f"{inner}.{key}" if inner.count(".") > 1 else f'{inner}["{key}"]'
    return None


def _is_leaf(path: str) -> bool:
    # device.attributes["domain"].name: what may be missing. A domain never is.
    return path.startswith(("device.attributes[", "device.capacity[")) and "]." in path


def _reads(node: Node, facts: Facts, names: Names) -> Iterator[str]:
    if isinstance(node, Select) and node.test:
        yield from _reads(node.operand, facts, names)
        return
    path = path_of(node, names)
    if path is not None:
        if _is_leaf(path) and path not in facts and not _part_of_optional(path):
            yield path
        return
    if isinstance(node, Comprehension) and node.is_bind:
        yield from _reads(node.result, facts, {**names, node.accumulator: node.initial})
        return
    for child, known in _with_facts(node, facts, names):
        yield from _reads(child, known, names)


def _part_of_optional(path: str) -> bool:
    return path.count(".") > 2 and '"].' not in path


def _with_facts(node: Node, facts: Facts, names: Names) -> Iterator[tuple[Node, Facts]]:
    """The parts of a node, each with what is known to be there when its error would count."""
    if isinstance(node, Call) and node.function in ("_&&_", "_||_"):
        left, right = node.args
        when = node.function == "_&&_"
        yield left, facts | _implied(right, names, when)
        yield right, facts | _implied(left, names, when)
    elif isinstance(node, Call) and node.function == "_?_:_":
        condition, yes, no = node.args
        yield condition, facts
        yield yes, facts | _implied(condition, names, True)
        yield no, facts | _implied(condition, names, False)
    elif isinstance(node, Call) and node.function in ("_?._", "_[?_]"):
        if path_of(node.args[0], names) is None:
            yield node.args[0], facts
    else:
        yield from ((child, facts) for child in children(node))


def _implied(node: Node, names: Names, value: bool) -> Facts:
    """What is there when the expression has this value."""
    if isinstance(node, Select) and node.test and value:
        path = path_of(node.operand, names)
        return _NONE if path is None else frozenset({f"{path}.{node.field}"})
    if not isinstance(node, Call):
        return _NONE
    if node.function == "!_":
        return _implied(node.args[0], names, not value)
    if node.function == ("_&&_" if value else "_||_"):
        return _implied(node.args[0], names, value) | _implied(node.args[1], names, value)
    if node.function == "@in" and value and isinstance(node.args[0], Literal):
        path = path_of(node.args[1], names)
        return _NONE if path is None else frozenset({f"{path}.{node.args[0].value}"})
    return _NONE
