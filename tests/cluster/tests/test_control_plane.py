"""The control plane is Kubernetes itself, whole or loudly broken, and never left behind."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cluster import controlplane, rundir
from cluster.api import Api
from cluster.controlplane import ControlPlane
from cluster.kubectl import Kubectl, KubectlError
from cluster.processes import ComponentDiedError

pytestmark = pytest.mark.api

COMPONENTS = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]

POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "test-no-secret-answers"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["configmaps"],
                }
            ]
        },
        "validations": [
            {
                "expression": "!has(object.data) || !('answer' in object.data)",
                "message": "the answer is not to be written down",
            }
        ],
    },
}
BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "test-no-secret-answers"},
    "spec": {"policyName": "test-no-secret-answers", "validationActions": ["Deny"]},
}
TAINT = {"key": "example.org/unplugged", "effect": "NoSchedule"}
SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "test-gates"},
    "spec": {
        "driver": "example.org",
        "nodeName": "nowhere",
        "pool": {"name": "nowhere", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "thing", "taints": [TAINT]}],
    },
}


def config_map(name: str, namespace: str, data: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_the_server_is_kubernetes_1_37(kubectl: Kubectl) -> None:
    version = json.loads(kubectl("version", "-o", "json"))["serverVersion"]
    assert (version["major"], version["minor"]) == ("1", "37")
    assert version["gitVersion"].startswith("v1.37.")


def test_resource_v1_is_served_with_taint_rules(kubectl: Kubectl) -> None:
    found = json.loads(kubectl("get", "--raw", "/apis/resource.k8s.io/v1"))
    names = {resource["name"] for resource in found["resources"]}
    assert names >= {"deviceclasses", "devicetaintrules", "resourceclaims", "resourceslices"}


def test_a_namespace_of_the_tests_own_takes_pods(kubectl: Kubectl, namespace: str) -> None:
    kubectl("run", "one", "-n", namespace, "--image=localhost/busybox:1")
    assert kubectl.get("pod", "one", "-n", namespace)["status"]["phase"] == "Pending"


@pytest.fixture
def policy(kubectl: Kubectl) -> Iterator[None]:
    kubectl.apply(POLICY, BINDING)
    yield
    for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
        kubectl("delete", kind, "test-no-secret-answers")


@pytest.mark.usefixtures("policy")
def test_an_admission_policy_is_enforced(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(config_map("allowed", namespace, {"question": "?"}))
    # The server compiles a new policy a moment after it has accepted it.
    tries = (refusal(kubectl, f"refused-{number}", namespace) for number in range(200))
    assert "the answer is not to be written down" in next(filter(None, tries))


def refusal(kubectl: Kubectl, name: str, namespace: str) -> str:
    try:
        kubectl.apply(config_map(name, namespace, {"answer": "42"}))
    except KubectlError as error:
        return error.stderr
    return ""


def test_the_components_run_without_privileges(control_plane: ControlPlane) -> None:
    assert list(control_plane.components) == COMPONENTS
    for component in control_plane.components.values():
        status = Path(f"/proc/{component.pid}/status").read_text()
        facts = dict(line.split(":", 1) for line in status.splitlines())
        assert "0" not in facts["Uid"].split()
        assert int(facts["CapEff"], 16) == 0


def test_keys_are_their_owners_alone(control_plane: ControlPlane) -> None:
    secret = [*control_plane.path.rglob("*.key"), *control_plane.path.rglob("*.kubeconfig")]
    assert len(secret) >= 6
    assert {path.stat().st_mode & 0o777 for path in secret} == {0o600}


def test_the_harness_reads_refusals_in_the_servers_words(control_plane: ControlPlane) -> None:
    stranger = Api(control_plane.user_kubeconfig("stranger"))
    with pytest.raises(OSError, match=r'403 secrets is forbidden: User "stranger" cannot list'):
        stranger.get("/api/v1/secrets")
    assert Api(control_plane.kubeconfig).get("/api/v1/namespaces/no-such") is None


def test_nobody_gets_in_without_a_certificate(
    control_plane: ControlPlane, kubectl: Kubectl
) -> None:
    stranger = control_plane.user_kubeconfig("stranger")
    with pytest.raises(KubectlError, match=r'User "stranger" cannot list resource "secrets"'):
        Kubectl(kubectl.program, stranger)("get", "secrets", "-A")


@dataclass
class Second:
    """A control plane beside the run's, of an older API without device taints."""

    control_plane: ControlPlane
    said: list[str]
    death: threading.Event


@pytest.fixture(scope="module")
def second() -> Iterator[Second]:
    said: list[str] = []
    death = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        if "was killed" in line:
            death.set()

    with controlplane.start(
        feature_gates={"DRADeviceTaints": False, "DRADeviceTaintRules": False},
        runtime_config={"resource.k8s.io/v1beta2": True},
        api_server_flags=["--emulated-version=1.36"],
        say=say,
    ) as started:
        yield Second(started, said, death)


def test_a_second_one_on_the_same_machine_has_a_place_of_its_own(
    control_plane: ControlPlane, second: Second
) -> None:
    other = second.control_plane
    assert other.server != control_plane.server
    assert other.path != control_plane.path
    other.kubectl("create", "namespace", "only-in-the-second")
    assert "only-in-the-second" not in control_plane.kubectl("get", "namespaces")


def test_versions_of_the_api_are_an_option(second: Second) -> None:
    found = json.loads(second.control_plane.kubectl("get", "--raw", "/apis/resource.k8s.io"))
    assert "v1beta2" in {version["version"] for version in found["versions"]}


def test_gates_are_an_option(control_plane: ControlPlane, second: Second) -> None:
    for cluster, kept in ((control_plane, [TAINT["key"]]), (second.control_plane, [])):
        cluster.kubectl.apply(SLICE)
        [device] = cluster.kubectl.get("resourceslice", "test-gates")["spec"]["devices"]
        assert [taint["key"] for taint in device.get("taints", [])] == kept
        cluster.kubectl("delete", "resourceslice", "test-gates")


def test_a_component_that_dies_is_reported_with_the_end_of_its_log(second: Second) -> None:
    scheduler = second.control_plane.components["kube-scheduler"]
    os.kill(scheduler.pid, signal.SIGKILL)
    assert second.death.wait(10)
    assert second.said[-1].startswith("kube-scheduler was killed by signal 9; the end of ")
    assert scheduler.log.read_text().splitlines()[-1] in second.said[-1]
    with pytest.raises(ComponentDiedError, match="kube-scheduler was killed by signal 9"):
        second.control_plane.kubectl("get", "namespaces")


def test_nothing_is_left_when_it_is_stopped(second: Second) -> None:
    pids = [component.pid for component in second.control_plane.components.values()]
    second.control_plane.stop()
    assert not any(alive(pid) for pid in pids)
    assert not second.control_plane.path.exists()


def test_a_flag_that_a_component_refuses_is_reported_with_its_words() -> None:
    with pytest.raises(ComponentDiedError, match="unknown flag: --no-such-flag") as caught:
        controlplane.start(api_server_flags=["--no-such-flag"])
    assert caught.value.name == "kube-apiserver"
    assert caught.value.status == 1


def test_nothing_is_left_when_the_owner_is_killed() -> None:
    program = (
        "import json, sys, time\n"
        "from cluster import controlplane\n"
        "cp = controlplane.start()\n"
        "pids = [component.pid for component in cp.components.values()]\n"
        "print(json.dumps([str(cp.path), *pids]), flush=True)\n"
        "sys.stdin.read()\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with owner:
        assert owner.stdout is not None
        folder, *pids = json.loads(owner.stdout.readline())
        watched = [os.pidfd_open(pid) for pid in pids]
        owner.kill()
        for descriptor in watched:
            wait_for_end(descriptor)
    assert not any(alive(pid) for pid in pids)
    assert Path(folder) in rundir.sweep(rundir.unprivileged())
    assert not Path(folder).exists()


def wait_for_end(descriptor: int) -> None:
    """A pidfd is readable once its process has ended (pidfd_open(2))."""
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(10_000), "a component outlived its owner"
    finally:
        os.close(descriptor)
