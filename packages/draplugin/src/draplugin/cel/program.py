"""Compiling an expression and asking it about devices: the whole way, in one place."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from . import quantity, semver, types
from .ast import Node
from .checker import check
from .environment import COST_LIMIT, LENGTH_LIMIT, NEWEST, Environment, Version, environment
from .errors import CompileError, EvaluationError, Issue
from .estimate import worst_case
from .interpreter import Frame, Step, plan
from .lexer import Source
from .metering import Meter
from .parser import parse
from .quantity import QuantityError
from .regex import PatternError, compiled
from .semver import VersionError
from .validators import problems
from .values import Map, Value, type_name

# An expression may nest 250 levels, each of which takes a few frames of Python.
_RECURSION = 20_000
# Costs from here on come of a size that nothing limits.
_UNBOUNDED = 2**40


@dataclass(frozen=True, slots=True)
class Result:
    """What an evaluation gave: the match and what it cost in the scheduler's units."""

    match: bool
    cost: int


@dataclass(frozen=True, slots=True, eq=False)
class Selector:
    """A compiled expression.

    `max_cost` is the estimated worst case, in the units in which both limits are given.
    """

    expression: str
    environment: Environment
    root: Node
    step: Step
    max_cost: int

    def matches(self, device: Mapping[str, Any] | Map) -> bool:
        """Whether the device is selected; raises what `evaluate` raises."""
        return self.evaluate(device).match

    def evaluate(self, device: Mapping[str, Any] | Map) -> Result:
        """Ask about a device in the shape of a ResourceSlice, with its `driver` beside the rest.

        Who asks about one device many times reads it once, with `device_value`. Raises
        `EvaluationError` or `AbortedError` (of which `CostExceededError` is one) where the
        scheduler would abort the allocation.
        """
        meter = Meter(COST_LIMIT)
        with _deep():
            read = device if isinstance(device, Map) else device_value(device)
            value = self.step.run(Frame(meter, {"device": read}))
        if not isinstance(value, bool):
            raise EvaluationError(f"the result is of type {type_name(value)}, not bool")
        return Result(value, meter.cost)


@contextmanager
def _deep() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@lru_cache(maxsize=512)
def compile_stored(expression: str, server: Version = NEWEST) -> Selector:
    """Compile what a class or claim in the cluster says, as the scheduler does.

    Raises `CompileError`. Neither the length nor the estimated cost is limited: the server that
    accepted it has decided.
    """
    return _compile(expression, environment(stored=True, server=server))


@lru_cache(maxsize=512)
def compile_new(
    expression: str, server: Version = NEWEST, list_attributes: bool = False
) -> Selector:
    """Compile what somebody is about to create, as the API server of this version does.

    Raises `CompileError`, also for what is too long or could cost too much. `list_attributes` is
    the server's gate DRAListTypeAttributes.
    """
    allowed = environment(stored=False, server=server, list_attributes=list_attributes)
    if allowed.limits_cost and len(expression.encode()) > LENGTH_LIMIT:
        raise CompileError([Issue(-1, 0, f"longer than {LENGTH_LIMIT} bytes")])
    selector = _compile(expression, allowed)
    if allowed.limits_cost and selector.max_cost > COST_LIMIT:
        raise CompileError([Issue(-1, 0, _too_complex(selector.max_cost))])
    return selector


def _too_complex(cost: int) -> str:
    return (
        f"too complex, exceeds cost limit: up to {cost} units where {COST_LIMIT} are allowed"
        if cost < _UNBOUNDED
        else f"too complex, exceeds cost limit of {COST_LIMIT}: the size of a value is not bounded"
    )


def _compile(expression: str, allowed: Environment) -> Selector:
    source = Source(expression)
    with _deep():
        root = parse(source, dict(allowed.macros))
        _refuse(source, check(root, allowed.functions, allowed.variables, allowed.fields))
        _refuse(source, problems(root))
        if root.type != types.BOOL and root.type != allowed.attribute:
            wanted = f"must evaluate to bool or the unknown type, not {root.type}"
            raise CompileError([Issue(-1, 0, wanted)])
        step = plan(root, source.issue)
        cost = worst_case(root, allowed.size_of)
    return Selector(expression, allowed, root, step, cost)


def _refuse(source: Source, found: list[tuple[int, str]]) -> None:
    if found:
        raise CompileError(source.issue(at, message) for at, message in found)


def device_value(device: Mapping[str, Any]) -> Map:
    """The variable `device`; raises `EvaluationError` for a value that no device may have.

    One bad version fails every expression on its device, even `true`: the scheduler reads all
    attributes before it evaluates anything.
    """
    driver = str(device.get("driver", ""))
    fields = {
        "driver": driver,
        "allowMultipleAllocations": bool(device.get("allowMultipleAllocations")),
        "attributes": _grouped(driver, device.get("attributes") or {}, _attribute),
        "capacity": _grouped(driver, device.get("capacity") or {}, _capacity),
    }
    return Map(fields.items())


def _grouped(driver: str, named: Mapping[str, Any], read: Any) -> Map:
    domains: dict[str, dict[str, Value]] = {}
    for name, value in named.items():
        domain, slash, identifier = name.partition("/")
        if not slash:
            domain, identifier = driver, name
        domains.setdefault(domain, {})[identifier] = read(name, value)
    groups = ((domain, Map(found.items())) for domain, found in domains.items())
    return Map(groups, default=Map())


def _attribute(name: str, value: Mapping[str, Any]) -> Value:
    for kind in ("ints", "bools", "strings"):
        if value.get(kind) is not None:
            return tuple(value[kind])
    if value.get("versions") is not None:
        return tuple(_version(name, text) for text in value["versions"])
    for kind in ("int", "bool", "string"):
        if value.get(kind) is not None:
            plain: Value = value[kind]
            return plain
    if value.get("version") is not None:
        return _version(name, value["version"])
    raise EvaluationError(f"attribute {name}: unsupported attribute value")


def _version(name: str, text: str) -> Value:
    try:
        return semver.parse(text)
    except VersionError as error:
        raise EvaluationError(f"attribute {name}: parse semantic version: {error}") from None


def _capacity(name: str, value: Any) -> Value:
    # v1alpha3 gives the bare quantity, later versions wrap it.
    text = value.get("value") if isinstance(value, Mapping) else value
    try:
        return quantity.parse(str(text))
    except QuantityError as error:
        raise EvaluationError(f"capacity {name}: {error}") from None


__all__ = [
    "PatternError",
    "Result",
    "Selector",
    "compile_new",
    "compile_stored",
    "compiled",
    "device_value",
]
