"""What the functions of draplugin.cel.signatures do.

A function is chosen by the types its arguments have when it runs, among the variants the checker
left over; none that fits is the error "no such overload", as in cel-go.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from .. import signatures
from ..signatures import Overload
from ..types import Type
from ..values import (
    Map,
    Optional,
    Value,
    no_overload,
    type_name,
)
from . import arithmetic, collections, conversions, formats, kubernetes, network, text, time

Function = Callable[..., Value]

_TABLES = (
    *(signatures.STANDARD, signatures.OPTIONALS, signatures.STRINGS, signatures.SETS),
    *(signatures.MAP_INSERT, signatures.LISTS, signatures.KUBERNETES_LISTS, signatures.INCLUDES),
    *(signatures.QUANTITIES, signatures.VERSIONS, signatures.TOLERANT_VERSIONS),
    *(signatures.REGEX, signatures.URLS, signatures.ADDRESSES, signatures.FORMATS),
)
_FUNCTIONS: dict[str, Function] = {
    **arithmetic.FUNCTIONS,
    **conversions.FUNCTIONS,
    **text.FUNCTIONS,
    **collections.FUNCTIONS,
    **time.FUNCTIONS,
    **kubernetes.FUNCTIONS,
    **network.FUNCTIONS,
    **formats.FUNCTIONS,
}


@cache
def _declared() -> dict[str, Overload]:
    return {variant.id: variant for table in _TABLES for variant in signatures.table(table)}


@cache
def implementation(name: str, overloads: tuple[str, ...]) -> Function:
    """The function that runs whichever of the variants takes its arguments."""
    variants = [(_declared()[overload].params, _find(name, overload)) for overload in overloads]

    def run(*args: Value) -> Value:
        for params, function in variants:
            if all(map(_takes, params, args)):
                return function(*args)
        raise no_overload(name)

    return run


def _find(name: str, overload: str) -> Function:
    return _FUNCTIONS.get(overload) or _FUNCTIONS[name]


def implemented(overload: Overload) -> bool:
    """Whether there is code for a variant."""
    return overload.id in _FUNCTIONS or overload.name in _FUNCTIONS


def _takes(t: Type, value: Value) -> bool:
    """Whether a value may stand where the type is asked; of a list only the first item is seen."""
    if t.kind in ("param", "dyn", "any"):
        return True
    if t.kind == "list":
        return isinstance(value, tuple) and (not value or _takes(t.params[0], value[0]))
    if t.kind == "map":
        return isinstance(value, Map) and all(
            _takes(t.params[0], key) and _takes(t.params[1], item)
            for key, item in [*value.items()][:1]
        )
    if t.name == "optional_type":
        inner = t.params[0]
        return isinstance(value, Optional) and (not value.some or _takes(inner, value.value))
    return type_name(value) == t.runtime_name
