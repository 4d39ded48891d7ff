"""A control plane of this folder's own, with deploy/base applied to it.

Not the run's shared one: the admission policies would refuse what tests of the operator send on
purpose, and taking the CRDs away at the end would take their objects too.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cluster import controlplane
from cluster.controlplane import ControlPlane

from deploy.manifests import BASE
from deploy.server import Server

# Off by default since 1.34, but any cluster may serve them, and a policy has to hold there too.
VERSIONS = ("v1", "v1beta2", "v1beta1")


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
    """The admin's calls to the cluster with the base in it."""
    return Server(deployed.kubeconfig)
