"""pytest's fixtures for tests on a real Kubernetes.

Tests marked ``api`` run here, beside the control plane. Tests marked ``cluster`` run in the
lab's machine, where ``node`` has joined that same control plane to it; `guest` says what the
machine has to be given before it boots.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lab.hooks import GuestPreparation

from cluster import build, images, node
from cluster.api import Api
from cluster.kubectl import Kubectl
from cluster.node import Folders, Node

if TYPE_CHECKING:
    from cluster.controlplane import ControlPlane

# Seconds, by marker. A session's first test waits for its control plane, or for its node in
# an emulated machine.
_TIMEOUTS = {"api": 300, "cluster": 600}
_NODE_NAME = "lab"
_POLL = 0.05
_ACCOUNT_TIMEOUT = 60.0
_RUNNING = pytest.StashKey["ControlPlane"]()


def in_guest() -> bool:
    """Whether this is the lab's machine."""
    return os.environ.get("LAB_GUEST") == "1"


def guest(control_plane: ControlPlane, tree: Path, results: str) -> GuestPreparation:
    """Prepare credentials, programs and images for a machine whose root is ``tree``.

    The folders are for reading; the node's logs go to ``results``, a folder in the machine.
    """
    credentials = control_plane.node_folder(_NODE_NAME).path
    folders = {
        node.NODE_FOLDER: credentials,
        node.BINARIES: control_plane.binaries,
        node.IMAGES: images.build(tree),
    }
    return GuestPreparation({"CLUSTER_LOGS": f"{results}/node"}, folders)


@pytest.hookimpl(optionalhook=True)
def pytest_lab_prepare(
    config: pytest.Config, items: Sequence[pytest.Item], tree: Path, results: str
) -> GuestPreparation | None:
    """Host: make the lab's machine ready to be a node, if a test wants it to be one."""
    if not any(item.get_closest_marker("cluster") for item in items):
        return None
    return guest(running(config), tree, results)


def running(config: pytest.Config) -> ControlPlane:
    """The run's one control plane, started on first use and stopped with the run."""
    # Not at the top: a guest would spend seconds on importing cryptography.
    from cluster import controlplane

    if _RUNNING not in config.stash:
        config.stash[_RUNNING] = controlplane.start()
        config.add_cleanup(config.stash[_RUNNING].stop)
    return config.stash[_RUNNING]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests on real parts the time those need, unless they say otherwise."""
    for item in items:
        for name, seconds in _TIMEOUTS.items():
            if item.get_closest_marker(name) and not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(seconds))


@pytest.fixture(scope="session")
def control_plane(pytestconfig: pytest.Config) -> ControlPlane:
    """The run's control plane, on this machine."""
    if in_guest():
        pytest.fail("the control plane is on the host; a test in the guest uses node and api")
    return running(pytestconfig)


@pytest.fixture(scope="session")
def node_in_guest() -> Iterator[Node]:
    """The run's node, started on first use."""
    if not in_guest():
        pytest.fail("a node runs in the lab's machine only; mark the test `cluster`")
    with node.start() as started:
        yield started


@pytest.fixture(name="node")
def whole_node(node_in_guest: Node) -> Iterator[Node]:
    """The node, Ready and whole before and after the test."""
    node_in_guest.check()
    yield node_in_guest
    node_in_guest.check()


@pytest.fixture
def api(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The admin's kubeconfig of the run's cluster, wherever the test runs."""
    if in_guest():
        yield Folders.from_environment().credentials / "admin.kubeconfig"
        return
    cluster: ControlPlane = request.getfixturevalue("control_plane")
    cluster.check()
    yield cluster.kubeconfig
    cluster.check()


@pytest.fixture
def kubectl(api: Path) -> Kubectl:
    """kubectl as the admin of the run's cluster, wherever the test runs."""
    if in_guest():
        return Kubectl(Folders.from_environment().binaries / "kubectl", api)
    return Kubectl(build.binaries() / "kubectl", api)


@pytest.fixture
def namespace(api: Path) -> Iterator[str]:
    """A namespace of the test's own, in which pods can be made; deleted behind it."""
    server = Api(api)
    metadata = {"generateName": "test-"}
    created = server.create("/api/v1/namespaces", {"metadata": metadata})
    name: str = created["metadata"]["name"]
    _wait_for_account(server, name)
    yield name
    server.delete(f"/api/v1/namespaces/{name}")


def _wait_for_account(server: Api, namespace: str) -> None:
    """Pods are refused until the controller manager has made the default service account."""
    deadline = time.monotonic() + _ACCOUNT_TIMEOUT
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
    while server.get(path) is None:
        if time.monotonic() > deadline:
            pytest.fail(f"{namespace} got no service account in {_ACCOUNT_TIMEOUT:.0f} s")
        time.sleep(_POLL)
