"""What the scheduler would give a claim on one node: the same walk in the same order.

First fit with going back: requests in order, devices in the order of pools and slices, and where a
later request finds nothing, the earlier one tries its next device. An error of a selector on a
device that the walk reaches ends it.
Rules: k8s.io/dynamic-resource-allocation/structured/internal/incubating at v0.37.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from draplugin.api import (
    Device,
    DeviceAttribute,
    DeviceConstraint,
    ExactDeviceRequest,
    ResourceClaim,
)
from draplugin.cel.quantity import QuantityError

from .matching import Matcher, Way, untolerated
from .pools import Offered, Pool, pools
from .usage import Amounts, Usage, counted, counters_left, fits, needed
from .world import DeviceId, Node, World

#: Most devices that one claim gets.
MOST = 32
# The walk is exponential at worst; the scheduler has a deadline of ten seconds.
_MOST_STEPS = 200_000


class AllocationError(Exception):
    """The scheduler gives up on the claim, on whatever node: a selector has no value, say."""


@dataclass(frozen=True, slots=True)
class Given:
    """A device for a request (`name` or `name/subrequest`)."""

    request: str
    device_id: DeviceId


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a node has for a claim: the devices, or an error, or neither.

    `dead_end` names the first request that nothing was found for.
    """

    node: Node
    given: tuple[Given, ...] | None = None
    error: str = ""
    dead_end: str = ""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One way to serve a request, and the devices of an `All`."""

    request: str
    sub: str
    way: Way
    count: int
    everything: tuple[Offered, ...] | None = None

    @property
    def name(self) -> str:
        return f"{self.request}/{self.sub}" if self.sub else self.request


def allocate(world: World, claim: ResourceClaim, node: Node, matcher: Matcher) -> Outcome:
    """What the claim would get on the node, as if it had nothing yet."""
    others = [other for other in world.claims if not _same(other, claim)]
    walk = _Walk(world, claim, node, matcher, Usage.of(others))
    try:
        walk.prepare()
        return walk.outcome()
    except (AllocationError, QuantityError) as error:
        return Outcome(node, error=str(error), dead_end=walk.dead_end)


def _same(a: ResourceClaim, b: ResourceClaim) -> bool:
    mine, theirs = a.metadata, b.metadata
    return (mine.namespace or "default", mine.name) == (theirs.namespace or "default", theirs.name)


@dataclass(slots=True)
class _Walk:
    world: World
    claim: ResourceClaim
    node: Node
    matcher: Matcher
    usage: Usage
    dead_end: str = ""
    pools: list[Pool] = field(default_factory=list)
    asked: list[list[_Asked]] = field(default_factory=list)
    given: list[tuple[_Asked, Offered]] = field(default_factory=list)
    taken: set[DeviceId] = field(default_factory=set)
    left: dict[tuple[str, str], dict[tuple[str, str], Fraction]] = field(default_factory=dict)
    steps: int = 0
    furthest: int = -1

    def prepare(self) -> None:
        """Find out what is asked; for All, which devices that is."""
        self.pools = pools(self.world, self.node)
        for request in self.claim.spec.devices.requests:
            self.dead_end = request.name
            if request.exactly is not None:
                ways: list[tuple[str, Way]] = [("", request.exactly)]
            else:
                ways = [(sub.name, sub) for sub in request.first_available]
            self.asked.append([self._asked(request.name, sub, way) for sub, way in ways])
        self.dead_end = ""

    def _asked(self, request: str, sub: str, way: Way) -> _Asked:
        if way.device_class_name not in self.world.classes:
            raise AllocationError(f"there is no DeviceClass {way.device_class_name}")
        if way.allocation_mode != "All":
            return _Asked(request, sub, way, way.count or 1)
        found = tuple(self._all(way))
        return _Asked(request, sub, way, len(found), found)

    def _all(self, way: Way) -> Iterator[Offered]:
        for pool in self.pools:
            if pool.problem:
                raise AllocationError(f"asks for all devices, but {pool.driver} {pool.problem}")
            for offered in pool.devices(self.node):
                # What others have taken counts later: such a device is asked for and not had.
                if self._selectable(offered, way) and _could(offered.device, way):
                    yield offered

    def outcome(self) -> Outcome:
        """Walk."""
        if self._request(0):
            return Outcome(self.node, tuple(Given(a.name, o.id) for a, o in self.given))
        requests = self.claim.spec.devices.requests
        stuck = requests[min(max(self.furthest, 0), len(requests) - 1)].name if requests else ""
        return Outcome(self.node, dead_end=stuck)

    def _request(self, index: int) -> bool:
        if index == len(self.asked):
            return True
        self.furthest = max(self.furthest, index)
        return any(self._devices(index, asked, 0, (0, 0)) for asked in self.asked[index])

    def _devices(self, index: int, asked: _Asked, done: int, start: tuple[int, int]) -> bool:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise AllocationError("there are too many combinations to try")
        if asked.everything is not None and not asked.everything:
            return False
        if done >= asked.count:
            return self._request(index + 1)
        if asked.count - done > MOST - len(self.given):
            return False
        if asked.everything is not None:
            return self._one_of_all(index, asked, done, asked.everything[done])
        return self._next(index, asked, done, start)

    def _one_of_all(self, index: int, asked: _Asked, done: int, offered: Offered) -> bool:
        device_id = offered.id
        pool = next(
            p for p in self.pools if (p.driver, p.name) == (device_id.driver, device_id.pool)
        )
        return self._try(
            asked, pool, offered, True, lambda: self._devices(index, asked, done + 1, (0, 0))
        )

    def _next(self, index: int, asked: _Asked, done: int, start: tuple[int, int]) -> bool:
        for number, pool in enumerate(self.pools[start[0] :], start[0]):
            if pool.problem:
                continue
            first = start[1] if number == start[0] else 0
            for at, offered in enumerate(pool.devices(self.node)):
                if at < first or self._in_use(offered.id, asked):
                    continue
                if not self._selectable(offered, asked.way):
                    continue
                go_on = partial(self._devices, index, asked, done + 1, (number, at + 1))
                if self._try(asked, pool, offered, False, go_on):
                    return True
        return False

    def _selectable(self, offered: Offered, way: Way) -> bool:
        device_class = self.world.classes[way.device_class_name]
        found = self.matcher.ask(offered.id, offered.device, device_class, way)
        if found.error:
            raise AllocationError(f"{found.reason} (on {offered.id})")
        return found.match and offered.reached

    def _in_use(self, device_id: DeviceId, asked: _Asked) -> bool:
        if isinstance(asked.way, ExactDeviceRequest) and asked.way.admin_access:
            return device_id in self.taken
        return device_id in self.usage.holders or device_id in self.taken

    def _try(
        self, asked: _Asked, pool: Pool, offered: Offered, must: bool, then: Callable[[], bool]
    ) -> bool:
        """Hold a device while the rest is tried; let it go where that leads nowhere."""
        share = self._share(asked, pool, offered, must)
        if share is None:
            return False
        self._hold(asked, pool, offered, share)
        if then():
            return True
        self._release(pool, offered, share)
        return False

    def _hold(self, asked: _Asked, pool: Pool, offered: Offered, share: Amounts) -> None:
        self.given.append((asked, offered))
        if offered.device.allow_multiple_allocations:
            self.usage.take(offered.id, share)
        else:
            self.taken.add(offered.id)
        self._count(pool, offered.device, -1)

    def _release(self, pool: Pool, offered: Offered, share: Amounts) -> None:
        self.given.pop()
        if offered.device.allow_multiple_allocations:
            self.usage.take(offered.id, share, -1)
        else:
            self.taken.remove(offered.id)
        self._count(pool, offered.device, 1)

    def _share(self, asked: _Asked, pool: Pool, offered: Offered, must: bool) -> Amounts | None:
        """What is taken of the device, None where it cannot be taken."""
        device = offered.device
        if self._in_use(offered.id, asked):
            return None
        taken = needed(device, asked.way)
        if taken is None or not fits(device, taken, self.usage.shares.get(offered.id, {})):
            return None
        if not self._counters_suffice(pool, device) or untolerated(device, asked.way):
            return None
        if not self._constraints_hold(asked, offered):
            if must:
                raise AllocationError(f"a constraint keeps {offered.id} out, and all are asked for")
            return None
        return taken

    def _counters(self, pool: Pool) -> dict[tuple[str, str], Fraction]:
        key = (pool.driver, pool.name)
        if key not in self.left:
            self.left[key] = counters_left(pool, self.usage)
        return self.left[key]

    def _counters_suffice(self, pool: Pool, device: Device) -> bool:
        left = self._counters(pool)
        return all(left.get(key, Fraction(0)) >= n for key, n in counted(device).items())

    def _count(self, pool: Pool, device: Device, sign: int) -> None:
        left = self._counters(pool)
        for key, number in counted(device).items():
            left[key] = left.get(key, Fraction(0)) + sign * number

    def _constraints_hold(self, asked: _Asked, offered: Offered) -> bool:
        return all(
            holds(constraint, asked.request, asked.name, offered, self._bound(constraint))
            for constraint in self.claim.spec.devices.constraints
        )

    def _bound(self, constraint: DeviceConstraint) -> list[Offered]:
        return [o for a, o in self.given if applies(constraint, a.request, a.name)]


def _could(device: Device, way: Way) -> bool:
    """Whether a device has the capacities asked for, were nothing of it taken."""
    taken = needed(device, way)
    return taken is not None and fits(device, taken, {})


def applies(constraint: DeviceConstraint, request: str, name: str) -> bool:
    """Whether a constraint speaks of a request, by its name or that of its alternative."""
    names = constraint.requests
    return not names or request in names or name in names


def holds(
    constraint: DeviceConstraint, request: str, name: str, offered: Offered, bound: list[Offered]
) -> bool:
    """Whether a device goes with those that the constraint already binds."""
    if not applies(constraint, request, name):
        return True
    wanted = constraint.match_attribute or constraint.distinct_attribute or ""
    mine = attribute(offered, wanted)
    if mine is None:
        return False
    others = [attribute(other, wanted) for other in bound]
    if constraint.match_attribute is not None:
        return all(other == mine for other in others[:1])
    return mine not in others


def attribute(offered: Offered, name: str) -> DeviceAttribute | None:
    """An attribute by its full name; the driver's own may be written without domain."""
    attributes = offered.device.attributes
    if name in attributes:
        return attributes[name]
    domain, _, rest = name.partition("/")
    return attributes.get(rest) if domain == offered.id.driver else None
