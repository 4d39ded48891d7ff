"""From wished devices and the slices on the server to what has to be written (pure).

The generation rule is the Go controller's (resourceslicecontroller.go of
k8s.io/dynamic-resource-allocation): consumers take only the slices of a pool's highest generation
and only when there are as many as each says, so a change confined to one slice keeps the
generation, and any other one gives all slices the next. Names are deterministic, so a slice made
by an earlier instance is found and taken over instead of deleted and made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..kube.resources import RESOURCESLICES, Object
from ..model import AttributeValue, Device, Semver, Taint

#: A slice in which any device has taints (or counters, list attributes) holds at most 64 devices
#: since 1.35, others 128.
MAX_TAINTED = 64
MAX_DEVICES = 128


@dataclass(frozen=True, slots=True)
class Pool:
    """Whose slices these are: one driver's devices of one node. `prefix` names the slices."""

    driver: str
    node: str
    name: str
    prefix: str

    def slice_name(self, index: int) -> str:
        """`<prefix>` for the first slice, `<prefix>-2` for the second, and so on."""
        return self.prefix if index == 0 else f"{self.prefix}-{index + 1}"


@dataclass(frozen=True, slots=True)
class Plan:
    """Writes in the order in which they are to be made; empty when all is as wished."""

    deletes: tuple[Object, ...] = ()
    updates: tuple[Object, ...] = ()
    creates: tuple[Object, ...] = ()
    generation: int = 0

    def __bool__(self) -> bool:
        return bool(self.deletes or self.updates or self.creates)


#: Slice name -> what was sent as its devices and what the server made of it.
Adopted = Mapping[str, tuple[Any, Any]]


def split(devices: Sequence[Device], most: int = MAX_TAINTED) -> list[list[Device]]:
    """The devices in order, cut into slices; always at least one, which may be empty.

    An empty slice says "the driver is here and has nothing", which is more than no slice.
    """
    slices: list[list[Device]] = [[]]
    tainted = False
    for device in devices:
        limit = min(most, MAX_TAINTED if tainted or device.taints else MAX_DEVICES)
        if len(slices[-1]) >= limit:
            slices.append([])
            tainted = False
        slices[-1].append(device)
        tainted = tainted or bool(device.taints)
    return slices


def plan(
    pool: Pool,
    wish: Sequence[Sequence[Device]] | None,
    current: Iterable[Object],
    *,
    owner_uid: str | None,
    adopted: Adopted,
) -> Plan:
    """What turns `current`, all slices of this driver on this node, into the wish.

    `wish` None means that nothing shall be published. `adopted` names slices whose stored form is
    the server's own rendering of what was sent, so that it is not written again for ever.
    """
    known = {slice_["metadata"]["name"]: slice_ for slice_ in current}
    bodies = {
        pool.slice_name(index): devices_of(devices, known.values())
        for index, devices in enumerate(wish or ())
    }
    usable = {name: s for name, s in known.items() if name in bodies and _is_ours(s, pool)}
    deletes = tuple(s for name, s in known.items() if name not in usable)
    changed = [
        name
        for name, body in bodies.items()
        if name in usable and not _same(usable[name], body, len(bodies), owner_uid, adopted)
    ]
    missing = [name for name in bodies if name not in usable]
    highest = max((generation_of(s) for s in usable.values()), default=0)
    generations = {generation_of(s) for s in usable.values()}
    if missing or len(changed) > 1 or len(generations) > 1:
        changed, generation = list(usable), highest + 1
    else:
        generation = highest

    def written(name: str) -> Object:
        base = usable.get(name)
        return slice_object(pool, name, bodies[name], len(bodies), generation, owner_uid, base)

    return Plan(
        deletes=deletes,
        updates=tuple(written(name) for name in changed),
        creates=tuple(written(name) for name in missing),
        generation=generation,
    )


def slice_object(
    pool: Pool,
    name: str,
    devices: Sequence[Object],
    count: int,
    generation: int,
    owner_uid: str | None,
    base: Object | None = None,
) -> Object:
    """A ResourceSlice; `base` is the stored one it replaces, whose other metadata is kept."""
    metadata = dict(base["metadata"]) if base else {"name": name}
    if owner_uid:
        metadata["ownerReferences"] = [_owner(pool.node, owner_uid)]
    return {
        "apiVersion": RESOURCESLICES.api_version,
        "kind": RESOURCESLICES.kind,
        "metadata": metadata,
        "spec": {
            "driver": pool.driver,
            "nodeName": pool.node,
            "pool": {"name": pool.name, "generation": generation, "resourceSliceCount": count},
            "devices": list(devices),
        },
    }


def generation_of(slice_: Object) -> int:
    """The pool generation a slice states."""
    return int((slice_["spec"].get("pool") or {}).get("generation") or 0)


def devices_of(devices: Sequence[Device], current: Iterable[Object]) -> list[Object]:
    """The devices as the API takes them, unchanged taints with the time they already have."""
    times = _taint_times(current)
    return [_device(device, times) for device in devices]


def dropped_fields(sent: Object, stored: Object) -> frozenset[str]:
    """Fields of devices that were sent and are not in what the server stored.

    A server whose feature gate is off leaves such fields out without a word: `taints` with
    DRADeviceTaints off (the default of 1.33 to 1.35).
    """
    kept = {d["name"]: d for d in stored["spec"].get("devices") or ()}
    return frozenset(
        field
        for device in sent["spec"].get("devices") or ()
        for field, value in device.items()
        if value and not (kept.get(device["name"]) or {}).get(field)
    )


_TaintKey = tuple[str, str, str, str]


def _taint_times(current: Iterable[Object]) -> dict[_TaintKey, str]:
    return {
        (device["name"], taint["key"], taint.get("value") or "", taint["effect"]): added
        for slice_ in current
        for device in slice_["spec"].get("devices") or ()
        for taint in device.get("taints") or ()
        if (added := taint.get("timeAdded"))
    }


def _device(device: Device, times: Mapping[_TaintKey, str]) -> Object:
    body: Object = {"name": device.name}
    if device.attributes:
        body["attributes"] = {n: _attribute(v) for n, v in sorted(device.attributes.items())}
    if device.capacity:
        body["capacity"] = {n: {"value": v} for n, v in sorted(device.capacity.items())}
    if device.taints:
        body["taints"] = [_taint(device.name, taint, times) for taint in device.taints]
    if device.allow_multiple_allocations:
        body["allowMultipleAllocations"] = True
    return body


def _attribute(value: AttributeValue) -> Object:
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    return {"version" if isinstance(value, Semver) else "string": str(value)}


def _taint(device: str, taint: Taint, times: Mapping[_TaintKey, str]) -> Object:
    body: Object = {"key": taint.key, "effect": taint.effect}
    if taint.value:
        body["value"] = taint.value
    added = taint.time_added or times.get((device, taint.key, taint.value, taint.effect))
    if added:
        body["timeAdded"] = added
    return body


def _is_ours(slice_: Object, pool: Pool) -> bool:
    # These fields cannot be changed: such a slice must go before its name can be used.
    spec = slice_["spec"]
    mine = (pool.driver, pool.node, pool.name)
    theirs = (spec.get("driver"), spec.get("nodeName"), (spec.get("pool") or {}).get("name"))
    return mine == theirs and not slice_["metadata"].get("deletionTimestamp")


def _same(
    stored: Object, devices: Sequence[Object], count: int, owner_uid: str | None, adopted: Adopted
) -> bool:
    spec = stored["spec"]
    if (spec.get("pool") or {}).get("resourceSliceCount") != count:
        return False
    if owner_uid and not _owned_by(stored, owner_uid):
        return False
    have = spec.get("devices") or []
    if have == list(devices):
        return True
    # A new taint without a time equals the stored one with the time the server gave it, and a
    # rendering of the server's (1000m as 1, a dropped field) equals what it was made from.
    rendering = adopted.get(stored["metadata"]["name"])
    return rendering == (without_times(devices), without_times(have))


def without_times(devices: Sequence[Object]) -> list[Object]:
    """The devices without the times of their taints, for comparing."""
    return [
        {**device, "taints": [{k: v for k, v in t.items() if k != "timeAdded"} for t in taints]}
        if (taints := device.get("taints"))
        else device
        for device in devices
    ]


def _owner(node: str, uid: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "controller": True}


def _owned_by(slice_: Object, uid: str) -> bool:
    return any(o.get("uid") == uid for o in slice_["metadata"].get("ownerReferences") or ())
