"""What the main job plays on, inside the lab's machine: the product's processes and its cluster.

The relay and the operator are processes of the machine, not pods, so that a test can kill and
restart them at any instant. The operator speaks to the API server as its own service account, with a
token bound to the node, so that every right it uses is one that deploy/base gives it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bluetooth_operator.resources import ADAPTERS, PAIRINGREQUESTS, PERIPHERALS
from cluster.api import Api as Server
from cluster.kubectl import Kubectl
from draplugin.kube import NODES, SECRETS, Api, NotFound
from lab.daemon import Daemon

REPOSITORY = Path(__file__).parents[2]
DEPLOY = REPOSITORY / "deploy"
NAMESPACE = "bluetooth-system"
ACCOUNT = "bluetooth-operator"
RELAY_SOCKET = Path("/run/bluetooth.liken.sh/relay.sock")
CDI = Path("/var/run/cdi")
TOKEN_SECONDS = 7200

# What people would apply, but for the two DaemonSets, whose work is done by processes here.
INSTALLED = (
    "base/namespace.yaml",
    "base/crds/adapters.yaml",
    "base/crds/peripherals.yaml",
    "base/crds/pairingrequests.yaml",
    "base/rbac.yaml",
    "base/policy.yaml",
    "samples/bluetooth-input/deviceclass.yaml",
)


def install(kubectl: Kubectl) -> None:
    """Apply the product's own manifests and wait until its kinds are served."""
    kubectl("apply", "-f", str(DEPLOY / INSTALLED[0]))
    files = [argument for path in INSTALLED[1:] for argument in ("-f", str(DEPLOY / path))]
    kubectl("apply", *files, timeout=120)
    kinds = ("adapters", "peripherals", "pairingrequests")
    crds = [f"crd/{kind}.bluetooth.liken.sh" for kind in kinds]
    kubectl("wait", "--for=condition=Established", "--timeout=60s", *crds, timeout=120)


class Stage:
    """The relay and the operator, started and ended by the test; logs are kept in `logs`.

    `api` may do everything; `kubeconfig` is its own, from which the operator's is made.
    """

    def __init__(self, api: Api, kubeconfig: Path, node: str, logs: Path) -> None:
        self.node = node
        self.logs = logs
        self._api = api
        self._admin = kubeconfig
        self._kubeconfig = logs / "operator.kubeconfig"
        self.relay = Daemon("relay", relay_command(), logs)
        self.operator = Daemon("operator", _operator(node, self._kubeconfig), logs)

    async def start(self) -> None:
        """Start both, as their pods would be started."""
        credentials = await self._credentials()
        self._kubeconfig.touch(0o600)
        self._kubeconfig.write_text(json.dumps(credentials))
        self.start_relay()
        self.start_operator()

    def start_relay(self) -> None:
        """Start the relay and wait for its socket."""
        RELAY_SOCKET.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        self.relay.launch()
        self.relay.wait_until(RELAY_SOCKET.is_socket, "socket of the relay", 300)

    def start_operator(self) -> None:
        """Start the operator and wait until it serves the kubelet."""
        sockets = Path("/var/lib/kubelet/plugins_registry")
        self.operator.launch()
        self.operator.wait_until(
            lambda: any(sockets.glob("bluetooth.liken.sh*-reg.sock")), "registration socket", 300
        )

    def stop(self) -> None:
        """End both, whatever their state; the virtual nodes go with the relay."""
        for daemon in (self.operator, self.relay):
            if daemon.running:
                daemon.stop()

    async def clear(self) -> None:
        """Take away what an earlier test left behind, bonds and finalizers included."""
        for resource in (PERIPHERALS, ADAPTERS, PAIRINGREQUESTS):
            for item in await self._api.list(resource):
                name, namespace = item["metadata"]["name"], item["metadata"].get("namespace")
                patch = {"metadata": {"finalizers": None}}
                with suppress(NotFound):
                    await self._api.patch(resource, name, patch, namespace)
                await self._api.delete(resource, name, namespace)
        for secret in await self._api.list(SECRETS, NAMESPACE):
            await self._api.delete(SECRETS, secret["metadata"]["name"], NAMESPACE)
        for path in CDI.glob("bluetooth.liken.sh-*"):
            path.unlink()

    async def _credentials(self) -> Mapping[str, Any]:
        """A kubeconfig of the operator's service account, its token bound to this node."""
        node = await self._api.get(NODES, self.node)
        bound = {"kind": "Node", "apiVersion": "v1", "name": self.node}
        spec = {
            "audiences": [],
            "expirationSeconds": TOKEN_SECONDS,
            "boundObjectRef": {**bound, "uid": node["metadata"]["uid"]},
        }
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token"
        answer = await asyncio.to_thread(Server(self._admin).create, path, body)
        config = json.loads(self._admin.read_text())
        config["users"] = [{"name": "operator", "user": {"token": answer["status"]["token"]}}]
        for context in config["contexts"]:
            context["context"]["user"] = "operator"
        return dict(config)


def relay_command() -> list[str]:
    """The relay as its pod would start it."""
    return [
        *(sys.executable, "-m", "uinputrelay", "serve"),
        *("--socket", str(RELAY_SOCKET), "--phys-prefix", "bluetooth.liken.sh"),
    ]


def _operator(node: str, kubeconfig: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "bluetooth_operator", "run"),
        *("--node", node, "--namespace", NAMESPACE, "--kubeconfig", str(kubeconfig)),
        *("--relay", str(RELAY_SOCKET), "--cdi", str(CDI)),
    ]
