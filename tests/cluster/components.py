"""The command line of every component, from one description of the cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LOOPBACK = "127.0.0.1"
# Under this address a guest on QEMU's user network finds the host's loopback address.
HOST_FROM_GUEST = "10.0.2.2"
SERVICES = "10.96.0.0/16"
_FIRST_SERVICE = "10.96.0.1"

# Everything the API server may be called by.
SERVER_NAMES = (
    LOOPBACK,
    HOST_FROM_GUEST,
    _FIRST_SERVICE,
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
)


@dataclass(frozen=True)
class Options:
    """What a test may want to be different.

    ``feature_gates`` go to every component (a gate has to agree between them);
    ``runtime_config`` and ``api_server_flags`` go to kube-apiserver alone.
    """

    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    runtime_config: Mapping[str, bool] = field(default_factory=dict)
    api_server_flags: Sequence[str] = ()


@dataclass(frozen=True)
class Ports:
    """Where the servers listen on the loopback address."""

    api_server: int
    controller_manager: int
    scheduler: int


def _switches(name: str, values: Mapping[str, bool]) -> list[str]:
    pairs = [f"{key}={str(value).lower()}" for key, value in values.items()]
    return [f"--{name}={','.join(pairs)}"] if pairs else []


def etcd(run: Path) -> list[str]:
    """etcd on unix sockets: nobody else reaches them, and they take no port.

    Nothing is to be kept, so nothing is worth an fsync.
    """
    client, peer = f"unix://{run}/etcd.sock", f"unix://{run}/peer.sock"
    return [
        f"--data-dir={run}/etcd",
        "--unsafe-no-fsync",
        "--name=one",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=one={peer}",
    ]


def api_server(run: Path, ports: Ports, options: Options) -> list[str]:
    """kube-apiserver for the host's loopback address, and so for guests.

    Kubelets are called by node name through the tunnel: every guest has the same address.
    """
    return [
        f"--etcd-servers=unix://{run}/etcd.sock",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={ports.api_server}",
        f"--advertise-address={HOST_FROM_GUEST}",
        *_serving(run),
        f"--client-ca-file={run}/pki/ca.crt",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={run}/pki/accounts.key",
        f"--service-account-signing-key-file={run}/pki/accounts.key",
        f"--service-cluster-ip-range={SERVICES}",
        "--kubelet-preferred-address-types=Hostname",
        f"--kubelet-certificate-authority={run}/pki/ca.crt",
        f"--kubelet-client-certificate={run}/pki/kubelet-client.crt",
        f"--kubelet-client-key={run}/pki/kubelet-client.key",
        f"--egress-selector-config-file={run}/egress.json",
        *_switches("feature-gates", options.feature_gates),
        *_switches("runtime-config", options.runtime_config),
        *options.api_server_flags,
    ]


def egress(run: Path) -> str:
    """Connections into the cluster go through the tunnel (EgressSelectorConfiguration)."""
    transport = {"uds": {"udsName": f"{run}/egress.sock"}}
    connection = {"proxyProtocol": "HTTPConnect", "transport": transport}
    return json.dumps(
        {
            "apiVersion": "apiserver.k8s.io/v1beta1",
            "kind": "EgressSelectorConfiguration",
            "egressSelections": [{"name": "cluster", "connection": connection}],
        }
    )


def controller_manager(run: Path, ports: Ports, options: Options) -> list[str]:
    """kube-controller-manager with a service account for each of its controllers."""
    return [
        *_client(run, "controller-manager", ports.controller_manager),
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={run}/pki/accounts.key",
        f"--root-ca-file={run}/pki/ca.crt",
        f"--cluster-signing-cert-file={run}/pki/ca.crt",
        f"--cluster-signing-key-file={run}/pki/ca.key",
        *_switches("feature-gates", options.feature_gates),
    ]


def scheduler(run: Path, ports: Ports, options: Options) -> list[str]:
    """kube-scheduler, alone."""
    return [
        *_client(run, "scheduler", ports.scheduler),
        *_switches("feature-gates", options.feature_gates),
    ]


def _serving(run: Path) -> list[str]:
    return [f"--tls-cert-file={run}/pki/server.crt", f"--tls-private-key-file={run}/pki/server.key"]


def _client(run: Path, name: str, port: int) -> list[str]:
    return [
        f"--kubeconfig={run}/{name}.kubeconfig",
        "--leader-elect=false",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        *_serving(run),
    ]
