"""A node in the lab's machine: containerd and kubelet, joined to the control plane on the host.

Runs as root inside the guest and changes it freely, since the machine is thrown away::

    node = cluster.node.start()          # from the folders that the plugin or the demo shared
    node.kubectl("get", "pods")

``python -m cluster.node`` does the same in the foreground until SIGTERM.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cluster import nodeconfig
from cluster.api import Api
from cluster.kubectl import Kubectl
from cluster.processes import Component, ComponentDiedError, Nursery
from cluster.progress import Progress, Say, to_stderr

# Where the host's folders are in the guest, and the variables that may say otherwise.
NODE_FOLDER, BINARIES, IMAGES, LOGS = "/run/k8s/node", "/run/k8s/bin", "/run/k8s/images", "/run/k8s"
_CGROUP = Path("/sys/fs/cgroup")
_RUNTIME_ROOT = Path("/run/ctr")
_KUBELET_ROOT = Path("/var/lib/kubelet")
_MODULES = ("overlay", "bridge", "veth")
# Emulated machines are slow; these are the ends of waits that usually take seconds.
_SOCKET_TIMEOUT = 120.0
_READY_TIMEOUT = 300.0
_IMPORT_TIMEOUT = 180.0
_POLL = 0.5
# Memory is not what an emulated machine lacks: collect garbage a quarter as often.
_GO_ENVIRONMENT = {"GOGC": "400"}


class NodeError(RuntimeError):
    """The node could not be set up or did not become ready; says what was seen instead."""


@dataclass(frozen=True)
class Folders:
    """What the host shared: credentials (`NodeFolder`), programs, image archives; and the logs."""

    credentials: Path
    binaries: Path
    images: Path
    logs: Path

    @staticmethod
    def from_environment() -> Folders:
        """The folders named by CLUSTER_NODE, CLUSTER_BINARIES, CLUSTER_IMAGES, CLUSTER_LOGS."""
        return Folders(
            Path(os.environ.get("CLUSTER_NODE", NODE_FOLDER)),
            Path(os.environ.get("CLUSTER_BINARIES", BINARIES)),
            Path(os.environ.get("CLUSTER_IMAGES", IMAGES)),
            Path(os.environ.get("CLUSTER_LOGS", LOGS)),
        )


class Node:
    """A running node. Made by `start`; a context manager that stops it.

    ``kubeconfig`` and ``kubectl`` are the cluster's admin, as seen from the guest; ``logs`` is
    the folder of containerd.log, kubelet.log and agent.log.
    """

    def __init__(self, folders: Folders, say: Say = to_stderr) -> None:
        facts = json.loads((folders.credentials / "node.json").read_text())
        self.name: str = facts["name"]
        self.folders = folders
        self.logs = folders.logs
        self.kubeconfig = folders.credentials / "admin.kubeconfig"
        self.kubectl = Kubectl(folders.binaries / "kubectl", self.kubeconfig, self.check)
        self.api = Api(folders.credentials / "node.kubeconfig")
        self._gates: Mapping[str, bool] = facts["feature_gates"]
        self._say = say
        self._nursery = Nursery(folders.binaries, folders.logs, None)
        self._parts: dict[str, Component] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def check(self) -> None:
        """Raise `ComponentDiedError`, with the end of its log, when a part is gone."""
        self._nursery.check()

    def launch(self) -> None:
        """Set the machine up, start everything and wait until the node is Ready."""
        with Progress(f"starting node {self.name}", self._say) as progress:
            progress.detail = "mounts and settings"
            self._prepare()
            progress.detail = "containerd"
            self.start_containerd()
            self._start_agent()
            # The kubelet takes long to load; images are not needed before it has a pod.
            self.start_kubelet()
            for archive in sorted(self.folders.images.glob("*.tar")):
                progress.detail = f"kubelet; importing {archive.name}"
                self.import_images(archive)
            progress.detail = "waiting for Ready"
            self.wait_ready()

    def start_containerd(self) -> None:
        """Start containerd in a cgroup of its own and wait for its socket."""
        # The start is in the parent's cgroup, the shims follow containerd into this one.
        arguments = ["--config", "/etc/containerd/config.toml"]
        self._spawn("containerd", arguments, "containerd", _GO_ENVIRONMENT)
        cgroup = _CGROUP / "containerd"
        cgroup.mkdir(exist_ok=True)
        (cgroup / "cgroup.procs").write_text(str(self._parts["containerd"].pid))
        self._wait("containerd's socket", _SOCKET_TIMEOUT, _answers)

    def start_kubelet(self) -> None:
        """Start the kubelet; `wait_ready` waits for what it reports."""
        arguments = [
            f"--config={_KUBELET_ROOT}/config.json",
            f"--kubeconfig={self.folders.credentials}/node.kubeconfig",
            f"--hostname-override={self.name}",
            f"--node-ip={nodeconfig.ADDRESS}",
            # cAdvisor's walk through the cgroups; nobody here asks for its figures.
            "--housekeeping-interval=60s",
            "--v=2",
        ]
        self._spawn("kubelet", arguments, environment=_GO_ENVIRONMENT)

    def stop_kubelet(self) -> None:
        """Stop the kubelet; its pods go on running."""
        self._stop("kubelet")

    def stop_containerd(self) -> None:
        """Stop containerd; its containers go on running."""
        self._stop("containerd")

    def restart_kubelet(self) -> None:
        """Stop and start the kubelet, and wait until it reports as a new process."""
        self.stop_kubelet()
        before = self._last_report()
        self.start_kubelet()
        self._wait(
            "the new kubelet's report", _READY_TIMEOUT, lambda: self._last_report() != before
        )
        self.wait_ready()

    def restart_containerd(self) -> None:
        """Stop and start containerd, and wait until the node is Ready."""
        self.stop_containerd()
        self.start_containerd()
        self.wait_ready()

    def import_images(self, archive: Path) -> None:
        """Make the images of an OCI archive known to the kubelet's containerd."""
        command = ["ctr", "-n", "k8s.io", "images", "import", "--local", str(archive)]
        _run(command, _IMPORT_TIMEOUT)

    def wait_ready(self, timeout: float = _READY_TIMEOUT) -> None:
        """Wait until the API server has the node as Ready.

        Raises `NodeError` with the node's conditions after ``timeout`` seconds.
        """
        self._wait(f"node {self.name} being Ready", timeout, self._is_ready)

    def stop(self) -> None:
        """Stop the parts, then whatever containers are left."""
        self._nursery.close()
        for name in ("kubepods", "containerd"):
            with contextlib.suppress(OSError):
                (_CGROUP / name / "cgroup.kill").write_text("1")

    def _prepare(self) -> None:
        self.logs.mkdir(parents=True, exist_ok=True)
        for module in _MODULES:
            _run(["modprobe", module])
        for folder in (_RUNTIME_ROOT, _KUBELET_ROOT):
            _mount_tmpfs(folder)
        # The kubelet's mounts have to be seen by containers, and theirs by it.
        _run(["mount", "--make-rshared", "/"])
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        for name in nodeconfig.CDI_FOLDERS:
            Path(name).mkdir(parents=True, exist_ok=True)
        files = {
            "/etc/containerd/config.toml": nodeconfig.containerd(_RUNTIME_ROOT),
            "/etc/cni/net.d/10-pods.conflist": nodeconfig.cni(),
            f"{_KUBELET_ROOT}/config.json": nodeconfig.kubelet(
                self.folders.credentials, self._gates
            ),
        }
        for path, text in files.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)

    def _start_agent(self) -> None:
        tunnel = self.folders.credentials / "tunnel.json"
        tests = Path(__file__).parents[1]
        self._spawn(
            "agent",
            ["-m", "cluster.agent", str(tunnel)],
            sys.executable,
            {"PYTHONPATH": str(tests)},
        )

    def _spawn(
        self,
        name: str,
        arguments: list[str],
        program: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        path = None if program is None else _find(program)
        self._parts[name] = self._nursery.spawn(name, arguments, path, environment)

    def _stop(self, name: str) -> None:
        self._nursery.stop(self._parts.pop(name), 15.0)

    def _conditions(self) -> list[dict[str, Any]]:
        found = self.api.get(f"/api/v1/nodes/{self.name}")
        conditions: list[dict[str, Any]] = (found or {}).get("status", {}).get("conditions", [])
        return conditions

    def _is_ready(self) -> bool:
        return any(it["type"] == "Ready" and it["status"] == "True" for it in self._conditions())

    def _last_report(self) -> str:
        ready = [it["lastHeartbeatTime"] for it in self._conditions() if it["type"] == "Ready"]
        return ready[0] if ready else ""

    def _wait(self, what: str, timeout: float, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + timeout
        trouble = ""
        while time.monotonic() < deadline:
            self.check()
            try:
                if done():
                    return
                trouble = ""
            except OSError as error:
                trouble = str(error)
            time.sleep(_POLL)
        seen = trouble or self._describe()
        raise NodeError(f"{what} did not come in {timeout:.0f} s; {seen}; logs: {self.logs}")

    def _describe(self) -> str:
        try:
            conditions = self._conditions()
        except OSError as error:
            return str(error)
        return "; ".join(
            f"{it['type']}={it['status']} {it.get('message', '')}" for it in conditions
        )


def start(folders: Folders | None = None, say: Say = to_stderr) -> Node:
    """Start the node and return it Ready.

    Raises `NodeError` or `ComponentDiedError`; what was started is stopped again then.
    """
    node = Node(folders or Folders.from_environment(), say)
    try:
        node.launch()
    except BaseException:
        node.stop()
        raise
    return node


def _find(program: str) -> Path:
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if (path := Path(folder) / program).is_file():
            return path
    raise NodeError(f"{program} is not in this machine's root")


def _answers() -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(nodeconfig.CONTAINERD_SOCKET)
    return True


def _mount_tmpfs(folder: Path) -> None:
    """Memory over a folder: the machine's root is an overlay, on which containerd's cannot be."""
    folder.mkdir(parents=True, exist_ok=True)
    if not folder.is_mount():
        _run(["mount", "-t", "tmpfs", "none", str(folder)])


def _run(command: list[str], timeout: float = 60.0) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode:
        raise NodeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")


def main() -> int:
    """Run a node until SIGTERM or SIGINT; prints ``ready NAME`` when it is."""
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    try:
        with start() as node:
            print(f"ready {node.name}", flush=True)
            while not over.wait(1.0):
                node.check()
    except (NodeError, ComponentDiedError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
