"""The main job, end to end: real kernel, real bluetoothd, real scheduler and kubelet, a real pod."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import evdev
import pytest
from cluster.kubectl import Kubectl
from cluster.node import Node
from draplugin.kube import PODS, RESOURCECLAIMS, Api, ApiError
from lab.controllers import DualSense, Remote
from lab.radio import Bluetoothd

from job.job import DUALSENSE, REMOTE, Job, Kind, condition
from job.stage import Stage, install
from job.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def installed(node_in_guest: Node) -> Node:
    """The node, with the product's manifests applied to its cluster."""
    install(node_in_guest.kubectl)
    return node_in_guest


@pytest.fixture
async def client(installed: Node, api: Path) -> AsyncIterator[Api]:
    """The API server, for somebody who may do everything."""
    async with await Api.connect(api, manager="somebody") as connected:
        yield connected


@pytest.fixture
async def stage(
    client: Api, node: Node, api: Path, bluetoothd: Bluetoothd, logs: Path
) -> AsyncIterator[Stage]:
    """Relay and operator beside a fresh bluetoothd, in a cluster without old objects of ours."""
    made = Stage(client, api, node.name, logs)
    await made.clear()
    await made.start()
    yield made
    made.stop()


@pytest.fixture
def job(stage: Stage, client: Api, namespace: str) -> Callable[[DualSense | Remote, Kind], Job]:
    """The main job, still to be given a controller."""
    return lambda pad, kind: Job(client, stage, pad, kind, namespace)


async def play(job: Job) -> None:
    """From nothing to a button in a pod, through a sleep, and back to nothing."""
    await job.pair()
    await job.stored()
    await job.published()
    pod = await job.start_pod()
    await job.press()
    given = [node["path"] for node in job.cdi()["devices"][0]["containerEdits"]["deviceNodes"]]
    assert len(given) >= job.kind.nodes
    old = job.real_nodes()
    assert not set(given) & set(old), "a pod was given a node that sleeps with its controller"
    await job.sleep()
    # The kernel hands out freed numbers again; unless somebody takes them, coming back under the
    # same number would prove nothing.
    interlopers = [evdev.UInput(name=f"interloper {n}") for n in old]
    taken = {each.device.path for each in interlopers}
    try:
        assert taken & set(old)
        await job.wake()
        assert not set(job.real_nodes()) & set(old)
        await job.press()
    finally:
        for each in interlopers:
            each.close()
    after = await job.api.get(PODS, "player", job.namespace)
    assert after["metadata"]["uid"] == pod["metadata"]["uid"]
    assert [each["restartCount"] for each in after["status"]["containerStatuses"]] == [0]
    await job.end_pod()
    await job.unpair()


async def test_a_dualsense_is_paired_claimed_and_read_by_a_pod_through_its_sleep(
    job: Callable[..., Job], dualsense: DualSense
) -> None:
    await play(job(dualsense, DUALSENSE))


async def test_a_remote_is_paired_claimed_and_read_by_a_pod_through_its_sleep(
    job: Callable[..., Job], remote: Remote
) -> None:
    await play(job(remote, REMOTE))


async def test_an_operator_killed_under_a_prepared_claim_is_missed_by_nobody(
    job: Callable[..., Job], dualsense: DualSense, stage: Stage
) -> None:
    main = job(dualsense, DUALSENSE)
    await main.pair()
    await main.published()
    await main.start_pod({"inputs": ["joystick"]})
    await main.press()
    before = main.cdi()
    stage.operator.kill()
    await main.press()
    stage.start_operator()
    await main.sleep()
    await main.wake()
    await main.press()
    assert main.cdi() == before
    await main.end_pod()


async def test_a_claim_on_a_controller_without_a_node_waits_until_it_has_one(
    job: Callable[..., Job], dualsense: DualSense, stage: Stage
) -> None:
    main = job(dualsense, DUALSENSE)
    await main.pair()
    await main.published()
    stage.relay.kill()
    await main.tainted("no-input-node")
    await main.api.create(RESOURCECLAIMS, main.claim())
    await main.api.create(PODS, main.pod())
    await main.wait(
        "the scheduler says that no device is free for the claim",
        PODS,
        "player",
        lambda it: "cannot allocate all claims" in condition(it, "PodScheduled").get("message", ""),
        main.namespace,
    )
    stage.start_relay()
    await main.running()
    await main.press()
    await main.end_pod()


async def test_bad_input_gets_a_clear_answer_and_costs_nothing(
    job: Callable[..., Job], dualsense: DualSense, kubectl: Kubectl
) -> None:
    main = job(dualsense, DUALSENSE)
    await main.adapter_ready()
    await main.request_pairing("nowhere", adapter="11-22-33-44-55-66")
    unknown = await main.request(
        "a request for an unknown adapter says so",
        lambda it: condition(it, "Open").get("reason") == "AdapterUnknown",
        "nowhere",
    )
    assert "known adapters: 00-aa-01-00-00-00" in unknown["status"]["message"]
    await main.request_pairing("never", device="11:22:33:44:55:66", windowSeconds=15)
    never = await main.request(
        "an approval for an address never heard ends in words",
        lambda it: it.get("status", {}).get("phase") == "Expired",
        "never",
    )
    assert condition(never, "Complete")["reason"] == "DeviceNeverSeen"
    await main.pair()
    await main.published()
    malformed = main.claim({"inputs": []})
    with pytest.raises(ApiError, match="at least one"):
        await main.api.create(RESOURCECLAIMS, malformed)
    # A claim made before the policy was there meets the driver.
    kubectl("delete", "validatingadmissionpolicybinding", "--all")

    async def accepted() -> bool:
        try:
            await main.api.create(RESOURCECLAIMS, malformed)
        except ApiError:
            return False
        return True

    await until("the policy is no longer asked", accepted, bool, logs=main.logs)
    await main.api.create(PODS, main.pod())

    async def events() -> str:
        where = ("-n", main.namespace, "-o", "jsonpath={.items[*].message}")
        return kubectl("get", "events", *where)

    await until(
        "the refusal is in the pod's events",
        events,
        lambda it: "must name at least one class, or be left out for all; accepted:" in it,
        logs=main.logs,
        seconds=180,
    )
