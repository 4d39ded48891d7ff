"""Frozen values from JSON objects and back, by the values' own annotations.

What does not fit is not guessed at: a field nobody declared and a value of the wrong type are
reported with their paths, as the API server does for `fieldValidation=Strict`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from .rawjson import RawJson

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Misfit:
    """Something in an object that its kind has no place for. `unknown` = no such field."""

    path: str
    message: str
    unknown: bool = False


class DecodeError(ValueError):
    """The object is not one of its kind; `misfits` lists where and why."""

    def __init__(self, misfits: typing.Iterable[Misfit]) -> None:
        self.misfits = tuple(misfits)
        super().__init__("; ".join(f"{m.path}: {m.message}" for m in self.misfits))


def named(json_name: str, **options: Any) -> Any:
    """A field whose JSON name is not its own in camel case."""
    return field(metadata={"json": json_name}, **options)


#: Of a field that is written even when it is empty, as Kubernetes writes it.
REQUIRED = {"required": True}


def required(**options: Any) -> Any:
    """A field with `REQUIRED`."""
    return field(metadata=REQUIRED, **options)


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    json: str
    type: Any
    required: bool


@cache
def fields_of(kind: type) -> dict[str, _Field]:
    """The fields of a value class by their JSON names."""
    hints = typing.get_type_hints(kind)
    found = {}
    for item in dataclasses.fields(kind):
        name = item.metadata.get("json", _camel(item.name))
        found[name] = _Field(
            item.name, name, hints[item.name], item.metadata.get("required", False)
        )
    return found


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def decode(kind: type[T], value: Any, path: str = "") -> tuple[T, list[Misfit]]:
    """The value of an object and everything in it that did not fit."""
    misfits: list[Misfit] = []
    decoded: T = _object(kind, value, path, misfits)
    return decoded, misfits


def _object(kind: Any, value: Any, path: str, misfits: list[Misfit]) -> Any:
    if not isinstance(value, Mapping):
        if value is not None:
            misfits.append(Misfit(path, f"must be an object, not {_shown(value)}"))
        value = {}
    known, arguments = fields_of(kind), {}
    for name, item in value.items():
        if name not in known:
            misfits.append(Misfit(_join(path, name), "unknown field", unknown=True))
        elif item is not None:
            found = known[name]
            arguments[found.name] = _value(found.type, item, _join(path, name), misfits)
    return kind(**arguments)


def _value(kind: Any, value: Any, path: str, misfits: list[Misfit]) -> Any:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        (kind,) = (member for member in typing.get_args(kind) if member is not type(None))
        return _value(kind, value, path, misfits)
    if kind is RawJson:
        return RawJson.of(value)
    if kind is Any:
        return value
    if origin is tuple:
        return _list(typing.get_args(kind)[0], value, path, misfits)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(typing.get_args(kind)[1], value, path, misfits)
    if dataclasses.is_dataclass(kind):
        return _object(kind, value, path, misfits)
    return _scalar(kind, value, path, misfits)


def _list(kind: Any, value: Any, path: str, misfits: list[Misfit]) -> tuple[Any, ...]:
    if not isinstance(value, list):
        misfits.append(Misfit(path, f"must be a list, not {_shown(value)}"))
        return ()
    return tuple(
        _value(kind, {} if item is None else item, f"{path}[{index}]", misfits)
        for index, item in enumerate(value)
    )


def _mapping(kind: Any, value: Any, path: str, misfits: list[Misfit]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        misfits.append(Misfit(path, f"must be an object, not {_shown(value)}"))
        return {}
    return {
        name: _value(kind, {} if item is None else item, f"{path}[{name}]", misfits)
        for name, item in value.items()
    }


def _scalar(kind: Any, value: Any, path: str, misfits: list[Misfit]) -> Any:
    if issubclass(kind, str):
        if kind is not str and type(value) is int:
            # A quantity may be written as a number.
            return kind(str(value))
        if kind is not str and type(value) is float:
            return kind(repr(value))
        if isinstance(value, str):
            return kind(value)
    elif type(value) is kind or (kind is int and type(value) is float and value.is_integer()):
        return kind(value)
    if value != {}:
        misfits.append(Misfit(path, f"must be {_NAMES[kind]}, not {_shown(value)}"))
    return kind()


class QuantityText(str):
    """A Kubernetes quantity as it is written, such as `4Gi`; draplugin.cel.quantity reads it."""

    __slots__ = ()


_NAMES: dict[Any, str] = {
    str: "a string",
    int: "an integer",
    bool: "true or false",
    QuantityText: "a quantity",
}


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    for kind, name in ((str, "a string"), (int, "a number"), (float, "a number"), (list, "a list")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "an object"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def encode(value: Any) -> Any:
    """The JSON object of a value: what is empty is left out, `RawJson` stays as it is."""
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, RawJson)):
        return _encode_object(value)
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {name: encode(item) for name, item in value.items()}
    return str(value) if isinstance(value, str) else value


def _encode_object(value: Any) -> dict[str, Any]:
    encoded = {}
    kind: type = type(value)
    for item in fields_of(kind).values():
        held = getattr(value, item.name)
        empty = held is None or held in ("", (), {}) or (type(held) is int and held == 0)
        if not _is_optional(item.type) and empty and not item.required:
            continue
        if held is not None:
            encoded[item.json] = encode(held)
    return encoded


def _is_optional(kind: Any) -> bool:
    return type(None) in typing.get_args(kind)
