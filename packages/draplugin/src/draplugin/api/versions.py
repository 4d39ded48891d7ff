"""The four versions of resource.k8s.io: one shape into another, and what gets lost.

Objects stay plain dicts here. v1 and v1beta2 have one shape; the older two differ
(k8s.io/api/resource at v0.31 to v0.37):

* v1alpha3, v1beta1: a slice's device wraps its fields in `basic`.
* v1alpha3: a capacity is the bare quantity; later ones wrap it in `{value: ...}`.
* v1alpha3, v1beta1: a claim's request holds its fields directly; later ones under `exactly`.
* v1alpha3, v1beta1: unset scope fields may appear as `nodeName: ""`, `allNodes: false`.

v1alpha3 is that of 1.31, the one with `suitableNodes`: it has no word for what came later, and the
later ones have none for what was taken away. `convert` leaves such fields out and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

GROUP = "resource.k8s.io"
#: Best first.
VERSIONS = ("v1", "v1beta2", "v1beta1", "v1alpha3")
_WRAPPED = frozenset({"v1alpha3", "v1beta1"})
_BARE_CAPACITY = frozenset({"v1alpha3"})
_REQUEST_NAMING = frozenset({"name", "firstAvailable"})
_SCOPES = ("nodeName", "allNodes", "perDeviceNodeSelection")
Object = dict[str, Any]
Version = str

_REQUEST = "spec.devices.requests[]"
_RESULT = "status.allocation.devices.results[]"
# Fields that v1alpha3 of 1.31 has no place for, by kind, in the shape of v1.
_NEWER: dict[str, tuple[str, ...]] = {
    "DeviceClass": ("spec.extendedResourceName",),
    "ResourceClaim": (
        f"{_REQUEST}.firstAvailable",
        f"{_REQUEST}.exactly.tolerations",
        f"{_REQUEST}.exactly.capacity",
        f"{_REQUEST}.exactly.derivedAttributes",
        "spec.devices.constraints[].distinctAttribute",
        "status.devices",
        "status.allocation.allocationTimestamp",
        f"{_RESULT}.adminAccess",
        f"{_RESULT}.tolerations",
        f"{_RESULT}.bindingConditions",
        f"{_RESULT}.bindingFailureConditions",
        f"{_RESULT}.shareID",
        f"{_RESULT}.consumedCapacity",
        f"{_RESULT}.skipNodeOperations",
    ),
    "ResourceSlice": (
        "spec.perDeviceNodeSelection",
        "spec.sharedCounters",
        "spec.partitionTypeAttribute",
        "spec.skipNodeOperations",
        *(
            f"spec.devices[].{name}"
            for name in (
                *("consumesCounters", "nodeName", "nodeSelector", "allNodes", "taints"),
                *("bindsToNode", "bindingConditions", "bindingFailureConditions"),
                *("allowMultipleAllocations", "nodeAllocatableResources"),
            )
        ),
        *(
            f"spec.devices[].attributes.*.{name}"
            for name in ("ints", "bools", "strings", "versions")
        ),
        "spec.devices[].capacity.*.requestPolicy",
    ),
}
# Fields that only v1alpha3 of 1.31 has a place for.
_OLDER: dict[str, tuple[str, ...]] = {
    "DeviceClass": ("spec.suitableNodes",),
    "ResourceClaim": (
        "spec.controller",
        "status.deallocationRequested",
        "status.allocation.controller",
    ),
}


class ConversionError(ValueError):
    """A version has no words for all of an object; `lost` lists the paths it cannot say."""

    def __init__(self, version: str, lost: tuple[str, ...]) -> None:
        self.version = version
        self.lost = lost
        super().__init__(f"{version} cannot say {', '.join(lost)}")


@dataclass(frozen=True, slots=True)
class Converted:
    """An object in another version, and the paths (of the object it was made from) left out."""

    object: Object
    lost: tuple[str, ...] = ()


def version_of(obj: Mapping[str, Any]) -> str:
    """The version of an object of this group; raises ValueError for any other."""
    group, _, version = str(obj.get("apiVersion", "")).partition("/")
    if group != GROUP or version not in VERSIONS:
        known = ", ".join(f"{GROUP}/{version}" for version in VERSIONS)
        raise ValueError(f"apiVersion {obj.get('apiVersion')!r} is none of {known}")
    return version


def convert(obj: Mapping[str, Any], version: str, *, strict: bool = False) -> Converted:
    """An object of this group in another of its versions; the original is left as it was.

    What the version cannot say is left out and listed; with `strict` it raises `ConversionError`.
    Raises ValueError for an object or a version that is not of the group.
    """
    if version not in VERSIONS:
        raise ValueError(f"{version!r} is none of {', '.join(VERSIONS)}")
    canonical = to_v1(dict(obj), version_of(obj))
    lost = tuple(unsayable(canonical, version))
    if lost and strict:
        raise ConversionError(version, lost)
    return Converted(from_v1(_without(canonical, version), version), lost)


def unsayable(obj: Mapping[str, Any], version: str) -> Iterator[str]:
    """The paths in an object of v1's shape for which a version has no words."""
    prefix, kind = _prefix(obj)
    for pattern in _patterns(kind, version):
        for path, _ in _find(obj, [*prefix, *_steps(pattern)], ""):
            yield path


def _prefix(obj: Mapping[str, Any]) -> tuple[list[str], str]:
    kind = str(obj.get("kind", ""))
    if kind.endswith("List"):
        return ["items", "[]"], kind.removesuffix("List")
    return [], kind


def _patterns(kind: str, version: str) -> tuple[str, ...]:
    table = _NEWER if version == "v1alpha3" else _OLDER
    if kind == "ResourceClaimTemplate":
        found = table.get("ResourceClaim", ())
        return tuple(f"spec.{pattern}" for pattern in found if pattern.startswith("spec."))
    return table.get(kind, ())


def _steps(pattern: str) -> list[str]:
    return pattern.replace("[]", ".[]").split(".")


def _find(node: Any, steps: list[str], path: str) -> Iterator[tuple[str, Any]]:
    """Where steps lead to something that is said: null and nothing at all are not."""
    if node is None:
        return
    if not steps:
        if node not in ([], {}):
            yield path, node
        return
    step, *rest = steps
    if step == "[]":
        for index, item in enumerate(node if isinstance(node, list) else ()):
            yield from _find(item, rest, f"{path}[{index}]")
    elif isinstance(node, Mapping):
        if step == "*":
            for name, item in node.items():
                yield from _find(item, rest, f"{path}[{name}]")
        elif step in node:
            yield from _find(node[step], rest, f"{path}.{step}" if path else step)


def _without(obj: Object, version: str) -> Object:
    prefix, kind = _prefix(obj)
    result: Any = obj
    for pattern in _patterns(kind, version):
        result = _drop(result, [*prefix, *_steps(pattern)])
    return dict(result)


def _drop(node: Any, steps: list[str]) -> Any:
    step, *rest = steps
    if step == "[]":
        return [_drop(item, rest) for item in node] if isinstance(node, list) else node
    if not isinstance(node, Mapping):
        return node
    if step == "*":
        return {name: _drop(item, rest) for name, item in node.items()}
    if step not in node:
        return node
    if not rest:
        return {name: item for name, item in node.items() if name != step}
    return {**node, step: _drop(node[step], rest)}


def to_v1(obj: Object, version: str) -> Object:
    """An object as read from `version`, in the shape of v1. Other kinds come back as they are."""
    return _changed(obj, _UP, version, "v1")


def from_v1(obj: Object, version: str) -> Object:
    """A v1 object in the shape that `version` takes; `convert` also says what that loses."""
    return _changed(obj, _DOWN, version, version)


_Change = Callable[[dict[str, Any], str], dict[str, Any]]


def _changed(obj: Object, changes: Mapping[str, _Change], version: str, target: str) -> Object:
    if (version == "v1" and target == "v1") or not _is_dra(obj):
        return obj
    kind = str(obj.get("kind", ""))
    converted = dict(obj)
    if kind.endswith("List") and isinstance(obj.get("items"), list):
        item_kind = kind.removesuffix("List")
        converted["items"] = [_spec(item, changes.get(item_kind), version) for item in obj["items"]]
    else:
        converted = _spec(converted, changes.get(kind), version)
    converted["apiVersion"] = f"{GROUP}/{target}"
    return converted


def _is_dra(obj: Mapping[str, Any]) -> bool:
    return str(obj.get("apiVersion", GROUP + "/")).startswith(GROUP + "/")


def _spec(obj: Any, change: _Change | None, version: str) -> Any:
    if change is None or not isinstance(obj, Mapping) or not isinstance(obj.get("spec"), Mapping):
        return obj
    return {**obj, "spec": change(dict(obj["spec"]), version)}


def _slice_up(spec: dict[str, Any], version: str) -> dict[str, Any]:
    if version in _WRAPPED:
        spec = {name: v for name, v in spec.items() if name not in _SCOPES or v}
    if isinstance(spec.get("devices"), list):
        spec["devices"] = [_device_up(device, version) for device in spec["devices"]]
    return spec


def _device_up(device: Any, version: str) -> Any:
    if version not in _WRAPPED or not isinstance(device, Mapping):
        return device
    rest = {name: value for name, value in device.items() if name != "basic"}
    basic = device.get("basic")
    flat = {**rest, **(basic if isinstance(basic, Mapping) else {})}
    if version in _BARE_CAPACITY and isinstance(flat.get("capacity"), Mapping):
        flat["capacity"] = {name: {"value": value} for name, value in flat["capacity"].items()}
    return flat


def _slice_down(spec: dict[str, Any], version: str) -> dict[str, Any]:
    if isinstance(spec.get("devices"), list):
        spec["devices"] = [_device_down(device, version) for device in spec["devices"]]
    return spec


def _device_down(device: Any, version: str) -> Any:
    if version not in _WRAPPED or not isinstance(device, Mapping):
        return device
    basic = {name: value for name, value in device.items() if name != "name"}
    if version in _BARE_CAPACITY and isinstance(basic.get("capacity"), Mapping):
        basic["capacity"] = {
            name: entry.get("value") if isinstance(entry, Mapping) else entry
            for name, entry in basic["capacity"].items()
        }
    named = {"name": device["name"]} if "name" in device else {}
    return {**named, "basic": basic}


def _claim_up(spec: dict[str, Any], version: str) -> dict[str, Any]:
    if version not in _WRAPPED:
        return spec
    return _with_requests(spec, lambda request: _request_up(request, version))


def _claim_down(spec: dict[str, Any], version: str) -> dict[str, Any]:
    return _with_requests(spec, _request_down) if version in _WRAPPED else spec


def _template(change: _Change) -> _Change:
    def convert_template(spec: dict[str, Any], version: str) -> dict[str, Any]:
        inner = spec.get("spec")
        return (
            {**spec, "spec": change(dict(inner), version)} if isinstance(inner, Mapping) else spec
        )

    return convert_template


def _with_requests(spec: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    devices = spec.get("devices")
    if isinstance(devices, Mapping) and isinstance(devices.get("requests"), list):
        requests = [change(request) for request in devices["requests"]]
        spec["devices"] = {**devices, "requests": requests}
    return spec


def _request_up(request: Any, version: str) -> Any:
    if not isinstance(request, Mapping):
        return request
    naming = {name: value for name, value in request.items() if name in _REQUEST_NAMING}
    exactly = {name: value for name, value in request.items() if name not in _REQUEST_NAMING}
    # A request with alternatives carries none of the other fields; v1alpha3 has no alternatives.
    only_way = version == "v1alpha3" and not naming.get("firstAvailable")
    return {**naming, "exactly": exactly} if only_way or any(exactly.values()) else naming


def _request_down(request: Any) -> Any:
    if not isinstance(request, Mapping):
        return request
    flat = {name: value for name, value in request.items() if name != "exactly"}
    exactly = request.get("exactly")
    return {**flat, **(exactly if isinstance(exactly, Mapping) else {})}


_UP: dict[str, _Change] = {
    "ResourceSlice": _slice_up,
    "ResourceClaim": _claim_up,
    "ResourceClaimTemplate": _template(_claim_up),
}
_DOWN: dict[str, _Change] = {
    "ResourceSlice": _slice_down,
    "ResourceClaim": _claim_down,
    "ResourceClaimTemplate": _template(_claim_down),
}
