"""Random classes, claims and templates: good ones, and the same with something broken.

Objects are made in the shape of v1 and turned into the version asked for. Each breakage is one row
of a table, so that a difference is shrunk by leaving rows away.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from draplugin.api import from_v1

Object = dict[str, Any]
EXPRESSIONS = (
    'device.driver == "gpu.example.com"',
    'has(device.attributes["gpu.example.com"].model)',
    'device.attributes["gpu.example.com"].size > 3',
    'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("1Gi"))',
    'cel.bind(d, device.attributes["gpu.example.com"], d.a && d.b)',
)
BAD_EXPRESSIONS = (
    *("", "device.foo", "1 + 1", "true &&", '"a" == 1', "nope()", "device.driver == 'a' ||"),
    *("lists.range(3) == 1", "has(device.driver)", "[1, 2].exists(x, x)"),
)
NAMES = ("a", "gpu", "my-gpu-1", "x" * 63)
BAD_NAMES = ("A", "", "-a", "a_b", "x" * 64, "a.b", "a/b", "é")
DRIVERS = ("gpu.example.com", "x", "a-b.c-d.example")
BAD_DRIVERS = ("", "a_b", "-x", "x" * 64, "gpu..com", "gpu.example.com/", "GPU.Example.Com")
QUALIFIED = ("gpu.example.com/model", "x/y")
BAD_QUALIFIED = (
    "",
    "model",
    "/model",
    "gpu.example.com/",
    "gpu.example.com/1",
    "G.example/m",
    "a/b/c",
    "x/" + "y" * 33,
)
PARAMETERS: tuple[Any, ...] = ({}, {"a": 1}, {"apiVersion": "x/v1", "kind": "Y", "list": [1, None]})
BAD_PARAMETERS: tuple[Any, ...] = (None, 1, "x", [], [{}], True)


@dataclass(frozen=True)
class Breakage:
    """A change that may make an object unacceptable; `kinds` it applies to, `old` = 1.31 as well."""

    name: str
    apply: Callable[[random.Random, Object], None]
    kinds: tuple[str, ...]
    old: bool = True


def made(rng: random.Random, kind: str, version: str) -> Object:
    """A good object."""
    old = version == "v1alpha3"
    spec = _class_spec(rng, old) if kind == "DeviceClass" else {"devices": _claim(rng, old)}
    if kind == "ResourceClaimTemplate":
        spec = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    metadata: Object = {"name": rng.choice(("a", "gpu.example.com", "my-1", "x" * 63))}
    if rng.random() < 0.3:
        metadata |= {"labels": {"app": "x", "example.com/y": ""}, "annotations": {"note": "ü"}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def in_version(obj: Object, version: str) -> Object:
    """An object of v1's shape as it is sent in a version."""
    return from_v1(copy.deepcopy(obj), version)


def _some(rng: random.Random, most: int, make: Callable[[], Any]) -> list[Any]:
    return [make() for _ in range(rng.randint(0, most))]


def _selector(rng: random.Random) -> Object:
    return {"cel": {"expression": rng.choice(EXPRESSIONS)}}


def _config(rng: random.Random) -> Object:
    return {"opaque": {"driver": rng.choice(DRIVERS), "parameters": rng.choice(PARAMETERS)}}


def _class_spec(rng: random.Random, old: bool) -> Object:
    spec: Object = {
        "selectors": _some(rng, 2, lambda: _selector(rng)),
        "config": _some(rng, 2, lambda: _config(rng)),
    }
    if old and rng.random() < 0.7:
        spec["suitableNodes"] = {
            "nodeSelectorTerms": [_term(rng) for _ in range(rng.randint(1, 2))]
        }
    if not old and rng.random() < 0.3:
        spec["extendedResourceName"] = "example.com/gpu"
    return spec


def _term(rng: random.Random) -> Object:
    requirements = (
        {"key": "zone", "operator": "In", "values": ["a", "b"]},
        {"key": "example.com/x", "operator": "NotIn", "values": ["a"]},
        {"key": "gpu", "operator": "Exists"},
        {"key": "gpu", "operator": "DoesNotExist"},
        {"key": "cores", "operator": "Gt", "values": ["4"]},
        {"key": "cores", "operator": "Lt", "values": ["many"]},
    )
    term: Object = {"matchExpressions": rng.sample(requirements, rng.randint(0, 2))}
    if rng.random() < 0.4:
        term["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]
    return term


def _claim(rng: random.Random, old: bool) -> Object:
    names = rng.sample(NAMES, rng.randint(1, 3))
    requests = [_request(rng, name, old) for name in names]
    return {
        "requests": requests,
        "constraints": _some(rng, 1, lambda: _constraint(rng, names)),
        "config": _some(rng, 2, lambda: {"requests": names[:1], **_config(rng)}),
    }


def _constraint(rng: random.Random, names: list[str]) -> Object:
    return {"requests": rng.sample(names, 1), "matchAttribute": rng.choice(QUALIFIED)}


def _request(rng: random.Random, name: str, old: bool) -> Object:
    if not old and rng.random() < 0.3:
        ways = [{"name": sub, **_way(rng, old)} for sub in rng.sample(("a", "b", "c"), 2)]
        return {"name": name, "firstAvailable": ways}
    return {"name": name, "exactly": _way(rng, old)}


def _way(rng: random.Random, old: bool) -> Object:
    way: Object = {
        "deviceClassName": rng.choice(("gpu", "gpu.example.com")),
        "selectors": _some(rng, 2, lambda: _selector(rng)),
    }
    mode = rng.choice(
        ({}, {"count": 2}, {"allocationMode": "All"}, {"allocationMode": "ExactCount"})
    )
    if not old and rng.random() < 0.4:
        way["tolerations"] = [rng.choice(_TOLERATIONS)]
    return {**way, **mode}


_TOLERATIONS: tuple[Object, ...] = (
    {"key": "a.example/x", "operator": "Exists"},
    {"key": "x", "value": "y", "effect": "NoSchedule"},
    {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
    {},
)
_BAD_TOLERATIONS: tuple[Object, ...] = (
    {"operator": "Exists", "value": "x"},
    {"key": "a b", "operator": "Exists"},
    {"key": "x", "operator": "Never"},
    {"key": "x", "value": "a b"},
    {"key": "x", "operator": "Exists", "effect": "Sometimes"},
)


def _ways(obj: Object) -> list[Object]:
    """Every way to serve a request, however the object wraps it."""
    found: list[Object] = []
    for request in _devices(obj)["requests"]:
        found += [request["exactly"]] if "exactly" in request else request["firstAvailable"]
    return found


def _devices(obj: Object) -> Object:
    spec = obj["spec"]
    devices: Object = spec["spec"]["devices"] if "spec" in spec else spec["devices"]
    return devices


def _requests(obj: Object) -> list[Object]:
    requests: list[Object] = _devices(obj)["requests"]
    return requests


def _selectors_owner(rng: random.Random, obj: Object) -> Object:
    spec: Object = obj["spec"]
    return spec if obj["kind"] == "DeviceClass" else rng.choice(_ways(obj))


def _config_owner(obj: Object) -> Object:
    spec: Object = obj["spec"]
    return spec if obj["kind"] == "DeviceClass" else _devices(obj)


def _set(
    owner: Callable[[random.Random, Object], Object], name: str, values: Sequence[Any]
) -> Callable[[random.Random, Object], None]:
    def apply(rng: random.Random, obj: Object) -> None:
        owner(rng, obj)[name] = rng.choice(values)

    return apply


def _add_config(rng: random.Random, obj: Object, block: Object) -> None:
    _config_owner(obj).setdefault("config", []).append(block)


def _opaque(name: str, values: Sequence[Any]) -> Callable[[random.Random, Object], None]:
    def apply(rng: random.Random, obj: Object) -> None:
        block = _config(rng)
        block["opaque"][name] = rng.choice(values)
        _add_config(rng, obj, block)

    return apply


def _requirement(rng: random.Random, obj: Object) -> None:
    term = _term(rng)
    bad = rng.choice(
        (
            {"key": "a b", "operator": "Exists"},
            {"key": "", "operator": "Exists"},
            {"key": "x", "operator": "Is"},
            {"key": "x", "operator": "In"},
            {"key": "x", "operator": "Exists", "values": ["y"]},
            {"key": "x", "operator": "Gt", "values": ["1", "2"]},
            {"key": "x", "operator": "In", "values": ["no label value!"]},
        )
    )
    term["matchExpressions"].append(bad)
    obj["spec"]["suitableNodes"] = {"nodeSelectorTerms": [term]}


def _field(rng: random.Random, obj: Object) -> None:
    bad = rng.choice(
        (
            {"key": "metadata.uid", "operator": "In", "values": ["x"]},
            {"key": "metadata.name", "operator": "Exists"},
            {"key": "metadata.name", "operator": "In", "values": ["a", "b"]},
            {"key": "metadata.name", "operator": "NotIn", "values": ["A_B"]},
        )
    )
    obj["spec"]["suitableNodes"] = {"nodeSelectorTerms": [{"matchFields": [bad]}]}


def _reference(rng: random.Random, obj: Object) -> None:
    name = rng.choice(("nope", "A", "", "a/b/c", "gpu/x", "a/a"))
    target = rng.choice(("constraints", "config"))
    item = {"matchAttribute": "x/y"} if target == "constraints" else _config(rng)
    _devices(obj).setdefault(target, []).append({"requests": [name], **item})


def _twice(rng: random.Random, obj: Object) -> None:
    name = _requests(obj)[0]["name"]
    choice = rng.choice(("request", "reference"))
    if choice == "request":
        _requests(obj).append(copy.deepcopy(_requests(obj)[0]))
    else:
        _add_config(rng, obj, {"requests": [name, name], **_config(rng)})


_OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "x"}


def _metadata(rng: random.Random, obj: Object) -> None:
    obj["metadata"] |= rng.choice(
        (
            {"labels": {"a b": "x"}},
            {"labels": {"a": "x y"}},
            {"labels": {"/a": "x", "b": "y" * 64}},
            {"annotations": {"a b": "x"}},
            {"finalizers": ["nope"]},
            {"finalizers": ["x/y", "a b", "kubernetes", "/x"]},
            {"finalizers": ["orphan", "foregroundDeletion"]},
            {"ownerReferences": [{**_OWNER, "name": ""}]},
            {"ownerReferences": [_OWNER, {**_OWNER, "apiVersion": "", "kind": ""}]},
            {"ownerReferences": [{**_OWNER, "apiVersion": "a/b/c", "uid": ""}]},
            {"ownerReferences": [{**_OWNER, "apiVersion": "apps/"}]},
            {"ownerReferences": [{**_OWNER, "uid": u, "controller": True} for u in "abb"]},
            {"ownerReferences": [{**_OWNER, "kind": "Event"}]},
        )
    )


def _unknown(rng: random.Random, obj: Object) -> None:
    places: list[Object] = [obj, obj["spec"], obj["metadata"]]
    if obj["kind"] != "DeviceClass":
        places += [_devices(obj), *_ways(obj)]
    rng.choice(places)["foo"] = rng.choice((1, "x", {}, []))


CLASSES, CLAIMS = ("DeviceClass",), ("ResourceClaim", "ResourceClaimTemplate")
ALL = (*CLASSES, *CLAIMS)
BREAKAGES: tuple[Breakage, ...] = (
    Breakage("name", _set(lambda _, o: o["metadata"], "name", BAD_NAMES), ALL),
    Breakage("metadata", _metadata, ALL),
    Breakage("unknown field", _unknown, ALL),
    Breakage(
        "expression",
        lambda rng, o: (
            _selectors_owner(rng, o)
            .setdefault("selectors", [])
            .append({"cel": {"expression": rng.choice(BAD_EXPRESSIONS)}})
        ),
        ALL,
    ),
    Breakage(
        "empty selector",
        lambda rng, o: _selectors_owner(rng, o).setdefault("selectors", []).append({}),
        ALL,
    ),
    Breakage(
        "too many selectors",
        lambda rng, o: _selectors_owner(rng, o).update(selectors=[_selector(rng)] * 32 + [{}]),
        ALL,
    ),
    Breakage("driver", _opaque("driver", BAD_DRIVERS), ALL),
    Breakage("parameters", _opaque("parameters", BAD_PARAMETERS), ALL),
    Breakage("long parameters", _opaque("parameters", ({"a": "x" * 10_240},)), ALL),
    Breakage("empty config", lambda rng, o: _add_config(rng, o, {}), ALL),
    Breakage(
        "too much config", lambda rng, o: _config_owner(o).update(config=[_config(rng)] * 33), ALL
    ),
    Breakage("suitable nodes", _requirement, CLASSES),
    Breakage("suitable node fields", _field, CLASSES),
    Breakage(
        "no suitable nodes",
        lambda rng, o: o["spec"].update(suitableNodes={"nodeSelectorTerms": []}),
        CLASSES,
    ),
    Breakage(
        "extended resource",
        lambda rng, o: o["spec"].update(
            extendedResourceName=rng.choice(
                ("x", "example.com/", "kubernetes.io/x", "requests.x/y", "a/b/c")
            )
        ),
        CLASSES,
        old=False,
    ),
    Breakage(
        "request name",
        lambda rng, o: rng.choice(_requests(o)).update(name=rng.choice(BAD_NAMES)),
        CLAIMS,
    ),
    Breakage(
        "class name",
        lambda rng, o: rng.choice(_ways(o)).update(
            deviceClassName=rng.choice(("", "A", "a_b", "x" * 254))
        ),
        CLAIMS,
    ),
    Breakage(
        "mode",
        lambda rng, o: rng.choice(_ways(o)).update(
            allocationMode=rng.choice(("Some", "all", "All")), count=rng.choice((0, 1, -1))
        ),
        CLAIMS,
    ),
    Breakage("count", lambda rng, o: rng.choice(_ways(o)).update(count=-1), CLAIMS),
    Breakage(
        "toleration",
        lambda rng, o: rng.choice(_ways(o)).update(tolerations=[rng.choice(_BAD_TOLERATIONS)]),
        CLAIMS,
        old=False,
    ),
    Breakage("neither way", lambda rng, o: _requests(o).append({"name": "none"}), CLAIMS),
    Breakage(
        "both ways",
        lambda rng, o: _requests(o)[0].update(
            exactly=_way(rng, True), firstAvailable=[{"name": "s", **_way(rng, True)}]
        ),
        CLAIMS,
        old=False,
    ),
    Breakage(
        "too many ways",
        lambda rng, o: _requests(o).append(
            {
                "name": "m",
                "firstAvailable": [{"name": f"s{i}", **_way(rng, True)} for i in range(9)],
            }
        ),
        CLAIMS,
        old=False,
    ),
    Breakage(
        "same way twice",
        lambda rng, o: _requests(o).append(
            {"name": "t", "firstAvailable": [{"name": "s", **_way(rng, True)}] * 2}
        ),
        CLAIMS,
        old=False,
    ),
    Breakage(
        "too many requests",
        lambda rng, o: _requests(o).extend(
            {"name": f"r{i}", "exactly": {"deviceClassName": "x"}} for i in range(33)
        ),
        CLAIMS,
    ),
    Breakage("reference", _reference, CLAIMS),
    Breakage("twice", _twice, CLAIMS),
    Breakage(
        "attribute",
        lambda rng, o: (
            _devices(o)
            .setdefault("constraints", [])
            .append({"matchAttribute": rng.choice(BAD_QUALIFIED)})
        ),
        CLAIMS,
    ),
    Breakage(
        "empty constraint",
        lambda rng, o: _devices(o).setdefault("constraints", []).append({}),
        CLAIMS,
    ),
    Breakage(
        "distinct attribute",
        lambda rng, o: (
            _devices(o)
            .setdefault("constraints", [])
            .append({"distinctAttribute": rng.choice((*QUALIFIED, *BAD_QUALIFIED))})
        ),
        CLAIMS,
        old=False,
    ),
    Breakage(
        "too many constraints",
        lambda rng, o: _devices(o).update(constraints=[{"matchAttribute": "x/y"}] * 33),
        CLAIMS,
    ),
    Breakage("wrong type", lambda rng, o: o.update(spec=rng.choice(("x", [], 1))), ALL),
)


@dataclass(frozen=True)
class Case:
    """An object in a version, by how it was made: shrinking leaves breakages out."""

    seed: int
    kind: str
    version: str
    broken: tuple[str, ...]

    def object(self) -> Object:
        """The object as it is sent."""
        rng = random.Random(self.seed)
        obj = made(rng, self.kind, self.version)
        for breakage in BREAKAGES:
            if breakage.name in self.broken:
                breakage.apply(random.Random(f"{self.seed} {breakage.name}"), obj)
        return in_version(obj, self.version)

    def smaller(self) -> list[Case]:
        """The same with one breakage less."""
        return [
            Case(self.seed, self.kind, self.version, tuple(b for b in self.broken if b != name))
            for name in self.broken
        ]


def cases(seed: int, versions: Sequence[str], count: int) -> list[Case]:
    """So many cases in these versions, about a fifth of them good."""
    rng = random.Random(seed)
    return [_case(rng, versions) for _ in range(count)]


def _case(rng: random.Random, versions: Sequence[str]) -> Case:
    kind, version = rng.choice(ALL), rng.choice(versions)
    fitting = [
        b.name
        for b in BREAKAGES
        if kind in b.kinds
        and (b.old or version != "v1alpha3")
        and (version in ("v1", "v1beta2") or b.name != "both ways")
        and (version == "v1alpha3" or not b.name.endswith(("suitable nodes", "node fields")))
    ]
    broken = tuple(rng.sample(fitting, rng.choice((0, 1, 1, 1, 2))))
    if "wrong type" in broken:
        broken = ("wrong type",)
    return Case(rng.randrange(2**32), kind, version, broken)
