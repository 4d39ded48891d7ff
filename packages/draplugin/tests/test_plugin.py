"""A plugin on real sockets, with the kubelet of draplugin.testing at the other end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from draplugin import Plugin, cdi
from draplugin.testing import FakeKubelet, KubeletDevice, PrepareFailed, Timings

from .builders import DRIVER, NODE, claim_object, claim_path, ref
from .driver import Fortune, make
from .scripted import ScriptedServer, status


async def test_a_claim_is_prepared_with_a_cdi_id_and_a_file_for_it(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer, store: cdi.Store
) -> None:
    claim = ref()
    server.shows(claim_path(claim), claim_object(claim))

    devices = await kubelet.prepare(DRIVER, claim)

    device_id = f"{DRIVER}/cookie={claim.uid}-cookie-1"
    assert devices == {claim.uid: (KubeletDevice(("cookie",), NODE, "cookie-1", (device_id,)),)}
    spec = json.loads(store.path(claim.uid).read_text())
    assert spec["kind"] == f"{DRIVER}/cookie"
    assert spec["devices"][0]["containerEdits"] == {"env": ["FORTUNE=cookie-1"]}


async def test_unprepare_works_without_the_api_server_and_removes_the_file(
    plugin: Plugin,
    kubelet: FakeKubelet,
    server: ScriptedServer,
    store: cdi.Store,
    driver: Fortune,
) -> None:
    claim = ref()
    server.shows(claim_path(claim), claim_object(claim))
    await kubelet.prepare(DRIVER, claim)
    server.on("GET", claim_path(claim), status(503, "ServiceUnavailable"))

    await kubelet.unprepare(DRIVER, claim)

    assert not store.path(claim.uid).exists()
    assert driver.calls == ["prepare claim-1", "unprepare claim-1"]


async def test_one_claim_that_is_refused_does_not_cost_its_neighbour(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    good, bad = ref(1), ref(2)
    server.shows(claim_path(good), claim_object(good))
    registered = await kubelet.registered(DRIVER)

    answers = await registered.dialer.prepare("v1.DRAPlugin", [good, bad])

    assert answers[good.uid].error == ""
    assert answers[bad.uid].error == "claim default/claim-2 does not exist"


async def test_the_refusal_text_is_the_users(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer, driver: Fortune
) -> None:
    claim = ref()
    server.shows(claim_path(claim), claim_object(claim))
    driver.refuse = "inputs: accepted: joystick, key"

    with pytest.raises(PrepareFailed) as failure:
        await kubelet.prepare(DRIVER, claim)

    assert str(failure.value) == (
        "NodePrepareResources failed for ResourceClaim claim-1: inputs: accepted: joystick, key"
    )


async def test_a_retry_after_the_deadline_joins_the_work_that_still_runs(
    kubelet_root: Path, driver: Fortune, store: cdi.Store, server: ScriptedServer
) -> None:
    claim = ref()
    server.shows(claim_path(claim), claim_object(claim))
    driver.gate = asyncio.Event()
    timings = Timings(call=0.2)
    async with (
        FakeKubelet(kubelet_root, timings=timings) as kubelet,
        make(driver, store, server.api(), kubelet),
    ):
        await kubelet.registered(DRIVER)
        with pytest.raises(PrepareFailed, match="DEADLINE_EXCEEDED"):
            await kubelet.prepare(DRIVER, claim)
        retry = asyncio.create_task(kubelet.prepare(DRIVER, claim))
        driver.gate.set()
        devices = await retry

    assert [d.device for d in devices[claim.uid]] == ["cookie-1"]
    assert driver.calls == ["prepare claim-1"]
