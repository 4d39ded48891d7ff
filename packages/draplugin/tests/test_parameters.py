"""Which parameter blocks apply to a request, and what is refused in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from draplugin import Claim, OpaqueConfig
from draplugin.parameters import ParameterError, configs_for, decode

DRIVER = "fortune.example.com"


def block(value: Any, *requests: str, source: str = "FromClaim", driver: str = DRIVER) -> Any:
    return OpaqueConfig(source, driver, value, requests)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("configs", "request_name", "expected"),
    [
        pytest.param([], "a", [], id="none"),
        pytest.param([block(1)], "a", [1], id="no requests means all"),
        pytest.param([block(1, "b")], "a", [], id="another request"),
        pytest.param([block(1, "a")], "a/large", [1], id="base request covers its subrequests"),
        pytest.param([block(1, "a/large")], "a/large", [1], id="a subrequest by its own name"),
        pytest.param([block(1, "a/large")], "a/small", [], id="not the other subrequest"),
        pytest.param([block(1, driver="other")], "a", [], id="another driver"),
        pytest.param(
            [block(1), block(2, source="FromClass"), block(3), block(4, source="FromClass")],
            "a",
            [2, 4, 1, 3],
            id="class before claim, recorded order within",
        ),
    ],
)
def test_blocks_apply_class_first_and_by_base_request(
    configs: list[OpaqueConfig], request_name: str, expected: list[int]
) -> None:
    claim = Claim("ns", "c", "u", configs=tuple(configs))
    found = configs_for(claim, request_name, DRIVER)
    assert [config.parameters for config in found] == expected


@dataclass(frozen=True)
class Axis:
    fuzz: int | None = None
    flat: int | None = None

    def __post_init__(self) -> None:
        if self.fuzz is None and self.flat is None:
            raise ValueError("needs fuzz or flat")


@dataclass(frozen=True)
class Wanted:
    kind: Literal["pad", "remote"] = "pad"
    inputs: tuple[str, ...] = ()
    axes: dict[str, Axis] = field(default_factory=dict)
    scale: float = 1.0
    display_name: str = field(default="", metadata={"json": "displayName"})
    strict: bool = False


@dataclass(frozen=True)
class Required:
    size: int


def test_a_whole_block_becomes_the_dataclass() -> None:
    value = {
        "kind": "remote",
        "inputs": ["key"],
        "axes": {"ABS_X": {"fuzz": 4}},
        "scale": 2,
        "displayName": "n",
        "strict": True,
    }
    assert decode(Wanted, value) == Wanted("remote", ("key",), {"ABS_X": Axis(4)}, 2.0, "n", True)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Wanted, [], "parameters: must be an object, not a list"),
        (Wanted, None, "parameters: must be an object, not null"),
        (
            Wanted,
            {"input": []},
            "input: unknown field; accepted: axes, displayName, inputs, kind, scale, strict",
        ),
        (Wanted, {"inputs": "key"}, "inputs: must be a list, not a string"),
        (Wanted, {"inputs": ["key", 1]}, "inputs[1]: must be a string, not a number"),
        (
            Wanted,
            {"axes": {"ABS_X": {"fuzz": 1.5}}},
            "axes.ABS_X.fuzz: must be an integer, not a fraction",
        ),
        (
            Wanted,
            {"axes": {"ABS_X": {"fuzz": True}}},
            "axes.ABS_X.fuzz: must be an integer, not a boolean",
        ),
        (Wanted, {"axes": {"ABS_X": {}}}, "axes.ABS_X: needs fuzz or flat"),
        (
            Wanted,
            {"axes": {"ABS_X": {"noise": 1}}},
            "axes.ABS_X.noise: unknown field; accepted: flat, fuzz",
        ),
        (Wanted, {"kind": "mouse"}, "kind: 'mouse' is not accepted; accepted: 'pad', 'remote'"),
        (Wanted, {"strict": 1}, "strict: must be true or false, not a number"),
        (Required, {}, "size: is required"),
    ],
)
def test_what_a_user_wrote_wrong_is_named_with_what_is_accepted(
    kind: type, value: Any, message: str
) -> None:
    with pytest.raises(ParameterError) as refusal:
        decode(kind, value)
    assert str(refusal.value) == message


def test_own_persisted_data_may_have_fields_of_another_version() -> None:
    assert decode(Wanted, {"kind": "pad", "future": 1}, lenient=True) == Wanted()


def test_leniency_does_not_reach_wrong_types() -> None:
    with pytest.raises(ParameterError, match="inputs: must be a list"):
        decode(Wanted, {"inputs": 1}, lenient=True)
