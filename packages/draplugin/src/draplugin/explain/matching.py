"""Whether one device serves one request, looked at alone: the reasons a person asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from draplugin.api import (
    Device,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    ExactDeviceRequest,
    ResourceClaim,
)
from draplugin.api.codec import encode
from draplugin.cel import AbortedError, CompileError, EvaluationError, compile_stored
from draplugin.cel.program import device_value
from draplugin.cel.values import Map

from .world import DeviceId

Way = ExactDeviceRequest | DeviceSubRequest


def ways(request: DeviceRequest) -> list[tuple[str, Way]]:
    """The ways to serve a request, by the names that results carry."""
    if request.exactly is not None:
        return [(request.name, request.exactly)]
    return [(f"{request.name}/{sub.name}", sub) for sub in request.first_available]


def way_of(claim: ResourceClaim, name: str) -> Way | None:
    """The way to serve a request that a result names."""
    found = {n: way for request in claim.spec.devices.requests for n, way in ways(request)}
    return found.get(name)


class Status(StrEnum):
    """What came of a device: from what serves to what does not."""

    ALLOCATED = "allocated"
    CHOSEN = "would get it"
    FREE = "match"
    TAKEN = "taken"
    TAINTED = "tainted"
    CAPACITY = "too small"
    NO_MATCH = "no match"
    ERROR = "error"
    ELSEWHERE = "other node"
    POOL = "pool"


@dataclass(frozen=True, slots=True)
class Selected:
    """What the selectors say: `error` would abort the allocation; `selector` is the one to blame.

    `owner` is `class NAME` or `request`.
    """

    match: bool
    owner: str = ""
    selector: int = 0
    expression: str = ""
    error: str = ""

    @property
    def reason(self) -> str:
        """For the table."""
        if self.match:
            return ""
        said = f": {self.error}" if self.error else " is false"
        return f"{self.owner} selector {self.selector}{said}"


@dataclass(slots=True)
class Matcher:
    """Asks selectors about the devices of one world, each pair once."""

    _known: dict[tuple[str, DeviceId], bool | str] = field(default_factory=dict)
    _devices: dict[DeviceId, Map | str] = field(default_factory=dict)

    def ask(
        self, device_id: DeviceId, device: Device, device_class: DeviceClass | None, way: Way
    ) -> Selected:
        """The class's selectors, then the request's, as far as the first that is not true."""
        groups: list[tuple[str, Sequence[DeviceSelector]]] = [("request", way.selectors)]
        if device_class is not None:
            name = f"class {device_class.metadata.name}"
            groups.insert(0, (name, device_class.spec.selectors))
        for owner, selectors in groups:
            for index, selector in enumerate(selectors):
                expression = selector.cel.expression if selector.cel else ""
                said = self._evaluate(device_id, device, expression)
                if said is not True:
                    return Selected(False, owner, index, expression, said or "")
        return Selected(True)

    def _evaluate(self, device_id: DeviceId, device: Device, expression: str) -> bool | str:
        key = (expression, device_id)
        if key not in self._known:
            self._known[key] = self._asked(device_id, device, expression)
        return self._known[key]

    def _asked(self, device_id: DeviceId, device: Device, expression: str) -> bool | str:
        if device_id not in self._devices:
            self._devices[device_id] = _read(device_id.driver, device)
        held = self._devices[device_id]
        return held if isinstance(held, str) else evaluate(expression, held)


def _read(driver: str, device: Device) -> Map | str:
    try:
        return device_value(selectable(driver, device))
    except EvaluationError as error:
        return str(error)


def selectable(driver: str, device: Device) -> Mapping[str, Any]:
    """What selectors see of a device, in the shape of a ResourceSlice."""
    return {
        "driver": driver,
        "attributes": encode(device.attributes),
        "capacity": encode(device.capacity),
        "allowMultipleAllocations": device.allow_multiple_allocations,
    }


def evaluate(expression: str, device: Mapping[str, Any] | Map) -> bool | str:
    """True or false, or the error that would abort an allocation."""
    try:
        return compile_stored(expression).matches(device)
    except CompileError as error:
        return f"does not compile: {error}"
    except (EvaluationError, AbortedError) as error:
        return str(error)


def untolerated(device: Device, way: Way) -> str:
    """The taint that keeps a request away from a device, as `key=value:effect`; empty for none."""
    for taint in device.taints:
        if taint.effect not in ("NoSchedule", "NoExecute"):
            continue
        if not any(t.tolerates(taint.key, taint.value, taint.effect) for t in way.tolerations):
            return taint_text(taint)
    return ""


def taint_text(taint: DeviceTaint) -> str:
    """A taint as `key=value:effect`."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"
