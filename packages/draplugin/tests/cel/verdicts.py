"""What this package and Kubernetes say of one pair, in a form that can be compared."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from draplugin.cel import (
    AbortedError,
    CompileError,
    EvaluationError,
    compile_new,
    compile_stored,
)

#: Loops over a map: Go runs them in no order, so that what a loop costs before it stops differs
#: from run to run.
_UNORDERED = re.compile(r"device\.attributes|transformMap|\{")


@dataclass(frozen=True)
class Verdict:
    """`stored`: compile error, true, false or error. `created`, `created_lists`: is it accepted.

    `cost` and `worst` are units, None where they are not to be compared.
    """

    stored: str
    created: bool
    created_lists: bool
    cost: int | None
    worst: int | None


def ours(expression: str, device: dict[str, Any]) -> Verdict:
    """What draplugin.cel says."""
    stored, cost = _evaluate(expression, device)
    worst = None
    with suppress(CompileError):
        worst = compile_new(expression).max_cost
    return Verdict(stored, worst is not None, _accepted_with_lists(expression), cost, worst)


def _accepted_with_lists(expression: str) -> bool:
    try:
        compile_new(expression, list_attributes=True)
    except CompileError:
        return False
    return True


def _evaluate(expression: str, device: dict[str, Any]) -> tuple[str, int | None]:
    try:
        result = compile_stored(expression).evaluate(device)
    except CompileError:
        return "compile error", None
    except (EvaluationError, AbortedError):
        return "error", None
    unordered = _UNORDERED.search(expression) and "(" in expression
    return str(result.match).lower(), None if unordered else result.cost


def theirs(expression: str, said: dict[str, Any]) -> Verdict:
    """What the oracle said."""
    if said["compile_error"] is not None:
        stored = "compile error"
    else:
        stored = "error" if said["match"] is None else json.dumps(said["match"])
    unordered = _UNORDERED.search(expression) and "(" in expression
    cost = None if unordered or stored not in ("true", "false") else said["cost"]
    created = said["create_error"] is None
    worst = said["max_cost"] if created else None
    return Verdict(stored, created, said["create_error_lists"] is None, cost, worst)
