"""Device selectors: Kubernetes' CEL, evaluated and checked in Python.

`compile_stored` is what the scheduler does with a class or claim, `compile_new` what the API server
does with one that is created. Both give a `Selector`, which is asked about devices in the shape of
a ResourceSlice. `matches()`, `find()` and `findAll()` need `pip install draplugin[cel]`; without,
they are an `UnavailableError`.
"""

from .environment import COST_LIMIT, LENGTH_LIMIT, NEWEST, OLDEST, Version, parse_version
from .errors import (
    AbortedError,
    CompileError,
    CostExceededError,
    EvaluationError,
    Issue,
    UnavailableError,
)
from .program import Result, Selector, compile_new, compile_stored

__all__ = [
    "COST_LIMIT",
    "LENGTH_LIMIT",
    "NEWEST",
    "OLDEST",
    "AbortedError",
    "CompileError",
    "CostExceededError",
    "EvaluationError",
    "Issue",
    "Result",
    "Selector",
    "UnavailableError",
    "Version",
    "compile_new",
    "compile_stored",
    "parse_version",
]
