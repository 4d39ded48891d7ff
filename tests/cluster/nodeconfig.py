"""Settings of containerd, CNI and kubelet for a node in the lab's machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from cluster.images import PAUSE

ADDRESS = "10.0.2.15"
PODS = "10.245.0.0/24"
CNI_PLUGINS = "/usr/lib/cni"
# /var/run is a link to /run; both names are given as the kubelet's drivers may use either.
CDI_FOLDERS = ("/var/run/cdi", "/etc/cdi")
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"


def containerd(root: Path) -> str:
    """config.toml, version 3 (containerd 2.x)."""
    folders = ", ".join(f'"{folder}"' for folder in CDI_FOLDERS)
    return f"""\
version = 3
root = "{root}/root"
state = "{root}/state"
[grpc]
  address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{PAUSE}"
[plugins."io.containerd.cri.v1.runtime"]
  enable_cdi = true
  cdi_spec_dirs = [{folders}]
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{CNI_PLUGINS}"]
"""


def cni() -> str:
    """One bridge for the pods of the one node; no masquerading, so no packet filter either."""
    ipam = {"type": "host-local", "ranges": [[{"subnet": PODS}]]}
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "ipam": ipam}
    return json.dumps({"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge]})


def kubelet(folder: Path, feature_gates: Mapping[str, bool]) -> str:
    """KubeletConfiguration v1beta1, as JSON.

    No eviction and no accounting of local storage: the machine's disk is memory. No packet
    filter rules, which take seconds in an emulated machine and serve Services alone.
    """
    return json.dumps(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": f"{folder}/ca.crt"},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": f"{folder}/kubelet.crt",
            "tlsPrivateKeyFile": f"{folder}/kubelet.key",
            "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
            "cgroupDriver": "cgroupfs",
            "clusterDNS": ["10.96.0.10"],
            "clusterDomain": "cluster.local",
            "failSwapOn": False,
            "evictionHard": {},
            "enforceNodeAllocatable": [],
            "imageGCHighThresholdPercent": 100,
            "localStorageCapacityIsolation": False,
            "makeIPTablesUtilChains": False,
            "featureGates": dict(feature_gates),
        }
    )
