"""What `explain` says against what the real scheduler did, scene by scene.

All scenes are in one cluster at the same time; nothing runs on its two nodes, but pods are bound to
them, and that is all the scheduler is asked for.

What cannot be equal, by name: which of several nodes is chosen where both would do (the scheduler
scores them); with devices on either, the devices given must be those said of the node chosen.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
from draplugin.api import ResourceClaim, read_as
from draplugin.explain import DeviceId, Explanation, World, explain, world_of

from ..api_values.server import Server
from . import generate
from .generate import NAMESPACE, NODES, Object, Scene

pytestmark = [pytest.mark.oracles, pytest.mark.timeout(900)]
_SEED = 20_260_804
_COUNT = 100
_PATIENCE = 300.0
_PLURALS = {
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
    "ResourceClaim": f"/apis/resource.k8s.io/v1/namespaces/{NAMESPACE}/resourceclaims",
    "Pod": f"/api/v1/namespaces/{NAMESPACE}/pods",
    "Node": "/api/v1/nodes",
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A cluster of its own: nodes that never answer would disturb the tests of others."""
    from cluster import controlplane

    with controlplane.start() as running, Server(running.kubeconfig) as connected:
        yield connected


def _create(server: Server, obj: Object) -> Object:
    status, said = server.call("POST", _PLURALS[obj["kind"]], json.dumps(obj))
    assert status == HTTPStatus.CREATED, said
    return said


def _set_up(server: Server, scenes: list[Scene]) -> None:
    for name in NODES:
        _create(server, generate.node(name))
    pods = []
    for scene in scenes:
        for obj in scene.objects:
            if obj["kind"] == "Pod":
                pods.append(obj)
                continue
            made = _create(server, obj)
            if made["metadata"]["name"] in scene.allocations:
                _allocate(server, made, scene.allocations[made["metadata"]["name"]])
    _wait_for_account(server)
    for pod in pods:
        _create(server, pod)


def _allocate(server: Server, claim: Object, allocation: Object) -> None:
    path = f"{_PLURALS['ResourceClaim']}/{claim['metadata']['name']}/status"
    body = json.dumps({**claim, "status": {"allocation": allocation}})
    status, said = server.call("PUT", path, body)
    assert status == HTTPStatus.OK, said


def _wait_for_account(server: Server) -> None:
    deadline = time.monotonic() + _PATIENCE
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    while server.call("GET", path)[0] != HTTPStatus.OK:
        assert time.monotonic() < deadline, "no default service account"
        time.sleep(0.1)


def _items(server: Server, kind: str, api_version: str) -> list[Object]:
    _, said = server.call("GET", _PLURALS[kind])
    return [{"apiVersion": api_version, "kind": kind, **item} for item in said["items"]]


def _decided(pod: Object) -> bool:
    if pod["spec"].get("nodeName"):
        return True
    conditions = pod.get("status", {}).get("conditions") or []
    return any(c["type"] == "PodScheduled" and c["status"] == "False" for c in conditions)


def _pods_when_decided(server: Server) -> dict[str, Object]:
    deadline = time.monotonic() + _PATIENCE
    while True:
        pods = _items(server, "Pod", "v1")
        if all(map(_decided, pods)):
            return {pod["metadata"]["name"]: pod for pod in pods}
        assert time.monotonic() < deadline, "the scheduler has not looked at every pod"
        time.sleep(0.2)


def _world(scenes: list[Scene]) -> World:
    objects = [generate.node(name) for name in NODES]
    for scene in scenes:
        for obj in scene.objects:
            held = scene.allocations.get(obj["metadata"]["name"])
            objects.append({**obj, "status": {"allocation": held}} if held else obj)
    return world_of(objects)


def _given(claim: ResourceClaim) -> list[tuple[str, DeviceId]]:
    allocation = claim.status.allocation
    assert allocation is not None
    return [(r.request, DeviceId(r.driver, r.pool, r.device)) for r in allocation.devices.results]


def _difference(told: Explanation, pod: Object, claim: ResourceClaim) -> str:
    """How what was said differs from what happened; empty where it does not."""
    where = pod["spec"].get("nodeName")
    if not where:
        reason = next(c for c in pod["status"]["conditions"] if c["type"] == "PodScheduled")
        wanted = "error" if reason["reason"] == "SchedulerError" else "waiting"
        return "" if told.verdict == wanted else f"refused ({reason})"
    outcome = told.outcomes[where]
    said = [(g.request, g.device_id) for g in outcome.given or ()]
    if told.verdict != "possible" or said != _given(claim):
        return f"allocated on {where}: {_given(claim)}, said {said}"
    return _config_difference(told, claim) if told.node == where else ""


def _config_difference(told: Explanation, claim: ResourceClaim) -> str:
    assert claim.status.allocation is not None
    recorded: list[Any] = [
        (c.source, c.requests, json.loads(c.opaque.parameters.text))
        for c in claim.status.allocation.devices.config
        if c.opaque and c.opaque.parameters
    ]
    said = [(b.source, b.requests, json.loads(b.parameters)) for b in told.blocks]
    return "" if said == recorded else f"configuration {recorded}, said {said}"


def test_explain_agrees_with_the_scheduler(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = int(os.environ.get("DRAPLUGIN_SEED", _SEED))
    scenes = generate.scenes(seed, _COUNT)
    _set_up(server, scenes)
    pods = _pods_when_decided(server)
    claims = {
        item["metadata"]["name"]: read_as(ResourceClaim, item)
        for item in _items(server, "ResourceClaim", "resource.k8s.io/v1")
    }
    world = _world(scenes)
    told = {}
    for scene in scenes:
        claim = world.claim(NAMESPACE, scene.name)
        assert claim is not None
        told[scene.name] = explain(world, claim)
    verdicts = [t.verdict for t in told.values()]
    with capsys.disabled():
        counts = ", ".join(f"{verdicts.count(v)} {v}" for v in sorted(set(verdicts)))
        print(f"\n{_COUNT} claims from seed {seed}: {counts}")
    differing = {
        scene.name: (difference, told[scene.name].summary)
        for scene in scenes
        if (difference := _difference(told[scene.name], pods[scene.name], claims[scene.name]))
    }
    assert differing == {}, f"seed {seed}"
