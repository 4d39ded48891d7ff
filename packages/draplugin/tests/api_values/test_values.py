"""Values, files, versions and merges by example."""

from __future__ import annotations

from typing import Any

import pytest
from draplugin.api import (
    CELDeviceSelector,
    ConversionError,
    Converted,
    DecodeError,
    DeviceClass,
    DeviceSelector,
    FileError,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    RawJson,
    ResourceClaim,
    convert,
    dumps,
    loads,
    merge,
    read,
    read_as,
    read_documents,
    validate,
    write,
)

from .rows import ROWS, Row

CLASS = """
apiVersion: resource.k8s.io/v1alpha3
kind: DeviceClass
metadata:
  name: gpu.example.com
spec:
  selectors:
    - cel:
        expression: device.driver == "gpu.example.com"
  config:
    - opaque:
        driver: gpu.example.com
        parameters: {zeta: 1, alpha: [on, 2020-01-01, 1e3]}
  suitableNodes:
    nodeSelectorTerms:
      - matchExpressions: [{key: zone, operator: In, values: [a, b]}]
        matchFields: [{key: metadata.name, operator: In, values: [node-1]}]
"""


def document(text: str) -> dict[str, Any]:
    (found,) = read_documents(text)
    return found


def test_every_field_of_the_first_device_class_is_a_value() -> None:
    read_class = read_as(DeviceClass, document(CLASS))
    assert read_class.metadata.name == "gpu.example.com"
    expression = 'device.driver == "gpu.example.com"'
    assert read_class.spec.selectors == (DeviceSelector(CELDeviceSelector(expression)),)
    opaque = read_class.spec.config[0].opaque
    assert opaque is not None
    assert opaque.driver == "gpu.example.com"
    assert opaque.parameters == RawJson('{"zeta":1,"alpha":[true,"2020-01-01",1000.0]}')
    assert read_class.spec.suitable_nodes is not None
    (term,) = read_class.spec.suitable_nodes.node_selector_terms
    assert term == NodeSelectorTerm(
        (NodeSelectorRequirement("zone", "In", ("a", "b")),),
        (NodeSelectorRequirement("metadata.name", "In", ("node-1",)),),
    )


@pytest.mark.parametrize(
    ("requirement", "labels", "met"),
    [
        (("x", "In", ("a", "b")), {"x": "b"}, True),
        (("x", "In", ("a", "b")), {"x": "c"}, False),
        (("x", "In", ("a", "b")), {}, False),
        (("x", "NotIn", ("a",)), {"x": "b"}, True),
        (("x", "NotIn", ("a",)), {"x": "a"}, False),
        (("x", "NotIn", ("a",)), {}, True),
        (("x", "Exists", ()), {"x": ""}, True),
        (("x", "Exists", ()), {"y": "x"}, False),
        (("x", "DoesNotExist", ()), {}, True),
        (("x", "DoesNotExist", ()), {"x": "1"}, False),
        (("x", "Gt", ("4",)), {"x": "5"}, True),
        (("x", "Gt", ("4",)), {"x": "4"}, False),
        (("x", "Gt", ("4",)), {"x": "many"}, False),
        (("x", "Gt", ("many",)), {"x": "5"}, False),
        (("x", "Lt", ("4",)), {"x": "-3"}, True),
        (("x", "Lt", ("4",)), {}, False),
        (("x", "Is", ("4",)), {"x": "4"}, False),
    ],
)
def test_what_each_operator_means_for_a_node(
    requirement: tuple[str, str, tuple[str, ...]], labels: dict[str, str], met: bool
) -> None:
    assert NodeSelectorRequirement(*requirement).matches(labels) is met


def test_a_term_without_requirements_matches_no_node() -> None:
    assert not NodeSelectorTerm().matches("node", {"a": "b"})


def test_terms_are_alternatives_and_requirements_are_not() -> None:
    selector = read_as(DeviceClass, document(CLASS)).spec.suitable_nodes
    assert selector is not None
    assert selector.matches("node-1", {"zone": "a"})
    assert not selector.matches("node-2", {"zone": "a"})
    assert not selector.matches("node-1", {"zone": "c"})


def test_what_a_newer_version_cannot_say_is_an_answer() -> None:
    old = document(CLASS)
    converted = convert(old, "v1")
    assert converted.lost == ("spec.suitableNodes",)
    assert "suitableNodes" not in converted.object["spec"]
    assert "suitableNodes" in old["spec"]
    with pytest.raises(ConversionError, match=r"v1 cannot say spec\.suitableNodes"):
        convert(old, "v1", strict=True)


def test_what_an_older_version_cannot_say_is_an_answer() -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "x"},
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "a",
                        "exactly": {
                            "deviceClassName": "c",
                            "tolerations": [{"operator": "Exists"}],
                        },
                    },
                    {"name": "b", "firstAvailable": [{"name": "s", "deviceClassName": "c"}]},
                ],
                "constraints": [{"distinctAttribute": "x/y"}],
            }
        },
    }
    assert convert(claim, "v1beta1").lost == ()
    assert convert(claim, "v1alpha3") == Converted(
        {
            "apiVersion": "resource.k8s.io/v1alpha3",
            "kind": "ResourceClaim",
            "metadata": {"name": "x"},
            "spec": {
                "devices": {
                    "requests": [{"name": "a", "deviceClassName": "c"}, {"name": "b"}],
                    "constraints": [{}],
                }
            },
        },
        (
            "spec.devices.requests[1].firstAvailable",
            "spec.devices.requests[0].exactly.tolerations",
            "spec.devices.constraints[0].distinctAttribute",
        ),
    )


_SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "d.example",
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {"name": "a", "attributes": {"x": {"int": 1}}, "capacity": {"m": {"value": "1Gi"}}}
        ],
    },
}


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1", "v1alpha3"])
def test_a_slice_comes_back_from_every_version(version: str) -> None:
    there = convert(_SLICE, version)
    assert there.lost == ()
    assert convert(there.object, "v1") == Converted(_SLICE)


def test_lists_are_converted_item_by_item() -> None:
    items = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSliceList",
        "metadata": {},
        "items": [_SLICE],
    }
    there = convert(items, "v1alpha3").object
    assert there["items"][0]["spec"]["devices"][0]["basic"]["capacity"] == {"m": "1Gi"}


def test_unknown_fields_and_wrong_types_are_named() -> None:
    obj = document(
        CLASS.replace("selectors:", "selector: 1\n  selectors:").replace(
            "name: gpu", "labels: 5\n  name: gpu"
        )
    )
    with pytest.raises(DecodeError) as caught:
        read(obj)
    found = {(misfit.path, misfit.unknown) for misfit in caught.value.misfits}
    assert found == {("spec.selector", True), ("metadata.labels", False)}


def test_defaults_are_those_of_the_server() -> None:
    claim = read_as(
        ResourceClaim,
        document(
            """
            apiVersion: resource.k8s.io/v1beta1
            kind: ResourceClaim
            metadata: {name: x}
            spec: {devices: {requests: [{name: a, deviceClassName: c, tolerations: [{key: k}]}]}}
            """
        ),
    )
    exactly = claim.spec.devices.requests[0].exactly
    assert exactly is not None
    assert (exactly.allocation_mode, exactly.count) == ("ExactCount", 1)
    assert exactly.tolerations[0].operator == "Equal"


def test_parameters_are_kept_as_they_were_written() -> None:
    raw = '{ "b": 1.0,\n "a": 1e3, "a": 12345678901234567890 }'
    obj = loads(
        '{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "x"},'
        f' "spec": {{"config": [{{"opaque": {{"driver": "d", "parameters": {raw}}}}}]}}}}'
    )
    value = read(obj)
    assert value.spec.config[0].opaque.parameters == RawJson(raw)
    assert raw in dumps(write(value, "v1beta1").object)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\na: 2", "key 'a' is there twice"),
        ('{"a": 1, "a": 2}', "key 'a' is there twice"),
        ("- 1", "holds list, not an object"),
        ("a: [", "expected the node content"),
        ('{"a": ', "expected the node content"),
        ("{" * 3000, "file"),
    ],
)
def test_files_that_are_none_say_where(text: str, said: str) -> None:
    with pytest.raises(FileError, match=said):
        list(read_documents(text, "file"))


def test_documents_and_lists_are_read_one_by_one() -> None:
    text = "kind: A\n---\n---\nkind: List\nitems: [{kind: B}, {kind: C}]\n"
    assert [obj["kind"] for obj in read_documents(text)] == ["A", "B", "C"]


def test_yaml_means_what_it_means_to_kubectl() -> None:
    (obj,) = read_documents("{a: yes, b: n, c: 2020-01-01, d: '1', e: 1e2, 1: x, f: 0.5}")
    assert obj == {
        "a": True,
        "b": False,
        "c": "2020-01-01",
        "d": "1",
        "e": 100.0,
        "1": "x",
        "f": 0.5,
    }


def test_atomic_lists_are_replaced_whole() -> None:
    base = {
        "spec": {"config": [1, 2], "selectors": [3], "suitableNodes": {"nodeSelectorTerms": [4, 5]}}
    }
    patch = {"spec": {"config": [6], "suitableNodes": {"nodeSelectorTerms": [7]}}}
    assert merge(base, patch) == {
        "spec": {"config": [6], "selectors": [3], "suitableNodes": {"nodeSelectorTerms": [7]}}
    }


def test_the_few_lists_with_keys_are_merged_by_them() -> None:
    base = {
        "metadata": {"finalizers": ["a/x"]},
        "status": {"reservedFor": [{"uid": "1", "name": "a"}]},
    }
    patch = {
        "metadata": {"finalizers": ["b/y"]},
        "status": {"reservedFor": [{"uid": "2"}, {"uid": "1", "name": "b"}]},
    }
    assert merge(base, patch) == {
        "metadata": {"finalizers": ["a/x", "b/y"]},
        "status": {"reservedFor": [{"uid": "1", "name": "b"}, {"uid": "2"}]},
    }


@pytest.mark.parametrize(
    ("change", "server", "causes"),
    [
        ({}, (1, 31), []),
        ({"config": [{}]}, (1, 31), [("spec.config[0].opaque", "FieldValueRequired")]),
        (
            {"suitableNodes": {"nodeSelectorTerms": []}},
            (1, 31),
            [("suitableNodes.nodeSelectorTerms", "FieldValueRequired")],
        ),
        (
            {
                "suitableNodes": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a b", "operator": "Gt", "values": ["x"]}]}
                    ]
                }
            },
            (1, 31),
            [("suitableNodes.nodeSelectorTerms[0].matchExpressions[0].key", "FieldValueInvalid")],
        ),
        (
            {"selectors": [{"cel": {"expression": "device.foo"}}]},
            (1, 31),
            [("spec.selectors[0].cel.expression", "FieldValueInvalid")],
        ),
    ],
)
def test_a_class_is_refused_at_the_paths_the_server_names(
    change: dict[str, Any], server: tuple[int, int], causes: list[tuple[str, str]]
) -> None:
    obj = document(CLASS)
    obj["spec"] |= change
    assert [(cause.field, cause.reason) for cause in validate(obj, server).causes] == causes


@pytest.mark.parametrize("row", ROWS)
def test_every_row_gets_the_verdict_of_its_server(row: Row) -> None:
    said = validate(row.object(), row.server).causes
    assert tuple((cause.field, cause.reason) for cause in said) == row.causes


@pytest.mark.parametrize(
    ("obj", "server", "said"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, (1, 37), "none of resource.k8s.io/v1"),
        ({"apiVersion": "resource.k8s.io/v1", "kind": "Pod"}, (1, 37), "none of DeviceClass"),
        (
            {"apiVersion": "resource.k8s.io/v1alpha3", "kind": "DeviceClass"},
            (1, 37),
            "does not serve resource.k8s.io/v1alpha3, only v1beta1, v1beta2, v1",
        ),
    ],
)
def test_what_cannot_be_judged_is_an_error(
    obj: dict[str, Any], server: tuple[int, int], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        validate(obj, server)


def test_admin_access_needs_a_namespace_that_is_labelled_for_it() -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "x"},
        "spec": {
            "devices": {
                "requests": [
                    {"name": "a", "exactly": {"deviceClassName": "c", "adminAccess": True}}
                ]
            }
        },
    }
    assert validate(claim).accepted
    (cause,) = validate(claim, admin_namespace=False).causes
    assert (cause.field, cause.reason) == (
        "spec.devices.requests[0].adminAccess",
        "FieldValueForbidden",
    )
