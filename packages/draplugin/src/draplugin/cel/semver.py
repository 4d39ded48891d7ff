"""Semantic versions as selectors see them: github.com/blang/semver v4, which Kubernetes uses.

Stricter than the API server's own pattern in one way that matters: numbers beyond 64 bits pass
admission, and then fail every expression on that device.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_UINT64 = 2**64
_NUMBER = re.compile(r"(?:0|[1-9][0-9]*)\Z", re.ASCII)
_WORD = re.compile(r"[0-9A-Za-z-]+\Z", re.ASCII)
_DIGITS = re.compile(r"[0-9]+\Z", re.ASCII)


class VersionError(ValueError):
    """The text is no semantic version."""


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """Major, minor, patch and pre-release; what stands behind `+` plays no part in comparing."""

    major: int
    minor: int
    patch: int
    pre: tuple[int | str, ...] = ()

    def compare(self, other: Version) -> int:
        """-1, 0 or 1 by the precedence of semver.org 2.0.0, rule 11."""
        return _order(self._key(), other._key())

    def _key(self) -> tuple[object, ...]:
        # A release comes after its pre-releases; numbers come before words.
        pre = tuple((isinstance(part, str), part) for part in self.pre)
        return (self.major, self.minor, self.patch, not self.pre, pre)


def _order(mine: tuple[object, ...], theirs: tuple[object, ...]) -> int:
    return (mine > theirs) - (mine < theirs)


def parse(text: str) -> Version:
    """Read `1.2.3-rc.1+build`; raises `VersionError`."""
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise VersionError(f"{text!r} is not MAJOR.MINOR.PATCH")
    major, minor = _number(parts[0]), _number(parts[1])
    rest, plus, build = parts[2].partition("+")
    patch, dash, pre = rest.partition("-")
    if plus:
        for word in build.split("."):
            _check_word(word)
    return Version(major, minor, _number(patch), _prerelease(pre) if dash else ())


def parse_tolerant(text: str) -> Version:
    """Read `v1.2` as 1.2.0, the way `semver(text, true)` does; raises `VersionError`."""
    parts = [_stripped(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and set(parts[-1]) & set("+-"):
        raise VersionError(f"{text!r} is short and must not carry a pre-release or build")
    return parse(".".join([*parts, "0", "0"][:3]))


def _stripped(part: str) -> str:
    if len(part) < 2:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1].isdigit() else "0" + stripped


def _number(text: str) -> int:
    if not _NUMBER.match(text):
        raise VersionError(f"{text!r} is no number without leading zeros")
    value = int(text)
    if value >= _UINT64:
        raise VersionError(f"{text!r} does not fit in 64 bits")
    return value


def _prerelease(text: str) -> tuple[int | str, ...]:
    return tuple(_identifier(word) for word in text.split("."))


def _identifier(word: str) -> int | str:
    if _DIGITS.match(word):
        return _number(word)
    return _check_word(word)


def _check_word(word: str) -> str:
    if not _WORD.match(word):
        raise VersionError(f"{word!r} must be letters, digits and dashes")
    return word
