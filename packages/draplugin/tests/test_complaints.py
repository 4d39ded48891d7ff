"""What users of other drivers ran into, each as a rule; numbers are their reports.

k/k is kubernetes/kubernetes, NVIDIA is NVIDIA/k8s-dra-driver-gpu, dranet is
kubernetes-sigs/dranet. Those about slices on a server are in tests/api/test_complaints.py.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import time

import pytest
from draplugin import ClaimRef, Device, Plugin, Taint, Toleration, cdi
from draplugin.orphans import OrphanCollector
from draplugin.parameters import ParameterError, decode
from draplugin.site import PLUGINS, REGISTRY
from draplugin.slices import sanitize
from draplugin.sockets import LIMIT, socket_names
from draplugin.testing import FakeKubelet, PrepareFailed, Timings, UnprepareFailed
from draplugin.testing.dialer import Dialer

from .builders import DRIVER, NODE, claim_object, claim_path, ref
from .driver import Fortune, make
from .scripted import ScriptedServer, answer, status
from .waiting import until


async def test_01_after_a_reboot_the_cdi_file_is_written_again(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer, store: cdi.Store
) -> None:
    """k/k #141433, #141966; NVIDIA #951: 'unresolvable CDI devices' after a node reboot."""
    server.shows(claim_path(ref()), claim_object(ref()))
    await kubelet.prepare(DRIVER, ref())
    before = store.path(ref().uid).read_bytes()
    shutil.rmtree(store.directory)
    await kubelet.restart()
    await kubelet.registered(DRIVER)
    await kubelet.prepare(DRIVER, ref())
    assert store.path(ref().uid).read_bytes() == before


async def test_05_unprepare_of_an_unknown_claim_succeeds_at_once_without_the_server(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    """k/k #129402, #127188: pods stuck Terminating."""
    began = time.monotonic()
    await kubelet.unprepare(DRIVER, ref(9))
    assert server.requests == []
    assert time.monotonic() - began < 5


async def test_06_unprepare_works_from_disk_after_the_claim_was_force_deleted(
    driver: Fortune, store: cdi.Store, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    """NVIDIA #340, #342."""
    server.shows(claim_path(ref()), claim_object(ref()))
    async with make(driver, store, server.api(), kubelet):
        await kubelet.registered(DRIVER)
        await kubelet.prepare(DRIVER, ref())
    await kubelet.unregistered(DRIVER)
    asked = len(server.requests)
    async with make(driver, store, server.api(), kubelet):
        await kubelet.registered(DRIVER)
        await kubelet.unprepare(DRIVER, ref())
    assert len(server.requests) == asked
    assert list(store.directory.iterdir()) == []


async def test_07_preparing_again_and_again_leaves_the_state_as_it_is_to_the_bit(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer, store: cdi.Store
) -> None:
    """NVIDIA #729: a second Prepare took the checkpoint back a step."""
    server.shows(claim_path(ref()), claim_object(ref(), "cookie-1", "cookie-2"))
    registered = await kubelet.registered(DRIVER)
    seen = set()
    for _ in range(5):
        answers = await registered.dialer.prepare("v1.DRAPlugin", [ref()])
        seen.add((str(answers), store.path(ref().uid).read_bytes()))
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("reply", "released"),
    [
        pytest.param(status(404, "NotFound"), True, id="deleted"),
        pytest.param(answer(claim_object(ref(2, "claim-1"))), True, id="made anew"),
        pytest.param(answer({"metadata": {"uid": ref().uid}}), True, id="deallocated"),
        pytest.param(answer(claim_object(ref())), False, id="alive"),
        pytest.param(status(503, "ServiceUnavailable"), False, id="server away"),
        pytest.param(status(403, "Forbidden"), False, id="not allowed to look"),
        pytest.param(answer("not here", 404), False, id="a proxy's 404"),
    ],
)
async def test_08_claims_that_are_gone_are_released_on_certain_answers_only(
    store: cdi.Store, server: ScriptedServer, reply: object, released: bool
) -> None:
    """NVIDIA #840, #1278: devices taken for ever by claims that no longer exist."""
    from draplugin import Prepared

    store.write(ref(), [Prepared("cookie-1", NODE)])
    server.on("GET", claim_path(ref()), reply)  # type: ignore[arg-type]
    done: list[str] = []

    async def release(claim: object) -> str:
        done.append(str(claim))
        return ""

    collector = OrphanCollector(
        server.api(),
        held=lambda: [c.ref for c in store.held()],
        busy=lambda _: False,
        release=release,
    )
    assert await collector.look() == [], "the containers of a force-deleted pod run on for a while"
    await collector.look()
    assert done == (["default/claim-1"] if released else [])


@pytest.mark.looptime
async def test_08_a_disk_that_cannot_be_read_is_looked_at_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    looks: list[str] = []

    def held() -> list[ClaimRef]:
        looks.append("look")
        raise PermissionError("the disk")

    async def release(_: object) -> str:
        return ""

    collector = OrphanCollector(
        ScriptedServer().api(), held=held, busy=lambda _: False, release=release
    )
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1500):
            await collector.run()
    assert len(looks) == 3
    assert caplog.text.count("PermissionError: the disk") == 3


async def test_09_a_device_that_is_still_prepared_is_not_given_to_a_second_claim(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    """k/k #141471, #131617; NVIDIA #817: force-deleted pods."""
    for claim in (ref(1), ref(2)):
        server.shows(claim_path(claim), claim_object(claim))
    server.shows(claim_path(ref(3)), claim_object(ref(3), adminAccess=True))
    await kubelet.prepare(DRIVER, ref(1))
    with pytest.raises(PrepareFailed, match="still prepared for claim default/claim-1"):
        await kubelet.prepare(DRIVER, ref(2))
    await kubelet.prepare(DRIVER, ref(3))
    await kubelet.unprepare(DRIVER, ref(1))
    await kubelet.prepare(DRIVER, ref(2))


async def test_09_two_claims_at_the_same_moment_do_not_both_get_the_device(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer, driver: Fortune
) -> None:
    for claim in (ref(1), ref(2)):
        server.shows(claim_path(claim), claim_object(claim))
    registered = await kubelet.registered(DRIVER)
    answers = await registered.dialer.prepare("v1.DRAPlugin", [ref(1), ref(2)])
    assert sorted(bool(a.error) for a in answers.values()) == [False, True]


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(status(404, "NotFound"), id="gone"),
        pytest.param(answer({"metadata": {"name": "claim-1", "uid": ref().uid}}), id="deallocated"),
        pytest.param(
            answer({**claim_object(ref()), "status": {"allocation": {}}}), id="unreserved"
        ),
    ],
)
async def test_10_a_prepare_that_comes_after_the_release_recreates_nothing(
    plugin: Plugin,
    kubelet: FakeKubelet,
    server: ScriptedServer,
    store: cdi.Store,
    driver: Fortune,
    reply: object,
) -> None:
    """NVIDIA #1188, #1205: a stale retry arriving after Unprepare."""
    server.shows(claim_path(ref()), claim_object(ref()))
    await kubelet.prepare(DRIVER, ref())
    await kubelet.unprepare(DRIVER, ref())
    server.on("GET", claim_path(ref()), reply)  # type: ignore[arg-type]
    with pytest.raises(PrepareFailed):
        await kubelet.prepare(DRIVER, ref())
    assert list(store.claims()) == []
    assert driver.calls == ["prepare claim-1", "unprepare claim-1"]


async def test_11_a_release_that_fails_keeps_the_device_taken_and_out_of_reach(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer, store: cdi.Store, driver: Fortune
) -> None:
    """dra-driver-cpu #178, #180: freed before the CDI file was gone."""
    for claim in (ref(1), ref(2)):
        server.shows(claim_path(claim), claim_object(claim))
    await kubelet.prepare(DRIVER, ref(1))
    driver.refuse_release = "the device does not answer"
    with pytest.raises(UnprepareFailed, match="the device does not answer"):
        await kubelet.unprepare(DRIVER, ref(1))
    assert not store.path(ref(1).uid).exists()
    with pytest.raises(PrepareFailed, match="still prepared"):
        await kubelet.prepare(DRIVER, ref(2))
    driver.refuse_release = None
    await kubelet.unprepare(DRIVER, ref(1))
    await kubelet.prepare(DRIVER, ref(2))


async def test_12_a_connection_that_was_dropped_while_idle_is_made_again(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    """k/k #133920: 1.34.0 kubelets lock up after half an hour; liveness asks our own sockets."""
    server.shows(claim_path(ref()), claim_object(ref()))
    registered = await kubelet.registered(DRIVER)
    for _ in range(3):
        async with Dialer(registered.info.endpoint) as dialer:
            assert not (await dialer.prepare("v1.DRAPlugin", [ref()]))[ref().uid].error
    assert plugin.listening


async def test_13_stopping_removes_both_sockets_and_nothing_else(
    driver: Fortune, store: cdi.Store, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    """k/k #128696, #132660."""
    plugin = make(driver, store, server.api(), kubelet)
    async with plugin:
        await kubelet.registered(DRIVER)
    assert list(kubelet.registry_dir.iterdir()) == []
    assert list((kubelet.plugins_dir / DRIVER).iterdir()) == []
    assert not plugin.listening
    assert plugin.registration.state == "stopped"


async def test_13_a_successor_on_the_same_paths_survives_the_end_of_the_first(
    driver: Fortune, store: cdi.Store, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    first, second = (make(driver, store, server.api(), kubelet) for _ in range(2))
    await first.start()
    await second.start()
    await first.stop()
    assert second.listening
    await kubelet.registered(DRIVER)
    await second.stop()


async def test_13_two_pods_of_one_driver_serve_side_by_side(
    driver: Fortune, store: cdi.Store, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    """A rolling update with maxSurge 1: the newer instance is used, either may unprepare."""
    server.shows(claim_path(ref()), claim_object(ref()))
    old = make(driver, store, server.api(), kubelet, pod_uid=ref(100).uid)
    new = make(driver, store, server.api(), kubelet, pod_uid=ref(101).uid)
    async with new:
        async with old:
            await until(lambda: len(kubelet.instances(DRIVER)) == 2)
            await kubelet.prepare(DRIVER, ref())
        await until(lambda: len(kubelet.instances(DRIVER)) == 1)
        await kubelet.unprepare(DRIVER, ref())
    assert list(store.held()) == []


async def test_14_a_plugin_nobody_registers_keeps_serving(
    driver: Fortune, store: cdi.Store, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    """dranet #19: the driver exits when not registered within 30 s."""
    await kubelet.stop()
    async with make(driver, store, server.api(), kubelet) as plugin:
        assert plugin.registration.state == "waiting"
        assert plugin.listening
        await kubelet.start()
        await kubelet.registered(DRIVER)
        await until(lambda: plugin.registration.state == "registered")


@pytest.mark.parametrize("length", range(1, 64))
def test_15_socket_names_fit_for_every_length_of_name(length: int) -> None:
    """k/k #139166, #139623, #141815, #142002."""
    driver = "d" * length
    names = socket_names(driver, PLUGINS / driver, REGISTRY, ref().uid)
    assert len(str(names.registration)) <= LIMIT
    assert len(str(names.dra)) <= LIMIT


async def test_16_without_health_nothing_is_offered_and_the_stream_stays_open(
    kubelet_root: object, plugin: Plugin, kubelet: FakeKubelet
) -> None:
    """NVIDIA #1423: UNIMPLEMENTED makes the kubelet redial every five seconds."""
    registered = await kubelet.registered(DRIVER)
    assert registered.info.services == ("v1.DRAPlugin", "v1beta1.DRAPlugin")
    await asyncio.sleep(0.3)
    assert not [line for line in kubelet.log if "health" in line]


def test_17_a_bad_value_costs_one_attribute_and_never_the_slice() -> None:
    """dranet #198, #300, #313; dra-driver-cpu #156, #217."""
    devices = [Device("good", {"x": 1}), Device("bad", {"numa-1": 1, "long": "x" * 65, "y": 2})]
    kept, _ = sanitize(devices, DRIVER)
    assert kept == (Device("good", {"x": 1}), Device("bad", {"y": 2}))


def test_18_a_device_that_cannot_be_used_is_tainted_and_stays_in_the_slice() -> None:
    """google/dranet #97, #99, #141: the device of a running pod left the slice."""
    taints = tuple(Taint(f"example.com/t{n}", "NoExecute") for n in range(20))
    kept, drops = sanitize([Device("a", taints=taints)], DRIVER)
    assert [device.name for device in kept] == ["a"]
    assert len(kept[0].taints) == 16
    assert len(drops) == 4


async def test_19_a_driver_sees_what_a_claim_tolerates_and_need_not_rely_on_eviction(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer, driver: Fortune
) -> None:
    """k/k #134434, #134479, #141290."""
    toleration = {"key": "example.com/asleep", "operator": "Exists", "effect": "NoExecute"}
    server.shows(claim_path(ref()), claim_object(ref(), tolerations=[toleration]))
    await kubelet.prepare(DRIVER, ref())
    (allocation,) = driver.claims[0].allocations
    assert allocation.tolerations == (Toleration("example.com/asleep", "Exists", "", "NoExecute"),)
    assert allocation.tolerates(Taint("example.com/asleep", "NoExecute"))
    assert not allocation.tolerates(Taint("example.com/gone", "NoExecute"))


async def test_20_a_status_that_may_not_be_written_costs_the_status_and_says_which_rule(
    plugin: Plugin,
    kubelet: FakeKubelet,
    server: ScriptedServer,
    driver: Fortune,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """k/k #138149: permissions of its own since 1.36."""
    driver.status = {"data": {"letters": 53}}
    for claim in (ref(1), ref(2)):
        server.shows(claim_path(claim), claim_object(claim, f"cookie-{claim.name[-1]}"))
        server.on("PATCH", f"{claim_path(claim)}/status", status(403, "Forbidden"))
    await kubelet.prepare(DRIVER, ref(1))
    await until(lambda: "device status" in caplog.text)
    await kubelet.prepare(DRIVER, ref(2))
    assert caplog.text.count("resourceclaims/driver") == 1
    assert "associated-node:update" in caplog.text
    (request,) = server.asked("PATCH", f"{claim_path(ref(1))}/status")
    assert request.query["fieldManager"] == DRIVER
    body = server.bodies[server.requests.index(request)]
    assert body["status"]["devices"] == [
        {"driver": DRIVER, "pool": NODE, "device": "cookie-1", "data": {"letters": 53}}
    ]


def test_21_unknown_fields_are_refused_from_users_and_tolerated_in_own_data() -> None:
    """NVIDIA #578, #579, #584, #587."""
    from .test_parameters import Wanted

    with pytest.raises(ParameterError, match="future: unknown field"):
        decode(Wanted, {"future": 1})
    assert decode(Wanted, {"future": 1}, lenient=True) == Wanted()


async def test_22_a_retry_while_the_first_call_still_works_starts_nothing_new(
    kubelet_root: object,
    driver: Fortune,
    store: cdi.Store,
    server: ScriptedServer,
    kubelet: FakeKubelet,
    arrivals: list[str],
) -> None:
    """k/k #119414, #117146."""
    kubelet.timings = Timings(call=0.2)
    server.shows(claim_path(ref()), claim_object(ref()))
    driver.gate = asyncio.Event()
    async with make(driver, store, server.api(), kubelet):
        await kubelet.registered(DRIVER)
        for _ in range(3):
            with pytest.raises(PrepareFailed, match="DEADLINE_EXCEEDED"):
                await kubelet.prepare(DRIVER, ref())
        kubelet.timings = Timings()
        before = len(arrivals)
        last = asyncio.create_task(kubelet.prepare(DRIVER, ref()))
        await until(lambda: len(arrivals) > before)
        driver.gate.set()
        await last
    assert driver.calls == ["prepare claim-1"]


async def test_23_a_damaged_record_stops_prepares_with_a_clear_text_and_no_unprepare(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer, store: cdi.Store
) -> None:
    """example-driver #248, #249, #253: a corrupt checkpoint was reset to empty."""
    for claim in (ref(1), ref(2)):
        server.shows(claim_path(claim), claim_object(claim, f"cookie-{claim.name[-1]}"))
    await kubelet.prepare(DRIVER, ref(1))
    store.path(ref(1).uid).write_text("{")
    with pytest.raises(PrepareFailed, match=r"is unreadable: it is unknown which devices claim"):
        await kubelet.prepare(DRIVER, ref(2))
    await kubelet.unprepare(DRIVER, ref(1))
    await kubelet.prepare(DRIVER, ref(2))


async def test_23_preparing_the_damaged_claim_itself_mends_its_record(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer, store: cdi.Store
) -> None:
    server.shows(claim_path(ref()), claim_object(ref()))
    await kubelet.prepare(DRIVER, ref())
    store.path(ref().uid).write_text("{")
    await kubelet.restart()
    await kubelet.registered(DRIVER)
    await kubelet.prepare(DRIVER, ref())
    assert json.loads(store.path(ref().uid).read_text())["kind"] == f"{DRIVER}/cookie"
    assert store.unreadable() == {}


async def test_24_prepare_and_unprepare_of_one_claim_never_overlap(
    plugin: Plugin, kubelet: FakeKubelet, server: ScriptedServer, store: cdi.Store, driver: Fortune
) -> None:
    """k/k #131513, #140212, #140527: races in the kubelet itself."""
    server.shows(claim_path(ref()), claim_object(ref()))
    driver.gate = asyncio.Event()
    registered = await kubelet.registered(DRIVER)
    preparing = asyncio.create_task(registered.dialer.prepare("v1.DRAPlugin", [ref()]))
    await until(lambda: driver.calls)
    unpreparing = asyncio.create_task(registered.dialer.unprepare("v1.DRAPlugin", [ref()]))
    await asyncio.sleep(0.1)
    assert driver.calls == ["prepare claim-1"]
    driver.gate.set()
    await asyncio.gather(preparing, unpreparing)
    assert driver.calls == ["prepare claim-1", "unprepare claim-1"]
    assert list(store.held()) == []


async def test_25_what_the_kubelet_says_against_the_plugin_is_told_word_for_word(
    driver: Fortune,
    store: cdi.Store,
    kubelet: FakeKubelet,
    server: ScriptedServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """k/k #124962: 'no handler registered for plugin type: DRAPlugin'."""
    caplog.set_level(logging.INFO)
    kubelet.supported = ("v1alpha3.Node",)
    async with make(driver, store, server.api(), kubelet) as plugin:
        await until(lambda: plugin.registration.state == "refused")
        text = "none of the services v1.DRAPlugin, v1beta1.DRAPlugin is supported"
        assert plugin.registration.error == text
        assert text in caplog.text
        assert plugin.listening
