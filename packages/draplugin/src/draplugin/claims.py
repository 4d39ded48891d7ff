"""From a ResourceClaim object to the typed Claim of one driver.

An allocation may hold devices of several drivers and parameters for drivers that gave nothing
(KEP-4381); a driver is shown its own. Which class a parameter block came from is not recorded, and
servers before 1.35 also leave its requests empty: `with_class_requests` finds them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .api import (
    DeviceAllocationConfiguration,
    DeviceClass,
    DeviceRequestAllocationResult,
    DeviceToleration,
    Misfit,
    OpaqueDeviceConfiguration,
    ResourceClaim,
    read_known,
)
from .kube.resources import DEVICECLASSES, RESOURCECLAIMS, Object, Resource
from .model import Allocation, Claim, OpaqueConfig, Refused, Toleration

_CONFIG = "status.allocation.devices.config"


def from_object(obj: Object, driver: str) -> Claim:
    """The claim as `driver` sees it; Refused when it holds a configuration that is not opaque.

    Fields of a newer API are passed over; what has the wrong type is Refused.
    """
    value, unknown = _read(RESOURCECLAIMS, obj)
    assert isinstance(value, ResourceClaim)
    allocation = value.status.allocation
    return Claim(
        namespace=value.metadata.namespace,
        name=value.metadata.name,
        uid=value.metadata.uid,
        allocations=tuple(
            _allocation(result)
            for result in (allocation.devices.results if allocation else ())
            if result.driver == driver
        ),
        configs=tuple(_configs(allocation.devices.config if allocation else (), driver, unknown)),
        classes=_classes(value),
        raw=obj,
        value=value,
    )


def _read(resource: Resource, obj: Object) -> tuple[Any, tuple[Misfit, ...]]:
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    try:
        return read_known({**obj, **kind})
    except ValueError as error:
        raise Refused(f"{resource.kind} cannot be read: {error}") from None


def check(claim: Claim, uid: str, driver: str) -> None:
    """Refuse a claim that the kubelet cannot mean: another object, or one not allocated.

    A prepare that arrives late, after its claim was released, is told apart by exactly this: the
    object is gone, has another UID, or lost its allocation or its reservation.
    """
    if claim.uid != uid:
        raise Refused(f"claim {claim.ref} has UID {claim.uid}, not {uid}: it was replaced")
    status = claim.value.status if claim.value else None
    if status is None or status.allocation is None:
        raise Refused(f"claim {claim.ref} is not allocated")
    if not status.reserved_for:
        raise Refused(f"claim {claim.ref} is not reserved for a pod")
    if not claim.allocations:
        raise Refused(f"claim {claim.ref} holds no device of driver {driver}")


def ambiguous_classes(claim: Claim) -> frozenset[str]:
    """The device classes to look at before it is known which request a class's block is for."""
    names = frozenset(claim.classes.values())
    unknown = any(c.source == "FromClass" and not c.requests for c in claim.configs)
    return names if unknown and len(names) > 1 else frozenset()


def with_class_requests(claim: Claim, classes: Mapping[str, Object]) -> Claim:
    """Name the requests of each class block that came without any, by comparing with the classes.

    A block that no class holds any more (it was edited since) keeps applying to every request,
    which is what the API says of an empty list.
    """
    values = {name: _read(DEVICECLASSES, obj)[0] for name, obj in classes.items()}
    return replace(claim, configs=tuple(_named(claim, config, values) for config in claim.configs))


def _named(claim: Claim, config: OpaqueConfig, classes: Mapping[str, DeviceClass]) -> OpaqueConfig:
    if config.source != "FromClass" or config.requests:
        return config
    origin = {name for name, value in classes.items() if _holds(value, config)}
    requests = tuple(request for request, name in claim.classes.items() if name in origin)
    return replace(config, requests=requests)


def _holds(device_class: DeviceClass, config: OpaqueConfig) -> bool:
    return any(
        entry.opaque is not None
        and entry.opaque.driver == config.driver
        and _parameters(entry.opaque) == config.parameters
        for entry in device_class.spec.config
    )


def _parameters(opaque: OpaqueDeviceConfiguration) -> Any:
    return opaque.parameters.parsed() if opaque.parameters else None


def _allocation(result: DeviceRequestAllocationResult) -> Allocation:
    return Allocation(
        request=result.request,
        driver=result.driver,
        pool=result.pool,
        device=result.device,
        share_id=result.share_id,
        admin_access=bool(result.admin_access),
        tolerations=tuple(_toleration(t) for t in result.tolerations),
        consumed_capacity={name: str(text) for name, text in result.consumed_capacity.items()},
    )


def _toleration(toleration: DeviceToleration) -> Toleration:
    return Toleration(
        key=toleration.key,
        operator=toleration.operator or "Equal",
        value=toleration.value,
        effect=toleration.effect,
        seconds=toleration.toleration_seconds,
    )


def _configs(
    entries: tuple[DeviceAllocationConfiguration, ...], driver: str, unknown: tuple[Misfit, ...]
) -> Iterator[OpaqueConfig]:
    for index, entry in enumerate(entries):
        if entry.opaque is None:
            # A kind of configuration newer than this code: guessing that it is not meant for this
            # driver could deliver a device without what the user asked for.
            path = f"{_CONFIG}[{index}]."
            kinds = [m.path.removeprefix(path) for m in unknown if m.path.startswith(path)]
            raise Refused(f"configuration of an unknown kind: {', '.join(kinds) or 'empty'}")
        if entry.opaque.driver == driver:
            yield OpaqueConfig(
                source="FromClass" if entry.source == "FromClass" else "FromClaim",
                driver=driver,
                parameters=_parameters(entry.opaque),
                requests=entry.requests,
            )


def _classes(claim: ResourceClaim) -> dict[str, str]:
    classes: dict[str, str] = {}
    for request in claim.spec.devices.requests:
        if request.exactly is not None and request.exactly.device_class_name:
            classes[request.name] = request.exactly.device_class_name
        for sub in request.first_available:
            classes[f"{request.name}/{sub.name}"] = sub.device_class_name
    return classes
