"""The operator on one node cannot touch another node's slices, whatever its role allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from deploy import manifests
from deploy.conftest import VERSIONS
from deploy.manifests import BASE
from deploy.server import DRY, STRICT, Server

pytestmark = pytest.mark.api

Object = dict[str, Any]
ACCOUNTS = "/api/v1/namespaces/bluetooth-system/serviceaccounts"
PODS = "/api/v1/namespaces/bluetooth-system/pods"
OTHERS = "the operator on node here writes only the slices of that node"
DRIVERS = "the operator writes only the slices of the driver bluetooth.liken.sh"
NO_NODE = "this token names no node"


def slices(version: str = "v1") -> str:
    return f"/apis/resource.k8s.io/{version}/resourceslices"


def a_slice(
    node: str | None, driver: str = "bluetooth.liken.sh", name: str = "test", version: str = "v1"
) -> Object:
    where: Object = {"allNodes": True} if node is None else {"nodeName": node}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": driver,
            "pool": {"name": node or "all", "generation": 1, "resourceSliceCount": 1},
            **where,
        },
    }


def token(server: Server, account: str, pod: Object | None) -> str:
    """A token as the kubelet asks for one: bound to the pod, or to nothing."""
    bound: Object = {}
    if pod is not None:
        metadata = pod["metadata"]
        bound = {
            "boundObjectRef": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": metadata["name"],
                "uid": metadata["uid"],
            }
        }
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": [], "expirationSeconds": 600, **bound},
    }
    answer = server.call("POST", f"{ACCOUNTS}/{account}/token", request)
    assert answer.refusal is None
    return str(answer.body["status"]["token"])


@pytest.fixture(scope="module")
def here(server: Server) -> Iterator[Object]:
    """The operator's pod of the node `here`, as far as the API server can tell."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "here"}}
    server.create("/api/v1/nodes", node)
    daemonset = manifests.find(BASE, "DaemonSet", "bluetooth-operator")
    spec = daemonset["spec"]["template"]["spec"]
    spec = {key: value for key, value in spec.items() if key != "resourceClaims"}
    for each in spec["initContainers"]:
        each["resources"].pop("claims", None)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "operator-here"},
        "spec": spec | {"nodeName": "here"},
    }
    yield server.create(PODS, pod)
    server.delete(f"{PODS}/operator-here")
    server.delete("/api/v1/nodes/here")


@pytest.fixture(scope="module")
def operator(server: Server, here: Object) -> Server:
    """The API server as the operator on the node `here` sees it."""
    return server.with_token(token(server, "bluetooth-operator", here))


@pytest.fixture(scope="module")
def existing(server: Server, here: Object) -> Iterator[None]:
    """A slice of this node, of another node, and of another driver on this node."""
    made = [
        a_slice("here", name="ours"),
        a_slice("there", name="theirs"),
        a_slice("here", driver="liken.sh", name="likens"),
    ]
    for each in made:
        server.create(slices(), each)
    yield
    for each in made:
        server.delete(f"{slices()}/{each['metadata']['name']}")


def check(refusal: str | None, expected: str | None) -> None:
    if expected is None:
        assert refusal is None
    else:
        assert expected in str(refusal)


@pytest.mark.parametrize(
    ("node", "driver", "refusal"),
    [
        ("here", "bluetooth.liken.sh", None),
        ("there", "bluetooth.liken.sh", OTHERS),
        (None, "bluetooth.liken.sh", OTHERS),
        ("here", "liken.sh", DRIVERS),
        ("here", "gpu.example.com", DRIVERS),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_creating_a_slice(
    operator: Server, version: str, node: str | None, driver: str, refusal: str | None
) -> None:
    made = a_slice(node, driver, version=version)
    check(operator.call("POST", slices(version) + DRY, made).refusal, refusal)


@pytest.mark.usefixtures("existing")
@pytest.mark.parametrize(
    ("name", "refusal"), [("ours", None), ("theirs", OTHERS), ("likens", DRIVERS)]
)
def test_changing_and_deleting_a_slice(operator: Server, name: str, refusal: str | None) -> None:
    path = f"{slices()}/{name}"
    changed = operator.call("GET", path).body
    changed["metadata"]["labels"] = {"changed": "yes"}
    check(operator.call("PUT", path + DRY, changed).refusal, refusal)
    check(operator.call("DELETE", path + "?dryRun=All").refusal, refusal)


@pytest.mark.usefixtures("existing")
def test_deleting_them_all_at_once_is_no_way_around(operator: Server) -> None:
    assert "cannot deletecollection" in str(operator.call("DELETE", slices() + DRY).refusal)


def test_a_token_that_names_no_node_writes_nothing(server: Server) -> None:
    stolen = server.with_token(token(server, "bluetooth-operator", None))
    check(stolen.call("POST", slices() + DRY, a_slice("here")).refusal, NO_NODE)


def test_nobody_else_is_held_to_this(server: Server) -> None:
    assert server.call("POST", slices() + DRY, a_slice("there")).refusal is None
    assert server.call("POST", slices() + STRICT + "&dryRun=All", a_slice(None)).refusal is None
