"""What the operator is told at its start; each by an option, and by the variable a pod sets."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Config:
    """Where everything is. Directories of the kubelet are the same inside and outside the pod."""

    node: str
    namespace: str
    kubeconfig: Path | None
    bus: str | None
    bluetooth: Path
    relay: Path
    cdi: Path
    plugins: Path
    registry: Path
    pod_uid: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say where Kubernetes and the bonds are."""
    env = os.environ.get
    parser.add_argument(
        "--node", default=env("NODE_NAME"), help="this node's name (default: $NODE_NAME)"
    )
    parser.add_argument(
        "--namespace",
        default=env("POD_NAMESPACE", "bluetooth-system"),
        help="where the bond Secrets are (default: $POD_NAMESPACE, else bluetooth-system)",
    )
    parser.add_argument(
        "--kubeconfig", type=Path, help="default: the pod's service account, else kubectl's own"
    )
    parser.add_argument(
        "--bluetooth",
        type=Path,
        default=Path("/var/lib/bluetooth"),
        help="bluetoothd's storage (default: %(default)s)",
    )


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the loop alone."""
    parser.add_argument("--bus", help="D-Bus address of bluetoothd's bus (default: the system bus)")
    parser.add_argument(
        "--relay",
        type=Path,
        default=Path("/run/bluetooth.liken.sh/relay.sock"),
        help="the relay's socket (default: %(default)s)",
    )
    parser.add_argument(
        "--cdi", type=Path, default=Path("/var/run/cdi"), help="CDI files (default: %(default)s)"
    )
    parser.add_argument(
        "--plugins",
        type=Path,
        default=Path("/var/lib/kubelet/plugins"),
        help="the kubelet's plugin data (default: %(default)s)",
    )
    parser.add_argument(
        "--registry",
        type=Path,
        default=Path("/var/lib/kubelet/plugins_registry"),
        help="where the kubelet looks for plugins (default: %(default)s)",
    )
    parser.add_argument(
        "--pod-uid",
        default=os.environ.get("POD_UID"),
        help="names the sockets for this pod (default: $POD_UID)",
    )


def from_arguments(parsed: argparse.Namespace) -> Config:
    """The configuration of parsed options. Raises ValueError where one is missing."""
    if not parsed.node:
        raise ValueError("--node or $NODE_NAME is needed: the node whose slice this is")
    return Config(
        node=parsed.node,
        namespace=parsed.namespace,
        kubeconfig=parsed.kubeconfig,
        bus=parsed.bus,
        bluetooth=parsed.bluetooth,
        relay=parsed.relay,
        cdi=parsed.cdi,
        plugins=parsed.plugins,
        registry=parsed.registry,
        pod_uid=parsed.pod_uid,
    )
