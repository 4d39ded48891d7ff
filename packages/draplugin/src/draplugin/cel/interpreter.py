"""A checked tree made into steps that run on a device.

Errors are exceptions while they travel and values while a loop holds one, because `&&`, `||`,
`exists` and `all` may still absorb them. The cost limit is an exception of its own that nothing
absorbs. Constants are folded first, as Kubernetes asks cel-go to (`OptOptimize`), which turns some
evaluation errors into compile errors and makes literal lists free.
Rules: cel-go interpreter/planner.go, attributes.go, interpretable.go and decorators.go at v0.29.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .ast import (
    NOT_STRICTLY_FALSE,
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
)
from .errors import CompileError, EvaluationError, Issue
from .functions import implementation
from .metering import NEW_LIST, NEW_MAP, Meter, call_cost
from .regex import PatternError, compiled
from .semver import Version
from .types import NAMED
from .values import (
    MISSING,
    NONE,
    Format,
    Map,
    Missing,
    Optional,
    Uint,
    Value,
    contains,
    equal,
    is_key,
    type_name,
)

_CONVERSIONS = frozenset(
    {"bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "type", "uint"}
)
# Functions whose second argument is a regular expression.
_PATTERNS = frozenset({"matches", "find", "findAll"})
_INDEXES = frozenset({"_[_]", "_[?_]"})


@dataclass(slots=True)
class Frame:
    """What a step sees: the variables in scope, and the meter."""

    meter: Meter
    variables: dict[str, Value]
    lazy: dict[str, Callable[[], Value]] = field(default_factory=dict)

    def read(self, name: str) -> Value:
        """The variable's value; the error where its value is one."""
        if name not in self.variables and name in self.lazy:
            self.variables[name] = _held(self.lazy[name])
        value = self.variables.get(name, MISSING)
        if value is MISSING:
            raise EvaluationError(f"no such attribute(s): {name}")
        if isinstance(value, EvaluationError):
            raise value
        return value

    def inner(self, *hidden: str) -> Frame:
        """A frame below this one in which these names are free to be set."""
        variables = {name: v for name, v in self.variables.items() if name not in hidden}
        lazy = {name: make for name, make in self.lazy.items() if name not in hidden}
        return Frame(self.meter, variables, lazy)


def _held(compute: Callable[[], Value]) -> Value:
    try:
        return compute()
    except EvaluationError as error:
        return error


class Step(ABC):
    """Something that can be computed."""

    @abstractmethod
    def run(self, frame: Frame) -> Value:
        """Compute the value; raises `EvaluationError` or `CostExceededError`."""


@dataclass(slots=True)
class _Constant(Step):
    value: Value

    def run(self, frame: Frame) -> Value:  # noqa: ARG002
        return self.value


class _Attribute(Step):
    """A value reached from a start by qualifiers; the unit in which reads are priced."""

    def __init__(self) -> None:
        self.qualifiers: list[_Qualifier] = []

    def run(self, frame: Frame) -> Value:
        try:
            return self.resolve(frame)
        finally:
            frame.meter.add(1)

    def qualify(self, qualifier: _Qualifier) -> None:
        self.qualifiers.append(qualifier)

    def resolve(self, frame: Frame) -> Value:
        """The value without the price of the attribute itself."""
        found = self._start(frame)
        return _follow(frame, found, self.qualifiers) if self.qualifiers else found

    @abstractmethod
    def _start(self, frame: Frame) -> Value: ...


class _Variable(_Attribute):
    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def _start(self, frame: Frame) -> Value:
        return frame.read(self._name)


class _Relative(_Attribute):
    def __init__(self, operand: Step) -> None:
        super().__init__()
        self._operand = operand

    def _start(self, frame: Frame) -> Value:
        return self._operand.run(frame)


class _Conditional(_Attribute):
    def __init__(self, condition: Step, yes: Step, no: Step) -> None:
        super().__init__()
        self._condition = condition
        self._yes, self._no = _attribute(yes), _attribute(no)

    def run(self, frame: Frame) -> Value:
        return self.resolve(frame)

    def qualify(self, qualifier: _Qualifier) -> None:
        self._yes.qualify(qualifier)
        self._no.qualify(qualifier)

    def _start(self, frame: Frame) -> Value:
        chosen = self._condition.run(frame)
        if not isinstance(chosen, bool):
            raise EvaluationError("no such overload")
        return (self._yes if chosen else self._no).resolve(frame)


def _attribute(step: Step) -> _Attribute:
    return step if isinstance(step, _Attribute) else _Relative(step)


class _Presence(_Attribute):
    """`has(a.b)`: costs nothing beyond the reads on the way."""

    def __init__(self, inner: _Attribute, name: str) -> None:
        super().__init__()
        self._inner = inner
        inner.qualify(_Qualifier(_Constant(name), test=True))

    def run(self, frame: Frame) -> Value:
        return self.resolve(frame)

    def _start(self, frame: Frame) -> Value:
        found = self._inner.resolve(frame)
        return found.some if isinstance(found, Optional) else found


@dataclass(slots=True)
class _Qualifier:
    """One `.name` or `[key]`; `optional` for `.?name`, `test` inside `has()`."""

    key: Step
    optional: bool = False
    test: bool = False

    def key_of(self, frame: Frame) -> Value:
        return self.key.resolve(frame) if isinstance(self.key, _Attribute) else self.key.run(frame)


def _follow(frame: Frame, start: Value, qualifiers: Sequence[_Qualifier]) -> Value:
    optional = isinstance(start, Optional)
    if isinstance(start, Optional):
        if not start.some:
            return start
        start = start.value
    found: Value = start
    for qualifier in qualifiers:
        optional = optional or qualifier.optional
        if qualifier.test:
            found = _test(frame, found, qualifier)
            if optional and found is False:
                return NONE
            continue
        found = _step(frame, found, qualifier, optional)
        if found is MISSING:
            return NONE
    return Optional(found) if optional else found


def _test(frame: Frame, found: Value, qualifier: _Qualifier) -> bool:
    try:
        return _lookup(found, qualifier.key_of(frame), may_miss=True) is not MISSING
    finally:
        frame.meter.add(1)


def _step(frame: Frame, found: Value, qualifier: _Qualifier, optional: bool) -> Value:
    key = qualifier.key_of(frame)
    if not optional:
        try:
            return _lookup(found, key, may_miss=False)
        finally:
            frame.meter.add(1)
    value = _lookup(found, key, may_miss=True)
    if value is not MISSING:
        frame.meter.add(1)
    return value


def _lookup(found: Value, key: Value, may_miss: bool) -> Value | Missing:
    if not is_key(key):
        raise EvaluationError(f"invalid qualifier type: {type_name(key)}")
    value: Value | Missing = MISSING
    if isinstance(found, Map):
        value = found.find(key)
    elif isinstance(found, tuple):
        index = _index(key)
        value = found[index] if 0 <= index < len(found) else MISSING
        if value is MISSING and not may_miss:
            raise EvaluationError(f"index out of bounds: {index}")
    if value is MISSING and not may_miss:
        raise EvaluationError(f"no such key: {_shown(key)}")
    return value


def _shown(key: Value) -> str:
    return str(key.number) if isinstance(key, Uint) else str(key)


def _index(key: Value) -> int:
    if isinstance(key, Uint):
        return key.number
    if isinstance(key, float) and key.is_integer():
        return int(key)
    if isinstance(key, int) and not isinstance(key, bool):
        return key
    raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")


@dataclass(slots=True)
class _Logic(Step):
    """`&&` (stops at false) and `||` (stops at true); an error counts only if nothing stops it."""

    terms: list[Step]
    stop: bool

    def run(self, frame: Frame) -> Value:
        error: EvaluationError | None = None
        for term in self.terms:
            try:
                value = term.run(frame)
            except EvaluationError as failed:
                error = error or failed
                continue
            if value is self.stop:
                return value
            if not isinstance(value, bool):
                error = error or EvaluationError("no such overload")
        if error is not None:
            raise error
        return not self.stop


@dataclass(slots=True)
class _NotStrictlyFalse(Step):
    argument: Step

    def run(self, frame: Frame) -> Value:
        try:
            return self.argument.run(frame) is not False
        except EvaluationError:
            return True
        finally:
            frame.meter.add(1)


@dataclass(slots=True)
class _Function(Step):
    """A call. Its price is paid even when an argument has no value, as in cel-go."""

    name: str
    overloads: tuple[str, ...]
    args: list[Step]

    def run(self, frame: Frame) -> Value:
        values = self._values(frame)
        failed = next((v for v in values if isinstance(v, EvaluationError)), None)
        result: Value = failed
        try:
            if failed is not None:
                raise failed
            result = implementation(self.name, self.overloads)(*values)
        finally:
            overload = self.overloads[0] if len(self.overloads) == 1 else ""
            frame.meter.add(call_cost(self.name, overload, values, result))
        return result

    def _values(self, frame: Frame) -> list[Value]:
        if len(self.args) > 2:
            return [argument.run(frame) for argument in self.args]
        return [_held(lambda a=argument: a.run(frame)) for argument in self.args]  # type: ignore[misc]


@dataclass(slots=True)
class _Equality(Step):
    left: Step
    right: Step
    negated: bool

    def run(self, frame: Frame) -> Value:
        values = [_held(lambda: self.left.run(frame)), _held(lambda: self.right.run(frame))]
        name, overload = ("_!=_", "not_equals") if self.negated else ("_==_", "equals")
        frame.meter.add(call_cost(name, overload, values, None))
        for value in values:
            if isinstance(value, EvaluationError):
                raise value
        if not self.negated:
            return equal(*values)
        try:
            return not equal(*values)
        except EvaluationError:
            # `!=` is "not known to be equal", also where `==` is an error.
            return True


@dataclass(slots=True)
class _Membership(Step):
    """`x in [constants]`, which cel-go turns into a look-up without a price.

    That look-up fails on values that cannot be keys of a Go map.
    """

    item: Step
    items: tuple[Value, ...]

    def run(self, frame: Frame) -> Value:
        found = self.item.run(frame)
        if isinstance(found, (bytes, Version, Format)):
            raise EvaluationError(
                f"a value of type {type_name(found)} cannot be looked up in a list"
            )
        return contains(self.items, found)


@dataclass(slots=True)
class _OrElse(Step):
    """`optional.or` and `optional.orValue`: the other side is computed only when needed."""

    optional: Step
    other: Step
    unwrap: bool

    def run(self, frame: Frame) -> Value:
        found = self.optional.run(frame)
        if not isinstance(found, Optional):
            raise EvaluationError("no such overload")
        if found.some:
            return found.value if self.unwrap else found
        other = self.other.run(frame)
        if not self.unwrap and not isinstance(other, Optional):
            raise EvaluationError("no such overload")
        return other


@dataclass(slots=True)
class _List(Step):
    items: list[Step]
    optional: frozenset[int]

    def run(self, frame: Frame) -> Value:
        try:
            return tuple(self._values(frame))
        finally:
            frame.meter.add(NEW_LIST)

    def _values(self, frame: Frame) -> list[Value]:
        values = []
        for index, item in enumerate(self.items):
            value = item.run(frame)
            if index in self.optional:
                if not isinstance(value, Optional):
                    raise EvaluationError("cannot initialize optional list element")
                if not value.some:
                    continue
                value = value.value
            values.append(value)
        return values


@dataclass(slots=True)
class _Map(Step):
    entries: list[tuple[Step, Step, bool]]

    def run(self, frame: Frame) -> Value:
        try:
            return Map(self._pairs(frame))
        finally:
            frame.meter.add(NEW_MAP)

    def _pairs(self, frame: Frame) -> list[tuple[Value, Value]]:
        pairs: list[tuple[Value, Value]] = []
        for key_step, value_step, optional in self.entries:
            key, value = key_step.run(frame), value_step.run(frame)
            if optional:
                if not isinstance(value, Optional):
                    raise EvaluationError("cannot initialize optional entry")
                if not value.some:
                    pairs = [pair for pair in pairs if not equal(pair[0], key)]
                    continue
                value = value.value
            pairs.append((key, value))
        return pairs


@dataclass(slots=True)
class _Loop(Step):
    """A comprehension. What it accumulates from is computed when first read, so an unused
    `cel.bind` costs nothing.
    """

    over: Step
    names: tuple[str, str]
    accumulator: str
    initial: Step
    condition: Step
    step: Step
    result: Step

    def run(self, frame: Frame) -> Value:
        items = self.over.run(frame)
        inner = frame.inner(self.accumulator)
        inner.lazy[self.accumulator] = lambda: self.initial.run(frame)
        for first, second in _pairs(items, bool(self.names[1])):
            turn = inner.inner(*filter(None, self.names))
            turn.variables[self.names[0]] = first
            if self.names[1]:
                turn.variables[self.names[1]] = second
            if self._stops(turn):
                _carry(turn, inner, self.accumulator)
                break
            inner.variables[self.accumulator] = _held(lambda t=turn: self.step.run(t))  # type: ignore[misc]
        return self.result.run(inner)

    def _stops(self, turn: Frame) -> bool:
        go_on = _held(lambda: self.condition.run(turn))
        return isinstance(go_on, bool) and not go_on


def _carry(turn: Frame, inner: Frame, name: str) -> None:
    if name in turn.variables:
        inner.variables[name] = turn.variables[name]


def _pairs(items: Value, two: bool) -> list[tuple[Value, Value]]:
    if isinstance(items, Map):
        return list(items.items())
    if not isinstance(items, tuple):
        raise EvaluationError(f"got '{type_name(items)}', expected iterable type")
    return list(enumerate(items)) if two else [(item, None) for item in items]


def plan(root: Node, issue: Callable[[int, str], Issue]) -> Step:
    """Steps for a checked tree; raises `CompileError` where a constant has no value."""
    return _Planner(issue).plan(root)


class _Planner:
    def __init__(self, issue: Callable[[int, str], Issue]) -> None:
        self._issue = issue

    def plan(self, node: Node) -> Step:
        match node:
            case Literal():
                return _Constant(node.value)
            case Ident():
                return self._ident(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListNode():
                return self._folded(_List([*map(self.plan, node.items)], node.optional), node)
            case MapNode():
                entries = [(self.plan(e.key), self.plan(e.value), e.optional) for e in node.entries]
                return self._folded(_Map(entries), node)
            case Comprehension():
                return self._loop(node)
        raise AssertionError(f"the checker lets no {type(node).__name__} through")

    def _ident(self, node: Ident) -> Step:
        name = node.name.removeprefix(".")
        if node.type.kind == "type" and name in NAMED:
            return _Constant(NAMED[name])
        return _Variable(name)

    def _select(self, node: Select) -> Step:
        if node.overloads:
            return _Constant(NAMED[node.overloads[0].removeprefix(".")])
        operand = _attribute(self.plan(node.operand))
        if node.test:
            return _Presence(operand, node.field)
        operand.qualify(_Qualifier(_Constant(node.field)))
        return operand

    def _call(self, node: Call) -> Step:
        args = [self.plan(operand) for operand in node.operands]
        special = _SPECIAL.get(node.function)
        if node.function in _INDEXES:
            self._check_key(args[1], node)
        if special is not None:
            return special(*args)
        if node.function in _PATTERNS:
            self._check_pattern(args[1], node)
        step = _Function(node.function, node.overloads, args)
        if node.overloads == ("in_list",) and isinstance(args[1], _Constant):
            items = args[1].value
            if isinstance(items, tuple) and _all_primitive(items):
                return _Membership(args[0], items) if items else _Constant(False)
        if node.function in _CONVERSIONS and len(args) == 1:
            return self._folded(step, node)
        return step

    def _check_key(self, key: Step, node: Node) -> None:
        if isinstance(key, _Constant) and not is_key(key.value):
            message = f"invalid qualifier type: {type_name(key.value)}"
            raise CompileError([self._issue(node.at, message)])

    def _check_pattern(self, pattern: Step, node: Node) -> None:
        if isinstance(pattern, _Constant) and isinstance(pattern.value, str):
            try:
                compiled(pattern.value)
            except PatternError as error:
                raise CompileError([self._issue(node.at, str(error))]) from None

    def _loop(self, node: Comprehension) -> Step:
        return _Loop(
            self.plan(node.over),
            (node.var, node.var2),
            node.accumulator,
            self.plan(node.initial),
            self.plan(node.condition),
            self.plan(node.step),
            self.plan(node.result),
        )

    def _folded(self, step: _List | _Map | _Function, node: Node) -> Step:
        if not all(isinstance(part, _Constant) for part in _parts(step)):
            return step
        try:
            return _Constant(step.run(Frame(Meter(None), {})))
        except EvaluationError as error:
            raise CompileError([self._issue(node.at, str(error))]) from None


def _parts(step: _List | _Map | _Function) -> list[Step]:
    if isinstance(step, _List):
        return step.items
    if isinstance(step, _Map):
        return [part for key, value, _ in step.entries for part in (key, value)]
    return step.args


def _all_primitive(values: tuple[Value, ...]) -> bool:
    return all(isinstance(value, (bool, int, Uint, float, str)) for value in values)


def _index_by(optional: bool) -> Callable[[Step, Step], Step]:
    def make(operand: Step, key: Step) -> Step:
        attribute = _attribute(operand)
        attribute.qualify(_Qualifier(key, optional))
        return attribute

    return make


_SPECIAL: dict[str, Callable[..., Step]] = {
    "_&&_": lambda *terms: _Logic(list(terms), stop=False),
    "_||_": lambda *terms: _Logic(list(terms), stop=True),
    "_?_:_": _Conditional,
    "_==_": lambda a, b: _Equality(a, b, negated=False),
    "_!=_": lambda a, b: _Equality(a, b, negated=True),
    "_[_]": _index_by(optional=False),
    "_[?_]": _index_by(optional=True),
    "_?._": _index_by(optional=True),
    "or": lambda a, b: _OrElse(a, b, unwrap=False),
    "orValue": lambda a, b: _OrElse(a, b, unwrap=True),
    NOT_STRICTLY_FALSE: _NotStrictlyFalse,
}
