"""A control plane of this folder's own, with deploy/base applied to it.

Not the run's shared one: the admission policies would refuse what tests of the operator send on
purpose, and taking the CRDs away at the end would take their objects too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from cluster import controlplane
from cluster.controlplane import ControlPlane

from deploy.manifests import BASE
from deploy.server import DRY, Server

# Off by default since 1.34, but any cluster may serve them, and a policy has to hold there too.
VERSIONS = ("v1", "v1beta2", "v1beta1")
ACCOUNT = "system:serviceaccount:bluetooth-system:bluetooth-operator"


@pytest.fixture(scope="package")
def control_plane() -> Iterator[ControlPlane]:
    """A control plane that serves every version of resource.k8s.io it can."""
    older = {f"resource.k8s.io/{version}": True for version in VERSIONS[1:]}
    with controlplane.start(runtime_config=older) as running:
        yield running


@pytest.fixture(scope="package")
def deployed(control_plane: ControlPlane) -> ControlPlane:
    """The same, with the base applied, the kinds served and the policies in force."""
    control_plane.kubectl(
        "apply", "--server-side", "--validate=strict", "-k", str(BASE), timeout=120
    )
    kinds = ("adapters", "peripherals", "pairingrequests")
    names = [f"crd/{kind}.bluetooth.liken.sh" for kind in kinds]
    control_plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
    return control_plane


@pytest.fixture(scope="package")
def server(deployed: ControlPlane) -> Server:
    """The admin's calls to the cluster, once both policies are in force."""
    calls = Server(deployed.kubeconfig)
    broken = {"config": [{"opaque": {"driver": "bluetooth.liken.sh", "parameters": {"a": 1}}}]}
    _until_denied(calls, "deviceclasses", "DeviceClass", broken)
    pool = {"name": "all", "generation": 1, "resourceSliceCount": 1}
    foreign = {"driver": "bluetooth.liken.sh", "allNodes": True, "pool": pool}
    _until_denied(calls, "resourceslices", "ResourceSlice", foreign, {"Impersonate-User": ACCOUNT})
    return calls


def _until_denied(
    server: Server,
    plural: str,
    kind: str,
    spec: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
) -> None:
    """Wait until a broken one is refused by a policy."""
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "probe"},
        "spec": spec,
    }
    path = f"/apis/resource.k8s.io/v1/{plural}{DRY}"
    server.until(lambda said: "ValidatingAdmissionPolicy" in str(said), path, body, headers)
