"""Regular expressions as Kubernetes runs them: RE2, in linear time.

Python's own `re` is no stand-in: it accepts what RE2 refuses (look-around, back-references) and can
be made to run for ever by a selector somebody else wrote. So these functions need google-re2,
which `pip install draplugin[cel]` brings; without it nothing is said of such a selector.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .errors import EvaluationError, UnavailableError

try:
    import re2
except ImportError:  # pragma: no cover - the tests run with the extra
    re2 = None


class PatternError(EvaluationError):
    """The pattern is not one that RE2 accepts."""


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """The compiled pattern; raises `PatternError`, or `UnavailableError` without google-re2."""
    if re2 is None:
        needed = "pip install 'draplugin[cel]'"
        raise UnavailableError(f"matches(), find() and findAll() in a selector need {needed}")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise PatternError(f"{pattern!r} is no regular expression of RE2: {_text(error)}") from None


def _text(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)


def find_all(text: str, pattern: str, limit: int = -1) -> tuple[str, ...]:
    """What the pattern matches in the text, at most `limit` of them where that is not negative."""
    found: list[str] = []
    end = -1
    for match in compiled(pattern).finditer(text):
        # Go takes no empty match right behind another one.
        if match.end() > match.start() or match.start() != end:
            found.append(match.group())
        end = match.end()
    return tuple(found if limit < 0 else found[:limit])
