"""JSON text kept as it was sent.

Opaque parameters belong to a driver: key order, the spelling of numbers and repeated keys are its
business, so they pass through this package as text. Everything around them is read as usual.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_BLANK = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
# The API server's own decoder stops at 10,000 levels; no object of this API has ten.
_MAX_DEPTH = 400


@dataclass(frozen=True, slots=True)
class RawJson:
    """A JSON value as text; two are equal when their texts are."""

    text: str

    def parsed(self) -> Any:
        """The value, for the driver that owns it; raises ValueError."""
        return json.loads(self.text)

    @staticmethod
    def of(value: Any) -> RawJson:
        """The compact text of a value."""
        if isinstance(value, RawJson):
            return value
        return RawJson(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


class RepeatedKeyError(ValueError):
    """An object outside of opaque parameters has a key twice."""


def loads(text: str) -> Any:
    """Like `json.loads`, but `opaque.parameters` is `RawJson`; raises ValueError.

    A key that is repeated anywhere else is an error: the API server refuses it as well.
    """
    value, end = _value(text, _blank(text, 0), (), 0)
    end = _blank(text, end)
    if end != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def dumps(value: Any, indent: int | None = None) -> str:
    """Like `json.dumps`, with `RawJson` written as it is."""
    held: list[str] = []

    def hold(item: Any) -> Any:
        if isinstance(item, RawJson):
            held.append(item.text)
            return f"\0raw {len(held) - 1}\0"
        raise TypeError(f"{type(item).__name__} is no JSON")

    text = json.dumps(value, default=hold, indent=indent, ensure_ascii=False)
    return re.sub(r'"\\u0000raw (\d+)\\u0000"', lambda found: held[int(found[1])], text)


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()


def _value(text: str, at: int, path: tuple[str, ...], depth: int) -> tuple[Any, int]:
    if depth > _MAX_DEPTH:
        raise json.JSONDecodeError("nested too deep", text, at)
    opening = text[at : at + 1]
    if path[-2:] == ("opaque", "parameters"):
        _, end = _DECODER.raw_decode(text, at)
        return RawJson(text[at:end]), end
    if opening == "{":
        return _object(text, at + 1, path, depth)
    if opening == "[":
        return _array(text, at + 1, path, depth)
    return _DECODER.raw_decode(text, at)


def _object(text: str, at: int, path: tuple[str, ...], depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    at = _blank(text, at)
    if text[at : at + 1] == "}":
        return found, at + 1
    while True:
        if text[at : at + 1] != '"':
            raise json.JSONDecodeError("Expecting property name in double quotes", text, at)
        key, at = _DECODER.raw_decode(text, at)
        at = _blank(text, _expect(text, _blank(text, at), ":"))
        if key in found:
            raise RepeatedKeyError(f"key {key!r} is there twice")
        found[key], at = _value(text, at, (*path, key), depth + 1)
        at = _blank(text, at)
        if text[at : at + 1] == "}":
            return found, at + 1
        at = _blank(text, _expect(text, at, ","))


def _array(text: str, at: int, path: tuple[str, ...], depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _blank(text, at)
    if text[at : at + 1] == "]":
        return found, at + 1
    while True:
        item, at = _value(text, at, path, depth + 1)
        found.append(item)
        at = _blank(text, at)
        if text[at : at + 1] == "]":
            return found, at + 1
        at = _blank(text, _expect(text, at, ","))


def _expect(text: str, at: int, wanted: str) -> int:
    if text[at : at + 1] != wanted:
        raise json.JSONDecodeError(f"Expecting {wanted!r}", text, at)
    return at + 1
