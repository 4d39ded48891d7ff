"""From a ResourceClaim to what a driver sees of it."""

from __future__ import annotations

from typing import Any

import pytest
from draplugin import Allocation, ClaimRef, OpaqueConfig, Refused, Taint, Toleration
from draplugin.claims import ambiguous_classes, check, from_object, with_class_requests
from draplugin.parameters import configs_for

from .builders import DRIVER, NODE, claim_object, ref


def opaque(value: Any, driver: str = DRIVER, source: str = "FromClaim", *requests: str) -> Any:
    block: dict[str, Any] = {"source": source, "opaque": {"driver": driver, "parameters": value}}
    return {**block, "requests": list(requests)} if requests else block


def test_a_driver_sees_its_own_devices_and_blocks_only() -> None:
    obj = claim_object(ref(), config=[opaque({"a": 1}), opaque({"b": 1}, "other.example.com")])
    obj["status"]["allocation"]["devices"]["results"].append(
        {"request": "x", "driver": "other.example.com", "pool": "p", "device": "d"}
    )
    claim = from_object(obj, DRIVER)
    assert claim.ref == ref()
    assert claim.allocations == (Allocation("cookie", DRIVER, NODE, "cookie-1"),)
    assert claim.configs == (OpaqueConfig("FromClaim", DRIVER, {"a": 1}),)
    assert claim.classes == {"cookie": "fortune"}


def test_all_that_the_allocation_says_is_kept() -> None:
    toleration = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    obj = claim_object(
        ref(),
        request="big/small",
        shareID="s-1",
        adminAccess=True,
        tolerations=[toleration],
        consumedCapacity={"memory": "1Gi"},
    )
    (allocation,) = from_object(obj, DRIVER).allocations
    assert allocation == Allocation(
        "big/small",
        DRIVER,
        NODE,
        "cookie-1",
        "s-1",
        True,
        (Toleration("k", "Exists", "", "NoExecute", 30),),
        {"memory": "1Gi"},
    )
    assert allocation.base_request == "big"


def test_a_configuration_of_a_kind_from_the_future_is_refused() -> None:
    obj = claim_object(ref(), config=[{"source": "FromClaim", "typed": {"x": 1}}])
    with pytest.raises(Refused, match="unknown kind: typed"):
        from_object(obj, DRIVER)


def test_a_claim_that_is_none_is_refused_and_a_newer_one_is_read() -> None:
    obj = claim_object(ref())
    obj["status"]["allocation"]["devices"]["newer"] = {"x": 1}
    assert from_object(obj, DRIVER).allocations == (Allocation("cookie", DRIVER, NODE, "cookie-1"),)
    obj["status"]["allocation"]["devices"]["results"] = "none"
    with pytest.raises(Refused, match=r"status\.allocation\.devices\.results: must be a list"):
        from_object(obj, DRIVER)


def mutated(**status: Any) -> dict[str, Any]:
    obj = claim_object(ref())
    obj["status"] = {**obj["status"], **status}
    return obj


@pytest.mark.parametrize(
    ("obj", "uid", "message"),
    [
        (mutated(), ref(2).uid, "it was replaced"),
        (mutated(allocation=None), ref().uid, "is not allocated"),
        (mutated(reservedFor=[]), ref().uid, "is not reserved for a pod"),
        (
            mutated(allocation={"devices": {"results": []}}),
            ref().uid,
            "holds no device of driver fortune.example.com",
        ),
    ],
)
def test_a_claim_the_kubelet_cannot_mean_is_refused(
    obj: dict[str, Any], uid: str, message: str
) -> None:
    with pytest.raises(Refused, match=message):
        check(from_object(obj, DRIVER), uid, DRIVER)


def test_the_claim_the_kubelet_means_is_not() -> None:
    check(from_object(claim_object(ref()), DRIVER), ref().uid, DRIVER)


def two_classes(*config: Any) -> dict[str, Any]:
    obj = claim_object(ref(), config=config)
    obj["spec"]["devices"]["requests"] = [
        {"name": "a", "exactly": {"deviceClassName": "pad"}},
        {"name": "b", "firstAvailable": [{"name": "s", "deviceClassName": "remote"}]},
    ]
    return obj


def device_class(value: Any) -> dict[str, Any]:
    return {"spec": {"config": [{"opaque": {"driver": DRIVER, "parameters": value}}]}}


def test_a_class_block_without_requests_is_for_the_requests_of_its_class() -> None:
    claim = from_object(two_classes(opaque(1, source="FromClass"), opaque(2)), DRIVER)
    assert ambiguous_classes(claim) == {"pad", "remote"}
    named = with_class_requests(claim, {"pad": device_class(9), "remote": device_class(1)})
    assert [c.parameters for c in configs_for(named, "a", DRIVER)] == [2]
    assert [c.parameters for c in configs_for(named, "b/s", DRIVER)] == [1, 2]


def test_a_class_block_of_an_edited_class_keeps_applying_to_all() -> None:
    claim = from_object(two_classes(opaque(1, source="FromClass")), DRIVER)
    named = with_class_requests(claim, {"pad": device_class(9)})
    assert [c.parameters for c in configs_for(named, "a", DRIVER)] == [1]


@pytest.mark.parametrize(
    "obj",
    [
        claim_object(ref(), config=[opaque(1, source="FromClass")]),
        two_classes(opaque(1, DRIVER, "FromClass", "a")),
        two_classes(opaque(1)),
    ],
    ids=["one class", "requests named", "no class block"],
)
def test_classes_are_not_looked_up_when_nothing_is_unclear(obj: dict[str, Any]) -> None:
    assert ambiguous_classes(from_object(obj, DRIVER)) == frozenset()


TAINT = Taint("example.com/asleep", "NoExecute", "yes")


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration("example.com/asleep", "Exists"), True),
        (Toleration("", "Exists"), True),
        (Toleration("", "Equal", "yes"), True),
        (Toleration("", "Equal", "no"), False),
        (Toleration("example.com/asleep", "Other", "yes"), False),
        (Toleration("example.com/asleep", "Equal", "yes"), True),
        (Toleration("example.com/asleep", "Equal", "no"), False),
        (Toleration("example.com/asleep", "Exists", effect="NoSchedule"), False),
        (Toleration("example.com/asleep", "Exists", effect="NoExecute"), True),
        (Toleration("other", "Exists"), False),
    ],
)
def test_tolerations_cover_taints_as_the_scheduler_says(
    toleration: Toleration, tolerated: bool
) -> None:
    assert toleration.tolerates(TAINT) is tolerated


def test_a_reference_prints_as_people_name_it() -> None:
    assert str(ClaimRef("ns", "c", "u")) == "ns/c"
