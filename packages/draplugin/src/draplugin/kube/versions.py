"""The seam where older shapes of resource.k8s.io become those of v1, and back.

Everything above this file knows v1 only. What changed (k8s.io/api/resource at v0.31 to v0.37):

* v1alpha3, v1beta1: a slice's device wraps its fields in `basic`; v1beta2 and v1 are flat.
* v1alpha3: a capacity is the bare quantity; later ones wrap it in `{value: ...}`.
* v1alpha3, v1beta1: a claim's request holds its fields directly; v1beta2 and v1 under `exactly`.
* v1alpha3, v1beta1: unset scope fields may appear as `nodeName: ""`, `allNodes: false`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .resources import DRA_GROUP, Object

#: Best first.
SUPPORTED = ("v1", "v1beta2", "v1beta1", "v1alpha3")
_WRAPPED = frozenset({"v1alpha3", "v1beta1"})
_BARE_CAPACITY = frozenset({"v1alpha3"})
_REQUEST_NAMING = frozenset({"name", "firstAvailable"})


def choose(served: Iterable[str]) -> str | None:
    """The best version both sides know, None where there is none."""
    offered = set(served)
    return next((version for version in SUPPORTED if version in offered), None)


def to_v1(obj: Object, version: str) -> Object:
    """An object as read from `version`, in the shape of v1. Other kinds come back as they are."""
    if version == "v1" or not _is_dra(obj):
        return obj
    converted = _convert(obj, _UP.get(_kind(obj)), version)
    converted["apiVersion"] = f"{DRA_GROUP}/v1"
    return converted


def from_v1(obj: Object, version: str) -> Object:
    """A v1 object in the shape that `version` takes."""
    if version == "v1" or not _is_dra(obj):
        return obj
    converted = _convert(obj, _DOWN.get(_kind(obj)), version)
    converted["apiVersion"] = f"{DRA_GROUP}/{version}"
    return converted


def _is_dra(obj: Mapping[str, Any]) -> bool:
    return str(obj.get("apiVersion", DRA_GROUP + "/")).startswith(DRA_GROUP + "/")


def _kind(obj: Mapping[str, Any]) -> str:
    return str(obj.get("kind", ""))


_Change = Callable[[dict[str, Any], str], dict[str, Any]]


def _convert(obj: Object, change: _Change | None, version: str) -> Object:
    converted = dict(obj)
    if change is not None and isinstance(obj.get("spec"), Mapping):
        converted["spec"] = change(dict(obj["spec"]), version)
    return converted


def _slice_up(spec: dict[str, Any], version: str) -> dict[str, Any]:
    if version in _WRAPPED:
        for name in ("nodeName", "allNodes", "perDeviceNodeSelection"):
            if name in spec and not spec[name]:
                del spec[name]
    if isinstance(spec.get("devices"), list):
        spec["devices"] = [_device_up(device, version) for device in spec["devices"]]
    return spec


def _device_up(device: Mapping[str, Any], version: str) -> dict[str, Any]:
    if version not in _WRAPPED:
        return dict(device)
    flat = {"name": device["name"], **(device.get("basic") or {})}
    if version in _BARE_CAPACITY and flat.get("capacity"):
        flat["capacity"] = {name: {"value": value} for name, value in flat["capacity"].items()}
    return flat


def _slice_down(spec: dict[str, Any], version: str) -> dict[str, Any]:
    if isinstance(spec.get("devices"), list):
        spec["devices"] = [_device_down(device, version) for device in spec["devices"]]
    return spec


def _device_down(device: Mapping[str, Any], version: str) -> dict[str, Any]:
    if version not in _WRAPPED:
        return dict(device)
    basic = {name: value for name, value in device.items() if name != "name"}
    if version in _BARE_CAPACITY and basic.get("capacity"):
        basic["capacity"] = {name: entry["value"] for name, entry in basic["capacity"].items()}
    return {"name": device["name"], "basic": basic}


def _claim_up(spec: dict[str, Any], version: str) -> dict[str, Any]:
    return _with_requests(spec, _request_up) if version in _WRAPPED else spec


def _claim_down(spec: dict[str, Any], version: str) -> dict[str, Any]:
    return _with_requests(spec, _request_down) if version in _WRAPPED else spec


def _template_up(spec: dict[str, Any], version: str) -> dict[str, Any]:
    return {**spec, "spec": _claim_up(dict(spec.get("spec") or {}), version)}


def _template_down(spec: dict[str, Any], version: str) -> dict[str, Any]:
    return {**spec, "spec": _claim_down(dict(spec.get("spec") or {}), version)}


def _with_requests(
    spec: dict[str, Any], change: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    devices = dict(spec.get("devices") or {})
    if isinstance(devices.get("requests"), list):
        devices["requests"] = [change(request) for request in devices["requests"]]
        spec["devices"] = devices
    return spec


def _request_up(request: Mapping[str, Any]) -> dict[str, Any]:
    # In v1beta1 a request with alternatives carries none of the other fields.
    if request.get("firstAvailable"):
        return {name: request[name] for name in ("name", "firstAvailable") if name in request}
    exactly = {name: value for name, value in request.items() if name not in _REQUEST_NAMING}
    return {"name": request["name"], "exactly": exactly}


def _request_down(request: Mapping[str, Any]) -> dict[str, Any]:
    flat = {name: value for name, value in request.items() if name != "exactly"}
    return {**flat, **(request.get("exactly") or {})}


_UP: dict[str, _Change] = {
    "ResourceSlice": _slice_up,
    "ResourceClaim": _claim_up,
    "ResourceClaimTemplate": _template_up,
}
_DOWN: dict[str, _Change] = {
    "ResourceSlice": _slice_down,
    "ResourceClaim": _claim_down,
    "ResourceClaimTemplate": _template_down,
}
