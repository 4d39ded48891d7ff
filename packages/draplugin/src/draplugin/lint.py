"""What an API server would refuse in a file, and what it would take and somebody regret.

Regrets are found by reading a selector, not by running it: a read of an attribute that no `has()`
guards aborts the allocation of every claim as soon as one device lacks it. Where slices are given,
the selectors are run on their devices as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from draplugin.api import (
    Cause,
    DecodeError,
    DeviceClass,
    DeviceSelector,
    DeviceToleration,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    read,
    validate,
)
from draplugin.cel import NEWEST, CompileError, Selector, Version, compile_stored, guards
from draplugin.explain.matching import Way, evaluate, selectable, ways

_Devices = Mapping[str, Mapping[str, Any]]
KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate")


@dataclass(frozen=True, slots=True)
class Report:
    """What is said of one object. `warnings` are what a server takes all the same."""

    file: str
    kind: str
    name: str
    accepted: bool
    causes: tuple[Cause, ...] = ()
    warnings: tuple[Cause, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return asdict(self)


def lint(
    obj: Mapping[str, Any],
    *,
    file: str = "",
    server: Version = NEWEST,
    slices: Sequence[ResourceSlice] = (),
    classes: Mapping[str, DeviceClass] | None = None,
) -> Report:
    """Check an object for a server of this version, and against devices where slices are given.

    With `classes`, the selectors of a request are asked only about devices of its class, as the
    scheduler does. Raises ValueError for a kind that is not checked here.
    """
    kind, metadata = str(obj.get("kind", "")), obj.get("metadata")
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} is none of {', '.join(KINDS)}")
    name = str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""
    try:
        causes = validate(obj, server).causes
    except ValueError as error:
        causes = (Cause("apiVersion", "NotServed", str(error)),)
    warnings = tuple(_regrets(obj, dict(_devices(slices)), classes or {}))
    return Report(file, kind, name, not causes, causes, warnings)


def _regrets(
    obj: Mapping[str, Any], devices: _Devices, classes: Mapping[str, DeviceClass]
) -> Iterator[Cause]:
    try:
        value = read(obj)
    except (DecodeError, ValueError):
        return
    if isinstance(value, DeviceClass):
        yield from _of_selectors("spec.selectors", value.spec.selectors, devices)
        if not _names_a_driver(value.spec.selectors):
            text = "no selector looks at device.driver: devices of other drivers may match as well"
            yield Cause("spec.selectors", "NoDriver", text)
        return
    for path, way in _ways(value):
        owner = classes.get(way.device_class_name)
        offered = _matching(owner.spec.selectors if owner else (), devices)
        yield from _of_selectors(f"{path}.selectors", way.selectors, offered)
        yield from _of_tolerations(f"{path}.tolerations", way.tolerations)


def _ways(value: object) -> Iterator[tuple[str, Way]]:
    if isinstance(value, ResourceClaimTemplate):
        prefix, requests = "spec.spec", value.spec.spec.devices.requests
    elif isinstance(value, ResourceClaim):
        prefix, requests = "spec", value.spec.devices.requests
    else:
        return
    for index, request in enumerate(requests):
        for position, (_, way) in enumerate(ways(request)):
            step = f".firstAvailable[{position}]" if request.first_available else ".exactly"
            yield f"{prefix}.devices.requests[{index}]{step}", way


def _of_tolerations(path: str, tolerations: Sequence[DeviceToleration]) -> Iterator[Cause]:
    for index, toleration in enumerate(tolerations):
        # Allocated in spite of NoExecute, deleted because of it: see draplugin.explain.eviction.
        covered = any(_names_no_execute(other, toleration) for other in tolerations)
        if not toleration.effect and not covered:
            text = (
                "without effect it lets the claim have devices with NoExecute taints, and then has"
                " its pods deleted: add one with effect: NoExecute, or say effect: NoSchedule"
            )
            yield Cause(f"{path}[{index}]", "NoEffect", text)


def _names_no_execute(one: DeviceToleration, other: DeviceToleration) -> bool:
    return one.effect == "NoExecute" and one.key in ("", other.key)


def _matching(selectors: Sequence[DeviceSelector], devices: _Devices) -> _Devices:
    expressions = [s.cel.expression if s.cel else "" for s in selectors]
    return {
        name: device
        for name, device in devices.items()
        if all(evaluate(expression, device) is True for expression in expressions)
    }


def _of_selectors(
    path: str, selectors: Sequence[DeviceSelector], devices: _Devices
) -> Iterator[Cause]:
    for index, selector in enumerate(selectors):
        expression = selector.cel.expression if selector.cel else ""
        compiled = _compiled(expression)
        if compiled is None:
            continue
        where = f"{path}[{index}].cel.expression"
        for missing in guards.unguarded(compiled.root):
            text = f"{missing} is read without has(): a device that lacks it aborts the allocation"
            yield Cause(where, "Unguarded", text)
        yield from _on_devices(where, expression, devices)
        devices = _matching([selector], devices)


def _compiled(expression: str) -> Selector | None:
    try:
        return compile_stored(expression)
    except CompileError:
        return None


def _on_devices(where: str, expression: str, devices: _Devices) -> Iterator[Cause]:
    said = {name: evaluate(expression, device) for name, device in devices.items()}
    failing = [f"{name}: {problem}" for name, problem in said.items() if isinstance(problem, str)]
    if failing:
        yield Cause(where, "Fails", f"has no value on {len(failing)} devices, first {failing[0]}")
    if said and not any(value is True for value in said.values()):
        yield Cause(
            where, "NoMatch", f"is true of none of the {len(said)} devices it is asked about"
        )


def _devices(slices: Iterable[ResourceSlice]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for part in slices:
        for device in part.spec.devices or ():
            name = f"{part.spec.driver}/{part.spec.pool.name}/{device.name}"
            yield name, selectable(part.spec.driver, device)


def _names_a_driver(selectors: Sequence[DeviceSelector]) -> bool:
    trees = (_compiled(s.cel.expression) for s in selectors if s.cel)
    return any(guards.reads_driver(tree.root) for tree in trees if tree is not None)
