"""`"%d of %s".format([1, "a"])`: the verbs of CEL's string extensions, version 2.

Rules: cel-go ext/formatting.go at v0.29, English locale.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .errors import EvaluationError
from .values import Duration, Map, Timestamp, Uint, Value, type_name

_CLAUSE = re.compile(
    r"%(?:(?P<escaped>%)|(?P<rest>(?:\.(?P<precision>[0-9]*))?(?P<verb>.?)))", re.S
)
_DEFAULT_PRECISION = 6
VERBS = frozenset("sdfebxXo")


@dataclass(frozen=True, slots=True)
class Clause:
    """One verb of a format string with its precision, None where none is written."""

    verb: str
    precision: int | None


def clauses(text: str) -> Iterator[str | Clause]:
    """The literal parts and the clauses in order; raises `EvaluationError`."""
    at = 0
    for found in _CLAUSE.finditer(text):
        yield text[at : found.start()]
        at = found.end()
        yield "%" if found["escaped"] else _clause(found)
    yield text[at:]


def _clause(found: re.Match[str]) -> Clause:
    verb, precision = found["verb"], found["precision"]
    if precision == "":
        raise EvaluationError("could not find end of precision specifier")
    if verb not in VERBS or not verb:
        raise EvaluationError(f'unrecognized formatting clause "{verb}"')
    return Clause(verb, None if precision is None else int(precision))


def format_string(text: str, args: tuple[Value, ...]) -> str:
    """The text with its clauses replaced by the arguments; raises `EvaluationError`."""
    out, index = [], 0
    for part in clauses(text):
        if isinstance(part, str):
            out.append(part)
            continue
        if index >= len(args):
            raise EvaluationError(f"index {index} out of range")
        out.append(_FORMATS[part.verb](args[index], part))
        index += 1
    return "".join(out)


def _no(value: Value, what: str) -> EvaluationError:
    return EvaluationError(f"{what}, was given {type_name(value)}")


def _integer(value: Value, what: str) -> int:
    if isinstance(value, Uint):
        return value.number
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise _no(value, what)


def _string(value: Value, _: Clause | None = None) -> str:
    from .functions.conversions import as_text

    if isinstance(value, tuple):
        return _list(value)
    if isinstance(value, Map):
        return _map(value)
    if value is None:
        return "null"
    try:
        return as_text(value)
    except EvaluationError:
        raise _no(value, "string clause can only be used on values with a text") from None


def _member(value: Value) -> str:
    if isinstance(value, (Timestamp, Duration)):
        kind = "timestamp" if isinstance(value, Timestamp) else "duration"
        return f'{kind}("{_string(value)}")'
    if isinstance(value, float):
        return f'"{_special(value)}"' if not math.isfinite(value) else f"{value:.6f}"
    shown = _string(value)
    if isinstance(value, str):
        return json.dumps(shown, ensure_ascii=False)
    return "b" + json.dumps(shown) if isinstance(value, bytes) else shown


def _special(value: float) -> str:
    return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")


def _list(value: tuple[Value, ...]) -> str:
    return "[" + ", ".join(_member(item) for item in value) + "]"


def _map(value: Map) -> str:
    for key in value:
        if isinstance(key, float):
            raise EvaluationError("no formatting function for map key of type double")
    pairs = sorted((_member(key), _member(item)) for key, item in value.items())
    return "{" + ", ".join(f"{key}:{item}" for key, item in pairs) + "}"


def _decimal(value: Value, _: Clause) -> str:
    return str(_integer(value, "decimal clause can only be used on integers"))


def _double(value: Value, clause: Clause, what: str) -> tuple[float, int]:
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        value = float(value)
    if not isinstance(value, float):
        raise _no(value, f"{what} clause can only be used on doubles")
    return value, _DEFAULT_PRECISION if clause.precision is None else clause.precision


def _fixed(value: Value, clause: Clause) -> str:
    number, precision = _double(value, clause, "fixed-point")
    return f"{number:,.{precision}f}" if math.isfinite(number) else _shown(number)


def _scientific(value: Value, clause: Clause) -> str:
    number, precision = _double(value, clause, "scientific")
    if not math.isfinite(number):
        return _shown(number)
    digits, _, power = f"{number:.{precision}e}".partition("e")
    return f"{digits}\u202f\u00d7\u202f10{power}"


def _shown(value: float) -> str:
    return "NaN" if math.isnan(value) else ("∞" if value > 0 else "-∞")


def _binary(value: Value, _: Clause) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return f"{_integer(value, 'only integers and bools can be formatted as binary'):b}"


def _hex(value: Value, clause: Clause) -> str:
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        text = value.hex()
    else:
        what = "only integers, byte buffers, and strings can be formatted as hex"
        text = f"{_integer(value, what):x}"
    return text.upper() if clause.verb == "X" else text


def _octal(value: Value, _: Clause) -> str:
    return f"{_integer(value, 'octal clause can only be used on integers'):o}"


_FORMATS: dict[str, Callable[[Value, Clause], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": _hex,
    "o": _octal,
}
