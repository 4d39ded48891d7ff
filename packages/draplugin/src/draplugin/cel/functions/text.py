"""Functions of strings: CEL's own and version 2 of the string extensions.

Offsets count code points. Rules: cel-go ext/strings.go at v0.29.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import EvaluationError
from ..formatting import format_string
from ..regex import compiled, find_all
from ..values import Value, show

_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
# What Go calls white space; Python's strip() knows a few more.
_SPACE = (
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def _in_range(at: int, last: int) -> int:
    if not 0 <= at <= last:
        raise EvaluationError(f"index out of range: {at}")
    return at


def _char_at(text: str, at: int) -> str:
    return text[_in_range(at, len(text)) :][:1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    if not part:
        return min(start, len(text))
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return len(text) if not part else text.rfind(part)
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    if not part:
        return min(start, len(text))
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)


def _split(text: str, separator: str, count: int = -1) -> tuple[str, ...]:
    if count == 0:
        return ()
    if separator:
        return tuple(text.split(separator, count - 1 if count > 0 else -1))
    if count < 0 or count >= len(text):
        return tuple(text)
    return (*text[: count - 1], text[count - 1 :])


def _substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    if start > last and end is not None:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    return text[_in_range(start, len(text)) : _in_range(last, len(text))]


def _join(items: tuple[Value, ...], separator: str = "") -> str:
    for item in items:
        if not isinstance(item, str):
            raise EvaluationError(f"join: invalid input: {show(item)}")
    return separator.join(str(item) for item in items)


def _quote(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(char, char) for char in text) + '"'


def _matches(text: str, pattern: str) -> bool:
    return compiled(pattern).search(text) is not None


def _find(text: str, pattern: str) -> str:
    found = compiled(pattern).search(text)
    return str(found.group()) if found else ""


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "size_string": len,
    "string_size": len,
    "size_bytes": len,
    "bytes_size": len,
    "contains": lambda text, part: part in text,
    "endsWith": str.endswith,
    "startsWith": str.startswith,
    "matches": _matches,
    "find": _find,
    "findAll": find_all,
    "charAt": _char_at,
    "string_index_of_string": _index_of,
    "string_index_of_string_int": _index_of,
    "string_last_index_of_string": _last_index_of,
    "string_last_index_of_string_int": _last_index_of,
    "lowerAscii": lambda text: text.translate(_LOWER),
    "upperAscii": lambda text: text.translate(_UPPER),
    "replace": _replace,
    "split": _split,
    "substring": _substring,
    "trim": lambda text: text.strip(_SPACE),
    "format": format_string,
    "strings.quote": _quote,
    "join": _join,
}
