"""The demo's half inside the machine: plays the main job and tells each step as it is observed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cluster.node
import yaml
from cluster.kubectl import Kubectl
from draplugin.kube import NAMESPACES, Api
from lab.controllers import DualSense, Remote
from lab.radio import Air, Bluetoothd, Bus
from lab.vm import RESULTS

from job.job import DUALSENSE, REMOTE, Job, Kind
from job.stage import Stage, install
from job.waiting import Unmet

NAMESPACE = "living-room"
CONTROLLERS: Mapping[str, tuple[type[DualSense | Remote], Kind]] = {
    "dualsense": (DualSense, DUALSENSE),
    "remote": (Remote, REMOTE),
}


class Narrator:
    """Numbers the steps, prints what proves them, and remembers how long it all took."""

    def __init__(self) -> None:
        self.steps = 0
        self._begin = time.monotonic()

    def step(self, text: str) -> None:
        """Say what happens next."""
        self.steps += 1
        print(f"\n[{self._seconds():4.0f} s] {self.steps}. {text}")

    def saw(self, text: str) -> None:
        """Say what was observed."""
        print(f"         {text}")

    def show(self, value: object) -> None:
        """Print a part of an object as YAML, indented under the step that it proves."""
        text = yaml.safe_dump(value, sort_keys=False, width=96)
        print("".join(f"           {line}\n" for line in text.splitlines()), end="")

    def _seconds(self) -> float:
        return time.monotonic() - self._begin

    def summary(self, text: str) -> None:
        """The last line."""
        print(f"\n{text} ({self.steps} steps, {self._seconds():.0f} s)")


async def play(job: Job, tell: Narrator, kubectl: Kubectl) -> None:
    """The main job, from the radio to the button after the sleep."""
    await _pair(job, tell)
    await _publish(job, tell)
    await _claim(job, tell)
    await _sleep_and_wake(job, tell)
    tell.step("All along the pod's own log said the same: kubectl logs player")
    for line in kubectl("logs", "-n", job.namespace, "player").splitlines():
        tell.saw(line)


async def _pair(job: Job, tell: Narrator) -> None:
    tell.step("bluetoothd has a radio; the operator made an Adapter object of it")
    adapter = await job.adapter_ready()
    tell.show({"kind": "Adapter", "name": job.adapter, "status": _without(adapter, "conditions")})
    tell.step("Somebody applies a PairingRequest: listen for a controller")
    request = await job.request_pairing()
    tell.show({key: request[key] for key in ("apiVersion", "kind", "spec")})
    tell.step(f"The {job.kind.word}'s pairing buttons are held, and the request lists it")
    request = await job.heard()
    tell.show({"status": {"seen": request["status"]["seen"]}})
    tell.step("Nothing is paired yet. Somebody approves that address:")
    tell.saw(f"kubectl patch pairingrequest pad --type=merge -p '{_approval(job)}'")
    await job.approve()
    peripheral = await job.paired()
    tell.saw("paired; the operator made a Peripheral of it")
    tell.show({"kind": "Peripheral", "name": job.name, "status": _without(peripheral)})
    secret = await job.stored()
    sizes = {key: f"{len(value) * 3 // 4} bytes" for key, value in secret["data"].items()}
    tell.step("Its keys, and what its input nodes can do, are kept in a Secret")
    tell.show({"kind": "Secret", "name": secret["metadata"]["name"], "data": sizes})


async def _publish(job: Job, tell: Narrator) -> None:
    tell.step("It is a device in this node's ResourceSlice")
    device = await job.published()
    tell.show(dict(device))


async def _claim(job: Job, tell: Narrator) -> None:
    tell.step(
        "A pod without any privilege claims it; the scheduler allocates, the kubelet prepares"
    )
    tell.show(
        {"kind": "ResourceClaim", "spec": job.claim({"inputs": [job.kind.input_class]})["spec"]}
    )
    await job.start_pod({"inputs": [job.kind.input_class]})
    tell.saw("the pod runs; it was given these nodes and nothing else (CDI):")
    tell.show(job.cdi()["devices"][0]["containerEdits"]["deviceNodes"])
    for line in job.output():
        tell.saw(f"pod: {line}")
    tell.step(f"{job.kind.button} is pressed on the controller")
    _print_new(await job.press(), tell, 2)


async def _sleep_and_wake(job: Job, tell: Narrator) -> None:
    tell.step("The controller switches itself off; its own nodes are gone, the pod's are not")
    real = job.real_nodes()
    await job.sleep()
    tell.saw(f"gone: {', '.join(real)}")
    device = await job.tainted("disconnected")
    tell.show({"taints": device["taints"]})
    tell.step("It comes back by itself, and the pod goes on reading the node it had")
    await job.wake()
    tell.saw(f"its own nodes are now: {', '.join(job.real_nodes())}")
    _print_new(await job.press(), tell, 2)


def _print_new(lines: list[str], tell: Narrator, count: int) -> None:
    for line in lines[-count:]:
        tell.saw(f"pod: {line}")


def _approval(job: Job) -> str:
    return json.dumps({"spec": {"device": job.address}})


def _without(obj: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """A status without what a reader of the demo would trip over."""
    hidden = {*keys, "conditions", "observedGeneration"}
    return {key: value for key, value in obj["status"].items() if key not in hidden}


async def run(controller: str, logs_on_host: str) -> int:
    """Set everything up, play, and say how it went; the exit status."""
    tell = Narrator()
    logs = Path(RESULTS)
    print("A real node joins a real control plane, and a real bluetoothd starts; half a minute ...")
    with cluster.node.start() as node, Bus(logs), Air(logs), Bluetoothd(logs):
        install(node.kubectl)
        make, kind = CONTROLLERS[controller]
        async with await Api.connect(node.kubeconfig, manager="somebody") as api, make(logs) as pad:
            await api.create(NAMESPACES, _namespace())
            stage = Stage(api, node.kubeconfig, node.name, logs)
            await stage.start()
            job = Job(api, stage, pad, kind, NAMESPACE)
            try:
                await play(job, tell, node.kubectl)
            except Unmet as error:
                print(f"\nFAILED at step {tell.steps}\n{error}".replace(str(logs), logs_on_host))
                return 1
            finally:
                stage.stop()
    tell.summary(
        f"A {kind.word} was paired by kubectl, slept, and never left the pod that claimed it"
    )
    return 0


def _namespace() -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(asyncio.run(run(sys.argv[1], sys.argv[2])))
