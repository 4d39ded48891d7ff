"""What `explain` says against what the real scheduler did, scene by scene.

All scenes are in one cluster at the same time; nothing runs on its two nodes, but pods are bound to
them, and that is all the scheduler is asked for. Pods are deleted again where a device's taint says
so, so that what counts is the first allocation that was written down.

What cannot be equal, by name: which of several nodes is chosen where both would do (the scheduler
scores them); with devices on either, the devices given must be those said of the node chosen.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import pytest
from draplugin.api import ResourceClaim, read_as
from draplugin.explain import DeviceId, Explanation, Matcher, World, explain, world_of
from draplugin.explain.eviction import of_given

from ..api_values.server import Server
from . import generate
from .generate import NAMESPACE, NODES, Object, Scene

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]
_SEED = 20_260_804
_COUNT = 100
_BROKEN = 20
_PATIENCE = 120.0
# A pod may be looked at before its slices are known to the scheduler, and then again.
_SECOND_LOOK = 15.0
_PLURALS = {
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
    "DeviceTaintRule": "/apis/resource.k8s.io/v1/devicetaintrules",
    "ResourceClaim": f"/apis/resource.k8s.io/v1/namespaces/{NAMESPACE}/resourceclaims",
    "Pod": f"/api/v1/namespaces/{NAMESPACE}/pods",
    "Node": "/api/v1/nodes",
}
Print = Callable[[str], None]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A cluster of its own: nodes that never answer would disturb the tests of others."""
    from cluster import controlplane

    with controlplane.start() as running, Server(running.kubeconfig) as connected:
        for name in NODES:
            _create(connected, generate.node(name))
        yield connected


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Print:
    def printed(text: str) -> None:
        with capsys.disabled():
            print(f"\n{text}")

    return printed


def _create(server: Server, obj: Object) -> Object:
    status, said = server.call("POST", _PLURALS[obj["kind"]], json.dumps(obj))
    assert status == HTTPStatus.CREATED, said
    return said


def _allocate(server: Server, claim: Object, allocation: Object) -> None:
    path = f"{_PLURALS['ResourceClaim']}/{claim['metadata']['name']}/status"
    body = json.dumps({**claim, "status": {"allocation": allocation}})
    status, said = server.call("PUT", path, body)
    assert status == HTTPStatus.OK, said


def _set_up(server: Server, scenes: list[Scene]) -> str:
    """Create everything, the pods last; from which version on things happened."""
    pods = []
    for scene in scenes:
        for obj in scene.objects:
            if obj["kind"] == "Pod":
                pods.append(obj)
                continue
            made = _create(server, obj)
            if made["metadata"]["name"] in scene.allocations:
                _allocate(server, made, scene.allocations[made["metadata"]["name"]])
    since = server.call("GET", _PLURALS["Pod"])[1]["metadata"]["resourceVersion"]
    for pod in pods:
        _create(server, pod)
    return str(since)


@dataclass(frozen=True)
class Happened:
    """What became of a scene's pod and claim: pods as they were last, claims as first allocated."""

    pod: Object
    allocated: ResourceClaim | None
    deleted: bool


def _decided(pod: Object) -> bool:
    if pod["spec"].get("nodeName"):
        return True
    conditions = pod.get("status", {}).get("conditions") or []
    return any(c["type"] == "PodScheduled" and c["status"] == "False" for c in conditions)


def _happened(server: Server, scenes: list[Scene], since: str) -> dict[str, Happened]:
    """What happened, once the scheduler has looked at every pod."""
    wanted = {scene.name for scene in scenes}
    deadline = time.monotonic() + _PATIENCE
    while True:
        left = server.call("GET", _PLURALS["Pod"])[1]["items"]
        if all(_decided(pod) for pod in left if pod["metadata"]["name"] in wanted):
            break
        assert time.monotonic() < deadline, "the scheduler has not looked at every pod"
        time.sleep(0.2)
    pods = _last(server, "Pod", since, lambda pod: True)
    claims = _last(server, "ResourceClaim", since, lambda obj: "allocation" in obj["status"])
    there = {pod["metadata"]["name"] for pod in left}
    return {
        name: Happened(pods[name], _value(claims.get(name)), name not in there) for name in wanted
    }


def _last(
    server: Server, kind: str, since: str, counts: Callable[[Object], bool]
) -> dict[str, Object]:
    """Each object as it was when it last counted, by name."""
    changes = server.changes(_PLURALS[kind], since)
    assert all(change["type"] != "ERROR" for change in changes), changes[-1]
    objects = [change["object"] for change in changes if change["type"] != "BOOKMARK"]
    return {obj["metadata"]["name"]: obj for obj in objects if counts({"status": {}, **obj})}


def _value(obj: Object | None) -> ResourceClaim | None:
    return None if obj is None else read_as(ResourceClaim, obj)


def _world(scenes: list[Scene]) -> World:
    objects = [generate.node(name) for name in NODES]
    for scene in scenes:
        for obj in scene.objects:
            held = scene.allocations.get(obj["metadata"]["name"])
            objects.append({**obj, "status": {"allocation": held}} if held else obj)
    return world_of(objects)


def _explained(scenes: list[Scene], world: World) -> dict[str, Explanation]:
    matcher, told = Matcher(), {}
    for scene in scenes:
        claim = world.claim(NAMESPACE, scene.name)
        assert claim is not None
        told[scene.name] = explain(world, claim, matcher=matcher)
    return told


def _given(claim: ResourceClaim) -> list[tuple[str, DeviceId]]:
    allocation = claim.status.allocation
    assert allocation is not None
    return [(r.request, DeviceId(r.driver, r.pool, r.device)) for r in allocation.devices.results]


def _difference(world: World, told: Explanation, happened: Happened) -> str:
    """How what was said differs from what happened; empty where it does not."""
    where, claim = happened.pod["spec"].get("nodeName"), happened.allocated
    if not where or claim is None:
        reason = next(
            c for c in happened.pod["status"]["conditions"] if c["type"] == "PodScheduled"
        )
        wanted = "error" if reason["reason"] == "SchedulerError" else "waiting"
        return "" if told.verdict == wanted else f"refused ({reason})"
    given = told.outcomes[where].given if where in told.outcomes else None
    said = [(g.request, g.device_id) for g in given or ()]
    if told.verdict != "possible" or said != _given(claim):
        return f"allocated on {where}: {_given(claim)}, said {said}"
    # Those with time left are still there.
    driven = any(not each.seconds for each in of_given(world, claim, given or ()))
    if driven != happened.deleted:
        return f"pod is {'deleted' if happened.deleted else 'still there'}, said {told.evictions}"
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


def _differing(server: Server, scenes: list[Scene], say: Print) -> dict[str, str]:
    """What differs, by scene."""
    since, world = _set_up(server, scenes), _world(scenes)
    told = _explained(scenes, world)
    verdicts = [t.verdict for t in told.values()]
    driven = sum(bool(t.evictions) for t in told.values())
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in sorted(set(verdicts)))
    say(f"{len(scenes)} claims: {counts}; {driven} with pods that are to be deleted")
    deadline = time.monotonic() + _SECOND_LOOK
    while True:
        happened = _happened(server, scenes, since)
        found = {
            scene.name: f"{difference} ({told[scene.name].summary})"
            for scene in scenes
            if (difference := _difference(world, told[scene.name], happened[scene.name]))
        }
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


_names = itertools.count()


def _shrunk(server: Server, scene: Scene, difference: str, say: Print) -> tuple[Scene, str]:
    """The smallest scene that still differs, and how."""
    while True:
        smaller = [other.named(f"x{next(_names):04}") for other in scene.smaller()]
        found = _differing(server, smaller, say) if smaller else {}
        if not found:
            return scene, difference
        scene = next(other for other in smaller if other.name in found)
        difference = found[scene.name]


def _compare(server: Server, scenes: list[Scene], say: Print) -> list[tuple[list[Object], str]]:
    found = _differing(server, scenes, say)
    worst = [scene for scene in scenes if scene.name in found][:3]
    shrunk = [_shrunk(server, scene, found[scene.name], say) for scene in worst]
    for scene, difference in shrunk:
        say(f"{json.dumps(scene.objects)}\n{json.dumps(scene.allocations)}\n{difference}")
    return [(scene.objects, difference) for scene, difference in shrunk]


def test_explain_agrees_with_the_scheduler(server: Server, say: Print) -> None:
    seed = int(os.environ.get("DRAPLUGIN_SEED", _SEED))
    say(f"seed {seed}")
    assert _compare(server, generate.scenes(seed, _COUNT), say) == [], f"seed {seed}"


def test_it_does_about_pools_that_are_not_whole(server: Server, say: Print) -> None:
    # Last: to the scheduler one such pool is in the way of all devices, of whatever driver.
    seed = int(os.environ.get("DRAPLUGIN_SEED", _SEED))
    say(f"seed {seed}")
    scenes = generate.scenes(seed, _BROKEN, broken_pools=True)
    assert _compare(server, scenes, say) == [], f"seed {seed}"
