"""The kubelet's contract, one rule a test."""

# ruff: noqa: D103 - a rule's name is its docstring

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ..kube import NODES, RESOURCESLICES
from ..kube.resources import uid_of
from ..model import ClaimRef
from ..testing import FakeKubelet, KubeletDevice, PrepareFailed
from ..wire import HEALTH_SERVICES
from .bench import Bench, eventually

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(60)]
NOBODY = ClaimRef("default", "nobody", "00000000-0000-4000-8000-000000000000")


async def test_the_node_owns_the_slices(on_bench: Bench) -> None:
    async with on_bench.running():
        node = await on_bench.admin.get(NODES, on_bench.node)
        owners = [s["metadata"].get("ownerReferences") or [] for s in await on_bench.published()]
        assert all([owner["uid"] for owner in of] == [uid_of(node)] for of in owners), owners


async def test_a_deleted_slice_comes_back(on_bench: Bench) -> None:
    async with on_bench.running():
        before = await on_bench.published()
        for slice_ in before:
            await on_bench.admin.delete(RESOURCESLICES, slice_["metadata"]["name"])

        async def back() -> bool:
            names = {str(d["name"]) for s in await on_bench.slices() for d in s["spec"]["devices"]}
            return names == {str(d["name"]) for s in before for d in s["spec"]["devices"]}

        await eventually(back, "the deleted slices did not come back")


async def test_slices_stay_when_the_driver_stops(on_bench: Bench) -> None:
    async with on_bench.running():
        await on_bench.published()
    assert await on_bench.slices()


async def test_the_sockets_are_gone_when_the_driver_stops(on_bench: Bench) -> None:
    async with on_bench.running():
        pass
    left = [*on_bench.site.registry_dir.iterdir(), *on_bench.site.plugins_dir.glob("*/*.sock")]
    assert left == []


async def test_every_device_of_a_claim_is_answered_under_its_request(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        device = (await on_bench.devices())[0]
        claim = await on_bench.claim(driver, device)
        answers = await _answers(on_bench, driver, claim)
        told = [(d.requests, d.pool, d.device) for d in answers[claim.uid]]
        assert [(pool, name) for _, pool, name in told] == [device]
        assert told[0][0] in ((), ("device",))


async def test_a_subrequest_is_answered_as_its_base_request(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        claim = await on_bench.claim(driver, request="device/large")
        answers = await _answers(on_bench, driver, claim)
        names = [name for d in answers[claim.uid] for name in d.requests]
        assert not [name for name in names if "/" in name], names


async def test_every_cdi_id_answered_can_be_resolved(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        claim = await on_bench.claim(driver)
        answers = await _answers(on_bench, driver, claim)
        ids = {cdi_id for device in answers[claim.uid] for cdi_id in device.cdi_ids}
        known = on_bench.cdi_names()
        assert ids <= set(known), f"{ids - set(known)} is in no CDI file"
        assert all(known[name] for name in ids), "a CDI device without edits voids its whole file"


async def test_two_claims_never_share_a_cdi_id(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        devices = await on_bench.devices()
        if len(devices) < 2:
            pytest.skip("the driver publishes one device only")
        claims = [await on_bench.claim(driver, device) for device in devices[:2]]
        answers = await _answers(on_bench, driver, *claims)
        ids = [i for devices in answers.values() for d in devices for i in d.cdi_ids]
        assert len(set(ids)) == len(ids)


async def test_a_claim_prepared_again_gets_the_same_answer(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        claim = await on_bench.claim(driver)
        first = await _answers(on_bench, driver, claim)
        assert await _answers(on_bench, driver, claim) == first


async def test_after_a_reboot_prepare_writes_the_cdi_files_again(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        claim = await on_bench.claim(driver)
        await _answers(on_bench, driver, claim)
        before = on_bench.cdi_names()
        on_bench.reboot()
        await _answers(on_bench, driver, claim)
        assert on_bench.cdi_names() == before


async def test_a_claim_with_another_uid_is_refused(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        claim = await on_bench.claim(driver)
        replaced = ClaimRef(claim.namespace, claim.name, NOBODY.uid)
        with pytest.raises(PrepareFailed):
            await on_bench.kubelet.prepare(driver, replaced)


async def test_a_missing_claim_costs_its_neighbour_nothing(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        claim = await on_bench.claim(driver)
        plugin = await on_bench.kubelet.registered(driver)
        answers = await plugin.dialer.prepare(plugin.service, [NOBODY, claim], 10.0)
        assert answers[NOBODY.uid].error
        assert not answers[claim.uid].error


async def test_a_device_is_not_prepared_for_two_claims_at_once(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        device = (await on_bench.devices())[0]
        first, second = [await on_bench.claim(driver, device) for _ in range(2)]
        await on_bench.kubelet.prepare(driver, first)
        with pytest.raises(PrepareFailed):
            await on_bench.kubelet.prepare(driver, second)
        await on_bench.kubelet.unprepare(driver, first)
        await on_bench.kubelet.prepare(driver, second)


async def test_unprepare_removes_what_the_runtime_could_resolve(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        claim = await on_bench.claim(driver)
        await on_bench.kubelet.prepare(driver, claim)
        await on_bench.kubelet.unprepare(driver, claim)
        assert [name for name in on_bench.cdi_names() if claim.uid in name] == []


async def test_unprepare_of_an_unknown_claim_succeeds(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        await on_bench.kubelet.unprepare(driver, NOBODY)


async def test_unprepare_needs_no_api_server(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        claim = await on_bench.claim(driver)
        await on_bench.kubelet.prepare(driver, claim)
        # Only for the call: how a driver stops without its server is no business of this rule.
        with on_bench.wire.cut():
            await on_bench.kubelet.unprepare(driver, claim)


async def test_a_restarted_driver_unprepares_what_the_last_one_prepared(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        claim = await on_bench.claim(driver)
        await on_bench.kubelet.prepare(driver, claim)
        kept = on_bench.cdi_names()
    assert on_bench.cdi_names() == kept, "stopping took the CDI files of running pods away"
    async with on_bench.running() as driver:
        await on_bench.kubelet.unprepare(driver, claim)
        assert [name for name in on_bench.cdi_names() if claim.uid in name] == []


async def test_a_restarted_kubelet_finds_the_driver_again(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        await on_bench.kubelet.restart()
        await on_bench.kubelet.registered(driver, timeout=10)


async def test_a_kubelet_that_knows_only_v1beta1_is_served(on_bench: Bench) -> None:
    root = Path(on_bench.kubelet.root)
    await on_bench.kubelet.stop()
    async with (
        FakeKubelet(root, supported=["v1beta1.DRAPlugin"]) as old,
        on_bench.make(on_bench.site),
    ):
        slices = await on_bench.published()
        driver = slices[0]["spec"]["driver"]
        plugin = await old.registered(driver, timeout=10)
        assert plugin.service == "v1beta1.DRAPlugin"
        claim = await on_bench.claim(driver)
        await old.prepare(driver, claim)


async def test_v1_is_preferred(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        plugin = await on_bench.kubelet.registered(driver)
        versions = [name for name in plugin.info.services if name.endswith(".DRAPlugin")]
        assert versions[0] == "v1.DRAPlugin"


async def test_a_health_stream_is_not_refused(on_bench: Bench) -> None:
    async with on_bench.running() as driver:
        plugin = await on_bench.kubelet.registered(driver)
        stream = plugin.dialer.watch_health(HEALTH_SERVICES[-1])
        try:
            async with asyncio.timeout(1.0):
                await anext(stream)
        except TimeoutError:
            pass  # Open and silent: the driver reports no health, and the kubelet is content.
        finally:
            await stream.aclose()


async def _answers(
    on_bench: Bench, driver: str, *claims: ClaimRef
) -> dict[str, tuple[KubeletDevice, ...]]:
    """The plugin's own answers, past the kubelet's memory of what is prepared."""
    plugin = await on_bench.kubelet.registered(driver)
    answers = await plugin.dialer.prepare(plugin.service, claims, 10.0)
    assert {uid: answer.error for uid, answer in answers.items() if answer.error} == {}
    return {uid: answer.devices for uid, answer in answers.items()}
