"""Random scenes for the scheduler: a class, slices, claims that hold devices, and one that asks.

Each scene has a driver of its own, so that all of them fit into one cluster at once; its class
looks at that driver first, and what fails in one scene is not reached by another.
"""

from __future__ import annotations

import copy
import json
import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]
NODES = ("east", "west")
GROUP = "resource.k8s.io/v1"
NAMESPACE = "default"


@dataclass
class Scene:
    """The objects of one scene, and the claim that is looked at."""

    name: str
    objects: list[Object] = field(default_factory=list)
    allocations: dict[str, Object] = field(default_factory=dict)

    @property
    def driver(self) -> str:
        return f"{self.name}.example.com"

    def named(self, name: str) -> Scene:
        """The same for another name, so that both fit into one cluster."""
        text = json.dumps([self.objects, self.allocations]).replace(self.name, name)
        return Scene(name, *json.loads(text))

    def smaller(self) -> Iterator[Scene]:
        """The same with one thing less."""
        for path in list(_removable(self.objects)):
            objects = copy.deepcopy(self.objects)
            *way, last = path
            owner: Any = objects
            for step in way:
                owner = owner[step]
            del owner[last]
            if not all(map(_keeps_to_its_driver, objects)):
                continue
            left = {obj["metadata"]["name"] for obj in objects}
            yield Scene(
                self.name, objects, {n: a for n, a in self.allocations.items() if n in left}
            )


def scenes(seed: int, count: int, *, broken_pools: bool = False) -> list[Scene]:
    """So many scenes.

    With `broken_pools` their pools may be incomplete, or of several generations. One that is not
    complete ends every request for all devices, of whatever driver: they are told apart.
    """
    rng = random.Random(seed)
    letter = "b" if broken_pools else "s"
    return [_scene(rng, f"{letter}{number:04}", broken_pools) for number in range(count)]


def _scene(rng: random.Random, name: str, broken_pools: bool) -> Scene:
    scene = Scene(name)
    scene.objects += [_class(rng, scene)] if rng.random() < 0.95 else []
    slices = [_slice(rng, scene, node) for node in NODES if rng.random() < 0.85]
    scene.objects += slices
    if not broken_pools:
        scene.objects += [_counters(rng, part) for part in slices if rng.random() < 0.2]
    else:
        scene.objects += [another for part in slices for another in _another(rng, part)]
    scene.objects += [_taint_rule(rng, scene)] if rng.random() < 0.1 else []
    _hold_some(rng, scene, slices)
    scene.objects.append(_claim(rng, scene))
    scene.objects.append(_pod(scene))
    return scene


def _keeps_to_its_driver(obj: Object) -> bool:
    selectors = obj["spec"].get("selectors") or [_selector("true")]
    return obj["kind"] != "DeviceClass" or "device.driver" in selectors[0]["cel"]["expression"]


_PARTS = ("selectors", "config", "constraints", "tolerations", "capacity", "taints")
_ITEMS = ("devices", "requests", "selectors", "config", "firstAvailable")


def _removable(objects: list[Object]) -> Iterator[tuple[str | int, ...]]:
    """Where something is that a scene could do without."""
    for index, obj in enumerate(objects):
        # Without one of its slices a pool is in the way of other scenes.
        whole = obj["kind"] == "ResourceSlice" and obj["spec"]["pool"]["resourceSliceCount"] == 1
        if whole or obj["kind"] == "DeviceTaintRule" or "-holds-" in obj["metadata"]["name"]:
            yield (index,)
        if obj["kind"] != "Pod":
            yield from _within((index, "spec"), obj["spec"])


def _within(path: tuple[str | int, ...], node: Any) -> Iterator[tuple[str | int, ...]]:
    if isinstance(node, list):
        if path[-1] in _ITEMS and len(node) > 1:
            yield from ((*path, index) for index in range(len(node)))
        for index, item in enumerate(node):
            yield from _within((*path, index), item)
    elif isinstance(node, dict):
        for name, item in node.items():
            if name in _PARTS and not (name == "capacity" and "value" in str(item)):
                yield (*path, name)
            yield from _within((*path, name), item)


def _metadata(name: str) -> Object:
    return {"name": name, "namespace": NAMESPACE}


def _selector(expression: str) -> Object:
    return {"cel": {"expression": expression}}


def _class(rng: random.Random, scene: Scene) -> Object:
    selectors = [_selector(f'device.driver == "{scene.driver}"')]
    if rng.random() < 0.3:
        selectors.append(_selector(_expression(rng, scene)))
    config = [
        {"opaque": {"driver": scene.driver, "parameters": {"from": "class", "n": n}}}
        for n in range(rng.randint(0, 2))
    ]
    spec = {"selectors": selectors, "config": config}
    return {
        "apiVersion": GROUP,
        "kind": "DeviceClass",
        "metadata": {"name": scene.name},
        "spec": spec,
    }


def _expression(rng: random.Random, scene: Scene) -> str:
    attributes = f'device.attributes["{scene.driver}"]'
    return rng.choice(
        (
            f"has({attributes}.model) && {attributes}.model == 'a'",
            f"{attributes}.size > 1",
            f"{attributes}.?size.orValue(0) < 3",
            f"{attributes}.model.startsWith('a')",
            f"'model' in {attributes}",
            f"{attributes}.size >= 0 || true",
            f'device.capacity["{scene.driver}"].memory.compareTo(quantity("2Gi")) >= 0',
            "true",
            "false",
        )
    )


def _slice(rng: random.Random, scene: Scene, node: str) -> Object:
    spec: Object = {
        "driver": scene.driver,
        "nodeName": node,
        "pool": {
            "name": node,
            "generation": 1,
            "resourceSliceCount": 1,
        },
        "devices": [_device(rng, f"d{number}") for number in range(rng.randint(1, 5))],
    }
    name = f"{scene.name}-{node}"
    return {"apiVersion": GROUP, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


def _counters(rng: random.Random, part: Object) -> Object:
    """Let the devices of a pool draw on counters, which stand in a slice of their own."""
    pool = part["spec"]["pool"]
    pool["resourceSliceCount"] = 2
    for device in part["spec"]["devices"]:
        if rng.random() < 0.7:
            drawn = {"slots": {"value": rng.choice(("1", "2", "3"))}}
            device["consumesCounters"] = [{"counterSet": "board", "counters": drawn}]
    counters = [{"name": "board", "counters": {"slots": {"value": rng.choice(("2", "4"))}}}]
    spec = {"driver": part["spec"]["driver"], "nodeName": pool["name"], "pool": pool}
    metadata = {"name": f"{part['metadata']['name']}-counters"}
    return {**part, "metadata": metadata, "spec": {**spec, "sharedCounters": counters}}


def _another(rng: random.Random, part: Object) -> list[Object]:
    """A second slice of a pool, or none where there should be one."""
    pool = part["spec"]["pool"]
    choice = rng.choice(("none", "missing", "second", "older", "newer", "twice"))
    if choice == "none":
        return []
    if choice in ("missing", "second", "twice"):
        pool["resourceSliceCount"] = 2
    if choice == "missing":
        return []
    changed = {"older": 0, "newer": 2}.get(choice, 1)
    devices = [_device(rng, f"d{number}") for number in range(2)]
    if choice == "second":
        devices = [_device(rng, "e0")]
    spec = {**part["spec"], "pool": {**pool, "generation": changed}, "devices": devices}
    return [{**part, "metadata": {"name": f"{part['metadata']['name']}-2"}, "spec": spec}]


def _device(rng: random.Random, name: str) -> Object:
    attributes: Object = {"size": {"int": rng.randint(0, 4)}} if rng.random() < 0.9 else {}
    if rng.random() < 0.8:
        attributes["model"] = {"string": rng.choice(("a", "b", "ab"))}
    device: Object = {"name": name, "attributes": attributes}
    memory: Object = {"value": rng.choice(("1Gi", "2Gi", "4Gi"))}
    device["capacity"] = {"memory": memory}
    if rng.random() < 0.25:
        effect = rng.choice(("NoSchedule", "NoExecute"))
        device["taints"] = [
            {"key": "example.com/bad", "value": rng.choice(("", "x")), "effect": effect}
        ]
    if rng.random() < 0.15:
        device["allowMultipleAllocations"] = True
        memory |= rng.choice(_POLICIES)
    return device


def _taint_rule(rng: random.Random, scene: Scene) -> Object:
    """What an administrator says of devices, beside their driver."""
    selector: Object = {"driver": scene.driver}
    if rng.random() < 0.5:
        selector["pool"] = rng.choice(NODES)
    if rng.random() < 0.5:
        selector["device"] = "d0"
    taint = {"key": "example.com/ruled", "effect": rng.choice(("NoSchedule", "NoExecute", "None"))}
    return {
        "apiVersion": GROUP,
        "kind": "DeviceTaintRule",
        "metadata": {"name": scene.name},
        "spec": {"deviceSelector": selector, "taint": taint},
    }


# How a shared capacity is divided.
_POLICIES: tuple[Object, ...] = (
    {},
    {"requestPolicy": {"default": "1Gi", "validValues": ["1Gi"]}},
    {"requestPolicy": {"default": "1Gi", "validRange": {"min": "512Mi", "step": "512Mi"}}},
)


def _hold_some(rng: random.Random, scene: Scene, slices: list[Object]) -> None:
    """Let other claims hold some devices, as their status says."""
    for part in slices:
        for device in part["spec"]["devices"]:
            if rng.random() < 0.2:
                _hold(rng, scene, part["spec"]["pool"]["name"], device)


def _hold(rng: random.Random, scene: Scene, node: str, device: Object) -> None:
    name = f"{scene.name}-holds-{node}-{device['name']}"
    request = {"name": "r", "exactly": {"deviceClassName": scene.name}}
    spec = {"devices": {"requests": [request]}}
    scene.objects.append(
        {"apiVersion": GROUP, "kind": "ResourceClaim", "metadata": _metadata(name), "spec": spec}
    )
    result = {"request": "r", "driver": scene.driver, "pool": node, "device": device["name"]}
    if "allowMultipleAllocations" in device:
        result["shareID"] = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        result["consumedCapacity"] = {"memory": rng.choice(("512Mi", "1Gi"))}
    scene.allocations[name] = {"devices": {"results": [result]}}


def _claim(rng: random.Random, scene: Scene) -> Object:
    names = [f"r{number}" for number in range(rng.choice((1, 1, 1, 2)))]
    requests = [_request(rng, scene, name) for name in names]
    devices: Object = {"requests": requests}
    if rng.random() < 0.2:
        attribute = f"{scene.driver}/{rng.choice(('model', 'size'))}"
        kind = rng.choice(("matchAttribute", "distinctAttribute"))
        devices["constraints"] = [{kind: attribute}]
    if rng.random() < 0.5:
        devices["config"] = [
            {
                "requests": rng.choice(([], names[:1])),
                "opaque": {"driver": scene.driver, "parameters": {"from": "claim"}},
            }
        ]
    return {
        "apiVersion": GROUP,
        "kind": "ResourceClaim",
        "metadata": _metadata(scene.name),
        "spec": {"devices": devices},
    }


def _request(rng: random.Random, scene: Scene, name: str) -> Object:
    if rng.random() < 0.2:
        ways = [{"name": sub, **_way(rng, scene)} for sub in ("big", "small")]
        return {"name": name, "firstAvailable": ways}
    return {"name": name, "exactly": _way(rng, scene)}


def _way(rng: random.Random, scene: Scene) -> Object:
    way: Object = {"deviceClassName": scene.name}
    way["selectors"] = [_selector(_expression(rng, scene)) for _ in range(rng.choice((0, 1, 1, 2)))]
    if rng.random() < 0.2:
        way["allocationMode"] = "All"
    else:
        way["count"] = rng.choice((1, 1, 2, 3))
    if rng.random() < 0.5:
        key = {} if rng.random() < 0.2 else {"key": "example.com/bad"}
        way["tolerations"] = [{**key, **rng.choice(_TOLERATIONS if key else _TOLERATIONS[:5])}]
    if rng.random() < 0.2:
        way["capacity"] = {"requests": {"memory": rng.choice(("512Mi", "1Gi", "3Gi", "-1"))}}
    return way


_TOLERATIONS: tuple[Object, ...] = (
    {"operator": "Exists"},
    {"operator": "Exists", "effect": "NoExecute"},
    {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600},
    {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
    {"operator": "Exists", "effect": "NoSchedule"},
    {"operator": "Equal", "value": "x"},
)


def _pod(scene: Scene) -> Object:
    spec = {
        "containers": [{"name": "c", "image": "none", "resources": {"claims": [{"name": "c"}]}}],
        "resourceClaims": [{"name": "c", "resourceClaimName": scene.name}],
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 0,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(scene.name), "spec": spec}


def node(name: str) -> Object:
    """A node that pods can be bound to, although nothing runs there."""
    size = {"cpu": "64", "memory": "64Gi", "pods": "500"}
    condition = {"type": "Ready", "status": "True"}
    status = {"capacity": size, "allocatable": size, "conditions": [condition]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}
