"""Random scenes for the scheduler: a class, slices, claims that hold devices, and one that asks.

Each scene has a driver of its own, so that all of them fit into one cluster at once; its class
looks at that driver first, and what fails in one scene is not reached by another.
"""

from __future__ import annotations

import random
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


def scenes(seed: int, count: int) -> list[Scene]:
    """So many scenes."""
    rng = random.Random(seed)
    return [_scene(rng, f"s{number}") for number in range(count)]


def _scene(rng: random.Random, name: str) -> Scene:
    scene = Scene(name)
    scene.objects += [_class(rng, scene)] if rng.random() < 0.95 else []
    slices = [_slice(rng, scene, node) for node in NODES if rng.random() < 0.85]
    scene.objects += slices
    _hold_some(rng, scene, slices)
    scene.objects.append(_claim(rng, scene))
    scene.objects.append(_pod(scene))
    return scene


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
            # One pool that is not complete would end every request for all devices, of any driver.
            "resourceSliceCount": 1,
        },
        "devices": [_device(rng, f"d{number}") for number in range(rng.randint(1, 5))],
    }
    name = f"{scene.name}-{node}"
    return {"apiVersion": GROUP, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


def _device(rng: random.Random, name: str) -> Object:
    attributes: Object = {"size": {"int": rng.randint(0, 4)}} if rng.random() < 0.9 else {}
    if rng.random() < 0.8:
        attributes["model"] = {"string": rng.choice(("a", "b", "ab"))}
    device: Object = {"name": name, "attributes": attributes}
    device["capacity"] = {"memory": {"value": rng.choice(("1Gi", "2Gi", "4Gi"))}}
    if rng.random() < 0.25:
        effect = rng.choice(("NoSchedule", "NoExecute"))
        device["taints"] = [
            {"key": "example.com/bad", "value": rng.choice(("", "x")), "effect": effect}
        ]
    if rng.random() < 0.15:
        device["allowMultipleAllocations"] = True
    return device


def _hold_some(rng: random.Random, scene: Scene, slices: list[Object]) -> None:
    """Let other claims hold some devices, as their status says."""
    for part in slices:
        for device in part["spec"]["devices"]:
            if rng.random() < 0.2 and "allowMultipleAllocations" not in device:
                _hold(scene, part["spec"]["pool"]["name"], device["name"])


def _hold(scene: Scene, node: str, device: str) -> None:
    name = f"{scene.name}-holds-{node}-{device}"
    request = {"name": "r", "exactly": {"deviceClassName": scene.name}}
    spec = {"devices": {"requests": [request]}}
    scene.objects.append(
        {"apiVersion": GROUP, "kind": "ResourceClaim", "metadata": _metadata(name), "spec": spec}
    )
    result = {"request": "r", "driver": scene.driver, "pool": node, "device": device}
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
    if rng.random() < 0.4:
        way["tolerations"] = [{"key": "example.com/bad", "operator": "Exists"}]
    return way


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
