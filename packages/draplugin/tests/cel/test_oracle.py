"""The evaluator against Kubernetes' own CEL library, row by row and pair by pair.

What cannot be equal, by name:

* costs where a loop runs over a map: Go gives its entries in random order, so what a loop costs
  before it stops differs from run to run of the oracle itself. Verdicts are compared.
* message literals such as `google.protobuf.Int64Value{value: 1}`: no protobuf type has a use in a
  selector; they are a compile error here.
* `authorizer` functions: there is no authorizer in a selector to call them on; calling them on
  something else is a compile error here and an evaluation error there.
* sums of quantities more than 20,000 digits apart: an error here, minutes of work there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pytest

from . import generate, verdicts
from .generate import Pair
from .rows import DEVICE, POSITIONS, ROWS, whole

pytestmark = [pytest.mark.api, pytest.mark.timeout(900)]
_SEED = 20_260_801
_COUNT = 1100
Ask = Callable[[list[tuple[str, dict[str, Any]]]], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def ask() -> Ask:
    """Asks Kubernetes; the program is built on first use."""
    from cluster.oracles import ask_cel

    return ask_cel


def _differing(ask: Ask, pairs: list[Pair]) -> list[Pair]:
    said = ask([(str(expression), device) for expression, device in pairs])
    return [
        (expression, device)
        for (expression, device), answer in zip(pairs, said, strict=True)
        if verdicts.ours(str(expression), device) != verdicts.theirs(str(expression), answer)
    ]


def _shrunk(ask: Ask, pair: Pair) -> Pair:
    while simpler := _differing(ask, list(generate.smaller(pair))):
        pair = simpler[0]
    return pair


def test_every_row_is_what_kubernetes_says(ask: Ask) -> None:
    said = ask([(whole(short), DEVICE) for short, _, _ in ROWS])
    theirs = [
        verdicts.theirs(whole(row[0]), answer) for row, answer in zip(ROWS, said, strict=True)
    ]
    assert [(row[0], v.stored, v.created) for row, v in zip(ROWS, theirs, strict=True)] == list(
        ROWS
    )
    assert theirs == [verdicts.ours(whole(short), DEVICE) for short, _, _ in ROWS]


def test_errors_are_reported_at_the_same_place(ask: Ask) -> None:
    said = ask([(expression, DEVICE) for expression, _ in POSITIONS])
    for (_, ours), answer in zip(POSITIONS, said, strict=True):
        theirs = re.search(r"<input>:(-?\d+:\d+)", answer["compile_error"])
        assert ours.startswith(f"{theirs[1] if theirs else '-1:0'}: "), answer["compile_error"]


def test_generated_pairs_get_the_same_verdict(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("DRAPLUGIN_SEED", _SEED))
    with capsys.disabled():
        print(f"\n{_COUNT} pairs of expression and device from seed {seed}")
    differing = _differing(ask, generate.pairs(seed, _COUNT))
    found = [(str(e), d) for e, d in (_shrunk(ask, pair) for pair in differing[:5])]
    assert found == [], f"seed {seed}: {len(differing)} pairs differ; shrunk, for rows.py"
