"""Numbers and quoted texts of an expression to their values (cel-go parser/unescape.go)."""

from __future__ import annotations

import re

from .values import INT64, UINT64, Uint

_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_ESCAPE = re.compile(
    r"\\(?:(?P<oct>[0-3][0-7]{2})|[xX](?P<hex>[0-9a-fA-F]{2})|u(?P<u4>[0-9a-fA-F]{4})"
    r"|U(?P<u8>[0-9a-fA-F]{8})|(?P<char>[\s\S]))"
)


class LiteralError(ValueError):
    """The literal stands for no value."""


def integer(text: str) -> int:
    """A signed number, decimal or 0x; raises `LiteralError` beyond 64 bits."""
    value = _whole(text)
    if value not in INT64:
        raise LiteralError("invalid int literal")
    return value


def unsigned(text: str) -> Uint:
    """A number with the suffix u; raises `LiteralError` beyond 64 bits."""
    value = _whole(text[:-1])
    if value not in UINT64:
        raise LiteralError("invalid uint literal")
    return Uint(value)


def double(text: str) -> float:
    """A number with a point or an exponent; raises `LiteralError` where it is too large."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise LiteralError("invalid double literal")
    return value


def _whole(text: str) -> int:
    digits = text.removeprefix("-")
    value = int(digits[2:], 16) if digits.startswith("0x") else int(digits)
    return -value if text.startswith("-") else value


def string(text: str) -> str:
    """What a quoted text says; raises `LiteralError` for a code point that does not exist."""
    body, raw = _body(text)
    return body if raw else _ESCAPE.sub(_character, body)


def octets(text: str) -> bytes:
    """What `b"..."` says: escapes are bytes, other characters their UTF-8."""
    body, raw = _body(text[1:])
    if raw:
        return body.encode()
    out, at = bytearray(), 0
    for found in _ESCAPE.finditer(body):
        out += body[at : found.start()].encode() + _byte(found)
        at = found.end()
    return bytes(out + body[at:].encode())


def _body(text: str) -> tuple[str, bool]:
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    quotes = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[quotes:-quotes], raw


def _character(found: re.Match[str]) -> str:
    if found["char"]:
        return _SIMPLE.get(found["char"], found["char"])
    code = (
        int(found["oct"], 8)
        if found["oct"]
        else int(found["hex"] or found["u4"] or found["u8"], 16)
    )
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _byte(found: re.Match[str]) -> bytes:
    if found["u4"] or found["u8"]:
        raise LiteralError("unable to unescape string")
    if found["char"]:
        return _SIMPLE.get(found["char"], found["char"]).encode()
    return bytes([int(found["oct"], 8) if found["oct"] else int(found["hex"], 16)])
