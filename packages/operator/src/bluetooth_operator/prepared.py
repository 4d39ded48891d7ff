"""What this node's prepared claims were given and ask for, read back from their CDI files.

The CDI file of a claim is the only memory of it: a restarted operator rebuilds the whole demand
from these annotations, without the API server. They are our own data, so they are read leniently:
a record that cannot be understood asks for everything rather than for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import inputid
from bluezclient import Address, AddressError
from draplugin import ClaimRef, DeviceNode, Prepared, PreparedClaim
from uinputrelay import Axis, Held, NodeState, Snapshot

from .parameters import AXES, AxisDemand, Parameters

ADDRESS = "address"
DEMAND = "demand"
NODES = "nodes"

# linux/major.h: INPUT_MAJOR is the same on every kernel, but what the relay reports is used.
NODE_MODE = 0o666


@dataclass(frozen=True, slots=True)
class Given:
    """One virtual node as a claim was given it."""

    major: int
    minor: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Holding:
    """One controller in one prepared claim."""

    claim: ClaimRef
    address: Address
    demand: Parameters
    nodes: tuple[Given, ...]


def record(address: Address, demand: Parameters, nodes: Iterable[NodeState]) -> dict[str, str]:
    """What is kept beside a prepared controller."""
    given = [[node.major, node.minor, node.snapshot.fingerprint] for node in nodes]
    return {
        ADDRESS: address.colons,
        DEMAND: json.dumps(demand.to_json(), sort_keys=True),
        NODES: json.dumps(given),
    }


def device_nodes(nodes: Iterable[NodeState]) -> tuple[DeviceNode, ...]:
    """The nodes for the container: read and written, never made, by a user of any group."""
    return tuple(
        DeviceNode(
            path=node.path,
            host_path=node.path,
            type="c",
            major=node.major,
            minor=node.minor,
            permissions="rw",
            file_mode=NODE_MODE,
        )
        for node in nodes
        if node.path is not None
    )


def holdings(claims: Iterable[PreparedClaim]) -> Iterator[Holding]:
    """Every controller that a prepared claim holds; media buses are passed over."""
    for claim in claims:
        for device in claim.devices:
            held = _holding(claim.ref, device)
            if held is not None:
                yield held


def _holding(claim: ClaimRef, device: Prepared) -> Holding | None:
    try:
        address = Address(device.annotations[ADDRESS])
    except (KeyError, AddressError):
        return None
    return Holding(claim, address, demand_of(device), _nodes(device.annotations.get(NODES, "[]")))


def demand_of(device: Prepared) -> Parameters:
    """What the claim that holds this prepared controller asked of it."""
    return _demand(device.annotations.get(DEMAND, "{}"))


def _demand(text: str) -> Parameters:
    form = _parsed(text)
    if not isinstance(form, dict):
        return Parameters()
    inputs = form.get("inputs")
    known = frozenset(inputs) & frozenset(inputid.CLASSES) if isinstance(inputs, list) else None
    return Parameters(known or None, _axes(form.get("axes")))


def _axes(form: object) -> dict[str, AxisDemand]:
    if not isinstance(form, dict):
        return {}
    return {
        name: AxisDemand(_amount(axis.get("fuzz")), _amount(axis.get("flat")))
        for name, axis in form.items()
        if name in AXES and isinstance(axis, dict)
    }


def _amount(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _nodes(text: str) -> tuple[Given, ...]:
    form = _parsed(text)
    if not isinstance(form, list):
        return ()
    return tuple(
        Given(int(each[0]), int(each[1]), str(each[2]))
        for each in form
        if isinstance(each, list) and len(each) == 3 and all(isinstance(n, int) for n in each[:2])
    )


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def wanted_types(snapshot: Snapshot, demands: Iterable[Parameters]) -> frozenset[int] | None:
    """The event types that the claims together read from one node.

    None is every event, asked for by a claim without `inputs`; the empty set is a node that nobody
    asked for, which is then not read at all.
    """
    classes = frozenset(inputid.classes(snapshot.capabilities))
    types: frozenset[int] = frozenset()
    for demand in demands:
        if demand.inputs is None:
            return None
        for name in demand.inputs & classes:
            types |= inputid.event_types(name, snapshot.capabilities)
    return types


def wanted_axes(demands: Iterable[Parameters]) -> Mapping[int, Axis]:
    """Per axis the largest fuzz and the largest flat that any claim states."""
    largest: dict[int, Axis] = {}
    for demand in demands:
        for name, axis in demand.axes.items():
            known = largest.get(AXES[name], Axis())
            largest[AXES[name]] = Axis(_most(known.fuzz, axis.fuzz), _most(known.flat, axis.flat))
    return dict(sorted(largest.items()))


def _most(one: int | None, other: int | None) -> int | None:
    stated = [amount for amount in (one, other) if amount is not None]
    return max(stated, default=None)


def held_numbers(holdings: Iterable[Holding]) -> tuple[Held, ...]:
    """The device numbers that claims were given, for the relay to keep from everybody else."""
    found = {
        Held(node.major, node.minor, each.address.colons, node.fingerprint)
        for each in holdings
        for node in each.nodes
    }
    return tuple(sorted(found))


def moved(held: Holding, mirrors: Iterable[NodeState]) -> bool:
    """Whether a claim holds a node that is no longer the mirror it was given.

    A node that was added since concerns nobody; a claim whose nodes are all still the same has not
    moved, whatever else the controller got. Where no mirror is observed nothing can be said, and
    that is not a move.
    """
    now = {(node.major, node.minor, node.snapshot.fingerprint) for node in mirrors}
    return bool(now) and any(
        (node.major, node.minor, node.fingerprint) not in now for node in held.nodes
    )
