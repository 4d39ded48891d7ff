"""The example driver under a real kubelet and containerd, through every restart there is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cluster import images
from cluster.kubectl import Kubectl
from cluster.node import Node
from draplugin.kube import (
    DEVICECLASSES,
    PODS,
    RESOURCECLAIMS,
    RESOURCECLAIMTEMPLATES,
    RESOURCESLICES,
    Api,
    Object,
)

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

DRIVER = "fortune.example.com"
EXAMPLE = Path(__file__).parents[2] / "examples" / "fortune-driver" / "fortune_driver.py"
CDI = Path("/var/run/cdi")
# A busy emulated machine has been seen to take four minutes over a pod.
PATIENCE = 400.0
# Runs the example with a log of what it does.
RUN = """
import logging, runpy, sys
logging.basicConfig(level=logging.INFO, filename=sys.argv[1], format="%(message)s")
runpy.run_path(sys.argv[2], run_name="__main__")
"""


async def eventually(question: Callable[[], Awaitable[Any]], what: str) -> Any:
    try:
        async with asyncio.timeout(PATIENCE):
            while not (answer := await question()):  # noqa: ASYNC110 - nobody wakes us
                await asyncio.sleep(0.3)
    except TimeoutError:
        raise AssertionError(f"not within {PATIENCE:.0f} s: {what}") from None
    return answer


class Lab:
    """The node, a namespace, and the driver's processes."""

    def __init__(self, node: Node, api: Api, namespace: str, kubectl: Kubectl, log: Path) -> None:
        self.node, self.api, self.namespace, self.kubectl = node, api, namespace, kubectl
        self.log = log

    @asynccontextmanager
    async def driver(self, pod_uid: str | None = None) -> AsyncIterator[asyncio.subprocess.Process]:
        """A driver process, ended by SIGTERM unless it is gone by then."""
        environment = {
            **os.environ,
            "NODE_NAME": self.node.name,
            "KUBECONFIG": str(self.node.kubeconfig),
            **({"POD_UID": pod_uid} if pod_uid else {}),
        }
        registered = self.said("is registered")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", RUN, str(self.log), str(EXAMPLE), env=environment
        )
        try:
            await eventually(lambda: self.more_said("is registered", registered), "registration")
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            await process.wait()

    def said(self, *words: str) -> int:
        """How many lines of the driver's log hold all the words."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return sum(all(word in line for word in words) for line in lines)

    async def more_said(self, words: str, before: int) -> bool:
        return self.said(words) > before

    def served(self, uid: str) -> tuple[int, int]:
        """How often the claim was prepared and unprepared."""
        return self.said(uid, ": prepared in"), self.said(uid, "unprepared in")

    async def slices(self) -> dict[str, int]:
        """UID of each slice of the driver, and how many devices it holds."""
        found = await self.api.list(RESOURCESLICES, field_selector=f"spec.driver={DRIVER}")
        return {s["metadata"]["uid"]: len(s["spec"].get("devices") or ()) for s in found}

    async def output(self, name: str) -> str:
        return await asyncio.to_thread(self.kubectl, "logs", name, "-n", self.namespace)

    async def pod(self, name: str) -> str:
        """A running pod with a cookie; its claim's UID."""
        container = {
            "name": "main",
            "image": images.BUSYBOX,
            "command": ["sh", "-c", "env | grep ^FORTUNE; exec sleep 3600"],
            "resources": {"claims": [{"name": "cookie"}]},
        }
        spec = {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "containers": [container],
            "resourceClaims": [{"name": "cookie", "resourceClaimTemplateName": "cookie"}],
        }
        metadata = {"name": name, "namespace": self.namespace}
        await self.api.create(PODS, {"metadata": metadata, "spec": spec})
        await eventually(lambda: self.is_running(name), f"pod {name} running")
        return str((await self.claim_of(name))["metadata"]["uid"])

    async def is_running(self, name: str) -> bool:
        return bool((await self.get(name))["status"]["phase"] == "Running")

    async def get(self, name: str) -> Object:
        return await self.api.get(PODS, name, self.namespace)

    async def claim_of(self, name: str) -> Object:
        (status,) = (await self.get(name))["status"]["resourceClaimStatuses"]
        return await self.api.get(RESOURCECLAIMS, status["resourceClaimName"], self.namespace)

    async def delete(self, name: str) -> None:
        """Delete the pod and wait until it is gone, which is after unprepare.

        One at a time: an emulated machine that tears three sandboxes down at once needs minutes.
        """
        await self.api.delete(PODS, name, self.namespace)

        async def gone() -> bool:
            return name not in [
                p["metadata"]["name"] for p in await self.api.list(PODS, self.namespace)
            ]

        await eventually(gone, f"pod {name} gone")

    def files(self) -> list[str]:
        """The claims with a CDI file."""
        return sorted(p.name.removeprefix(f"{DRIVER}-")[:-5] for p in CDI.glob(f"{DRIVER}-*.json"))


@pytest.fixture
async def lab(
    node: Node, api: Path, namespace: str, kubectl: Kubectl, tmp_path: Path
) -> AsyncIterator[Lab]:
    template = {"requests": [{"name": "cookie", "exactly": {"deviceClassName": "fortune"}}]}
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    async with await Api.connect(api) as client:
        await client.apply(
            DEVICECLASSES, {"metadata": {"name": "fortune"}, "spec": {"selectors": [selector]}}
        )
        await client.create(
            RESOURCECLAIMTEMPLATES,
            {
                "metadata": {"name": "cookie", "namespace": namespace},
                "spec": {"spec": {"devices": template}},
            },
        )
        yield Lab(node, client, namespace, kubectl, tmp_path / "driver.log")
        for slice_ in await client.list(RESOURCESLICES, field_selector=f"spec.driver={DRIVER}"):
            await client.delete(RESOURCESLICES, slice_["metadata"]["name"])


async def test_a_pod_gets_what_was_prepared_and_its_end_unprepares(lab: Lab) -> None:
    async with lab.driver():
        uid = await lab.pod("reader")
        claim = await lab.claim_of("reader")
        (result,) = claim["status"]["allocation"]["devices"]["results"]
        number = result["device"].removeprefix("cookie-")
        said = await eventually(lambda: lab.output("reader"), "the container's first line")
        assert said.startswith(f"FORTUNE_{number}=")
        assert lab.files() == [uid]
        await lab.delete("reader")
        assert lab.files() == []
        assert lab.served(uid) == (1, 1)


async def test_a_driver_that_ends_or_is_killed_loses_and_repeats_nothing(lab: Lab) -> None:
    async with lab.driver():
        first = await lab.pod("first")
    assert lab.files() == [first], "a running pod's file stays when the driver stops"
    async with lab.driver() as process:
        second = await lab.pod("second")
        process.kill()
        await process.wait()
    assert lab.files() == sorted([first, second])
    async with lab.driver():
        third = await lab.pod("third")
        for name in ("first", "second", "third"):
            await lab.delete(name)
    assert lab.files() == []
    for uid in (first, second, third):
        assert lab.served(uid) == (1, 1)
    assert list((await lab.slices()).values()) == [3]


async def test_a_rolling_update_has_two_instances_and_no_gap(lab: Lab) -> None:
    old_uid, new_uid = (f"00000000-0000-4000-8000-00000000000{n}" for n in (1, 2))
    async with lab.driver(old_uid) as old:
        before = await lab.pod("before")
        async with lab.driver(new_uid):
            during = await lab.pod("during")
            old.terminate()
            await eventually(lambda: _gone(old_uid), "the old instance's sockets gone")
            after = await lab.pod("after")
            for name in ("before", "during", "after"):
                await lab.delete(name)
    for uid in (before, during, after):
        assert lab.served(uid) == (1, 1)
    assert lab.files() == []


async def test_a_restarted_kubelet_and_containerd_change_nothing_for_a_running_pod(
    lab: Lab,
) -> None:
    async with lab.driver():
        uid = await lab.pod("stays")
        content = (CDI / f"{DRIVER}-{uid}.json").read_bytes()
        container = (await lab.get("stays"))["status"]["containerStatuses"][0]["containerID"]
        registered, wiped = lab.said("is registered"), await lab.slices()
        await asyncio.to_thread(lab.node.restart_containerd)
        await asyncio.to_thread(lab.node.restart_kubelet)
        await eventually(
            lambda: lab.more_said("is registered", registered), "the new kubelet's registration"
        )

        async def published() -> bool:
            slices = await lab.slices()
            return list(slices.values()) == [3] and slices.keys().isdisjoint(wiped)

        await eventually(published, "the slice the kubelet wiped at its start is back")
        after = (await lab.get("stays"))["status"]["containerStatuses"][0]
        assert (after["containerID"], after["restartCount"]) == (container, 0)
        assert (CDI / f"{DRIVER}-{uid}.json").read_bytes() == content
        other = await lab.pod("other")
        assert lab.files() == sorted([uid, other])
        await lab.delete("stays")
        await lab.delete("other")
        assert lab.files() == []
        assert (lab.served(uid), lab.served(other)) == ((1, 1), (1, 1))


async def _gone(pod_uid: str) -> bool:
    registry = Path("/var/lib/kubelet/plugins_registry")
    return not (registry / f"{DRIVER}-{pod_uid}-reg.sock").exists()
