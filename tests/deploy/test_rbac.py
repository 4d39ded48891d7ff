"""What the two accounts may do, and what they may not: all of it."""

from __future__ import annotations

import re

import pytest
from cluster.controlplane import ControlPlane
from cluster.kubectl import KubectlError

from deploy.server import Server

pytestmark = pytest.mark.api

OPERATOR = "system:serviceaccount:bluetooth-system:bluetooth-operator"
RELAY = "system:serviceaccount:bluetooth-system:uinputrelay"
ANYBODY = "system:serviceaccount:bluetooth-system:default"
HOME, EVERYWHERE = "bluetooth-system", ""
DRA, OURS = "resource.k8s.io", "bluetooth.liken.sh"
RBAC, ADMISSION = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

# Verbs; group; resource, with its subresource; name, * for any; namespace.
Row = tuple[str, str, str, str, str]

ALLOWED: list[Row] = [
    ("get list watch create update delete", DRA, "resourceslices", "*", EVERYWHERE),
    ("get", DRA, "resourceclaims", "*", EVERYWHERE),
    (
        "associated-node:update associated-node:patch",
        DRA,
        "resourceclaims/driver",
        "bluetooth.liken.sh",
        EVERYWHERE,
    ),
    ("get", DRA, "deviceclasses", "*", EVERYWHERE),
    ("get", "", "nodes", "*", EVERYWHERE),
    ("get list watch create patch", OURS, "adapters", "*", EVERYWHERE),
    ("get list watch create patch", OURS, "peripherals", "*", EVERYWHERE),
    ("get list watch delete", OURS, "pairingrequests", "*", EVERYWHERE),
    ("patch", OURS, "adapters/status", "*", EVERYWHERE),
    ("patch", OURS, "peripherals/status", "*", EVERYWHERE),
    ("patch", OURS, "pairingrequests/status", "*", EVERYWHERE),
    ("get list watch create patch delete", "", "secrets", "*", HOME),
    ("create", "coordination.k8s.io", "leases", "*", HOME),
    ("get update", "coordination.k8s.io", "leases", "bluetooth-operator-unheld", HOME),
    ("get create patch", "events.k8s.io", "events", "*", EVERYWHERE),
]
DENIED: list[Row] = [
    ("deletecollection", DRA, "resourceslices", "*", EVERYWHERE),
    ("list watch create update patch delete", DRA, "resourceclaims", "*", "default"),
    ("associated-node:update", DRA, "resourceclaims/driver", "liken.sh", EVERYWHERE),
    ("arbitrary-node:update", DRA, "resourceclaims/driver", "bluetooth.liken.sh", EVERYWHERE),
    ("update patch", DRA, "resourceclaims/status", "*", "default"),
    ("update patch", DRA, "resourceclaims/binding", "*", "default"),
    ("list watch create update patch delete", DRA, "deviceclasses", "*", EVERYWHERE),
    ("get list create", DRA, "resourceclaimtemplates", "*", "default"),
    ("create update", DRA, "devicetaintrules", "*", EVERYWHERE),
    ("list watch update patch delete", "", "nodes", "*", EVERYWHERE),
    ("delete deletecollection", OURS, "adapters", "*", EVERYWHERE),
    ("delete deletecollection", OURS, "peripherals", "*", EVERYWHERE),
    ("create update patch deletecollection", OURS, "pairingrequests", "*", "default"),
    ("get list watch create update patch delete", "", "secrets", "*", "default"),
    ("get list watch", "", "secrets", "*", "kube-system"),
    ("get list watch", "", "secrets", "*", EVERYWHERE),
    ("deletecollection", "", "secrets", "*", HOME),
    ("get list watch", "", "configmaps", "*", HOME),
    ("get list create delete", "", "pods", "*", HOME),
    ("create", "", "pods/exec", "*", HOME),
    ("create", "", "pods/eviction", "*", "default"),
    ("get update patch", "coordination.k8s.io", "leases", "another", HOME),
    ("list watch delete", "coordination.k8s.io", "leases", "*", HOME),
    ("create get", "coordination.k8s.io", "leases", "*", "kube-system"),
    ("create", "", "serviceaccounts/token", "*", HOME),
    ("impersonate", "", "users", "*", EVERYWHERE),
    ("create escalate bind", RBAC, "clusterroles", "*", EVERYWHERE),
    ("create update", "apps", "daemonsets", "*", HOME),
    ("update delete", ADMISSION, "validatingadmissionpolicies", "*", EVERYWHERE),
    ("update delete", "apiextensions.k8s.io", "customresourcedefinitions", "*", EVERYWHERE),
    ("list delete", "events.k8s.io", "events", "*", "default"),
]


def can(server: Server, who: str, verb: str, row: Row) -> bool:
    """What `kubectl auth can-i --as` asks: may the one this call is made as do that?"""
    _, group, resource, name, namespace = row
    kind, _, part = resource.partition("/")
    attributes = {
        "verb": verb,
        "group": group,
        "resource": kind,
        "subresource": part,
        "name": "" if name == "*" else name,
        "namespace": namespace,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = server.call("POST", REVIEWS, review, {"Impersonate-User": who})
    assert answer.refusal is None
    return bool(answer.body["status"]["allowed"])


def _id(row: Row) -> str:
    verbs, _, resource, name, namespace = row
    return f"{verbs} {resource} {name} in {namespace or 'every namespace'}"


@pytest.mark.parametrize("row", ALLOWED, ids=_id)
def test_the_operator_may(server: Server, row: Row) -> None:
    assert [verb for verb in row[0].split() if not can(server, OPERATOR, verb, row)] == []


@pytest.mark.parametrize("row", DENIED, ids=_id)
def test_the_operator_may_not(server: Server, row: Row) -> None:
    assert [verb for verb in row[0].split() if can(server, OPERATOR, verb, row)] == []


@pytest.mark.parametrize("row", ALLOWED, ids=_id)
def test_the_relay_may_none_of_it(server: Server, row: Row) -> None:
    assert [verb for verb in row[0].split() if can(server, RELAY, verb, row)] == []


def rights(cluster: ControlPlane, who: str, namespace: str) -> dict[str, str]:
    """`kubectl auth can-i --list`: the rest of each line by what it starts with."""
    text = cluster.kubectl("auth", "can-i", "--list", f"--as={who}", "-n", namespace)
    lines = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in text.splitlines()[1:]]
    return {first: rest[0] if rest else "" for first, *rest in lines}


def test_the_tables_leave_no_right_out(deployed: ControlPlane) -> None:
    """What the operator may beyond any account is what the first table says, and no more."""
    common = rights(deployed, ANYBODY, HOME)
    found = {line for line in rights(deployed, OPERATOR, HOME) if line not in common}
    assert found == {f"{row[2]}.{row[1]}" if row[1] else row[2] for row in _as_kubectl_says()}


def _as_kubectl_says() -> list[Row]:
    """The first table with the group after the resource and before the subresource."""
    rows = []
    for verbs, group, resource, name, namespace in ALLOWED:
        kind, slash, part = resource.partition("/")
        said = f"{kind}.{group}{slash}{part}" if group else resource
        rows.append((verbs, "", said, name, namespace))
    return rows


def test_the_relay_may_do_no_more_than_any_account(deployed: ControlPlane) -> None:
    assert rights(deployed, RELAY, HOME) == rights(deployed, ANYBODY, HOME)


def test_outside_its_namespace_the_operator_reads_no_secret_and_no_lease(
    deployed: ControlPlane,
) -> None:
    elsewhere, home = (rights(deployed, OPERATOR, name) for name in ("default", HOME))
    assert set(home) - set(elsewhere) == {"secrets", "leases.coordination.k8s.io"}


@pytest.mark.parametrize(("namespace", "answer"), [(HOME, "yes"), ("default", "no")])
def test_kubectl_says_the_same(deployed: ControlPlane, namespace: str, answer: str) -> None:
    question = ("auth", "can-i", "get", "secrets", f"--as={OPERATOR}", "-n", namespace)
    if answer == "yes":
        assert deployed.kubectl(*question).strip() == "yes"
        return
    # kubectl says no with its status.
    with pytest.raises(KubectlError) as refused:
        deployed.kubectl(*question)
    assert refused.value.status == 1
