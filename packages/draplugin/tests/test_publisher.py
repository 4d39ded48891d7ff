"""The publisher under faults: patience, reports, and no write too many.

How it treats slices is tested on the real API server (tests/api).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from aiohttp import web
from draplugin import Device, SlicePublisher
from draplugin.kube import Backoff
from draplugin.slices.plan import split

from .builders import DRIVER, NODE
from .scripted import ScriptedServer, answer, status, stream
from .waiting import until

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
NODE_PATH = f"/api/v1/nodes/{NODE}"


def stored(*devices: str) -> dict[str, Any]:
    """The slice as a server would have it."""
    spec = {
        "driver": DRIVER,
        "nodeName": NODE,
        "pool": {"name": NODE, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": name} for name in devices],
    }
    owner = {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": "node-uid"}
    metadata = {"name": f"{NODE}-{DRIVER}", "resourceVersion": "7", "uid": "slice-uid"}
    return {"metadata": {**metadata, "ownerReferences": [owner]}, "spec": spec}


class Slices:
    """Scripts one collection: the list is empty, the watch tells of the object once it is made."""

    def __init__(self, server: ScriptedServer, posts: Sequence[Any], *devices: str) -> None:
        self.server, self.made = server, asyncio.Event()
        self.object = stored(*devices)
        server.shows(NODE_PATH, {"metadata": {"name": NODE, "uid": "node-uid"}})
        server.on("GET", SLICES, answer({"items": [], "metadata": {"resourceVersion": "5"}}))
        server.on("POST", SLICES, *posts, self.create)
        server.on("WATCH", SLICES, self.watch, stream(stay=20))

    async def create(self, request: web.Request) -> web.StreamResponse:
        self.made.set()
        return web.json_response(self.object, status=201)

    async def watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await self.made.wait()
        event = {"type": "ADDED", "object": self.object}
        await response.write(json.dumps(event).encode() + b"\n")
        await asyncio.sleep(20)
        return response

    def publisher(self) -> SlicePublisher:
        return SlicePublisher(
            self.server.api(), DRIVER, NODE, backoff=Backoff(least=0.01, most=0.05)
        )


@pytest.mark.parametrize(
    "fault",
    [
        status(503, "ServiceUnavailable"),
        status(500, "InternalError"),
        status(429, "TooManyRequests"),
        status(403, "Forbidden"),
    ],
)
async def test_a_write_that_fails_is_tried_again_until_it_succeeds(
    server: ScriptedServer, fault: Any
) -> None:
    slices = Slices(server, [fault, fault, fault], "a")
    async with slices.publisher() as publisher, asyncio.timeout(45):
        publication = await publisher.publish([Device("a")])
    assert publication.complete
    assert publication.problem == ""
    assert len(server.asked("POST", SLICES)) == 4


async def test_a_device_wished_away_while_the_server_refuses_it_stops_nothing(
    server: ScriptedServer,
) -> None:
    slices = Slices(server, [], "b")
    publisher = slices.publisher()

    async def refuse(_: web.Request) -> web.StreamResponse:
        publisher.wish([Device("b")])
        causes = [{"field": "spec.devices[0].attributes[x]"}]
        body = {"code": 422, "reason": "Invalid", "message": "no", "details": {"causes": causes}}
        return web.json_response(body, status=422)

    server.on("POST", SLICES, refuse, slices.create)
    async with publisher, asyncio.timeout(45):
        publisher.wish([Device("a", {"x": 1})])
        await slices.made.wait()
        publication = await publisher.publish([Device("b")])
    assert (publication.complete, publication.drops) == (True, ())


async def test_a_fault_of_our_own_is_told_and_tried_again(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slices = Slices(server, [], "a")
    original, faults = split, [ZeroDivisionError("broken")]

    def faulty(*arguments: Any) -> Any:
        if faults:
            raise faults.pop()
        return original(*arguments)

    monkeypatch.setattr("draplugin.slices.publisher.split", faulty)
    async with slices.publisher() as publisher, asyncio.timeout(45):
        publication = await publisher.publish([Device("a")])
    assert (publication.complete, publication.problem) == (True, "")
    assert "ZeroDivisionError: broken" in caplog.text


async def test_while_it_fails_the_reason_is_told(server: ScriptedServer) -> None:
    slices = Slices(server, [status(403, "Forbidden", "no rule")] * 10_000, "a")
    async with slices.publisher() as publisher:
        publisher.wish([Device("a")])
        await until(lambda: publisher.publication.problem == "no rule")
        assert not publisher.publication.complete


async def test_slices_that_cannot_be_watched_are_a_problem_too(server: ScriptedServer) -> None:
    server.on("GET", SLICES, status(403, "Forbidden", "may not list"))
    async with SlicePublisher(server.api(), DRIVER, NODE) as publisher:
        publisher.wish([Device("a")])
        await until(lambda: "may not list" in publisher.publication.problem)


async def test_without_permission_to_read_the_node_slices_are_published_ownerless(
    server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    slices = Slices(server, [], "a")
    server.on("GET", NODE_PATH, status(403, "Forbidden"))
    async with slices.publisher() as publisher, asyncio.timeout(45):
        await publisher.publish([Device("a")])
    (request,) = server.asked("POST", SLICES)
    assert "ownerReferences" not in server.bodies[server.requests.index(request)]["metadata"]
    assert caplog.text.count("without an owner") == 1


async def test_without_a_wish_nothing_is_written(server: ScriptedServer) -> None:
    slices = Slices(server, [], "a")
    async with slices.publisher():
        await until(lambda: server.asked("WATCH", SLICES))
        await asyncio.sleep(0.05)
    assert server.asked("POST", SLICES) == []


async def test_what_was_dropped_is_said_once(
    server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    slices = Slices(server, [], "a")
    async with slices.publisher() as publisher, asyncio.timeout(45):
        for number in range(3):
            publication = await publisher.publish([Device("a"), Device(f"Bad{number % 1}")])
    assert [drop.device for drop in publication.drops] == ["Bad0"]
    assert caplog.text.count("Bad0") <= 2
    assert caplog.text.count("not published") == 1


async def test_stopping_at_the_very_moment_of_a_change_ends(server: ScriptedServer) -> None:
    """cpython #86296: asyncio.wait_for, until 3.12, loses a cancellation that comes with a result."""
    slices = Slices(server, [], "a")
    publisher = slices.publisher()
    publisher.start()
    await publisher.publish([Device("a")])
    publisher._hold_until = asyncio.get_running_loop().time() + 100
    publisher._wake.set()
    await asyncio.sleep(0.05)
    publisher._wake.set()
    async with asyncio.timeout(45):
        await publisher.stop()
