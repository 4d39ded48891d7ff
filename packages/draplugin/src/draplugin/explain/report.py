"""An explanation: what each node has for a claim, device by device, and what to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from draplugin.api import ResourceClaim
from draplugin.cel.quantity import QuantityError

from . import advice, eviction
from .allocator import Outcome, allocate
from .configuration import Block, blocks, recorded
from .eviction import Eviction
from .matching import Matcher, Status, Way, untolerated, ways
from .pools import Offered, Pool, pools
from .usage import Usage, fits, needed
from .world import DeviceId, Node, Pod, World


@dataclass(frozen=True, slots=True)
class Row:
    """One device against one request on one node."""

    request: str
    node: str
    device: str
    status: Status
    reason: str = ""
    selector: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """One way to serve a request: `mode` is ExactCount, of `count` devices, or All."""

    request: str
    device_class: str
    mode: str
    count: int

    def __str__(self) -> str:
        number = "all devices" if self.mode == "All" else _devices(self.count)
        return f"{self.request}: {number} of class {self.device_class}"


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count} devices"


def asked_of(claim: ResourceClaim) -> tuple[Asked, ...]:
    """What a claim asks for, in its order."""
    return tuple(
        Asked(name, way.device_class_name, way.allocation_mode, way.count)
        for request in claim.spec.devices.requests
        for name, way in ways(request)
    )


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that is said of a claim.

    `verdict` is allocated, possible, waiting or error. `summary` says it in words, `change` in one
    line what to change; `notes` what else is worth knowing; `evictions` what has its pods deleted
    all the same.
    """

    claim: str
    verdict: str
    summary: str
    change: str
    node: str = ""
    rows: tuple[Row, ...] = ()
    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    asked: tuple[Asked, ...] = ()
    outcomes: Mapping[str, Outcome] = field(default_factory=dict, hash=False, repr=False)

    def as_json(self) -> dict[str, Any]:
        """The explanation as a JSON object."""
        told = asdict(self)
        told.pop("outcomes")
        return told


def explain(
    world: World, claim: ResourceClaim, pod: Pod | None = None, matcher: Matcher | None = None
) -> Explanation:
    """Why the claim is allocated, or is not; for a pod, on the nodes that pod may run on.

    Several claims of one world are told sooner with one `matcher`.
    """
    told = _explained(world, claim, pod, matcher or Matcher())
    return replace(told, asked=asked_of(claim))


def _explained(
    world: World, claim: ResourceClaim, pod: Pod | None, matcher: Matcher
) -> Explanation:
    name = f"{claim.metadata.namespace or 'default'}/{claim.metadata.name}"
    if claim.status.allocation is not None:
        return _allocated(world, claim, pod, name)
    nodes = nodes_of(world, pod)
    if not nodes:
        summary = "cannot be allocated: no node has the labels that the pod asks for"
        return Explanation(
            name, "waiting", summary, "label a node, or change the pod's nodeSelector"
        )
    missing = sorted(class_names(claim) - set(world.classes))
    if missing:
        # Not an error to the scheduler: it looks again when a class appears.
        summary = f"cannot be allocated: there is no DeviceClass {', '.join(missing)}"
        return Explanation(name, "waiting", summary, advice.advise(world, claim, (), ()))
    outcomes = {node.name: allocate(world, claim, node, matcher) for node in nodes}
    usage = Usage.of(other for other in world.claims if other is not claim)
    rows = tuple(_Judge(world, matcher, usage, outcomes).rows(claim, nodes))
    advised = advice.advise(world, claim, tuple(outcomes.values()), rows)
    good = next((o for o in outcomes.values() if o.given is not None), None)
    failed = next((o for o in outcomes.values() if o.error), None)
    if failed is None and good is not None:
        given = ", ".join(f"{g.request}: {g.device_id}" for g in good.given or ())
        summary = f"can be allocated on {good.node.name}: {given or 'nothing is asked for'}"
        found = blocks(claim, world.classes, good.given or ())
        driven = tuple(eviction.of_given(world, claim, good.given or ()))
        return Explanation(
            *(name, "possible", summary, advice.for_evictions(driven) or advised),
            *(good.node.name, rows, tuple(found)),
            notes=tuple(_notes(world, claim)),
            evictions=driven,
            outcomes=outcomes,
        )
    verdict = "error" if failed is not None else "waiting"
    found = blocks(claim, world.classes, ())
    return Explanation(
        *(name, verdict, _refusal(outcomes, failed), advised, "", rows, tuple(found)),
        notes=tuple(_notes(world, claim)),
        outcomes=outcomes,
    )


def _refusal(outcomes: Mapping[str, Outcome], failed: Outcome | None) -> str:
    if failed is not None:
        return f"scheduling stops with an error on {failed.node.name}: {failed.error}"
    stuck = sorted({o.dead_end for o in outcomes.values() if o.dead_end})
    first = next(iter(outcomes))
    where = f"none of {len(outcomes)} nodes has" if len(outcomes) > 1 else f"{first} does not have"
    return f"cannot be allocated: {where} the devices for request {', '.join(stuck)}"


def nodes_of(world: World, pod: Pod | None) -> tuple[Node, ...]:
    """Where a pod may run, as far as its nodeName and nodeSelector say; without one, anywhere."""
    nodes = world.places()
    if pod is None:
        return nodes
    if pod.node:
        return tuple(n for n in nodes if n.name == pod.node) or (Node(pod.node),)
    wanted = pod.node_selector.items()
    return tuple(n for n in nodes if all(n.labels.get(k) == v for k, v in wanted))


def _allocated(world: World, claim: ResourceClaim, pod: Pod | None, name: str) -> Explanation:
    allocation = claim.status.allocation
    assert allocation is not None
    rows = tuple(
        Row(r.request, "", f"{r.driver}/{r.pool}/{r.device}", Status.ALLOCATED)
        for r in allocation.devices.results
    )
    summary = f"is allocated: {', '.join(row.device for row in rows) or 'no devices'}"
    change = "nothing"
    chosen = allocation.node_selector
    if chosen is not None and pod is not None:
        nodes = nodes_of(world, pod)
        if not any(chosen.matches(n.name, n.labels) for n in nodes):
            summary += "; its devices are not reached from the pod's nodes"
            change = "delete the pod and the claim, so that it is allocated where the pod can run"
    waits = [t for r in allocation.devices.results for t in r.binding_conditions]
    notes = (f"the scheduler waits for {', '.join(waits)}",) if waits else ()
    found, driven = tuple(recorded(claim)), tuple(eviction.of_allocation(world, claim))
    return Explanation(
        *(name, "allocated", summary, change, "", rows, found, notes), evictions=driven
    )


def _notes(world: World, claim: ResourceClaim) -> Iterator[str]:
    for name in sorted(class_names(claim)):
        found = world.classes.get(name)
        if found is not None and found.spec.suitable_nodes is not None:
            fitting = [
                n.name
                for n in world.places()
                if found.spec.suitable_nodes.matches(n.name, n.labels)
            ]
            where = ", ".join(fitting) or "none of the nodes here"
            told = "the scheduler ignores it; a control-plane controller would use"
            yield f"class {name} has suitableNodes ({told} {where})"


def class_names(claim: ResourceClaim) -> set[str]:
    """The classes that a claim asks for."""
    return {way.device_class_name for r in claim.spec.devices.requests for _, way in ways(r)}


@dataclass(frozen=True, slots=True)
class _Judge:
    """Looks at devices one by one, knowing what is held and what the scheduler would give."""

    world: World
    matcher: Matcher
    usage: Usage
    outcomes: Mapping[str, Outcome]

    def rows(self, claim: ResourceClaim, nodes: tuple[Node, ...]) -> Iterator[Row]:
        """Every device for every way to serve a request, as far as the nodes reach it."""
        for request in claim.spec.devices.requests:
            for name, way in ways(request):
                seen: set[DeviceId] = set()
                for node in nodes:
                    yield from self._on_node(name, way, node, seen)

    def _on_node(self, name: str, way: Way, node: Node, seen: set[DeviceId]) -> Iterator[Row]:
        chosen = {g.device_id for g in self.outcomes[node.name].given or () if g.request == name}
        for pool, offered in self._offered(node):
            known = offered.id in seen
            seen.add(offered.id)
            if offered.id in chosen:
                yield Row(name, node.name, str(offered.id), Status.CHOSEN)
            elif not known:
                # A device that several nodes reach is told once.
                status, reason, text = self._judge(pool, offered, way)
                yield Row(name, node.name, str(offered.id), status, reason, text)

    def _offered(self, node: Node) -> Iterator[tuple[Pool, Offered]]:
        for pool in pools(self.world, node):
            for offered in pool.devices(node):
                yield pool, offered

    def _judge(self, pool: Pool, offered: Offered, way: Way) -> tuple[Status, str, str]:
        device_class = self.world.classes.get(way.device_class_name)
        selected = self.matcher.ask(offered.id, offered.device, device_class, way)
        if not selected.match:
            status = Status.ERROR if selected.error else Status.NO_MATCH
            return status, selected.reason, selected.expression
        if pool.problem:
            return Status.POOL, pool.problem, ""
        if not offered.reached:
            return Status.ELSEWHERE, "its scope does not reach this node", ""
        holder = self.usage.holders.get(offered.id)
        if holder and not getattr(way, "admin_access", None):
            return Status.TAKEN, f"by claim {holder}", ""
        taint = untolerated(offered.device, way)
        if taint:
            return Status.TAINTED, taint, ""
        return _capacity(offered, way, self.usage)


def _capacity(offered: Offered, way: Way, usage: Usage) -> tuple[Status, str, str]:
    try:
        taken = needed(offered.device, way)
        held = usage.shares.get(offered.id, {})
        if taken is None:
            return Status.CAPACITY, "does not offer the capacities asked for", ""
        if not fits(offered.device, taken, held):
            return Status.CAPACITY, "too little capacity is left", ""
    except QuantityError as error:
        return Status.ERROR, str(error), ""
    return Status.FREE, "", ""
