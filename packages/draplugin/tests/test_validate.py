"""What is dropped from a wish, and that nothing good is."""

from __future__ import annotations

from typing import Any

import pytest
from draplugin import Device, Semver, Taint
from draplugin.slices import cut, sanitize
from hypothesis import given, settings

from .devices import device_lists, text

DRIVER = "prop.example.com"


def drops(device: Device) -> list[str]:
    return [str(drop) for drop in sanitize([device], DRIVER)[1]]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("x" * 65, "65 bytes, at most 64"),
        ("ä" * 33, "66 bytes, at most 64"),
        ("\ud800", "not valid Unicode"),
        (2**63, "9223372036854775808 does not fit 64 bits"),
        (1.5, "float is not bool, int, str or Semver"),
        (None, "NoneType is not bool, int, str or Semver"),
        (Semver("1.2"), "'1.2' is not a semantic version 2.0.0"),
        (
            Semver("99999999999999999999.0.0"),
            "'99999999999999999999.0.0' has a number beyond 64 bits",
        ),
    ],
)
def test_a_bad_value_costs_its_attribute_only(value: Any, why: str) -> None:
    kept, lost = sanitize([Device("a", {"bad": value, "good": 1})], DRIVER)
    assert kept == (Device("a", {"good": 1}),)
    assert [str(drop) for drop in lost] == [f"device a: attribute bad: {why}"]


@pytest.mark.parametrize("value", ["x" * 64, "", True, -(2**63), Semver("1.0.0-rc.1+b")])
def test_values_at_the_limit_stay(value: Any) -> None:
    assert drops(Device("a", {"x": value})) == []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("numa-1", "'numa-1' is not a C identifier of at most 32 bytes"),
        ("x" * 33, f"'{'x' * 33}' is not a C identifier of at most 32 bytes"),
        ("Bad/x", "'Bad' is not a lower-case DNS subdomain of at most 63 bytes"),
        ("a/b/x", "'a/b' is not a lower-case DNS subdomain of at most 63 bytes"),
    ],
)
def test_a_bad_name_costs_its_attribute_only(name: str, why: str) -> None:
    assert drops(Device("a", {name: 1})) == [f"device a: attribute {name}: {why}"]


def test_the_drivers_own_domain_is_the_unqualified_name() -> None:
    kept, lost = sanitize([Device("a", {f"{DRIVER}/x": 1})], DRIVER)
    assert kept == (Device("a", {"x": 1}),)
    assert lost == ()


def test_both_forms_of_one_name_are_one_too_many() -> None:
    device = Device("a", {"x": 1, f"{DRIVER}/x": 2})
    assert drops(device) == [f"device a: attribute {DRIVER}/x: the same attribute as x"]


def test_the_thirty_third_name_is_dropped() -> None:
    device = Device("a", {f"x{n}": n for n in range(32)}, capacity={"memory": "1"})
    assert drops(device) == ["device a: capacity memory: more than 32 attributes and capacities"]


@pytest.mark.parametrize(
    ("taint", "why"),
    [
        (Taint("a b", "NoExecute"), "key 'a b' is not a label name"),
        (Taint("A/b", "NoExecute"), "key prefix 'A' is not a DNS subdomain"),
        (Taint("a", "Prefer"), "effect 'Prefer' is none of NoSchedule, NoExecute, None"),
        (Taint("a", "NoExecute", "no way"), "value 'no way' is not a label value"),
        (Taint("a", "NoExecute", "", "now"), "time 'now' is not RFC 3339 in whole seconds"),
    ],
)
def test_a_bad_taint_costs_itself_only(taint: Taint, why: str) -> None:
    good = Taint("good", "NoSchedule")
    kept, lost = sanitize([Device("a", taints=(taint, good))], DRIVER)
    assert kept == (Device("a", taints=(good,)),)
    assert [drop.why for drop in lost] == [why]


@pytest.mark.parametrize("name", ["A", "a.b", "", "x" * 64, "-a", "a\n"])
def test_a_device_that_cannot_be_named_costs_itself_only(name: str) -> None:
    kept, lost = sanitize([Device(name), Device("good")], DRIVER)
    assert kept == (Device("good"),)
    assert [drop.what for drop in lost] == ["device"]


def test_the_second_device_of_a_name_is_dropped() -> None:
    kept, lost = sanitize([Device("a", {"x": 1}), Device("a")], DRIVER)
    assert kept == (Device("a", {"x": 1}),)
    assert [str(drop) for drop in lost] == ["device a: device: listed twice"]


@settings(max_examples=60, deadline=None)
@given(device_lists)
def test_sanitizing_twice_changes_nothing_more(devices: list[Device]) -> None:
    once, _ = sanitize(devices, DRIVER)
    assert sanitize(once, DRIVER) == (once, ())


@settings(max_examples=60, deadline=None)
@given(device_lists)
def test_everything_lost_is_reported_and_everything_else_is_kept(devices: list[Device]) -> None:
    kept, lost = sanitize(devices, DRIVER)
    lost_devices = sum(drop.what == "device" for drop in lost)
    assert len(kept) + lost_devices == len(devices)
    by_name = {device.name: device for device in reversed(devices)}
    items = sum(
        len(by_name[d.name].attributes)
        + len(by_name[d.name].capacity)
        + len(by_name[d.name].taints)
        for d in kept
    )
    left = sum(len(d.attributes) + len(d.capacity) + len(d.taints) for d in kept)
    assert items - left == len(lost) - lost_devices


@given(text)
def test_a_cut_text_fits_and_is_a_beginning(value: str) -> None:
    short = cut(value)
    assert len(short.encode()) <= 64
    assert value.startswith(short)
    if len(value.encode()) <= 64:
        assert short == value
