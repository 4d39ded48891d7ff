"""Selectors by example: each row is what Kubernetes' own CEL says (test_oracle.py asks it)."""

from __future__ import annotations

import pytest
from draplugin.cel import (
    CompileError,
    CostExceededError,
    EvaluationError,
    compile_new,
    compile_stored,
    parse_version,
)

from . import verdicts
from .rows import DEVICE, POSITIONS, ROWS, whole


@pytest.mark.parametrize(("short", "stored", "accepted"), ROWS, ids=[row[0] for row in ROWS])
def test_a_selector_gives_what_kubernetes_gives(short: str, stored: str, accepted: bool) -> None:
    found = verdicts.ours(whole(short), DEVICE)
    assert (found.stored, found.created) == (stored, accepted)


@pytest.mark.parametrize(("expression", "said"), POSITIONS, ids=[said for _, said in POSITIONS])
def test_a_compile_error_says_where(expression: str, said: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_stored(expression)
    assert str(caught.value.issues[0]) == said


def test_a_bad_version_fails_every_expression_on_its_device() -> None:
    device = {**DEVICE, "attributes": {"ver": {"version": "99999999999999999999.0.0"}}}
    with pytest.raises(EvaluationError, match="attribute ver: parse semantic version"):
        compile_stored("true").evaluate(device)


def test_the_cost_limit_is_never_absorbed() -> None:
    loop = "lists.range(1000).all(x, lists.range(1000).exists(y, x == y)) || true"
    with pytest.raises(CostExceededError, match="1000000"):
        compile_stored(loop).evaluate(DEVICE)


def test_a_long_expression_is_refused_when_it_is_new_and_run_when_it_is_stored() -> None:
    long = "true" + " " * 10_240
    with pytest.raises(CompileError, match="longer than 10240 bytes"):
        compile_new(long)
    assert compile_stored(long).matches(DEVICE)


def test_1_31_limits_neither_length_nor_cost() -> None:
    complex_one = 'device.attributes["d"].x.split(",").join("") == ""'
    with pytest.raises(CompileError, match="the size of a value is not bounded"):
        compile_new(complex_one, parse_version("1.37"))
    compile_new(complex_one + " " * 10_240, parse_version("v1.31.14"))


def test_a_new_expression_may_use_what_the_release_before_knows() -> None:
    sort = "[2, 1].sort() == [1, 2]"
    with pytest.raises(CompileError, match="undeclared reference to 'sort'"):
        compile_new(sort, (1, 34))
    compile_new(sort, (1, 35))
    compile_stored(sort, (1, 34))


@pytest.mark.parametrize("version", ["1.30", "1.99", "2.0", "new", ""])
def test_rules_of_unknown_servers_are_not_guessed(version: str) -> None:
    with pytest.raises(ValueError, match=r"version such as|not known here"):
        parse_version(version)


@pytest.mark.parametrize("depth", [200, 249])
def test_deep_expressions_need_no_deep_stack(depth: int) -> None:
    assert compile_stored("(" * depth + "true" + ")" * depth).matches(DEVICE)


def test_quantities_far_apart_are_compared_and_never_written_out() -> None:
    assert compile_stored('quantity("1e2000000000").isGreaterThan(quantity("1e-9"))').matches({})
    with pytest.raises(EvaluationError, match="too far apart"):
        compile_stored('quantity("1e2000000000").add(1) == quantity("1")').evaluate({})
