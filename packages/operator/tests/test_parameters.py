"""What a claim may say, and how each wrong way of saying it is answered."""

from __future__ import annotations

from typing import Any

import pytest
from bluetooth_operator.parameters import AxisDemand, Parameters, ParametersRefused, combine

ACCEPTED: dict[str, tuple[list[Any], Parameters]] = {
    "nothing stated is everything": ([], Parameters()),
    "an empty block is everything": ([{}], Parameters()),
    "one class": ([{"inputs": ["joystick"]}], Parameters(frozenset({"joystick"}))),
    "kind and version when they are ours": (
        [{"apiVersion": "bluetooth.liken.sh/v1alpha1", "kind": "ControllerParameters"}],
        Parameters(),
    ),
    "the claim's inputs win over the class's": (
        [{"inputs": ["joystick"]}, {"inputs": ["key", "mouse"]}],
        Parameters(frozenset({"key", "mouse"})),
    ),
    "each key comes from the last block that states it": (
        [
            {"inputs": ["joystick"], "axes": {"ABS_X": {"fuzz": 1}}},
            {"axes": {"ABS_RX": {"flat": 2}}},
        ],
        Parameters(frozenset({"joystick"}), {"ABS_RX": AxisDemand(flat=2)}),
    ),
    "fuzz and flat": (
        [{"axes": {"ABS_RX": {"fuzz": 4, "flat": 8}}}],
        Parameters(None, {"ABS_RX": AxisDemand(4, 8)}),
    ),
    "zero is a number": (
        [{"axes": {"ABS_X": {"fuzz": 0}}}],
        Parameters(None, {"ABS_X": AxisDemand(0)}),
    ),
    "4.0 is 4, as it is to the admission policy": (
        [{"axes": {"ABS_X": {"fuzz": 4.0}}}],
        Parameters(None, {"ABS_X": AxisDemand(4)}),
    ),
}


@pytest.mark.parametrize(("blocks", "expected"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(blocks: list[Any], expected: Parameters) -> None:
    assert combine(blocks) == expected


REFUSED: dict[str, tuple[Any, str]] = {
    "no object": ([1], "must be a JSON object"),
    "a text": ("joystick", "must be a JSON object"),
    "an unknown key": (
        {"input": ["key"]},
        "unknown field 'input'; accepted: apiVersion, axes, inputs",
    ),
    "another version": (
        {"apiVersion": "bluetooth.liken.sh/v2"},
        "accepted: bluetooth.liken.sh/v1alpha1",
    ),
    "another kind": ({"kind": "Gamepad"}, "accepted: ControllerParameters"),
    "no class at all": ({"inputs": []}, "must name at least one class"),
    "null for classes": ({"inputs": None}, "must be a list of input classes"),
    "a text for classes": ({"inputs": "key"}, "must be a list of input classes"),
    "an unknown class": (
        {"inputs": ["gamepad"]},
        "unknown class 'gamepad'; accepted: accelerometer",
    ),
    "a class that is no text": ({"inputs": [1]}, "unknown class 1"),
    "a class that cannot be hashed": ({"inputs": [["key"]]}, "unknown class ['key']"),
    "a list for axes": ({"axes": []}, "axes: must be an object"),
    "an unknown axis": (
        {"axes": {"ABS_Q": {"fuzz": 1}}},
        "unknown axis 'ABS_Q'; accepted: the ABS_*",
    ),
    "a count that is no axis": ({"axes": {"ABS_CNT": {"fuzz": 1}}}, "unknown axis 'ABS_CNT'"),
    "the slot axis": (
        {"axes": {"ABS_MT_SLOT": {"fuzz": 1}}},
        "does not change the number of contacts",
    ),
    "neither fuzz nor flat": ({"axes": {"ABS_X": {}}}, "axes.ABS_X: must be an object with fuzz"),
    "another field": ({"axes": {"ABS_X": {"fuzz": 1, "min": 0}}}, "unknown field 'min'"),
    "a negative number": (
        {"axes": {"ABS_X": {"fuzz": -1}}},
        "axes.ABS_X.fuzz: must be a whole number",
    ),
    "a fraction": ({"axes": {"ABS_X": {"flat": 1.5}}}, "axes.ABS_X.flat: must be a whole number"),
    "true": ({"axes": {"ABS_X": {"flat": True}}}, "axes.ABS_X.flat: must be a whole number"),
    "a text for a number": ({"axes": {"ABS_X": {"fuzz": "4"}}}, "axes.ABS_X.fuzz: must be a whole"),
    "more than the kernel holds": ({"axes": {"ABS_X": {"fuzz": 2**31}}}, "from 0 to 2147483647"),
}


@pytest.mark.parametrize(("block", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_with_what_is_accepted(block: Any, message: str) -> None:
    with pytest.raises(ParametersRefused) as refusal:
        combine([block])
    assert message in str(refusal.value)


def test_a_broken_block_is_refused_even_where_a_later_one_overrides_it() -> None:
    with pytest.raises(ParametersRefused, match="at least one class"):
        combine([{"inputs": []}, {"inputs": ["joystick"]}])
