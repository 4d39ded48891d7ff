"""What the two accounts may do, and what they may not: all of it."""

from __future__ import annotations

import re

import pytest
from cluster.controlplane import ControlPlane
from cluster.kubectl import KubectlError

pytestmark = pytest.mark.api

OPERATOR = "system:serviceaccount:bluetooth-system:bluetooth-operator"
RELAY = "system:serviceaccount:bluetooth-system:uinputrelay"
HOME = "bluetooth-system"
DRA, OURS = "resource.k8s.io", "bluetooth.liken.sh"


def can(cluster: ControlPlane, who: str, verb: str, what: str, *more: str) -> bool:
    """`kubectl auth can-i`, which ends with 1 where the answer is no."""
    try:
        said = cluster.kubectl("auth", "can-i", verb, what, f"--as={who}", *more)
    except KubectlError as error:
        if error.status != 1 or error.stderr.startswith("error:"):
            raise
        return False
    return said.strip() == "yes"


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SLICES = f"resourceslices.{DRA}"
CLAIMS = f"resourceclaims.{DRA}"

# verbs, resource, further arguments
ALLOWED: list[tuple[str, str, str]] = [
    ("get list watch create update patch delete", SLICES, ""),
    ("get", CLAIMS, "-A"),
    ("update patch", CLAIMS, "--subresource=status -A"),
    ("associated-node:update associated-node:patch", f"{CLAIMS}/{OURS}", "--subresource=driver"),
    ("get", f"deviceclasses.{DRA}", ""),
    ("get", "nodes", ""),
    ("get list watch create update patch", f"adapters.{OURS}", ""),
    ("get list watch create update patch", f"peripherals.{OURS}", ""),
    ("get list watch update patch delete", f"pairingrequests.{OURS}", "-A"),
    ("get update patch", f"adapters.{OURS}", "--subresource=status"),
    ("get update patch", f"peripherals.{OURS}", "--subresource=status"),
    ("get update patch", f"pairingrequests.{OURS}", "--subresource=status -A"),
    ("update", f"adapters.{OURS}", "--subresource=finalizers"),
    ("update", f"peripherals.{OURS}", "--subresource=finalizers"),
    ("get list watch create update patch delete", "secrets", f"-n {HOME}"),
    ("create", "leases.coordination.k8s.io", f"-n {HOME}"),
    ("get update patch", "leases.coordination.k8s.io/bluetooth-operator-unheld", f"-n {HOME}"),
    ("get create patch", "events.events.k8s.io", "-A"),
]
DENIED: list[tuple[str, str, str]] = [
    ("deletecollection", SLICES, ""),
    ("list watch create update patch delete", CLAIMS, "-n default"),
    ("associated-node:update", f"{CLAIMS}/liken.sh", "--subresource=driver"),
    ("arbitrary-node:update arbitrary-node:patch", f"{CLAIMS}/{OURS}", "--subresource=driver"),
    ("update", CLAIMS, "--subresource=binding -n default"),
    ("list create update delete", f"deviceclasses.{DRA}", ""),
    ("get list create", f"resourceclaimtemplates.{DRA}", "-n default"),
    ("create", f"devicetaintrules.{DRA}", ""),
    ("list update patch delete", "nodes", ""),
    ("delete deletecollection", f"adapters.{OURS}", ""),
    ("delete deletecollection", f"peripherals.{OURS}", ""),
    ("create deletecollection", f"pairingrequests.{OURS}", "-n default"),
    ("get list watch", "secrets", "-n default"),
    ("get list watch", "secrets", "-n kube-system"),
    ("list watch", "secrets", "-A"),
    ("deletecollection", "secrets", f"-n {HOME}"),
    ("get list watch", "configmaps", f"-n {HOME}"),
    ("get list create delete", "pods", f"-n {HOME}"),
    ("create", "pods", f"--subresource=exec -n {HOME}"),
    ("create", "pods", "--subresource=eviction -n default"),
    ("get update", "leases.coordination.k8s.io/another", f"-n {HOME}"),
    ("list watch delete", "leases.coordination.k8s.io", f"-n {HOME}"),
    ("create", "leases.coordination.k8s.io", "-n kube-system"),
    ("create", "serviceaccounts", f"--subresource=token -n {HOME}"),
    ("impersonate", "users", ""),
    ("create escalate bind", "clusterroles.rbac.authorization.k8s.io", ""),
    ("update", "daemonsets.apps", f"-n {HOME}"),
    ("update", "validatingadmissionpolicies.admissionregistration.k8s.io", ""),
    ("update", "customresourcedefinitions.apiextensions.k8s.io", ""),
    ("delete list", "events.events.k8s.io", "-n default"),
]


def _ids(table: list[tuple[str, str, str]]) -> list[str]:
    return [" ".join(row).strip() for row in table]


@pytest.mark.parametrize(("verbs", "what", "more"), ALLOWED, ids=_ids(ALLOWED))
def test_the_operator_may(deployed: ControlPlane, verbs: str, what: str, more: str) -> None:
    answers = {verb: can(deployed, OPERATOR, verb, what, *words(more)) for verb in words(verbs)}
    assert [verb for verb, yes in answers.items() if not yes] == []


@pytest.mark.parametrize(("verbs", "what", "more"), DENIED, ids=_ids(DENIED))
def test_the_operator_may_not(deployed: ControlPlane, verbs: str, what: str, more: str) -> None:
    answers = {verb: can(deployed, OPERATOR, verb, what, *words(more)) for verb in words(verbs)}
    assert [verb for verb, yes in answers.items() if yes] == []


def rights(cluster: ControlPlane, who: str, namespace: str) -> set[str]:
    """`kubectl auth can-i --list`, one line each, blanks made single."""
    text = cluster.kubectl("auth", "can-i", "--list", f"--as={who}", "-n", namespace)
    return {re.sub(r"\s+", " ", line).strip() for line in text.splitlines()[1:]}


def test_the_relay_may_do_no_more_than_any_account(deployed: ControlPlane) -> None:
    anybody = "system:serviceaccount:bluetooth-system:default"
    assert rights(deployed, RELAY, HOME) == rights(deployed, anybody, HOME)


def test_outside_its_namespace_the_operator_reads_no_secret_and_no_lease(
    deployed: ControlPlane,
) -> None:
    elsewhere = rights(deployed, OPERATOR, "default")
    home = rights(deployed, OPERATOR, HOME)
    extra = {line.split()[0] for line in home - elsewhere}
    assert extra == {"secrets", "leases.coordination.k8s.io"}


def test_no_right_is_a_wildcard(deployed: ControlPlane) -> None:
    lines = rights(deployed, OPERATOR, HOME)
    assert lines
    assert [line for line in lines if "*." in line or line.endswith("[*]")] == []
