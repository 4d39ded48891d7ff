"""The publisher against the real API server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from draplugin import Device, Semver, SlicePublisher, Taint
from draplugin.kube import RESOURCESLICES, Api, NotFound, Object

pytestmark = pytest.mark.api


async def slices_of(client: Api, driver: str) -> list[Object]:
    return await client.list(RESOURCESLICES, field_selector=f"spec.driver={driver}")


async def until(what: Callable[[], Any], seconds: float = 45.0) -> Any:
    """The first true value of an async question, asked until the deadline."""
    async with asyncio.timeout(seconds):
        while not (value := await what()):  # noqa: ASYNC110 - the server cannot wake us
            await asyncio.sleep(0.02)
    return value


async def test_a_wish_becomes_a_slice_owned_by_the_node(
    client: Api, driver: str, node: str
) -> None:
    devices = [
        Device(
            "pad-1",
            {"address": "A0:AB", "connected": True, "code": 1 << 40, "version": Semver("1.2.3")},
            (Taint("example.com/asleep", "NoExecute"),),
            {"memory": "1024Mi"},
        ),
        Device("pad-2"),
    ]
    async with SlicePublisher(client, driver, node) as publisher, asyncio.timeout(45):
        publication = await publisher.publish(devices)

    assert (publication.devices, publication.slices, publication.generation) == (2, 1, 1)
    (stored,) = await slices_of(client, driver)
    assert stored["metadata"]["name"] == f"{node}-{driver}"
    assert stored["metadata"]["ownerReferences"][0]["kind"] == "Node"
    assert stored["spec"]["pool"] == {"name": node, "generation": 1, "resourceSliceCount": 1}
    first, second = stored["spec"]["devices"]
    assert first["attributes"] == {
        "address": {"string": "A0:AB"},
        "code": {"int": 1 << 40},
        "connected": {"bool": True},
        "version": {"version": "1.2.3"},
    }
    assert first["capacity"] == {"memory": {"value": "1Gi"}}
    assert first["taints"][0]["timeAdded"]
    assert second == {"name": "pad-2"}


async def test_a_second_wish_that_changes_nothing_writes_nothing(
    client: Api, driver: str, node: str
) -> None:
    devices = [Device("a", capacity={"memory": "1024Mi"}, taints=(Taint("x/y", "NoSchedule"),))]
    async with SlicePublisher(client, driver, node) as publisher, asyncio.timeout(45):
        await publisher.publish(devices)
        (before,) = await slices_of(client, driver)
        await publisher.publish([])
        await publisher.publish(devices)
        (after,) = await slices_of(client, driver)
        await publisher.publish(list(devices))
        (last,) = await slices_of(client, driver)

    assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
    assert last == after


async def test_an_unchanged_taint_keeps_the_time_it_was_added(
    client: Api, driver: str, node: str
) -> None:
    taint = Taint("example.com/asleep", "NoExecute")
    async with SlicePublisher(client, driver, node) as publisher, asyncio.timeout(45):
        await publisher.publish([Device("a", taints=(taint,))])
        (before,) = await slices_of(client, driver)
        await asyncio.sleep(1.1)
        await publisher.publish([Device("a", {"connected": False}, taints=(taint,))])
        (after,) = await slices_of(client, driver)

    times = [s["spec"]["devices"][0]["taints"][0]["timeAdded"] for s in (before, after)]
    assert times[0] == times[1]


@pytest.mark.parametrize("after", [0.0, 0.1, 2.0])
async def test_a_slice_that_others_delete_comes_back(
    client: Api, driver: str, node: str, after: float
) -> None:
    async with SlicePublisher(client, driver, node) as publisher, asyncio.timeout(15):
        await publisher.publish([Device("a")])
        (before,) = await slices_of(client, driver)
        await asyncio.sleep(after)
        await client.delete(RESOURCESLICES, before["metadata"]["name"])

        async def replaced() -> bool:
            current = await slices_of(client, driver)
            return bool(current) and current[0]["metadata"]["uid"] != before["metadata"]["uid"]

        await until(replaced)


async def test_devices_beyond_64_overflow_into_numbered_slices_of_the_same_pool(
    client: Api, driver: str, node: str
) -> None:
    devices = [Device(f"d-{n}") for n in range(130)]
    async with SlicePublisher(client, driver, node) as publisher, asyncio.timeout(45):
        publication = await publisher.publish(devices)
        stored = await slices_of(client, driver)
        assert publication.slices == 3
        assert sorted((s["metadata"]["name"], len(s["spec"]["devices"])) for s in stored) == [
            (f"{node}-{driver}", 64),
            (f"{node}-{driver}-2", 64),
            (f"{node}-{driver}-3", 2),
        ]
        assert {s["spec"]["pool"]["resourceSliceCount"] for s in stored} == {3}
        fewer = await publisher.publish(devices[:3])
        assert (fewer.slices, fewer.generation) == (1, 1)
        (left,) = await slices_of(client, driver)
        assert left["spec"]["pool"] == {"name": node, "generation": 1, "resourceSliceCount": 1}


async def test_a_change_in_one_slice_keeps_the_generation_and_in_two_raises_it_everywhere(
    client: Api, driver: str, node: str
) -> None:
    devices = [Device(f"d-{n}") for n in range(130)]
    async with SlicePublisher(client, driver, node) as publisher, asyncio.timeout(45):
        await publisher.publish(devices)
        one = [Device("d-0", {"x": True}), *devices[1:]]
        assert (await publisher.publish(one)).generation == 1
        two = [*one[:70], Device("d-70", {"x": True}), *one[71:-1], Device("d-129", {"x": True})]
        assert (await publisher.publish(two)).generation == 2
        stored = await slices_of(client, driver)
        assert {s["spec"]["pool"]["generation"] for s in stored} == {2}


async def test_stopping_leaves_the_slices_and_the_next_instance_takes_them_over(
    client: Api, driver: str, node: str
) -> None:
    async with SlicePublisher(client, driver, node) as publisher, asyncio.timeout(45):
        await publisher.publish([Device("a", taints=(Taint("x/y", "NoExecute"),))])
    (before,) = await slices_of(client, driver)

    async with SlicePublisher(client, driver, node) as successor, asyncio.timeout(45):
        await successor.publish([Device("a", taints=(Taint("x/y", "NoExecute"),))])
        (after,) = await slices_of(client, driver)
        assert after == before
        await successor.retract()

    assert await slices_of(client, driver) == []


async def test_a_slice_of_another_naming_is_replaced_by_ours(
    client: Api, driver: str, node: str
) -> None:
    old = {
        "metadata": {"name": f"00000-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 7, "resourceSliceCount": 1},
            "devices": [{"name": "a"}],
        },
    }
    await client.create(RESOURCESLICES, old)
    async with SlicePublisher(client, driver, node) as publisher, asyncio.timeout(45):
        await publisher.publish([Device("a")])
    assert [s["metadata"]["name"] for s in await slices_of(client, driver)] == [f"{node}-{driver}"]


async def test_a_name_taken_by_another_driver_is_reported_and_not_touched(
    client: Api, driver: str, node: str
) -> None:
    foreign = {
        "metadata": {"name": f"{node}-{driver}"},
        "spec": {
            "driver": "other.example.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        },
    }
    await client.create(RESOURCESLICES, foreign)
    async with SlicePublisher(client, driver, node) as publisher:
        publisher.wish([Device("a")])

        async def problem() -> str:
            return publisher.publication.problem

        assert "other.example.com" in await until(problem)
    assert await slices_of(client, driver) == []


async def test_the_servers_own_refusal_costs_one_device_only(
    client: Api, driver: str, node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A rule that this version of the checks does not know: here, one that is switched off.
    monkeypatch.setattr("draplugin.slices.validate.attribute_problem", lambda value: "")
    devices = [Device("good", {"x": "y"}), Device("bad", {"x": "y", "long": "z" * 65})]
    async with SlicePublisher(client, driver, node) as publisher, asyncio.timeout(45):
        publication = await publisher.publish(devices)
    (stored,) = await slices_of(client, driver)
    assert [d["attributes"] for d in stored["spec"]["devices"]] == [{"x": {"string": "y"}}] * 2
    assert [str(drop) for drop in publication.drops] == [
        "device bad: attributes long: refused by the server"
    ]


async def test_a_missing_object_is_not_found(client: Api) -> None:
    with pytest.raises(NotFound):
        await client.get(RESOURCESLICES, "nobody")
