"""A plugin on real sockets, with the kubelet of draplugin.testing at the other end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from draplugin import Claim, Plugin, Prepared, cdi
from draplugin.kube import Forbidden
from draplugin.testing import FakeKubelet, KubeletDevice, PrepareFailed, Timings

from .builders import DRIVER, NODE, claim_object, claim_path, ref
from .driver import Fortune, make
from .scripted import ScriptedServer, status
from .waiting import until


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
    kubelet_root: Path,
    driver: Fortune,
    store: cdi.Store,
    server: ScriptedServer,
    arrivals: list[str],
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
        kubelet.timings = Timings()
        retry = asyncio.create_task(kubelet.prepare(DRIVER, claim))
        await until(lambda: arrivals == [claim.uid, claim.uid])
        driver.gate.set()
        devices = await retry

    assert [d.device for d in devices[claim.uid]] == ["cookie-1"]
    assert driver.calls == ["prepare claim-1"]


SHARES = ("s-1", "s-2")


def two_shares() -> dict[str, Any]:
    obj = claim_object(ref(), "cookie-1", "cookie-1")
    results = obj["status"]["allocation"]["devices"]["results"]
    for number, (result, share) in enumerate(zip(results, SHARES, strict=True), 1):
        result |= {"shareID": share, "request": f"bite-{number}"}
    return obj


@pytest.mark.parametrize(
    ("service", "told"), [("v1.DRAPlugin", SHARES), ("v1beta1.DRAPlugin", (None, None))]
)
async def test_two_shares_of_one_device_are_two_devices_to_a_driver_that_knows_none(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer, service: str, told: Any
) -> None:
    """v1beta1 never had share ids; the CDI ids tell the shares apart there too."""
    server.shows(claim_path(ref()), two_shares())
    registered = await kubelet.registered(DRIVER)

    answer = (await registered.dialer.prepare(service, [ref()]))[ref().uid]

    ids = [f"{DRIVER}/cookie={ref().uid}-cookie-1-{share}" for share in SHARES]
    assert answer.devices == tuple(
        KubeletDevice((f"bite-{n}",), NODE, "cookie-1", (cdi_id,), share)
        for n, (cdi_id, share) in enumerate(zip(ids, told, strict=True), 1)
    )


async def test_a_device_given_to_two_requests_is_answered_once_for_both(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    """Two requests get one device where both have admin access."""
    obj = claim_object(ref(), "cookie-1", "cookie-1", adminAccess=True)
    obj["status"]["allocation"]["devices"]["results"][1]["request"] = "crumb"
    server.shows(claim_path(ref()), obj)
    (device,) = (await kubelet.prepare(DRIVER, ref()))[ref().uid]
    assert device.requests == ("cookie", "crumb")


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (status(403, "Forbidden", "no rule"), "cannot read claim default/claim-1: no rule"),
        (status(503, "", "busy"), "cannot read claim default/claim-1: busy"),
    ],
)
async def test_a_claim_that_cannot_be_read_says_so(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer, reply: Any, text: str
) -> None:
    server.on("GET", claim_path(ref()), reply)
    with pytest.raises(PrepareFailed) as failure:
        await kubelet.prepare(DRIVER, ref())
    assert str(failure.value).endswith(f"ResourceClaim claim-1: {text}")


async def test_the_api_servers_answer_to_a_driver_is_not_taken_for_ours(
    store: cdi.Store, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    class Asking(Fortune):
        async def prepare(self, claim: Claim) -> Sequence[Prepared]:
            raise Forbidden("secrets: no rule")

    server.shows(claim_path(ref()), claim_object(ref()))
    async with make(Asking(), store, server.api(), kubelet):
        await kubelet.registered(DRIVER)
        with pytest.raises(PrepareFailed, match="prepare failed: Forbidden: secrets: no rule"):
            await kubelet.prepare(DRIVER, ref())


async def test_stopping_that_is_cut_short_still_takes_the_sockets_away(
    driver: Fortune, store: cdi.Store, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    server.shows(claim_path(ref()), claim_object(ref()))
    driver.gate = asyncio.Event()
    plugin = make(driver, store, server.api(), kubelet)
    await plugin.start()
    registered = await kubelet.registered(DRIVER)
    preparing = asyncio.create_task(registered.dialer.prepare("v1.DRAPlugin", [ref()]))
    await until(lambda: driver.calls)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await plugin.stop(grace=60)
    left = [*kubelet.registry_dir.iterdir(), *(kubelet.plugins_dir / DRIVER).iterdir()]
    driver.gate.set()
    await asyncio.gather(preparing, return_exceptions=True)
    assert left == []
    assert not plugin.listening


async def test_a_courtesy_that_fails_is_logged_and_costs_nothing(
    plugin: Plugin, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> None:
        raise ZeroDivisionError("courtesy")

    plugin._spawn(broken(), "event")
    await until(lambda: "event failed: ZeroDivisionError('courtesy')" in caplog.text)
    assert plugin.listening
