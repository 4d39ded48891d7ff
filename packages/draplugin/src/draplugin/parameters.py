"""Which opaque parameter blocks apply to a request, and decoding them strictly.

Order: blocks of the class first, then the claim's, each in the order recorded, so that a later
block overrides an earlier one. A block that names a request also covers its subrequests. What a
user wrote is decoded strictly, with an error that names the field and what is accepted; what the
driver itself persisted is read leniently (`lenient=True`), or an upgrade could never drop a field.

Rules: KEP-4381 "config"; k8s.io/dynamic-resource-allocation/resourceclaim ConfigForResult.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from .model import Claim, OpaqueConfig, Refused

T = TypeVar("T")
_ORDER = {"FromClass": 0, "FromClaim": 1}


def configs_for(claim: Claim, request: str, driver: str) -> tuple[OpaqueConfig, ...]:
    """The blocks for the request (`name` or `parent/sub`), weakest first.

    A class's block recorded without requests (servers before 1.35 leave them out) applies only to
    requests of that class; where the claim uses several classes and the block's class cannot be
    told, see `Claim.classes` and `Plugin`, which fills the requests in from the DeviceClass.
    """
    chosen = [c for c in claim.configs if c.driver == driver and _covers(c, request)]
    return tuple(sorted(chosen, key=lambda config: _ORDER[config.source]))


def _covers(config: OpaqueConfig, request: str) -> bool:
    if not config.requests:
        return True
    return request in config.requests or request.partition("/")[0] in config.requests


class ParameterError(Refused):
    """A parameter block cannot be used; `path` names the field (`axes.ABS_RX.fuzz`)."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"{path or 'parameters'}: {problem}")


def decode(kind: type[T], value: Any, *, path: str = "", lenient: bool = False) -> T:
    """Decode a JSON value into a dataclass (nested ones, list, tuple, dict, Optional, Literal).

    Field names are the JSON names, or `field(metadata={"json": "otherName"})`. Strictly: unknown
    fields, missing fields without a default and wrong types raise ParameterError; a bool is no
    int. Leniently: unknown fields are ignored, the rest stays checked.
    """
    result: T = _decode(kind, value, path, lenient)
    return result


def _decode(kind: Any, value: Any, path: str, lenient: bool) -> Any:
    origin = typing.get_origin(kind)
    if kind is Any:
        return value
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _decode_dataclass(kind, value, path, lenient)
    if origin in (typing.Union, types.UnionType):
        return _decode_union(kind, value, path, lenient)
    if origin is typing.Literal:
        return _decode_literal(kind, value, path)
    if origin in (list, tuple, frozenset, set, Sequence) or kind in (list, tuple):
        return _decode_list(kind, origin or kind, value, path, lenient)
    if origin in (dict, Mapping) or kind is dict or _is_mapping(origin):
        return _decode_mapping(kind, value, path, lenient)
    return _decode_scalar(kind, value, path)


def _is_mapping(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _decode_dataclass(kind: Any, value: Any, path: str, lenient: bool) -> Any:
    if not isinstance(value, Mapping):
        raise ParameterError(path, f"must be an object, not {_name_of(value)}")
    fields = {f.metadata.get("json", f.name): f for f in dataclasses.fields(kind) if f.init}
    unknown = sorted(set(value) - set(fields))
    if unknown and not lenient:
        raise ParameterError(
            _join(path, unknown[0]), f"unknown field; accepted: {', '.join(sorted(fields))}"
        )
    hints = typing.get_type_hints(kind)
    arguments = {}
    for name, field in fields.items():
        if name in value:
            sub = _decode(hints[field.name], value[name], _join(path, name), lenient)
            arguments[field.name] = sub
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ParameterError(_join(path, name), "is required")
    return _construct(kind, arguments, path)


def _construct(kind: Any, arguments: dict[str, Any], path: str) -> Any:
    try:
        return kind(**arguments)
    except ParameterError:
        raise
    except ValueError as error:
        raise ParameterError(path, str(error)) from error


def _decode_union(kind: Any, value: Any, path: str, lenient: bool) -> Any:
    members = typing.get_args(kind)
    if value is None and type(None) in members:
        return None
    first: ParameterError | None = None
    for member in members:
        if member is type(None):
            continue
        try:
            return _decode(member, value, path, lenient)
        except ParameterError as error:
            first = first or error
    raise first or ParameterError(path, f"must not be {_name_of(value)}")


def _decode_literal(kind: Any, value: Any, path: str) -> Any:
    accepted = typing.get_args(kind)
    for option in accepted:
        if type(option) is type(value) and option == value:
            return option
    listed = ", ".join(repr(option) for option in accepted)
    raise ParameterError(path, f"{value!r} is not accepted; accepted: {listed}")


def _decode_list(kind: Any, origin: Any, value: Any, path: str, lenient: bool) -> Any:
    if not isinstance(value, list):
        raise ParameterError(path, f"must be a list, not {_name_of(value)}")
    arguments = [a for a in typing.get_args(kind) if a is not Ellipsis]
    item = arguments[0] if arguments else Any
    items = [_decode(item, v, f"{path}[{i}]", lenient) for i, v in enumerate(value)]
    return items if origin in (list, Sequence) else origin(items)


def _decode_mapping(kind: Any, value: Any, path: str, lenient: bool) -> Any:
    if not isinstance(value, Mapping):
        raise ParameterError(path, f"must be an object, not {_name_of(value)}")
    key_kind, item = typing.get_args(kind) or (str, Any)
    return {
        _decode(key_kind, key, _join(path, key), lenient): _decode(
            item, sub, _join(path, key), lenient
        )
        for key, sub in value.items()
    }


def _decode_scalar(kind: Any, value: Any, path: str) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if kind in (str, int, bool, float) and type(value) is kind:
        return value
    raise ParameterError(path, f"must be {_article(kind)}, not {_name_of(value)}")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _article(kind: Any) -> str:
    names = {str: "a string", int: "an integer", bool: "true or false", float: "a number"}
    return names.get(kind, getattr(kind, "__name__", str(kind)))


def _name_of(value: Any) -> str:
    names: dict[type, str] = {
        str: "a string",
        bool: "a boolean",
        int: "a number",
        float: "a fraction",
        list: "a list",
        dict: "an object",
        type(None): "null",
    }
    return names.get(type(value), type(value).__name__)
