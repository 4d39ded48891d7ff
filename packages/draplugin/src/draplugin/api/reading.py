"""From plain dicts to values and back: versions, defaults, and what does not fit."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from . import versions
from .claim import (
    ResourceClaim,
    ResourceClaimList,
    ResourceClaimTemplate,
    ResourceClaimTemplateList,
)
from .codec import DecodeError, Misfit, decode, encode
from .deviceclass import DeviceClass, DeviceClassList
from .files import with_raw_parameters
from .slice import ResourceSlice, ResourceSliceList
from .versions import Converted

T = TypeVar("T")
#: The kinds of this package by name.
KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(DeviceClass, DeviceClassList, ResourceClaim, ResourceClaimList),
        *(ResourceClaimTemplate, ResourceClaimTemplateList, ResourceSlice, ResourceSliceList),
    )
}


def read(obj: Mapping[str, Any]) -> Any:
    """The value of an object in any of the four versions, defaults applied.

    Raises `DecodeError` with the path of every unknown field and wrong type, ValueError for an
    object of another group or kind.
    """
    value, misfits = read_lenient(obj)
    if misfits:
        raise DecodeError(misfits)
    return value


def read_as(kind: type[T], obj: Mapping[str, Any]) -> T:
    """Like `read`, for one kind; raises ValueError where the object is of another."""
    if obj.get("kind") != kind.__name__:
        raise ValueError(f"kind {obj.get('kind')!r} is not {kind.__name__}")
    value: T = read(obj)
    return value


def read_known(obj: Mapping[str, Any]) -> tuple[Any, tuple[Misfit, ...]]:
    """Like `read`, for what a server sent: unknown fields, of a newer API, are returned beside.

    Raises `DecodeError` for wrong types alone.
    """
    value, misfits = read_lenient(obj)
    wrong = [misfit for misfit in misfits if not misfit.unknown]
    if wrong:
        raise DecodeError(wrong)
    return value, tuple(misfits)


def read_lenient(obj: Mapping[str, Any]) -> tuple[Any, list[Misfit]]:
    """Like `read`, with what does not fit beside the value instead of an error."""
    version = versions.version_of(obj)
    kind = KINDS.get(str(obj.get("kind", "")))
    if kind is None:
        raise ValueError(f"kind {obj.get('kind')!r} is none of {', '.join(KINDS)}")
    canonical = versions.to_v1(with_raw_parameters(dict(obj)), version)
    misplaced = _misplaced(canonical, version)
    decoded: tuple[Any, list[Misfit]] = decode(kind, with_defaults(canonical, version))
    return decoded[0], [*misplaced, *decoded[1]]


def _misplaced(canonical: Mapping[str, Any], version: str) -> list[Misfit]:
    """Fields that the object's own version does not have, although others do."""
    return [
        Misfit(path, "unknown field", unknown=True)
        for path in versions.unsayable(canonical, version)
        if version == "v1alpha3" or not _is_status(path)
    ]


def _is_status(path: str) -> bool:
    return path.startswith("status.")


def write(value: Any, version: str = "v1", *, strict: bool = False) -> Converted:
    """The object of a value in a version, and what that version cannot say.

    Opaque parameters stay `RawJson`; `draplugin.api.dumps` writes them. With `strict`, what cannot
    be said is a `ConversionError`.
    """
    obj = {**encode(value), "apiVersion": f"{versions.GROUP}/v1", "kind": type(value).__name__}
    return versions.convert(obj, version, strict=strict)


def with_defaults(obj: Mapping[str, Any], version: str = "v1") -> dict[str, Any]:
    """A copy of an object in v1's shape with what the server fills in.

    A request is for ExactCount, of one device; a toleration's operator is Equal
    (k8s.io/kubernetes/pkg/apis/resource/v1/defaults.go). Read from v1beta1, a request without a
    class gets nothing, since it might have alternatives instead.
    """
    filled = copy.copy(dict(obj))
    kind = str(obj.get("kind", ""))
    if kind.endswith("List"):
        items = obj.get("items")
        own = kind.removesuffix("List")
        if isinstance(items, list):
            filled["items"] = [_item(item, own, version) for item in items]
        return filled
    path = _REQUESTS.get(kind)
    if path is None:
        return filled
    request = _request_v1beta1 if version == "v1beta1" else _request
    return dict(_at(filled, path, _each(request)))


def _item(item: Any, kind: str, version: str) -> Any:
    if not isinstance(item, Mapping):
        return item
    return with_defaults({"kind": kind, **item}, version)


def _at(node: Any, path: tuple[str, ...], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(node)
    if not isinstance(node, Mapping) or node.get(path[0]) is None:
        return node
    return {**node, path[0]: _at(node[path[0]], path[1:], change)}


def _each(change: Callable[[dict[str, Any]], Any]) -> Callable[[Any], Any]:
    def apply(items: Any) -> Any:
        if not isinstance(items, list):
            return items
        return [change(dict(i)) if isinstance(i, Mapping) else i for i in items]

    return apply


def _request(request: dict[str, Any]) -> Any:
    filled = _at(request, ("exactly",), _way)
    return _at(filled, ("firstAvailable",), _each(_way))


def _request_v1beta1(request: dict[str, Any]) -> Any:
    exactly = request.get("exactly")
    if isinstance(exactly, Mapping) and not exactly.get("deviceClassName"):
        return request
    return _request(request)


def _way(way: Any) -> Any:
    if not isinstance(way, Mapping):
        return way
    filled = dict(way)
    if not filled.get("allocationMode"):
        filled["allocationMode"] = "ExactCount"
    if filled["allocationMode"] == "ExactCount" and not filled.get("count"):
        filled["count"] = 1
    return _at(filled, ("tolerations",), _each(_toleration))


def _toleration(toleration: dict[str, Any]) -> Any:
    return toleration if toleration.get("operator") else {**toleration, "operator": "Equal"}


_REQUESTS: dict[str, tuple[str, ...]] = {
    "ResourceClaim": ("spec", "devices", "requests"),
    "ResourceClaimTemplate": ("spec", "spec", "devices", "requests"),
}
