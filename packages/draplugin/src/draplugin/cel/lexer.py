"""Text to tokens, each with its offset in code points.

The longest token wins, as in the grammar of cel-go (parser/gen/CEL.g4 at v0.29).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from .errors import CompileError, Issue

_ESCAPE = (
    r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}"""
    r"""|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
)
_STRINGS = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""',
    rf"'''(?:{_ESCAPE}|[^\\])*?'''",
    rf'"(?:{_ESCAPE}|[^\\"\n\r])*"',
    rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
)
_RAW_STRINGS = (r'"""[\s\S]*?"""', r"'''[\s\S]*?'''", r'"[^"\n\r]*"', r"'[^'\n\r]*'")
_STRING = f"(?:{'|'.join(_STRINGS)}|[rR](?:{'|'.join(_RAW_STRINGS)}))"
_RULES = (
    ("skip", r"[\t \r\n\f]+|//[^\n]*"),
    (
        "float",
        r"[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?",
    ),
    ("uint", r"0x[0-9a-fA-F]+[uU]|[0-9]+[uU]"),
    ("int", r"0x[0-9a-fA-F]+|[0-9]+"),
    ("bytes", rf"[bB]{_STRING}"),
    ("string", _STRING),
    ("name", r"[A-Za-z_][A-Za-z0-9_]*"),
    ("escaped", r"`[A-Za-z0-9_.\-/ ]+`"),
    ("op", r"==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%]"),
)
_TOKEN = re.compile("|".join(f"(?P<{name}>{rule})" for name, rule in _RULES), re.ASCII)
#: Words that the lexer takes for itself; they are never names.
KEYWORDS = frozenset({"in", "true", "false", "null"})


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the expression; `kind` is a rule's name, the operator itself, or `end`."""

    kind: str
    text: str
    at: int


class Source:
    """The text of an expression, able to say where an offset is."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def issue(self, at: int, message: str) -> Issue:
        """An issue at the offset; a negative one is of the expression as a whole."""
        if at < 0:
            return Issue(-1, 0, message)
        line = bisect_right(self._starts, at)
        return Issue(line, at - self._starts[line - 1] + 1, message)


def tokens(source: Source) -> list[Token]:
    """The tokens with an `end` behind them; raises `CompileError` where none fits."""
    found, at, text = [], 0, source.text
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise CompileError([source.issue(at, f"unexpected character {text[at]!r}")])
        if match.lastgroup != "skip":
            found.append(_token(match.lastgroup or "", match.group(), at))
        at = match.end()
    return [*found, Token("end", "", at)]


def _token(rule: str, text: str, at: int) -> Token:
    kind = text if rule == "op" or text in KEYWORDS else rule
    return Token(kind, text, at)
