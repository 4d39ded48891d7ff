"""The claims of one pod: the scheduler wants all of them on one node, and no device twice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from draplugin.api import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    QuantityText,
    ResourceClaim,
)

from .allocator import Given, allocate
from .matching import Matcher, way_of
from .pools import Offered, pools
from .report import Explanation, class_names, explain, nodes_of
from .usage import needed
from .world import Node, Pod, World

_ALONE = (
    "each claim of the pod is looked at as if the others had nothing; no node serves all of them"
)


def explain_pod(
    world: World, pod: Pod, claims: Sequence[ResourceClaim], matcher: Matcher | None = None
) -> list[Explanation]:
    """Each claim on the first node that serves all of them, with what the ones before it took.

    Claims are taken in order and do not go back for a later one; the scheduler does.
    """
    matcher = matcher or Matcher()
    for node in nodes_of(world, pod):
        worlds = _on(world, claims, node, matcher)
        if worlds is not None:
            pinned = replace(pod, node=node.name)
            return [
                explain(before, claim, pinned, matcher)
                for before, claim in zip(worlds, claims, strict=True)
            ]
    told = [explain(world, claim, pod, matcher) for claim in claims]
    if all(each.verdict in ("possible", "allocated") for each in told):
        told = [_only_alone(each) for each in told]
    return [replace(each, notes=(*each.notes, _ALONE)) for each in told] if len(told) > 1 else told


def _only_alone(told: Explanation) -> Explanation:
    if told.verdict == "allocated":
        return told
    summary = "cannot be allocated together with the pod's other claims on any node"
    change = "let the pod's claims ask for devices that one node has together"
    return replace(told, verdict="waiting", summary=summary, change=change)


def _on(
    world: World, claims: Sequence[ResourceClaim], node: Node, matcher: Matcher
) -> list[World] | None:
    """The world before each claim, if the node serves all of them."""
    worlds = []
    for claim in claims:
        worlds.append(world)
        allocation = claim.status.allocation
        if allocation is not None:
            chosen = allocation.node_selector
            if chosen is not None and not chosen.matches(node.name, node.labels):
                return None
            continue
        if any(name not in world.classes for name in class_names(claim)):
            return None
        outcome = allocate(world, claim, node, matcher)
        if outcome.given is None:
            return None
        world = _with(world, claim, outcome.given, node)
    return worlds


def _with(world: World, claim: ResourceClaim, given: Sequence[Given], node: Node) -> World:
    offered = {o.id: o for pool in pools(world, node) for o in pool.devices(node)}
    results = tuple(_result(claim, item, offered[item.device_id]) for item in given)
    allocation = AllocationResult(DeviceAllocationResult(results))
    held = replace(claim, status=replace(claim.status, allocation=allocation))
    return replace(world, claims=(*(c for c in world.claims if c is not claim), held))


def _result(claim: ResourceClaim, item: Given, offered: Offered) -> DeviceRequestAllocationResult:
    way, device_id = way_of(claim, item.request), item.device_id
    shared = offered.device.allow_multiple_allocations
    taken = needed(offered.device, way) if shared and way else None
    return DeviceRequestAllocationResult(
        *(item.request, device_id.driver, device_id.pool, device_id.device),
        admin_access=getattr(way, "admin_access", None),
        share_id="taken" if shared else None,
        # Whole units: rounded up, so that no more is promised than there is.
        consumed_capacity={n: QuantityText(math.ceil(a)) for n, a in (taken or {}).items()},
    )
