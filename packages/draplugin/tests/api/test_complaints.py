"""Complaints 2, 3, 4 and 20 of tests/test_complaints.py, on the real API server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from draplugin import Allocation, Claim, Device, Prepared, SlicePublisher
from draplugin.kube import NODES, RESOURCECLAIMS, RESOURCESLICES, Api, Object
from draplugin.kube.resources import uid_of
from draplugin.status import StatusWriter

pytestmark = pytest.mark.api


async def until(question: Callable[[], Awaitable[bool]], seconds: float = 45.0) -> None:
    async with asyncio.timeout(seconds):
        while not await question():  # noqa: ASYNC110 - the server cannot wake us
            await asyncio.sleep(0.02)


async def slices_of(client: Api, driver: str) -> list[Object]:
    return await client.list(RESOURCESLICES, field_selector=f"spec.driver={driver}")


@pytest.mark.parametrize("after", [0.1, 10.0])
async def test_02_a_slice_deleted_soon_after_it_was_made_comes_back(
    client: Api, driver: str, node: str, after: float
) -> None:
    """k/k #132683: within a minute of its creation it never did."""
    async with SlicePublisher(client, driver, node) as publisher:
        await publisher.publish([Device("a")])
        await asyncio.sleep(after)
        (slice_,) = await slices_of(client, driver)
        await client.delete(RESOURCESLICES, slice_["metadata"]["name"])

        async def back() -> bool:
            return [uid_of(s) for s in await slices_of(client, driver)] not in (
                [],
                [uid_of(slice_)],
            )

        await until(back)


async def test_03_a_wiped_node_is_published_again_and_the_pool_is_whole(
    client: Api, driver: str, node: str
) -> None:
    """NVIDIA #330: a kubelet restart removed the slices for good."""
    devices = [Device(f"d-{n}") for n in range(100)]
    async with SlicePublisher(client, driver, node) as publisher:
        await publisher.publish(devices)
        gone = {uid_of(s) for s in await slices_of(client, driver)}
        for slice_ in await slices_of(client, driver):
            await client.delete(RESOURCESLICES, slice_["metadata"]["name"])

        async def whole() -> bool:
            slices = await slices_of(client, driver)
            pools = [s["spec"]["pool"] for s in slices]
            return (
                len(slices) == 2
                and not gone & {uid_of(s) for s in slices}
                and len({p["generation"] for p in pools}) == 1
                and all(p["resourceSliceCount"] == 2 for p in pools)
            )

        await until(whole)


async def test_04_a_driver_back_in_time_writes_nothing_and_one_back_late_publishes_again(
    client: Api, driver: str, node: str
) -> None:
    """k/k #141912: pods stuck after the driver was away for 30 s."""
    async with SlicePublisher(client, driver, node) as publisher:
        await publisher.publish([Device("a")])
    before = await slices_of(client, driver)
    async with SlicePublisher(client, driver, node) as publisher:
        await publisher.publish([Device("a")])
    assert await slices_of(client, driver) == before
    await client.delete(RESOURCESLICES, before[0]["metadata"]["name"])
    async with SlicePublisher(client, driver, node) as publisher:
        assert (await publisher.publish([Device("a")])).generation == 1


async def test_a_node_made_anew_becomes_the_owner(client: Api, driver: str, node: str) -> None:
    """A slice owned by the old node would be collected again and again."""
    async with SlicePublisher(client, driver, node) as publisher:
        await publisher.publish([Device("a")])
        await client.delete(NODES, node)
        new = await client.create(NODES, {"metadata": {"name": node}})
        for slice_ in await slices_of(client, driver):
            await client.delete(RESOURCESLICES, slice_["metadata"]["name"])

        async def owned() -> bool:
            owners = [s["metadata"]["ownerReferences"] for s in await slices_of(client, driver)]
            return [o["uid"] for of in owners for o in of] == [uid_of(new)]

        await until(owned)


async def test_a_change_by_others_is_undone(client: Api, driver: str, node: str) -> None:
    async with SlicePublisher(client, driver, node) as publisher:
        await publisher.publish([Device("a", {"x": 1})])
        (slice_,) = await slices_of(client, driver)
        slice_["spec"]["devices"] = [{"name": "b"}]
        await client.replace(RESOURCESLICES, slice_)

        async def restored() -> bool:
            (current,) = await slices_of(client, driver)
            return bool(
                current["spec"]["devices"] == [{"name": "a", "attributes": {"x": {"int": 1}}}]
            )

        await until(restored)


async def test_20_the_status_of_a_device_stands_beside_that_of_other_drivers(
    client: Api, driver: str, namespace: str
) -> None:
    results = [
        {"request": "r", "driver": name, "pool": "p", "device": "d"}
        for name in (driver, "other.example.com")
    ]
    created = await client.create(
        RESOURCECLAIMS,
        {
            "metadata": {"name": "c", "namespace": namespace},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "k"}}]}},
        },
    )
    created["status"] = {
        "allocation": {"devices": {"results": results}},
        "devices": [{"driver": "other.example.com", "pool": "p", "device": "d", "data": {"o": 1}}],
    }
    await client.replace(RESOURCECLAIMS, created, subresource="status")
    claim = Claim(namespace, "c", uid_of(created), (Allocation("r", driver, "p", "d"),))
    for value in (1, 2):
        prepared = [Prepared("d", "p", status={"data": {"letters": value}})]
        await StatusWriter(client, driver).write(claim, prepared)
    stored = await client.get(RESOURCECLAIMS, "c", namespace)
    assert {d["driver"]: d["data"] for d in stored["status"]["devices"]} == {
        driver: {"letters": 2},
        "other.example.com": {"o": 1},
    }
