"""The lab's machine is a node of the control plane on the host, and stays one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cluster import images
from cluster.api import Api
from cluster.kubectl import Kubectl
from cluster.node import Node
from evdev import AbsInfo, UInput, ecodes

pytestmark = pytest.mark.cluster

_PATIENCE = 120.0


def pod(name: str, image: str, *command: str) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "main", "image": image}
    if command:
        container["command"] = list(command)
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


class Pods:
    """Pods of one namespace, by the API directly: kubectl takes seconds in such a machine."""

    def __init__(self, node: Node, namespace: str) -> None:
        self._api = Api(node.kubeconfig)
        self._path = f"/api/v1/namespaces/{namespace}/pods"

    def create(self, item: dict[str, Any]) -> None:
        self._api.create(self._path, item)

    def get(self, name: str) -> dict[str, Any]:
        return self._api.get(f"{self._path}/{name}") or {}

    def wait(self, name: str, phase: str) -> dict[str, Any]:
        wait_until(lambda: self.get(name)["status"]["phase"] == phase)
        return self.get(name)


@pytest.fixture
def pods(node: Node, namespace: str) -> Pods:
    return Pods(node, namespace)


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not done():
        assert time.monotonic() < deadline, f"not so after {_PATIENCE:.0f} s"
        time.sleep(0.2)


def test_the_node_is_ready_under_its_own_identity(node: Node) -> None:
    found = node.api.get(f"/api/v1/nodes/{node.name}")
    assert found is not None
    info = found["status"]["nodeInfo"]
    assert info["kubeletVersion"].startswith("v1.37.")
    assert info["containerRuntimeVersion"].startswith("containerd://2.")
    with pytest.raises(OSError, match=r'"system:node:lab" cannot'):
        node.api.get("/api/v1/namespaces/kube-system/secrets")


def test_the_log_of_a_pod_is_read_through_the_api_server(
    pods: Pods, kubectl: Kubectl, namespace: str
) -> None:
    pods.create(pod("talks", images.BUSYBOX, "sh", "-c", "echo hello from $(hostname)"))
    pods.wait("talks", "Succeeded")
    assert kubectl("logs", "talks", "-n", namespace) == "hello from talks\n"


def test_a_command_runs_inside_a_pod(pods: Pods, kubectl: Kubectl, namespace: str) -> None:
    pods.create(pod("waits", images.BUSYBOX, "sleep", "600"))
    pods.wait("waits", "Running")
    inside = kubectl("exec", "waits", "-n", namespace, "--", "sh", "-c", "cat /proc/1/cmdline")
    assert inside == "sleep\x00600\x00"


def test_the_pad_reader_says_that_it_was_given_nothing(
    pods: Pods, kubectl: Kubectl, namespace: str
) -> None:
    pods.create(pod("reader", images.PAD_READER))
    ended = pods.wait("reader", "Failed")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["exitCode"] == 1
    said = kubectl("logs", "reader", "-n", namespace)
    assert said == "no input device was given to this container\n"


EVENTS = ["BTN_SOUTH 1", "ABS_HAT0X -1", "BTN_SOUTH 0", "BTN_NORTH 1"]
PAD: dict[int, Any] = {
    ecodes.EV_KEY: [ecodes.BTN_SOUTH, ecodes.BTN_NORTH],
    ecodes.EV_ABS: [
        (ecodes.ABS_X, AbsInfo(128, 0, 255, 0, 0, 0)),
        (ecodes.ABS_HAT0X, AbsInfo(0, -1, 1, 0, 0, 0)),
    ],
}


@pytest.fixture
def pad() -> Iterator[UInput]:
    with UInput(PAD, name="Test Pad") as device:
        yield device


def with_all_devices(item: dict[str, Any]) -> dict[str, Any]:
    volume = {"name": "input", "hostPath": {"path": "/dev/input"}}
    item["spec"]["volumes"] = [volume]
    item["spec"]["containers"][0] |= {
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": "input", "mountPath": "/dev/input"}],
    }
    return item


def test_the_pad_reader_prints_buttons_and_hats_and_no_sticks(
    pad: UInput, pods: Pods, kubectl: Kubectl, namespace: str
) -> None:
    path = str(pad.device.path)

    def lines() -> list[str]:
        said = kubectl("logs", "reader", "-n", namespace).splitlines()
        return [line for line in said if path in line.split()]

    pods.create(with_all_devices(pod("reader", images.PAD_READER)))
    pods.wait("reader", "Running")
    wait_until(lambda: lines() == [f"reading {path} Test Pad"])
    for kind, code, value in [
        (ecodes.EV_KEY, ecodes.BTN_SOUTH, 1),
        (ecodes.EV_ABS, ecodes.ABS_X, 200),
        (ecodes.EV_ABS, ecodes.ABS_HAT0X, -1),
        (ecodes.EV_KEY, ecodes.BTN_SOUTH, 0),
        (ecodes.EV_KEY, ecodes.BTN_NORTH, 1),
    ]:
        pad.write(kind, code, value)
        pad.syn()
    expected = [f"{path} {event}" for event in EVENTS]
    wait_until(lambda: lines()[1:] == expected)


def test_pods_outlive_the_kubelet_and_containerd(node: Node, pods: Pods) -> None:
    pods.create(pod("stays", images.BUSYBOX, "sleep", "600"))
    before = pods.wait("stays", "Running")["status"]["containerStatuses"][0]["containerID"]
    node.restart_containerd()
    node.restart_kubelet()
    after = pods.wait("stays", "Running")["status"]["containerStatuses"][0]
    assert after["containerID"] == before
    assert after["restartCount"] == 0
