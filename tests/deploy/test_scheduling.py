"""The samples and the base before the real scheduler: who is given what, who waits, who is evicted.

The nodes exist on paper only, so nothing runs; what a pod is given is decided before that.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from cluster.controlplane import ControlPlane

from deploy.manifests import SAMPLES
from deploy.server import Server

pytestmark = pytest.mark.api

Object = dict[str, Any]
NODE = "cabinet-1"
NODES = "/api/v1/nodes"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
PAD, REMOTE, BUS = "a0-ab-51-33-b7-12", "54-44-a3-00-11-22", "04-4a-69-66-92-27-media"
DISCONNECTED = {"key": "bluetooth.liken.sh/disconnected", "effect": "NoExecute"}
NO_INPUT_NODE = {"key": "bluetooth.liken.sh/no-input-node", "effect": "NoSchedule"}
NODE_MOVED = {"key": "bluetooth.liken.sh/node-moved", "effect": "NoExecute"}
NOTHING_TO_GIVE = "cannot allocate all claims"
NOBODY_TO_FOLLOW = "didn't match pod affinity rules"
_WAIT = 60.0


@pytest.fixture
def node(server: Server) -> Iterator[str]:
    """A node that says it is ready; the controllers believe it for 40 s."""
    labels = {"kubernetes.io/os": "linux", "kubernetes.io/hostname": NODE}
    metadata = {"name": NODE, "labels": labels}
    server.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {"type": "Ready", "status": "True", "reason": "Paper", "message": ""}
    ready |= {"lastHeartbeatTime": now, "lastTransitionTime": now}
    room = {"cpu": "4", "memory": "4Gi", "pods": "50"}
    status = {"conditions": [ready], "capacity": room, "allocatable": room}
    assert server.merge(f"{NODES}/{NODE}/status", {"status": status}).refusal is None
    yield NODE
    server.delete(f"{NODES}/{NODE}")


def device(name: str, *taints: Object, **attributes: object) -> Object:
    kinds = {str: "string", bool: "bool"}
    values = {key: {kinds[type(value)]: value} for key, value in attributes.items()}
    return {"name": name, "attributes": values, "taints": list(taints)}


def pad(*taints: Object) -> Object:
    return device(
        PAD,
        *taints,
        address="A0:AB:51:33:B7:12",
        connected=True,
        input=True,
        joystick=True,
        accelerometer=True,
    )


def remote() -> Object:
    return device(
        REMOTE, address="54:44:A3:00:11:22", connected=False, input=True, key=True, mouse=True
    )


def media_bus() -> Object:
    made = device(BUS, address="04:4A:69:66:92:27", kind="mediaBus")
    made["attributes"]["sound.liken.sh/supportsSound"] = {"bool": True}
    return made


def a_slice(driver: str, devices: list[Object]) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{NODE}-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": NODE,
            "pool": {"name": NODE, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


class Paper:
    """A cluster of one paper node; what a test makes in it is gone behind the test."""

    def __init__(self, cluster: ControlPlane, server: Server) -> None:
        self.kubectl = cluster.kubectl
        self.server = server
        self.made: list[str] = []

    def publish(self, *devices: Object, driver: str = "bluetooth.liken.sh") -> None:
        """Make the slice, or put other devices into it."""
        made = a_slice(driver, list(devices))
        path = f"{SLICES}/{made['metadata']['name']}"
        if path in self.made:
            assert self.server.merge(path, {"spec": made["spec"]}).refusal is None
            return
        self.server.create(SLICES, made)
        self.made.append(path)

    def sample(self, *names: str) -> None:
        """Apply the samples, as their READMEs say."""
        for name in names:
            folder = str(SAMPLES / name)
            self.kubectl("apply", "--validate=strict", "-f", folder)

    def scheduled(
        self, pod: str, namespace: str = "default", refusal: str = NOTHING_TO_GIVE
    ) -> bool:
        """What the scheduler decides about a pod: placed, or refused for this very reason."""
        while True:
            condition = self._condition(pod, namespace)
            if condition.get("status") == "True":
                return True
            if refusal in condition.get("message", ""):
                return False
            self._deadline(f"pod {pod} is neither placed nor refused: {condition}")

    def placed(self, pod: str, namespace: str = "default") -> None:
        """Wait until a pod is placed, also one that was refused before."""
        while self._condition(pod, namespace).get("status") != "True":
            self._deadline(f"pod {pod} is not placed: {self._condition(pod, namespace)}")

    def evicted(self, pod: str) -> None:
        """Wait until somebody has asked for a pod's end."""
        while "deletionTimestamp" not in self._get(f"pods/{pod}", "default")["metadata"]:
            self._deadline(f"pod {pod} is not evicted")

    def allocation(self, claim: str) -> Object:
        """What a claim was given."""
        found: Object = self._get(f"resourceclaims/{claim}", "default")["status"]["allocation"]
        return found

    def devices(self, claim: str) -> list[str]:
        """The names of the devices a claim was given."""
        return [each["device"] for each in self.allocation(claim)["devices"]["results"]]

    def start(self) -> None:
        """Count the time to wait from here."""
        self._until = time.monotonic() + _WAIT

    def _condition(self, pod: str, namespace: str) -> Object:
        status = self._get(f"pods/{pod}", namespace).get("status", {})
        listed = status.get("conditions", [])
        found = [each for each in listed if each["type"] == "PodScheduled"]
        return found[0] if found else {}

    def _get(self, path: str, namespace: str) -> Object:
        group = "/apis/resource.k8s.io/v1" if path.startswith("resourceclaims") else "/api/v1"
        return self.server.call("GET", f"{group}/namespaces/{namespace}/{path}").body

    def _deadline(self, message: str) -> None:
        if time.monotonic() > self._until:
            pytest.fail(message)


@pytest.fixture
def paper(deployed: ControlPlane, server: Server, node: str) -> Iterator[Paper]:
    made = Paper(deployed, server)
    made.start()
    yield made
    made.kubectl("delete", "-k", str(SAMPLES), "--ignore-not-found", "--wait=false")
    made.kubectl("delete", "pods", "--all", "--force", "--grace-period=0", "-n", "default")
    made.kubectl("delete", "resourceclaims", "--all", "-n", "default")
    for path in made.made:
        server.delete(path)


def test_a_claim_by_address_is_given_that_controller(paper: Paper) -> None:
    paper.publish(remote(), pad(), media_bus())
    paper.sample("bluetooth-input", "claim-by-address")
    assert paper.scheduled("living-room-player")
    assert paper.devices("living-room-pad") == [PAD]


@pytest.mark.parametrize(
    ("taints", "placed"),
    [
        pytest.param([DISCONNECTED], True, id="asleep: it waits for the press in its pod"),
        pytest.param([NO_INPUT_NODE], False, id="never connected: it waits outside"),
        pytest.param([DISCONNECTED, NO_INPUT_NODE], False, id="both: it waits outside"),
        pytest.param([NODE_MOVED], False, id="its nodes moved: nobody is given it"),
    ],
)
def test_a_claim_tolerates_sleep_and_nothing_else(
    paper: Paper, taints: list[Object], placed: bool
) -> None:
    paper.publish(pad(*taints))
    paper.sample("bluetooth-input", "claim-by-address")
    assert paper.scheduled("living-room-player") is placed


def test_a_controller_that_connects_at_last_is_given_to_who_waits(paper: Paper) -> None:
    paper.publish(pad(DISCONNECTED, NO_INPUT_NODE))
    paper.sample("bluetooth-input", "claim-by-address")
    assert not paper.scheduled("living-room-player")
    paper.publish(pad())
    paper.placed("living-room-player")


def test_who_holds_nodes_that_moved_is_evicted(paper: Paper) -> None:
    paper.publish(pad())
    paper.sample("bluetooth-input", "claim-by-address")
    assert paper.scheduled("living-room-player")
    paper.publish(pad(NODE_MOVED))
    paper.evicted("living-room-player")


def test_the_media_bus_is_no_input_device(paper: Paper) -> None:
    """Its attributes lack what the classes read: the read is guarded, or allocation would abort."""
    paper.publish(media_bus())
    paper.sample("bluetooth-input", "gamepad", "claim-by-address", "axes")
    assert not paper.scheduled("living-room-player")
    assert not paper.scheduled("steady-player")


def test_a_gamepad_is_told_from_a_remote(paper: Paper) -> None:
    paper.publish(remote(), media_bus(), pad())
    paper.sample("gamepad", "axes")
    assert paper.scheduled("steady-player")
    assert paper.devices("steady-pad") == [PAD]


def test_a_claims_parameters_arrive_beside_those_of_its_class(paper: Paper) -> None:
    paper.publish(pad())
    paper.sample("gamepad", "axes")
    assert paper.scheduled("steady-player")
    configs = paper.allocation("steady-pad")["devices"]["config"]
    found = {each["source"]: each["opaque"]["parameters"] for each in configs}
    assert found["FromClass"]["inputs"] == ["joystick"]
    assert found["FromClaim"]["axes"]["ABS_X"] == {"fuzz": 4, "flat": 8}


def test_a_deployments_pod_gets_a_claim_of_its_own(paper: Paper) -> None:
    paper.publish(pad(), remote())
    paper.sample("bluetooth-input", "deployment")
    label = ("-l", "app.kubernetes.io/name=media-player", "-o", "name")
    paper.kubectl("wait", "--for=create", "pod", *label[:2], "--timeout=60s")
    (pod,) = paper.kubectl("get", "pods", *label).split()
    paper.placed(pod.removeprefix("pod/"))
    claims = json.loads(paper.kubectl("get", "resourceclaims", "-o", "json"))["items"]
    assert [paper.devices(each["metadata"]["name"]) for each in claims] == [[REMOTE]]


def _ours(paper: Paper, name: str) -> str:
    """The name of the DaemonSet's pod for the paper node."""
    label = f"app.kubernetes.io/name={name}"
    where = ("-n", "bluetooth-system", "-l", label)
    paper.kubectl("wait", "--for=create", "pod", *where, "--timeout=60s")
    pods = json.loads(paper.kubectl("get", "pods", *where, "-o", "json"))["items"]
    (found,) = [each["metadata"]["name"] for each in pods if NODE in json.dumps(each["spec"])]
    return str(found)


def test_the_operator_runs_where_a_radio_is_and_the_relay_follows_it(paper: Paper) -> None:
    operator, relay = _ours(paper, "bluetooth-operator"), _ours(paper, "uinputrelay")
    assert not paper.scheduled(operator, "bluetooth-system")
    assert not paper.scheduled(relay, "bluetooth-system", NOBODY_TO_FOLLOW)
    other = device("usb-1-2", driver="usbhid")
    silent = device("usb-1-3")
    paper.publish(silent, other, device("usb-1-4", driver="btusb"), driver="liken.sh")
    paper.placed(operator, "bluetooth-system")
    paper.placed(relay, "bluetooth-system")
