"""The shapes of resource.k8s.io through the versions, there and back."""

from __future__ import annotations

from typing import Any

import pytest
from draplugin.kube.versions import choose, from_v1, to_v1

FLAT = {"name": "a", "attributes": {"x": {"int": 1}}, "capacity": {"memory": {"value": "1Gi"}}}
REQUESTS = [
    {"name": "one", "exactly": {"deviceClassName": "k", "count": 2}},
    {"name": "two", "firstAvailable": [{"name": "s", "deviceClassName": "m"}]},
]


def wrap(kind: str, version: str, spec: dict[str, Any]) -> dict[str, Any]:
    api_version = f"resource.k8s.io/{version}"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "n"}, "spec": spec}


def slice_of(version: str, *devices: Any) -> dict[str, Any]:
    return wrap("ResourceSlice", version, {"driver": "d", "nodeName": "n", "devices": [*devices]})


def basic(capacity: Any) -> dict[str, Any]:
    return {"name": "a", "basic": {"attributes": {"x": {"int": 1}}, "capacity": capacity}}


def claim_of(version: str, *requests: Any) -> dict[str, Any]:
    return wrap("ResourceClaim", version, {"devices": {"requests": [*requests]}})


def template_of(version: str, *requests: Any) -> dict[str, Any]:
    return wrap("ResourceClaimTemplate", version, {"spec": {"devices": {"requests": [*requests]}}})


DIRECT = [
    {"name": "one", "deviceClassName": "k", "count": 2},
    {"name": "two", "firstAvailable": [{"name": "s", "deviceClassName": "m"}]},
]
PAIRS = [
    (slice_of("v1beta2", FLAT), slice_of("v1", FLAT)),
    (slice_of("v1beta1", basic({"memory": {"value": "1Gi"}})), slice_of("v1", FLAT)),
    (slice_of("v1alpha3", basic({"memory": "1Gi"})), slice_of("v1", FLAT)),
    (slice_of("v1beta1"), slice_of("v1")),
    (claim_of("v1beta2", *REQUESTS), claim_of("v1", *REQUESTS)),
    (claim_of("v1beta1", *DIRECT), claim_of("v1", *REQUESTS)),
    (claim_of("v1alpha3", *DIRECT), claim_of("v1", *REQUESTS)),
    (template_of("v1beta1", *DIRECT), template_of("v1", *REQUESTS)),
    (wrap("DeviceClass", "v1beta1", {"config": []}), wrap("DeviceClass", "v1", {"config": []})),
]


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_an_old_object_reads_as_v1_and_a_v1_object_is_written_as_old(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    version = old["apiVersion"].rpartition("/")[2]
    assert to_v1(old, version) == new
    assert from_v1(new, version) == old


def test_unset_scopes_of_old_slices_are_unset_in_v1() -> None:
    old = slice_of("v1beta1")
    old["spec"] |= {"nodeName": "", "allNodes": False}
    assert to_v1(old, "v1beta1")["spec"] == {"driver": "d", "devices": []}


def test_objects_of_other_groups_pass_untouched() -> None:
    event = {"apiVersion": "v1", "kind": "Status", "reason": "Gone"}
    assert to_v1(event, "v1beta1") is event


def test_converting_changes_no_object_in_place() -> None:
    old = slice_of("v1alpha3", basic({"memory": "1Gi"}))
    to_v1(old, "v1alpha3")
    assert old == slice_of("v1alpha3", basic({"memory": "1Gi"}))


@pytest.mark.parametrize(
    ("served", "chosen"),
    [
        (["v1", "v1beta1"], "v1"),
        (["v1beta1", "v1beta2"], "v1beta2"),
        (["v1alpha3"], "v1alpha3"),
        (["v2"], None),
        ([], None),
    ],
)
def test_the_best_version_known_is_chosen(served: list[str], chosen: str | None) -> None:
    assert choose(served) == chosen
