"""Which functions, macros and variables an expression may use, by server version.

Kubernetes keeps two environments. A new expression may use only what the version before also
knows, so that a rollback does not break it; a stored one may use everything.
Rules: k8s.io/apiserver/pkg/cel/environment/base.go and k8s.io/dynamic-resource-allocation/cel
compile.go at v0.37, and the same at v0.31.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from . import macros, signatures, types
from .estimate import Path, Range
from .macros import Macro
from .signatures import Overload
from .types import Type

Version = tuple[int, int]
#: The newest server whose rules are known here.
NEWEST: Version = (1, 37)
OLDEST: Version = (1, 31)

#: Most units that one evaluation may cost, and that a new expression may be estimated at.
COST_LIMIT = 1_000_000
#: Most bytes of a new expression.
LENGTH_LIMIT = 10 * 1024

_DOMAIN, _ID, _DRIVER, _ATTRIBUTE, _PER_DEVICE = 63, 32, 63, 64, 32

# Library -> first version that has it.
_LIBRARIES: tuple[tuple[Version, str], ...] = (
    ((1, 0), signatures.STANDARD),
    ((1, 0), signatures.URLS),
    ((1, 0), signatures.REGEX),
    ((1, 0), signatures.KUBERNETES_LISTS),
    ((1, 28), signatures.OPTIONALS),
    ((1, 28), signatures.QUANTITIES),
    ((1, 29), signatures.STRINGS),
    ((1, 29), signatures.SETS),
    ((1, 30), signatures.ADDRESSES),
    ((1, 31), signatures.FORMATS),
    ((1, 32), signatures.MAP_INSERT),
    ((1, 33), signatures.VERSIONS),
    ((1, 33), signatures.TOLERANT_VERSIONS),
    ((1, 34), signatures.LISTS),
    ((1, 37), signatures.INCLUDES),
)
_MACROS: tuple[tuple[Version, Mapping[tuple[str, int, bool], Macro]], ...] = (
    ((1, 0), macros.STANDARD),
    ((1, 28), macros.OPTIONALS),
    ((1, 32), macros.TWO_VARIABLES),
    ((1, 34), macros.SORTING),
)


@dataclass(frozen=True, slots=True, eq=False)
class Environment:
    """What an expression may use. `stored` is what the scheduler runs, else what a create takes.

    `attribute` is the type an attribute has before there is a device: `any`, which no macro loops
    over, or `dyn`, which one does.
    """

    stored: bool
    functions: Mapping[str, tuple[Overload, ...]]
    macros: Mapping[tuple[str, int, bool], Macro]
    fields: Mapping[str, Mapping[str, Type]]
    attribute: Type
    limits_cost: bool

    @property
    def variables(self) -> Mapping[str, Type]:
        """The variables: `device` alone."""
        return {"device": types.DEVICE}

    def size_of(self, path: Path) -> Range | None:
        """How large the device's part at the end of a path can be."""
        if not path or path[0] != "device":
            return None
        node: object = _SIZES
        for name in path[1:]:
            node = _child(node, name)
            if node is None:
                return None
        return Range(0, node[""] if isinstance(node, dict) else int(str(node)))


_SIZES: dict[str, object] = {
    "": 0,
    "driver": _DRIVER,
    "allowMultipleAllocations": 1,
    "attributes": {
        "": _PER_DEVICE,
        "@keys": _DOMAIN,
        "@values": {"": _PER_DEVICE, "@keys": _ID, "@values": _ATTRIBUTE, "*": _ATTRIBUTE},
    },
    "capacity": {
        "": _PER_DEVICE,
        "@keys": _DOMAIN,
        "@values": {"": _PER_DEVICE, "@keys": _ID, "@values": 0},
    },
}
# Maps answer to "@items" as lists do: the estimator of the server does not tell them apart.
_ALIASES = {"@items": "@values"}


def _child(node: object, name: str) -> object:
    if not isinstance(node, dict):
        return None
    return node.get(_ALIASES.get(name, name), node.get("*"))


def parse_version(text: str) -> Version:
    """`1.37` or `v1.37.2`; raises ValueError for versions whose rules are not known here."""
    major, _, rest = text.removeprefix("v").partition(".")
    minor = rest.partition(".")[0]
    if not (major.isdecimal() and minor.isdecimal()):
        raise ValueError(f"{text!r} is no version such as 1.37")
    version = (int(major), int(minor))
    if not OLDEST <= version <= NEWEST:
        oldest, newest = ("{}.{}".format(*v) for v in (OLDEST, NEWEST))
        raise ValueError(
            f"the rules of {text} are not known here, only those of {oldest} to {newest}"
        )
    return version


@cache
def environment(
    *, stored: bool, server: Version = NEWEST, list_attributes: bool = False
) -> Environment:
    """What a server of this version allows; `list_attributes` is its gate DRAListTypeAttributes."""
    known = server if stored else (server[0], server[1] - 1)
    found: dict[str, tuple[Overload, ...]] = {}
    for since, table in _LIBRARIES:
        if since <= known or _always(table, server, stored, list_attributes):
            for variant in signatures.table(table):
                found[variant.name] = (*found.get(variant.name, ()), variant)
    expanded = dict(macros.BINDINGS)
    for since, some in _MACROS:
        if since <= known:
            expanded |= some
    # Of a stored expression the newest declaration of the device counts, gates or not.
    lists = server >= (1, 36) if stored else list_attributes
    attribute = types.DYN if lists else types.ANY
    return Environment(
        stored, found, expanded, _fields(attribute, server), attribute, server >= (1, 32)
    )


def _always(table: str, server: Version, stored: bool, list_attributes: bool) -> bool:
    if table == signatures.VERSIONS:
        # Selectors had versions before other expressions did.
        return server >= (1, 31)
    return table == signatures.INCLUDES and server >= (1, 36) and (stored or list_attributes)


def _fields(attribute: Type, server: Version) -> dict[str, dict[str, Type]]:
    by_name = types.map_of(types.STRING, attribute)
    quantities = types.map_of(types.STRING, types.QUANTITY)
    device = {
        "driver": types.STRING,
        "attributes": types.map_of(types.STRING, by_name),
        "capacity": types.map_of(types.STRING, quantities),
    }
    if server >= (1, 34):
        device["allowMultipleAllocations"] = types.BOOL
    return {types.DEVICE.name: device}
