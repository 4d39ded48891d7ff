"""What lint says of files, by example."""

from __future__ import annotations

from typing import Any

import pytest
from draplugin.api import DeviceClass, ResourceSlice, read_as
from draplugin.lint import lint

from .test_explain import ATTRIBUTES, CLASS, claim, device, part, selector


def said(obj: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    """The reasons of what is regretted, and where."""
    report = lint(obj, **options)
    assert report.accepted, report.causes
    return [(cause.reason, cause.field) for cause in report.warnings]


def in_class(*expressions: str) -> dict[str, Any]:
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    return {**CLASS, "spec": {"selectors": selectors}}


DRIVER_CHECK = 'device.driver == "gpu.example.com"'
GUARDED = [
    f"has({ATTRIBUTES}.x) && {ATTRIBUTES}.x == 1",
    f"{ATTRIBUTES}.x == 1 && has({ATTRIBUTES}.x)",
    f"!has({ATTRIBUTES}.x) || {ATTRIBUTES}.x == 1",
    f"has({ATTRIBUTES}.x) ? {ATTRIBUTES}.x == 1 : false",
    f"!has({ATTRIBUTES}.x) ? false : {ATTRIBUTES}.x == 1",
    f"'x' in {ATTRIBUTES} && {ATTRIBUTES}.x == 1",
    f"{ATTRIBUTES}.?x.orValue(1) == 1",
    f"cel.bind(d, {ATTRIBUTES}, has(d.x) && d.x == 1)",
    f"has({ATTRIBUTES}.x) && (true || {ATTRIBUTES}.x == 1)",
    f'has({ATTRIBUTES}.x) && {ATTRIBUTES}["x"] == 1',
]
UNGUARDED = [
    f"{ATTRIBUTES}.x == 1",
    f"has({ATTRIBUTES}.y) && {ATTRIBUTES}.x == 1",
    f"has({ATTRIBUTES}.x) || {ATTRIBUTES}.x == 1",
    f"!has({ATTRIBUTES}.x) && {ATTRIBUTES}.x == 1",
    f"cel.bind(d, {ATTRIBUTES}, d.x == 1)",
    f"has({ATTRIBUTES}.x) ? true : {ATTRIBUTES}.x == 1",
]


@pytest.mark.parametrize("expression", GUARDED)
def test_a_read_that_is_guarded_is_not_regretted(expression: str) -> None:
    assert said(in_class(DRIVER_CHECK, expression)) == []


@pytest.mark.parametrize("expression", UNGUARDED)
def test_a_read_that_nothing_guards_is(expression: str) -> None:
    where = "spec.selectors[1].cel.expression"
    assert said(in_class(DRIVER_CHECK, expression)) == [("Unguarded", where)]


def test_a_class_that_looks_at_no_driver_is_regretted() -> None:
    assert said(in_class("true")) == [("NoDriver", "spec.selectors")]


def _slices(*parts: dict[str, Any]) -> list[ResourceSlice]:
    return [read_as(ResourceSlice, item) for item in parts]


def test_a_selector_that_no_device_can_meet_is_regretted() -> None:
    slices = _slices(part("n1", device("a")))
    where = "spec.selectors[1].cel.expression"
    model = f"has({ATTRIBUTES}.model) && {ATTRIBUTES}.model == 'b'"
    assert said(in_class(DRIVER_CHECK, model), slices=slices) == [("NoMatch", where)]


def test_a_request_is_asked_about_the_devices_of_its_class_alone() -> None:
    foreign = part("n2", device("x"))
    foreign["spec"]["driver"] = "other.example.com"
    foreign["spec"]["devices"][0]["attributes"] = {}
    slices = _slices(part("n1", device("a")), foreign)
    asked = claim(**selector(f"{ATTRIBUTES}.model == 'a'"))
    where = "spec.devices.requests[0].exactly.selectors[0].cel.expression"
    classes = {"gpu": read_as(DeviceClass, CLASS)}
    assert said(asked, slices=slices, classes=classes) == [("Unguarded", where)]
    assert said(asked, slices=slices) == [("Unguarded", where), ("Fails", where)]


def test_what_the_server_refuses_is_said_with_its_paths() -> None:
    report = lint(claim(count=-1))
    assert not report.accepted
    assert [(c.field, c.reason) for c in report.causes] == [
        ("spec.devices.requests[0].exactly.count", "FieldValueInvalid")
    ]


def test_the_rules_are_those_of_the_server_that_is_named() -> None:
    report = lint(claim(), server=(1, 33))
    assert [(c.field, c.reason) for c in report.causes] == [("apiVersion", "NotServed")]
    old = {**in_class(DRIVER_CHECK), "apiVersion": "resource.k8s.io/v1alpha3"}
    assert lint(old, server=(1, 31)).accepted


ANY_EFFECT = {"key": "k", "operator": "Exists"}


@pytest.mark.parametrize(
    ("tolerations", "regretted"),
    [
        ([ANY_EFFECT], True),
        ([{**ANY_EFFECT, "effect": "NoExecute"}], False),
        ([{**ANY_EFFECT, "effect": "NoSchedule"}], False),
        ([ANY_EFFECT, {**ANY_EFFECT, "effect": "NoExecute"}], False),
        ([ANY_EFFECT, {"operator": "Exists", "effect": "NoExecute"}], False),
        ([ANY_EFFECT, {"key": "other", "operator": "Exists", "effect": "NoExecute"}], True),
    ],
)
def test_a_toleration_that_keeps_no_pod_is_regretted(
    tolerations: list[dict[str, Any]], regretted: bool
) -> None:
    where = "spec.devices.requests[0].exactly.tolerations[0]"
    assert said(claim(tolerations=tolerations)) == ([("NoEffect", where)] if regretted else [])
