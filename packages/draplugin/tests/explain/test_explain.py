"""Explanations by example: one thing stands in the way of each claim, and is named."""

from __future__ import annotations

from typing import Any

import pytest
from draplugin.explain import Explanation, Status, explain, explain_pod, world_of

DRIVER = "gpu.example.com"
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {
        "selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}],
        "config": [{"opaque": {"driver": DRIVER, "parameters": {"mode": "shared"}}}],
    },
}


def device(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "attributes": {"model": {"string": "a"}}, **fields}


def part(node: str, *devices: dict[str, Any], **pool: Any) -> dict[str, Any]:
    wanted = {"name": node, "generation": 1, "resourceSliceCount": 1, **pool}
    spec = {"driver": DRIVER, "nodeName": node, "pool": wanted, "devices": [*devices]}
    metadata = {"name": f"{node}-{wanted['generation']}"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": metadata,
        "spec": spec,
    }


def claim(name: str = "c", **way: Any) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", **way}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "play"},
        "spec": {"devices": {"requests": [request]}},
    }


def holding(name: str, node: str, held: str) -> dict[str, Any]:
    result = {"request": "r", "driver": DRIVER, "pool": node, "device": held}
    return {**claim(name), "status": {"allocation": {"devices": {"results": [result]}}}}


def selector(expression: str) -> dict[str, Any]:
    return {"selectors": [{"cel": {"expression": expression}}]}


def told(asked: dict[str, Any], *others: dict[str, Any]) -> Explanation:
    world = world_of([asked, *others])
    metadata = asked["metadata"]
    found = world.claim(metadata["namespace"], metadata["name"])
    assert found is not None
    return explain(world, found)


def test_a_claim_that_fits_gets_the_first_device_and_the_configuration() -> None:
    asked = claim()
    block = {"opaque": {"driver": DRIVER, "parameters": {"mode": "own"}}}
    asked["spec"]["devices"]["config"] = [block]
    said = told(asked, CLASS, part("n1", device("a"), device("b")))
    assert (said.verdict, said.change) == ("possible", "nothing")
    assert said.summary == f"can be allocated on n1: r: {DRIVER}/n1/a"
    assert [(row.device, row.status) for row in said.rows] == [
        (f"{DRIVER}/n1/a", Status.CHOSEN),
        (f"{DRIVER}/n1/b", Status.FREE),
    ]
    assert [(b.source, b.requests, b.parameters) for b in said.blocks] == [
        ("FromClass", (), '{"mode":"shared"}'),
        ("FromClaim", (), '{"mode":"own"}'),
    ]


TAINTED = device("t", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
ATTRIBUTES = f'device.attributes["{DRIVER}"]'

CASES = [
    (
        "no class",
        claim(),
        (),
        "waiting",
        "create DeviceClass gpu, or let request r name another: there is none",
    ),
    ("no slices", claim(), (CLASS,), "waiting", "start a driver: there is no ResourceSlice"),
    (
        "taken",
        claim(),
        (CLASS, part("n1", device("a")), holding("other", "n1", "a")),
        "waiting",
        "wait for claim play/other to end, or delete it",
    ),
    (
        "tainted",
        claim(),
        (CLASS, part("n1", TAINTED)),
        "waiting",
        "add a toleration for k=v:NoSchedule to request r, or wait until it goes",
    ),
    (
        "too many",
        claim(count=3),
        (CLASS, part("n1", device("a"), device("b")), part("n2", device("c"))),
        "waiting",
        "let request r ask for at most 2 devices: no node has more free",
    ),
    (
        "incomplete pool",
        claim(),
        (CLASS, part("n1", device("a"), resourceSliceCount=2)),
        "waiting",
        f"wait for the driver to publish all of {DRIVER}/n1: pool incomplete: 1 of 2 slices",
    ),
    (
        "false",
        claim(**selector(f"has({ATTRIBUTES}.model) && {ATTRIBUTES}.model == 'b'")),
        (CLASS, part("n1", device("a"))),
        "waiting",
        f"change request selector 0 of request r, false on 1 devices: has({ATTRIBUTES}.model) && {ATTRIBUTES}.model == 'b'",
    ),
    (
        "unguarded",
        claim(**selector(f"{ATTRIBUTES}.size > 1")),
        (CLASS, part("n1", device("a"))),
        "error",
        f"guard the read of size with has(...), which {DRIVER}/n1/a does not have",
    ),
    (
        "broken selector",
        claim(**selector("device.foo")),
        (CLASS, part("n1", device("a"))),
        "error",
        "correct selector 0 of request r: 1:7: undefined field 'foo'",
    ),
]


@pytest.mark.parametrize(
    ("asked", "others", "verdict", "change"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_what_stands_in_the_way_is_said_in_one_line(
    asked: dict[str, Any], others: tuple[dict[str, Any], ...], verdict: str, change: str
) -> None:
    said = told(asked, *others)
    assert (said.verdict, said.change) == (verdict, change)


def test_a_constraint_that_no_combination_meets_is_named() -> None:
    asked = claim(count=2)
    asked["spec"]["devices"]["constraints"] = [{"matchAttribute": f"{DRIVER}/model"}]
    other = device("b")
    other["attributes"] = {"model": {"string": "b"}}
    said = told(asked, CLASS, part("n1", device("a"), other))
    assert said.verdict == "waiting"
    assert (
        said.change
        == f"drop or widen the constraint that devices share {DRIVER}/model: no combination does"
    )


def test_an_earlier_request_goes_back_for_a_later_one() -> None:
    asked = claim()
    model_b = f"has({ATTRIBUTES}.model) && {ATTRIBUTES}.model == 'a'"
    narrow = {"name": "s", "exactly": {"deviceClassName": "gpu", **selector(model_b)}}
    asked["spec"]["devices"]["requests"].append(narrow)
    other = device("b")
    other["attributes"] = {}
    said = told(asked, CLASS, part("n1", device("a"), other))
    assert said.summary == f"can be allocated on n1: r: {DRIVER}/n1/b, s: {DRIVER}/n1/a"


def test_alternatives_are_tried_in_order() -> None:
    asked = claim()
    ways = [
        {"name": "many", "deviceClassName": "gpu", "count": 3},
        {"name": "one", "deviceClassName": "gpu"},
    ]
    asked["spec"]["devices"]["requests"] = [{"name": "r", "firstAvailable": ways}]
    said = told(asked, CLASS, part("n1", device("a")))
    assert said.summary == f"can be allocated on n1: r/one: {DRIVER}/n1/a"


@pytest.mark.parametrize(
    ("others", "verdict"),
    [
        ((part("n1", device("a"), device("b")),), "possible"),
        ((part("n1", device("a"), device("b")), holding("other", "n1", "b")), "waiting"),
        ((part("n1", device("a"), resourceSliceCount=2),), "error"),
    ],
)
def test_all_means_every_device_that_matches(
    others: tuple[dict[str, Any], ...], verdict: str
) -> None:
    assert told(claim(allocationMode="All"), CLASS, *others).verdict == verdict


@pytest.mark.parametrize(
    ("memory", "held", "given"),
    [
        # Two have too little for anybody, and so are not asked for at all.
        ("3Gi", (), ["large"]),
        ("3Gi", ("small", "middle"), ["large"]),
        ("2Gi", (), ["middle", "large"]),
        ("2Gi", ("middle",), []),
        ("-1", (), None),
    ],
)
def test_all_means_those_that_have_the_capacity(
    memory: str, held: tuple[str, ...], given: list[str] | None
) -> None:
    sizes = {"small": "1Gi", "middle": "2Gi", "large": "4Gi"}
    devices = [device(name, capacity={"memory": {"value": size}}) for name, size in sizes.items()]
    asked = claim(allocationMode="All", capacity={"requests": {"memory": memory}})
    others = [holding(f"other-{name}", "n1", name) for name in held]
    said = told(asked, CLASS, part("n1", *devices), *others)
    chosen = [row.device.rpartition("/")[2] for row in said.rows if row.status is Status.CHOSEN]
    assert chosen == (given or [])
    assert (said.verdict == "error") is (given is None)


def test_a_newer_generation_makes_an_older_one_nothing() -> None:
    old, new = part("n1", device("a")), part("n1", device("b"), generation=2)
    assert told(claim(), CLASS, old, new).summary == f"can be allocated on n1: r: {DRIVER}/n1/b"


def test_a_shared_device_is_given_as_far_as_its_capacity_goes() -> None:
    shared = device("a", allowMultipleAllocations=True, capacity={"memory": {"value": "4Gi"}})
    asked = claim(capacity={"requests": {"memory": "3Gi"}})
    taker = holding("other", "n1", "a")
    taker["status"]["allocation"]["devices"]["results"][0] |= {
        "shareID": "3c1a3c1e-9c0f-4c5a-9c7e-1d7f6b1a2b3c",
        "consumedCapacity": {"memory": "2Gi"},
    }
    assert told(asked, CLASS, part("n1", shared)).verdict == "possible"
    said = told(asked, CLASS, part("n1", shared), taker)
    assert (said.verdict, said.rows[0].status) == ("waiting", Status.CAPACITY)


def test_devices_that_draw_on_one_counter_exclude_each_other() -> None:
    draws = {"consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "3"}}}]}
    counters = part("n1")
    counters["metadata"] = {"name": "counters"}
    counters["spec"] |= {"sharedCounters": [{"name": "s", "counters": {"c": {"value": "4"}}}]}
    del counters["spec"]["devices"]
    devices = part("n1", device("a", **draws), device("b", **draws))
    for obj in (counters, devices):
        obj["spec"]["pool"]["resourceSliceCount"] = 2
    assert told(claim(), CLASS, counters, devices).verdict == "possible"
    assert told(claim(count=2), CLASS, counters, devices).verdict == "waiting"


def test_an_allocated_claim_is_told_as_it_is_recorded() -> None:
    given = holding("c", "n1", "a")
    opaque = {"driver": DRIVER, "parameters": {"x": 1}}
    config = [{"source": "FromClass", "requests": ["r"], "opaque": opaque}]
    given["status"]["allocation"]["devices"]["config"] = config
    said = told(given, CLASS)
    assert (said.verdict, said.summary) == ("allocated", f"is allocated: {DRIVER}/n1/a")
    assert [(b.source, b.parameters) for b in said.blocks] == [("FromClass", '{"x":1}')]


def test_suitable_nodes_are_told_to_be_ignored_by_the_scheduler() -> None:
    old = {**CLASS, "apiVersion": "resource.k8s.io/v1alpha3"}
    term = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    old["spec"] = {**CLASS["spec"], "suitableNodes": {"nodeSelectorTerms": [term]}}  # type: ignore[dict-item]
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}}}
    said = told(claim(), old, part("n1", device("a")), node)
    assert said.verdict == "possible"
    assert said.notes == (
        "class gpu has suitableNodes (the scheduler ignores it; a control-plane controller would use n1)",
    )


def test_a_pod_is_looked_at_on_its_own_node() -> None:
    objects = [CLASS, claim(), part("n1", device("a")), part("n2", TAINTED)]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "play"},
        "spec": {"nodeName": "n2", "resourceClaims": [{"name": "x", "resourceClaimName": "c"}]},
    }
    world = world_of([*objects, pod])
    found = world.claim("play", "c")
    assert found is not None
    assert explain(world, found).verdict == "possible"
    assert explain(world, found, world.pods[0]).verdict == "waiting"


NO_EXECUTE = device("t", taints=[{"key": "k", "effect": "NoExecute"}])


@pytest.mark.parametrize(
    ("toleration", "seconds"),
    [
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, None),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}, 30),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -1}, 0),
        ({"key": "k", "operator": "Exists"}, 0),
        ({"operator": "Exists"}, 0),
    ],
)
def test_a_toleration_lets_a_claim_have_a_device_and_not_always_keep_its_pods(
    toleration: dict[str, Any], seconds: int | None
) -> None:
    said = told(claim(tolerations=[toleration]), CLASS, part("n1", NO_EXECUTE))
    assert said.verdict == "possible"
    assert [each.seconds for each in said.evictions] == ([] if seconds is None else [seconds])
    advice = "let request r tolerate k:NoExecute with effect: NoExecute"
    assert said.change == (advice if seconds == 0 else "nothing")


def test_an_allocated_claim_is_told_that_its_pods_are_deleted() -> None:
    said = told(holding("c", "n1", "t"), CLASS, part("n1", NO_EXECUTE))
    assert [str(each) for each in said.evictions] == [
        f"pods of this claim are deleted at once: {DRIVER}/n1/t has taint k:NoExecute"
    ]


def taint_rule(effect: str, **selector: str) -> dict[str, Any]:
    spec = {"deviceSelector": selector, "taint": {"key": "ruled", "effect": effect}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "rule"},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("rule", "given"),
    [
        (taint_rule("NoSchedule", driver=DRIVER, device="a"), "b"),
        (taint_rule("NoExecute", pool="n1", device="a"), "b"),
        (taint_rule("NoSchedule", driver=DRIVER, pool="n2"), "a"),
        (taint_rule("NoSchedule", driver="other.example.com"), "a"),
        (taint_rule("None", driver=DRIVER), "a"),
        (taint_rule("NoSchedule"), None),
        (
            {**taint_rule("NoSchedule"), "spec": {"taint": {"key": "k", "effect": "NoSchedule"}}},
            "a",
        ),
    ],
)
def test_a_taint_rule_of_an_administrator_counts_as_a_taint(
    rule: dict[str, Any], given: str | None
) -> None:
    said = told(claim(), CLASS, part("n1", device("a"), device("b")), rule)
    chosen = [row.device for row in said.rows if row.status is Status.CHOSEN]
    assert chosen == ([f"{DRIVER}/n1/{given}"] if given else [])


def pod_of(*claims: str, **spec: Any) -> dict[str, Any]:
    names = [{"name": name, "resourceClaimName": name} for name in claims]
    metadata = {"name": "p", "namespace": "play"}
    spec = {"resourceClaims": names, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def told_of_pod(*objects: dict[str, Any]) -> list[Explanation]:
    world = world_of(objects)
    (pod,) = world.pods
    claims = [claim for c in pod.claims if (claim := world.claim("play", c.claim)) is not None]
    return explain_pod(world, pod, claims)


def test_the_claims_of_a_pod_get_different_devices_of_one_node() -> None:
    first, second = part("n1", device("a")), part("n2", device("b"), device("c"))
    said = told_of_pod(CLASS, claim("one"), claim("two"), pod_of("one", "two"), first, second)
    assert [each.summary for each in said] == [
        f"can be allocated on n2: r: {DRIVER}/n2/b",
        f"can be allocated on n2: r: {DRIVER}/n2/c",
    ]


def test_a_claim_that_is_allocated_keeps_the_others_of_its_pod_on_its_node() -> None:
    given = holding("one", "n2", "b")
    fields = [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]
    terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
    given["status"]["allocation"]["nodeSelector"] = terms
    first, second = part("n1", device("a")), part("n2", device("b"), device("c"))
    said = told_of_pod(CLASS, given, claim("two"), pod_of("one", "two"), first, second)
    assert [each.summary for each in said] == [
        f"is allocated: {DRIVER}/n2/b",
        f"can be allocated on n2: r: {DRIVER}/n2/c",
    ]


def test_claims_of_a_pod_that_only_fit_alone_are_waiting() -> None:
    slices = [part(node, device("a")) for node in ("n1", "n2")]
    said = told_of_pod(CLASS, claim("one"), claim("two"), pod_of("one", "two"), *slices)
    assert [(each.verdict, each.change) for each in said] == [
        ("waiting", "let the pod's claims ask for devices that one node has together")
    ] * 2
    assert said[0].summary == "cannot be allocated together with the pod's other claims on any node"


def test_parts_of_a_shared_device_are_not_given_to_two_claims_of_a_pod() -> None:
    shared = device("a", allowMultipleAllocations=True, capacity={"memory": {"value": "4Gi"}})
    asks = [claim(name, capacity={"requests": {"memory": "2Gi"}}) for name in ("one", "two")]
    pod = pod_of("one", "two")
    assert {e.verdict for e in told_of_pod(CLASS, *asks, pod, part("n1", shared))} == {"possible"}
    more = claim("two", capacity={"requests": {"memory": "3Gi"}})
    said = told_of_pod(CLASS, asks[0], more, pod, part("n1", shared))
    assert {each.verdict for each in said} == {"waiting"}
