"""Reading foreign JSON strictly: every refusal names the place and what is accepted there.

Members nobody knows are ignored, so that a newer peer can be read; members that are known are
checked before anything else looks at them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

INT32 = (-(1 << 31), (1 << 31) - 1)
UINT16 = (0, 0xFFFF)
COUNTER = (0, (1 << 63) - 1)


class InvalidValueError(ValueError):
    """Something that was read is not what it has to be; the text names the place and the rule."""


def integer(value: object, where: str, low: int, high: int) -> int:
    """Return ``value`` as an int within ``low..high``; JSON's true and 1.0 are no integers."""
    if type(value) is not int or not low <= value <= high:
        raise InvalidValueError(f"{where}: not an integer in {low}..{high}: {shown(value)}")
    return value


def text(value: object, where: str, longest: int) -> str:
    """Return ``value`` as text of at most ``longest`` characters without NUL."""
    if not isinstance(value, str) or len(value) > longest or "\0" in value:
        raise InvalidValueError(
            f"{where}: not text of at most {longest} characters: {shown(value)}"
        )
    return value


def boolean(value: object, where: str) -> bool:
    """Return ``value`` as a bool."""
    if not isinstance(value, bool):
        raise InvalidValueError(f"{where}: neither true nor false: {shown(value)}")
    return value


def items(value: object, where: str, most: int) -> list[object]:
    """Return ``value`` as a list of at most ``most`` members."""
    if not isinstance(value, list) or len(value) > most:
        raise InvalidValueError(f"{where}: not a list of at most {most} members: {shown(value)}")
    return value


def members(value: object, where: str) -> dict[str, object]:
    """Return ``value`` as an object with string keys."""
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InvalidValueError(f"{where}: not an object: {shown(value)}")
    return value


def member(form: dict[str, object], name: str, where: str) -> object:
    """Return one member that has to be there."""
    if name not in form:
        raise InvalidValueError(f"{where}: {name} is missing")
    return form[name]


def number_key(key: str, where: str, low: int, high: int) -> int:
    """Return a JSON object's key as the number it spells."""
    if not (key.isascii() and key.isdigit()):
        raise InvalidValueError(f"{where}: not a number: {shown(key)}")
    return integer(int(key[:12]), where, low, high)


def unique(values: Iterable[T], where: str) -> tuple[T, ...]:
    """Return the values as a tuple; the same one twice is refused."""
    listed = tuple(values)
    if len(set(listed)) != len(listed):
        raise InvalidValueError(f"{where}: the same member twice")
    return listed


def shown(value: object) -> str:
    """Print a foreign value for a message, cut short and with everything unprintable escaped."""
    printed = ascii(value)
    return printed if len(printed) <= 60 else f"{printed[:57]}..."
