"""The configuration that would reach the driver, block by block in order.

Rules: k8s.io/dynamic-resource-allocation/structured/internal/incubating `Allocate` at v0.37: the
blocks of each class once, for the requests that use it, then those of the claim; a block whose
requests are none of this allocation's is left out, and requests are left empty where all are meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from draplugin.api import DeviceClass, ResourceClaim

from .allocator import Given


@dataclass(frozen=True, slots=True)
class Block:
    """Opaque parameters as the driver gets them. `requests` empty = all of them."""

    source: str
    driver: str
    requests: tuple[str, ...]
    parameters: str


def blocks(
    claim: ResourceClaim, classes: Mapping[str, DeviceClass], given: Iterable[Given]
) -> list[Block]:
    """What an allocation of these devices would carry."""
    chosen = _chosen(claim, given)
    found = [*_of_classes(claim, classes, chosen), *_of_claim(claim, chosen)]
    return [_simplified(block, chosen) for block in found]


def recorded(claim: ResourceClaim) -> list[Block]:
    """What an allocation that exists carries."""
    allocation = claim.status.allocation
    return [
        Block(
            block.source,
            block.opaque.driver if block.opaque else "",
            block.requests,
            block.opaque.parameters.text if block.opaque and block.opaque.parameters else "",
        )
        for block in (allocation.devices.config if allocation else ())
    ]


def _chosen(claim: ResourceClaim, given: Iterable[Given]) -> dict[str, str]:
    """Each request's name with that of the alternative that serves it."""
    chosen = {request.name: request.name for request in claim.spec.devices.requests}
    for item in given:
        chosen[item.request.partition("/")[0]] = item.request
    return chosen


def _of_classes(
    claim: ResourceClaim, classes: Mapping[str, DeviceClass], chosen: Mapping[str, str]
) -> list[Block]:
    users: dict[str, list[str]] = {}
    for request in claim.spec.devices.requests:
        name = chosen[request.name]
        users.setdefault(_class_of(claim, name), []).append(name)
    return [
        Block("FromClass", c.opaque.driver, tuple(names), c.opaque.parameters.text)
        for name, names in users.items()
        if name in classes
        for c in classes[name].spec.config
        if c.opaque and c.opaque.parameters
    ]


def _class_of(claim: ResourceClaim, name: str) -> str:
    base, _, sub = name.partition("/")
    request = next(r for r in claim.spec.devices.requests if r.name == base)
    if request.exactly is not None:
        return request.exactly.device_class_name
    return next((s.device_class_name for s in request.first_available if s.name == sub), "")


def _of_claim(claim: ResourceClaim, chosen: Mapping[str, str]) -> list[Block]:
    known = set(chosen) | set(chosen.values())
    return [
        Block("FromClaim", c.opaque.driver, c.requests, c.opaque.parameters.text)
        for c in claim.spec.devices.config
        if c.opaque and c.opaque.parameters and (not c.requests or set(c.requests) & known)
    ]


def _simplified(block: Block, chosen: Mapping[str, str]) -> Block:
    covered = all(base in block.requests or name in block.requests for base, name in chosen.items())
    requests = () if covered else block.requests
    return Block(block.source, block.driver, requests, block.parameters)
