"""Merging objects the way the API server applies a strategic merge patch.

Almost every list of this group is atomic: a patch that names it replaces it whole. The few that
are not are merged by their keys (k8s.io/api/resource, `listType` and `structType`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Lists whose items are known by these fields.
_KEYED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("metadata", "ownerReferences"): ("uid",),
    ("status", "reservedFor"): ("uid",),
    ("status", "devices", "[]", "conditions"): ("type",),
}
# Lists of which each item is there once.
_SETS = {("metadata", "finalizers")}


def merge(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The base with the patch's fields in place; null takes a field away.

    Neither is changed. Opaque parameters are one value: a patch replaces them whole.
    """
    merged: dict[str, Any] = _merge(base, patch, ())
    return merged


def _merge(base: Any, patch: Any, path: tuple[str, ...]) -> Any:
    if isinstance(patch, Mapping):
        if not isinstance(base, Mapping) or _is_atomic(path):
            base = {}
        return _merge_fields(base, patch, path)
    if isinstance(patch, list) and isinstance(base, list):
        if path in _SETS:
            return [*base, *(item for item in patch if item not in base)]
        if path in _KEYED:
            return _merge_keyed(base, patch, path)
    return patch


def _merge_fields(
    base: Mapping[str, Any], patch: Mapping[str, Any], path: tuple[str, ...]
) -> dict[str, Any]:
    merged = dict(base)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(base.get(name), value, (*path, name))
    return merged


def _is_atomic(path: tuple[str, ...]) -> bool:
    return path[-2:] == ("opaque", "parameters")


def _merge_keyed(base: list[Any], patch: list[Any], path: tuple[str, ...]) -> list[Any]:
    keys = _KEYED[path]

    def key(item: Any) -> tuple[Any, ...]:
        return tuple(item.get(name) for name in keys) if isinstance(item, Mapping) else (item,)

    merged = {key(item): item for item in base}
    for item in patch:
        merged[key(item)] = _merge(merged.get(key(item)), item, (*path, "[]"))
    return list(merged.values())
