"""What is wrong with an object, at the paths where the API server would name it.

Rules are written for the shape of v1. A server names a path in the shape of its internal types,
which became those of v1 with 1.33, except where the rule is a declarative one (1.37), which is
checked on the object as it was sent. `Findings` knows which.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
Server = tuple[int, int]

REQUIRED, INVALID, UNSUPPORTED = "FieldValueRequired", "FieldValueInvalid", "FieldValueNotSupported"
DUPLICATE, FORBIDDEN = "FieldValueDuplicate", "FieldValueForbidden"
TOO_LONG, TOO_MANY = "FieldValueTooLong", "FieldValueTooMany"
#: What 1.31 calls a name that is no C identifier.
TYPE_INVALID = "FieldValueTypeInvalid"
#: Reasons of our own: the server refuses the whole object before it names fields.
UNKNOWN, MISTYPED = "UnknownField", "WrongType"


@dataclass(frozen=True, slots=True, order=True)
class Cause:
    """One reason to refuse an object: where (a path as the server writes it), which, and why."""

    field: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


_EXACTLY = re.compile(r"(devices\.requests\[\d+\])\.exactly\b")
_DEVICE = re.compile(r"^(spec\.devices\[\d+\])\.(?!name\b)")


@dataclass(slots=True)
class Findings:
    """Collects causes for an object of one version on one server."""

    version: str
    server: Server
    causes: list[Cause] = field(default_factory=list)
    _path: list[str] = field(default_factory=list)

    @property
    def path(self) -> str:
        """Where the rules are now, in the shape of v1."""
        return "".join(self._path).removeprefix(".")

    @contextmanager
    def at(self, *steps: str | int) -> Iterator[None]:
        """Work below a field, an index or (as `[name]`) a key."""
        added = [_step(step) for step in steps]
        self._path += added
        yield
        del self._path[-len(added) :]

    def add(self, reason: str, message: str, *, declarative: bool = False) -> None:
        """Note what is wrong with the field at hand."""
        self.causes.append(Cause(self._shown(self.path, declarative), reason, message))

    def _shown(self, path: str, declarative: bool) -> str:
        if self.version not in ("v1alpha3", "v1beta1"):
            return path
        as_sent = declarative and self.server >= (1, 37)
        if self.server >= (1, 33) and not as_sent:
            return path
        return as_old(path)

    def each(
        self,
        items: Sequence[T],
        most: int,
        check: Callable[[T], None],
        *,
        key: Callable[[T], object] | None = None,
        key_field: str = "",
        declarative: bool = True,
    ) -> None:
        """Check items one by one, their number, and that no key is there twice.

        Newer servers name the number alone; 1.31 names the items as well, calls it too long, and
        names the field of the key of a duplicate.
        """
        old = self.server < (1, 32)
        if most < len(items) and not old:
            self.add(TOO_MANY, f"must have at most {most} items", declarative=declarative)
            return
        for index, item in enumerate(items):
            with self.at(index):
                check(item)
        if most < len(items):
            self.add(TOO_LONG, f"must have at most {most} items")
        if key is not None:
            self._duplicates([key(item) for item in items], key_field if old else "", declarative)

    def _duplicates(self, keys: Iterable[object], key_field: str, declarative: bool) -> None:
        seen: set[object] = set()
        for index, key in enumerate(keys):
            if key in seen:
                with self.at(index, *([key_field] if key_field else [])):
                    self.add(DUPLICATE, f"{key} is there twice", declarative=declarative)
            seen.add(key)


def as_old(path: str) -> str:
    """A path of v1's shape in the shape of v1beta1 and v1alpha3."""
    return _DEVICE.sub(r"\1.basic.", _EXACTLY.sub(r"\1", path))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return step if step.startswith("[") else f".{step}"
