"""From a ResourceClaim object to the typed Claim of one driver.

An allocation may hold devices of several drivers and parameters for drivers that gave nothing
(KEP-4381); a driver is shown its own. Which class a parameter block came from is not recorded, and
servers before 1.35 also leave its requests empty: `with_class_requests` finds them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .kube.resources import Object
from .model import Allocation, Claim, OpaqueConfig, Refused, Toleration


def from_object(obj: Object, driver: str) -> Claim:
    """The claim as `driver` sees it; Refused when it holds a configuration that is not opaque."""
    metadata = obj["metadata"]
    allocation = (obj.get("status") or {}).get("allocation") or {}
    devices = allocation.get("devices") or {}
    return Claim(
        namespace=str(metadata.get("namespace", "")),
        name=str(metadata["name"]),
        uid=str(metadata.get("uid", "")),
        allocations=tuple(
            _allocation(result)
            for result in devices.get("results") or ()
            if result["driver"] == driver
        ),
        configs=tuple(_configs(devices.get("config") or (), driver)),
        classes=_classes(obj),
        raw=obj,
    )


def check(claim: Claim, uid: str, driver: str) -> None:
    """Refuse a claim that the kubelet cannot mean: another object, or one not allocated.

    A prepare that arrives late, after its claim was released, is told apart by exactly this: the
    object is gone, has another UID, or lost its allocation or its reservation.
    """
    if claim.uid != uid:
        raise Refused(f"claim {claim.ref} has UID {claim.uid}, not {uid}: it was replaced")
    status = claim.raw.get("status") or {}
    if not status.get("allocation"):
        raise Refused(f"claim {claim.ref} is not allocated")
    if not status.get("reservedFor"):
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
    return replace(claim, configs=tuple(_named(claim, config, classes) for config in claim.configs))


def _named(claim: Claim, config: OpaqueConfig, classes: Mapping[str, Object]) -> OpaqueConfig:
    if config.source != "FromClass" or config.requests:
        return config
    origin = {name for name, obj in classes.items() if _holds(obj, config)}
    requests = tuple(request for request, name in claim.classes.items() if name in origin)
    return replace(config, requests=requests)


def _holds(device_class: Object, config: OpaqueConfig) -> bool:
    entries: Iterable[Mapping[str, Any]] = (device_class.get("spec") or {}).get("config") or ()
    wanted = {"driver": config.driver, "parameters": config.parameters}
    return any(entry.get("opaque") == wanted for entry in entries)


def _allocation(result: Mapping[str, Any]) -> Allocation:
    return Allocation(
        request=str(result["request"]),
        driver=str(result["driver"]),
        pool=str(result["pool"]),
        device=str(result["device"]),
        share_id=result.get("shareID"),
        admin_access=bool(result.get("adminAccess", False)),
        tolerations=tuple(_toleration(t) for t in result.get("tolerations") or ()),
        consumed_capacity=dict(result.get("consumedCapacity") or {}),
    )


def _toleration(toleration: Mapping[str, Any]) -> Toleration:
    return Toleration(
        key=toleration.get("key") or "",
        operator=toleration.get("operator") or "Equal",
        value=toleration.get("value") or "",
        effect=toleration.get("effect") or "",
        seconds=toleration.get("tolerationSeconds"),
    )


def _configs(entries: Sequence[Mapping[str, Any]], driver: str) -> Iterable[OpaqueConfig]:
    for entry in entries:
        opaque = entry.get("opaque")
        if opaque is None:
            # A kind of configuration newer than this code: guessing that it is not meant for this
            # driver could deliver a device without what the user asked for.
            kinds = sorted(set(entry) - {"source", "requests"})
            raise Refused(f"configuration of an unknown kind: {', '.join(kinds) or 'empty'}")
        if opaque["driver"] == driver:
            yield OpaqueConfig(
                source="FromClass" if entry.get("source") == "FromClass" else "FromClaim",
                driver=driver,
                parameters=opaque.get("parameters"),
                requests=tuple(entry.get("requests") or ()),
            )


def _classes(obj: Object) -> dict[str, str]:
    classes: dict[str, str] = {}
    for request in ((obj.get("spec") or {}).get("devices") or {}).get("requests") or ():
        name = str(request["name"])
        exactly = request.get("exactly") or {}
        if exactly.get("deviceClassName"):
            classes[name] = str(exactly["deviceClassName"])
        for sub in request.get("firstAvailable") or ():
            classes[f"{name}/{sub['name']}"] = str(sub.get("deviceClassName", ""))
    return classes
