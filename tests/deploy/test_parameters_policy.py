"""A claim's parameters are refused when they are applied, in all three kinds and every version.

Each refusal is compared with the operator's own: the policy may be earlier, never of another mind.
"""

from __future__ import annotations

from typing import Any

import pytest
from bluetooth_operator import parameters

from deploy import manifests
from deploy.conftest import VERSIONS
from deploy.manifests import BASE, SAMPLES
from deploy.server import DRY, STRICT, Server

pytestmark = pytest.mark.api

Object = dict[str, Any]
DRIVER = "bluetooth.liken.sh"
CLASSES = (
    "accelerometer, joystick, key, keyboard, mouse, pointingstick, switch, tablet, tablet_pad, "
    "touchpad, touchscreen"
)
UNKNOWN_FIELD = "hold an unknown field; accepted: apiVersion, axes, inputs, kind"
API_VERSION = "apiVersion, where it is given, is bluetooth.liken.sh/v1alpha1"
KIND = "kind, where it is given, is ControllerParameters"
EMPTY = "inputs is a list of at least one class, or is left out to receive everything; "
INPUTS = f"{EMPTY}accepted: {CLASSES}"
UNKNOWN_CLASS = f"inputs holds an unknown class; accepted: {CLASSES}"
AXES = "axes is an object of axis names, each with fuzz, flat or both"
MT_SLOT = (
    "axes.ABS_MT_SLOT cannot be set, because the kernel does not change the number of contacts"
)
UNKNOWN_AXIS = "axes holds an unknown axis; accepted: ABS_X, ABS_Y, ABS_Z, ABS_RX"
AXIS = "an axis holds fuzz, flat or both, and nothing else"
AMOUNT = "fuzz and flat are whole numbers from 0 to 2147483647"

RULES: dict[str, tuple[Object, str | None]] = {
    "nothing asked": ({}, None),
    "one class": ({"inputs": ["joystick"]}, None),
    "every class": ({"inputs": CLASSES.split(", ")}, None),
    "a class twice": ({"inputs": ["key", "key"]}, None),
    "fuzz": ({"axes": {"ABS_RX": {"fuzz": 4}}}, None),
    "flat": ({"axes": {"ABS_RX": {"flat": 0}}}, None),
    "both, and both axes": (
        {"axes": {"ABS_RX": {"fuzz": 4, "flat": 8}, "ABS_MT_POSITION_X": {"fuzz": 1}}},
        None,
    ),
    "no axis": ({"axes": {}}, None),
    "the largest amount": ({"axes": {"ABS_X": {"fuzz": 2147483647}}}, None),
    "a whole number written with a point": ({"axes": {"ABS_X": {"fuzz": 4.0}}}, None),
    "version and kind": (
        {"apiVersion": "bluetooth.liken.sh/v1alpha1", "kind": "ControllerParameters"},
        None,
    ),
    "an unknown field": ({"input": ["joystick"]}, UNKNOWN_FIELD),
    "a field in another case": ({"Inputs": ["joystick"]}, UNKNOWN_FIELD),
    "another version": ({"apiVersion": "bluetooth.liken.sh/v1"}, API_VERSION),
    "a version that is no word": ({"apiVersion": 1}, API_VERSION),
    "another kind": ({"kind": "Parameters"}, KIND),
    "a kind of nothing": ({"kind": None}, KIND),
    "no class": ({"inputs": []}, INPUTS),
    "a class without its list": ({"inputs": "joystick"}, INPUTS),
    "classes as an object": ({"inputs": {"joystick": True}}, INPUTS),
    "classes of nothing": ({"inputs": None}, INPUTS),
    "an unknown class": ({"inputs": ["joystick", "gamepad"]}, UNKNOWN_CLASS),
    "udev's own spelling": ({"inputs": ["ID_INPUT_JOYSTICK"]}, UNKNOWN_CLASS),
    "a class that is a number": ({"inputs": [1]}, UNKNOWN_CLASS),
    "a class that is a list": ({"inputs": [["joystick"]]}, UNKNOWN_CLASS),
    "axes as a list": ({"axes": ["ABS_X"]}, AXES),
    "axes of nothing": ({"axes": None}, AXES),
    "the slot axis": ({"axes": {"ABS_MT_SLOT": {"fuzz": 1}}}, MT_SLOT),
    "an unknown axis": ({"axes": {"ABS_RIGHT": {"fuzz": 1}}}, UNKNOWN_AXIS),
    "the count of axes": ({"axes": {"ABS_MAX": {"fuzz": 1}}}, UNKNOWN_AXIS),
    "an axis by number": ({"axes": {"3": {"fuzz": 1}}}, UNKNOWN_AXIS),
    "a relative axis": ({"axes": {"REL_X": {"fuzz": 1}}}, UNKNOWN_AXIS),
    "an axis with another field": ({"axes": {"ABS_X": {"fuzz": 1, "minimum": 0}}}, AXIS),
    "an axis with nothing": ({"axes": {"ABS_X": {}}}, AXIS),
    "an axis that is a number": ({"axes": {"ABS_X": 4}}, AXIS),
    "an axis of nothing": ({"axes": {"ABS_X": None}}, AXIS),
    "a negative amount": ({"axes": {"ABS_X": {"fuzz": -1}}}, AMOUNT),
    "half an amount": ({"axes": {"ABS_X": {"flat": 1.5}}}, AMOUNT),
    "an amount in words": ({"axes": {"ABS_X": {"fuzz": "4"}}}, AMOUNT),
    "an amount that is true": ({"axes": {"ABS_X": {"fuzz": True}}}, AMOUNT),
    "an amount of nothing": ({"axes": {"ABS_X": {"fuzz": None}}}, AMOUNT),
    "an amount beyond 32 bits": ({"axes": {"ABS_X": {"fuzz": 2147483648}}}, AMOUNT),
}


def block(value: Object, driver: str = DRIVER) -> Object:
    return {"opaque": {"driver": driver, "parameters": value}}


def claim_spec(version: str, *blocks: Object) -> Object:
    wish: Object = {"deviceClassName": "bluetooth-input"}
    exact = wish if version == "v1beta1" else {"exactly": wish}
    return {"devices": {"requests": [{"name": "pad", **exact}], "config": list(blocks)}}


def made(version: str, kind: str, *blocks: Object) -> tuple[str, Object]:
    """The collection's path and the object."""
    namespace = "" if kind == "DeviceClass" else "/namespaces/default"
    plural = {"DeviceClass": "deviceclasses"}.get(kind, f"{kind.lower()}s")
    specs = {
        "DeviceClass": {"config": list(blocks)},
        "ResourceClaim": claim_spec(version, *blocks),
        "ResourceClaimTemplate": {"spec": claim_spec(version, *blocks)},
    }
    body = {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": "pad"},
        "spec": specs[kind],
    }
    return f"/apis/resource.k8s.io/{version}{namespace}/{plural}", body


KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")


def refusal(server: Server, version: str, kind: str, *blocks: Object) -> str | None:
    path, body = made(version, kind, *blocks)
    return server.call("POST", path + DRY, body).refusal


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", list(RULES))
def test_parameters(server: Server, rule: str, kind: str) -> None:
    value, expected = RULES[rule]
    said = refusal(server, "v1", kind, block(value))
    if expected is None:
        assert said is None
    else:
        assert said is not None
        assert (
            f"parameters of bluetooth.liken.sh{'' if 'hold an' in expected else ':'} {expected}"
            in said
        )


@pytest.mark.parametrize("rule", list(RULES))
def test_the_operator_is_of_the_same_mind(rule: str) -> None:
    value, expected = RULES[rule]
    if expected is None:
        parameters.combine([value])
        return
    with pytest.raises(parameters.ParametersRefused):
        parameters.combine([value])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", VERSIONS[1:])
def test_an_older_version_of_the_api_is_no_way_around(
    server: Server, version: str, kind: str
) -> None:
    assert refusal(server, version, kind, block({"inputs": ["key"]})) is None
    assert UNKNOWN_CLASS in str(refusal(server, version, kind, block({"inputs": ["pad"]})))


def test_a_later_block_does_not_hide_a_broken_one(server: Server) -> None:
    blocks = [block({"inputs": ["pad"]}), block({"inputs": ["key"]})]
    assert UNKNOWN_CLASS in str(refusal(server, "v1", "ResourceClaim", *blocks))


@pytest.mark.parametrize("kind", KINDS)
def test_other_drivers_parameters_are_their_own_business(server: Server, kind: str) -> None:
    strange = block({"inputs": 7, "anything": {"at": "all"}}, driver="gpu.example.com")
    assert refusal(server, "v1", kind, strange) is None
    assert UNKNOWN_CLASS in str(refusal(server, "v1", kind, strange, block({"inputs": ["pad"]})))


@pytest.mark.parametrize("kind", KINDS)
def test_without_parameters_there_is_nothing_to_refuse(server: Server, kind: str) -> None:
    assert refusal(server, "v1", kind) is None


def test_the_fullest_claim_stays_within_what_the_server_spends_on_it(server: Server) -> None:
    axes = {name: {"fuzz": 1, "flat": 1} for name in manifests.variable(_policy(), "axisNames")}
    full = block({"inputs": ["touchscreen"] * 500, "axes": axes})
    assert refusal(server, "v1", "ResourceClaim", *[full] * 32) is None


def _policy() -> Object:
    return manifests.find(BASE, "ValidatingAdmissionPolicy", "parameters.bluetooth.liken.sh")


def test_every_axis_the_policy_names_is_accepted(server: Server) -> None:
    axes = {name: {"fuzz": 1} for name in manifests.variable(_policy(), "axisNames")}
    assert refusal(server, "v1", "ResourceClaim", block({"axes": axes})) is None


def test_an_object_from_before_the_policy_can_still_be_changed_and_deleted(server: Server) -> None:
    path, body = made("v1", "DeviceClass", block({"inputs": ["pad"]}))
    binding = (
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/"
        "parameters.bluetooth.liken.sh"
    )
    kept = server.call("GET", binding).body
    server.delete(binding)
    body["metadata"]["finalizers"] = ["example.com/wait"]
    server.until(lambda said: said is None, path + STRICT, body)
    for each in ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"):
        kept["metadata"].pop(each, None)
    server.create(binding.rpartition("/")[0], kept)
    other = body | {"metadata": {"name": "other"}}
    server.until(lambda said: said is not None, path + DRY, other)
    ours = f"{path}/pad"
    assert server.merge(ours, {"metadata": {"labels": {"a": "b"}}}).refusal is None
    worse = {"spec": {"config": [block({"inputs": ["mat"]})]}}
    assert UNKNOWN_CLASS in str(server.merge(ours, worse).refusal)
    assert server.merge(ours, {"metadata": {"finalizers": []}}).refusal is None
    server.delete(ours)


def test_samples_with_parameters_are_accepted(server: Server) -> None:
    checked = 0
    for each in manifests.every(SAMPLES):
        if each["kind"] in KINDS:
            path, _ = made("v1", each["kind"])
            assert server.call("POST", path + DRY, each).refusal is None
            checked += 1
    assert checked
