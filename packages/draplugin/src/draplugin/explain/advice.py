"""One line of what to change: the first thing that stands in the way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from draplugin.api import ResourceClaim
from draplugin.cel import CompileError, compile_stored

from .matching import Status, ways

if TYPE_CHECKING:
    from .allocator import Outcome
    from .eviction import Eviction
    from .report import Row
    from .world import World

_MISSING_KEY = re.compile(r"no such key: (\S+)")
_NOTHING = "nothing"


def advise(
    world: World, claim: ResourceClaim, outcomes: Sequence[Outcome], rows: Sequence[Row]
) -> str:
    """The line; `nothing` where the claim can be allocated."""
    failed = any(outcome.error for outcome in outcomes)
    if not failed and any(outcome.given is not None for outcome in outcomes):
        return _NOTHING
    stuck = {outcome.dead_end for outcome in outcomes if outcome.dead_end}
    for check in _CHECKS:
        found = check(world, claim, _of(rows, stuck) or list(rows))
        if found:
            return found
    return "ask for fewer devices, or for devices that can be had on one node together"


def for_evictions(evictions: Sequence[Eviction]) -> str:
    """What to change in a claim that can be allocated and would lose its pods at once."""
    now = next((each for each in evictions if not each.seconds), None)
    return f"let request {now.request} tolerate {now.taint} with effect: NoExecute" if now else ""


def _of(rows: Sequence[Row], requests: set[str]) -> list[Row]:
    return [row for row in rows if row.request.partition("/")[0] in requests]


def _classes(claim: ResourceClaim) -> list[tuple[str, str]]:
    return [
        (name, way.device_class_name)
        for request in claim.spec.devices.requests
        for name, way in ways(request)
    ]


def _missing_class(world: World, claim: ResourceClaim, _: Sequence[Row]) -> str:
    for request, name in _classes(claim):
        if name not in world.classes:
            known = ", ".join(sorted(world.classes)) or "there is none"
            return f"create DeviceClass {name}, or let request {request} name another: {known}"
    return ""


def _broken_selector(world: World, claim: ResourceClaim, _: Sequence[Row]) -> str:
    for request in claim.spec.devices.requests:
        for name, way in ways(request):
            owner = world.classes.get(way.device_class_name)
            of_class = owner.spec.selectors if owner else ()
            for whose, selectors in (
                (f"class {way.device_class_name}", of_class),
                (f"request {name}", way.selectors),
            ):
                for index, selector in enumerate(selectors):
                    problem = _compile_problem(selector.cel.expression if selector.cel else "")
                    if problem:
                        return f"correct selector {index} of {whose}: {problem}"
    return ""


def _compile_problem(expression: str) -> str:
    try:
        compile_stored(expression)
    except CompileError as error:
        return str(error)
    return ""


def _unguarded(_: World, __: ResourceClaim, rows: Sequence[Row]) -> str:
    row = next((row for row in rows if row.status is Status.ERROR), None)
    if row is None:
        return ""
    missing = _MISSING_KEY.search(row.reason)
    if missing is None:
        return f"correct the selector that fails on {row.device}: {row.reason}"
    name = missing[1].rstrip(")")
    return f"guard the read of {name} with has(...), which {row.device} does not have"


def _no_devices(world: World, _: ResourceClaim, rows: Sequence[Row]) -> str:
    if rows:
        return ""
    if world.slices:
        return "no node here reaches a device: look at the scopes of the ResourceSlices"
    return "start a driver: there is no ResourceSlice"


def _count(_: World, claim: ResourceClaim, rows: Sequence[Row]) -> str:
    for request in claim.spec.devices.requests:
        for name, way in ways(request):
            mine = [row for row in rows if row.request == name]
            usable = Counter(row.node for row in mine if row.status in (Status.FREE, Status.CHOSEN))
            best = max(usable.values(), default=0)
            if mine and 0 < best < (way.count or 1):
                return f"let request {name} ask for at most {best} devices: no node has more free"
    return ""


def _tainted(_: World, __: ResourceClaim, rows: Sequence[Row]) -> str:
    row = _first(rows, Status.TAINTED)
    return (
        f"add a toleration for {row.reason} to request {row.request}, or wait until it goes"
        if row
        else ""
    )


def _taken(_: World, __: ResourceClaim, rows: Sequence[Row]) -> str:
    holders = sorted(
        {row.reason.removeprefix("by claim ") for row in rows if row.status is Status.TAKEN}
    )
    return f"wait for claim {holders[0]} to end, or delete it" if holders else ""


def _small(_: World, __: ResourceClaim, rows: Sequence[Row]) -> str:
    row = _first(rows, Status.CAPACITY)
    return (
        f"ask for less capacity in request {row.request}: {row.device} {row.reason}" if row else ""
    )


def _pool(_: World, __: ResourceClaim, rows: Sequence[Row]) -> str:
    row = _first(rows, Status.POOL)
    return (
        f"wait for the driver to publish all of {row.device.rpartition('/')[0]}: {row.reason}"
        if row
        else ""
    )


def _elsewhere(_: World, __: ResourceClaim, rows: Sequence[Row]) -> str:
    row = _first(rows, Status.ELSEWHERE)
    return f"let the pod run on a node that reaches {row.device}" if row else ""


def _never_true(_: World, __: ResourceClaim, rows: Sequence[Row]) -> str:
    if not rows or any(row.status is not Status.NO_MATCH for row in rows):
        return ""
    # The selector that the most devices get as far as is the one to look at.
    blamed = Counter((row.request, row.reason, row.selector) for row in rows)
    (request, reason, text), count = max(
        blamed.items(), key=lambda item: (_is_request(item), item[1])
    )
    shown, which = " ".join(text.split()), reason.removesuffix(" is false")
    return f"change {which} of request {request}, false on {count} devices: {shown}"


def _is_request(item: tuple[tuple[str, str, str], int]) -> bool:
    return item[0][1].startswith("request")


def _constraints(_: World, claim: ResourceClaim, rows: Sequence[Row]) -> str:
    usable = any(row.status is Status.FREE for row in rows)
    constraint = next(iter(claim.spec.devices.constraints), None)
    if not usable or constraint is None:
        return ""
    name = constraint.match_attribute or constraint.distinct_attribute
    word = "share" if constraint.match_attribute else "differ in"
    return f"drop or widen the constraint that devices {word} {name}: no combination does"


def _first(rows: Sequence[Row], status: Status) -> Row | None:
    return next((row for row in rows if row.status is status), None)


_CHECKS: tuple[Callable[[World, ResourceClaim, Sequence[Row]], str], ...] = (
    *(_missing_class, _broken_selector, _unguarded, _no_devices, _count, _constraints),
    *(_tainted, _taken, _small, _pool, _elsewhere, _never_true),
)
