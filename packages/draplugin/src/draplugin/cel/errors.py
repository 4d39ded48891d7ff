"""What can go wrong with an expression, kept apart because each is handled differently.

A compile error is found before any device is looked at; an evaluation error aborts an allocation
unless a logical operator absorbs it; the cost limit is never absorbed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Issue:
    """One thing that is wrong with an expression's text.

    `line` and `column` count code points from 1. Column 0 means that no place can be named: on
    line 1 for an empty expression, on line -1 for a limit of the whole expression.
    """

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"


class CompileError(ValueError):
    """The expression is not accepted; `issues` says where and why, in the order of the text."""

    def __init__(self, issues: Iterable[Issue]) -> None:
        self.issues = tuple(sorted(set(issues)))
        super().__init__("; ".join(str(issue) for issue in self.issues))


class EvaluationError(Exception):
    """The expression has no value for this device, such as a read of an unknown attribute."""


class AbortedError(Exception):
    """The evaluation was stopped; no logical operator absorbs that."""


class UnavailableError(Exception):
    """Nothing can be said of the expression: a library that it needs is not installed."""


class CostExceededError(AbortedError):
    """The evaluation would cost more than the scheduler pays."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the expression costs more than {limit} units on this device")
