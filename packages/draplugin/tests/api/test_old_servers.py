"""Servers that speak older versions of resource.k8s.io, or leave fields out, are real ones too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from draplugin import ClaimRef, Device, SlicePublisher, Taint
from draplugin.claims import from_object
from draplugin.kube import DEVICECLASSES, NODES, RESOURCECLAIMS, RESOURCESLICES, Api, Reflector
from draplugin.testing.apiserver import LocalApiServer

if TYPE_CHECKING:
    from cluster.controlplane import ControlPlane

pytestmark = pytest.mark.api
GROUP = "resource.k8s.io"
DRIVER = "old.example.com"


@pytest.fixture(scope="module", params=["v1beta2", "v1beta1"])
def old(request: pytest.FixtureRequest, control_plane: ControlPlane) -> Iterator[tuple[str, Path]]:
    """A server that serves one older version of the group and not v1."""
    version = request.param
    config = f"--runtime-config={GROUP}/v1=false,{GROUP}/{version}=true"
    with LocalApiServer(control_plane.binaries, [config]) as server:
        yield version, server.kubeconfig


@pytest.fixture(scope="module")
def without_taints(control_plane: ControlPlane) -> Iterator[Path]:
    """A server with the gate of device taints off, as 1.33 to 1.35 have it."""
    gates = "--feature-gates=DRADeviceTaints=false,DRADeviceTaintRules=false"
    with LocalApiServer(control_plane.binaries, [gates]) as server:
        yield server.kubeconfig


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[Api]:
    async with await Api.connect(kubeconfig) as api:
        await api.apply(NODES, {"metadata": {"name": "node"}})
        yield api


async def test_the_best_version_that_is_served_is_spoken(old: tuple[str, Path]) -> None:
    version, kubeconfig = old
    async with connected(kubeconfig) as api:
        assert await api.dra_version() == version


async def test_slices_are_published_and_read_in_the_shape_of_v1(old: tuple[str, Path]) -> None:
    device = Device("a", {"x": 1}, (Taint("example.com/t", "NoExecute"),), {"memory": "1Gi"})
    async with (
        connected(old[1]) as api,
        SlicePublisher(api, DRIVER, "node") as publisher,
        asyncio.timeout(20),
    ):
        publication = await publisher.publish([device])
        (read,) = await api.list(RESOURCESLICES)
        (watched,) = publisher.slices.values()

    assert publication.dropped_fields == frozenset()
    (stored,) = read["spec"]["devices"]
    assert stored["attributes"] == {"x": {"int": 1}}
    assert stored["capacity"] == {"memory": {"value": "1Gi"}}
    assert stored["taints"][0]["key"] == "example.com/t"
    assert watched["spec"] == read["spec"]
    assert read["apiVersion"] == "resource.k8s.io/v1"


async def test_a_claim_is_read_in_the_shape_of_v1(old: tuple[str, Path]) -> None:
    async with connected(old[1]) as api:
        created = await api.create(
            RESOURCECLAIMS,
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": "c", "namespace": "default"},
                "spec": {
                    "devices": {
                        "requests": [
                            {"name": "one", "exactly": {"deviceClassName": "k"}},
                            {
                                "name": "two",
                                "firstAvailable": [{"name": "s", "deviceClassName": "m"}],
                            },
                        ]
                    }
                },
            },
        )
        result = {"request": "two/s", "driver": DRIVER, "pool": "node", "device": "a"}
        created["status"] = {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
        }
        await api.replace(RESOURCECLAIMS, created, subresource="status")
        claim = from_object(await api.get(RESOURCECLAIMS, "c", "default"), DRIVER)

    assert claim.ref == ClaimRef("default", "c", created["metadata"]["uid"])
    assert claim.classes == {"one": "k", "two/s": "m"}
    assert [(a.request, a.base_request, a.device) for a in claim.allocations] == [
        ("two/s", "two", "a")
    ]


async def test_a_reflector_follows_an_older_version(old: tuple[str, Path]) -> None:
    async with connected(old[1]) as api, Reflector(api, DEVICECLASSES) as classes:
        await classes.wait_synced()
        changed = asyncio.Event()
        classes.subscribe(lambda change: changed.set())
        await api.apply(DEVICECLASSES, {"metadata": {"name": "c"}, "spec": {}})
        async with asyncio.timeout(45):
            await changed.wait()
        assert classes.items["c"]["apiVersion"] == "resource.k8s.io/v1"


async def test_taints_that_the_server_drops_are_noticed_and_not_written_for_ever(
    without_taints: Path,
) -> None:
    plain, tainted = Device("a"), Device("a", taints=(Taint("example.com/t", "NoExecute"),))
    async with (
        connected(without_taints) as api,
        SlicePublisher(api, DRIVER, "node") as publisher,
        asyncio.timeout(20),
    ):
        assert (await publisher.publish([plain])).dropped_fields == frozenset()
        publication = await publisher.publish([tainted])
        assert publication.dropped_fields == {"taints"}
        assert publication.complete
        (first,) = await api.list(RESOURCESLICES)
        assert (await publisher.publish([tainted, Device("b")])).dropped_fields == {"taints"}
        assert (await publisher.publish([plain])).dropped_fields == frozenset()
        (last,) = await api.list(RESOURCESLICES)
    assert "taints" not in first["spec"]["devices"][0]
    assert last["spec"]["pool"]["generation"] == 1


async def test_a_restarted_publisher_notices_dropped_taints_again(without_taints: Path) -> None:
    tainted = Device("a", taints=(Taint("example.com/t", "NoExecute"),))
    async with connected(without_taints) as api:
        for _ in range(2):
            async with SlicePublisher(api, DRIVER, "node") as publisher, asyncio.timeout(20):
                assert (await publisher.publish([tainted])).dropped_fields == {"taints"}
