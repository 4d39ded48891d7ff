"""What of the devices is already given away: whole devices, parts of shared ones, counters.

Rules: k8s.io/dynamic-resource-allocation/structured/internal/incubating consumable_capacity.go and
allocator_incubating.go (`checkAvailableCounters`) at v0.37.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from draplugin.api import (
    CapacityRequestPolicy,
    Device,
    DeviceCapacity,
    ResourceClaim,
)
from draplugin.cel.quantity import QuantityError, parse

from .matching import Way
from .pools import Pool
from .world import DeviceId

Amounts = dict[str, Fraction]
# Steps are counted in 64 bits of thousandths.
_MOST = Fraction(2**63 - 1, 1000)


def amount(text: str) -> Fraction:
    """The number that a quantity stands for; raises QuantityError."""
    value = parse(str(text).strip() or "0")
    return value.unscaled * Fraction(10) ** value.exponent


@dataclass(slots=True)
class Usage:
    """Devices by the claims that hold them, and amounts taken of shared ones."""

    holders: dict[DeviceId, str] = field(default_factory=dict)
    shares: dict[DeviceId, Amounts] = field(default_factory=dict)

    @staticmethod
    def of(claims: Iterable[ResourceClaim]) -> Usage:
        """What the allocations of these claims take; admin access takes nothing."""
        usage = Usage()
        for claim in claims:
            allocation = claim.status.allocation
            for result in allocation.devices.results if allocation else ():
                if result.admin_access:
                    continue
                device_id = DeviceId(result.driver, result.pool, result.device)
                if result.share_id is None:
                    namespace = claim.metadata.namespace or "default"
                    usage.holders[device_id] = f"{namespace}/{claim.metadata.name}"
                else:
                    usage.take(
                        device_id, {n: amount(q) for n, q in result.consumed_capacity.items()}
                    )
        return usage

    def take(self, device_id: DeviceId, taken: Mapping[str, Fraction], sign: int = 1) -> None:
        """Take amounts of a shared device, or give them back."""
        held = self.shares.setdefault(device_id, {})
        for name, number in taken.items():
            held[name] = held.get(name, Fraction(0)) + sign * number


def needed(device: Device, way: Way) -> Amounts | None:
    """What a request takes of each capacity; None where the device has not what is asked.

    Raises QuantityError for an amount at which the scheduler gives up.
    """
    asked = way.capacity.requests if way.capacity else {}
    if any(name not in device.capacity for name in asked):
        return None
    taken = {}
    for name, capacity in device.capacity.items():
        number = _consumed(capacity, asked.get(name))
        if number < 0:
            raise QuantityError(f"capacity {name}: less than nothing is asked for")
        if _violates(number, capacity.request_policy):
            return None
        taken[name] = number
    return taken


def fits(device: Device, taken: Mapping[str, Fraction], held: Mapping[str, Fraction]) -> bool:
    """Whether what is asked and what is given away stay within every capacity."""
    return all(
        number + held.get(name, Fraction(0)) <= amount(device.capacity[name].value)
        for name, number in taken.items()
    )


def _consumed(capacity: DeviceCapacity, asked: str | None) -> Fraction:
    policy = capacity.request_policy
    if asked is None:
        default = policy.default if policy else None
        return amount(capacity.value if default is None else default)
    number = amount(asked)
    if policy is None:
        return number
    span = policy.valid_range
    if span is not None and span.min is not None:
        least = amount(span.min)
        if number < least or span.step is None:
            return max(number, least)
        if number > _MOST:
            raise QuantityError(f"{asked} is more than can be counted in steps")
        step = amount(span.step)
        return least + math.ceil((number - least) / step) * step
    fitting = [v for v in map(amount, policy.valid_values) if v >= number]
    return fitting[0] if fitting else number


def _violates(number: Fraction, policy: CapacityRequestPolicy | None) -> bool:
    if policy is None or (policy.default is not None and number == amount(policy.default)):
        return False
    span = policy.valid_range
    if span is not None:
        if span.max is not None and number > amount(span.max):
            return True
        least = amount(span.min or "0")
        return span.step is not None and (number - least) % amount(span.step) != 0
    values = [amount(value) for value in policy.valid_values]
    return bool(values) and number not in values


def counters_left(pool: Pool, usage: Usage) -> dict[tuple[str, str], Fraction]:
    """What each counter of a pool has left."""
    left = {
        (counters.name, name): amount(counter.value)
        for part in pool.everywhere
        for counters in part.spec.shared_counters or ()
        for name, counter in counters.counters.items()
    }
    for part in pool.everywhere:
        for device in part.spec.devices or ():
            device_id = DeviceId(pool.driver, pool.name, device.name)
            if device_id in usage.holders or usage.shares.get(device_id):
                for key, number in counted(device).items():
                    left[key] = left.get(key, Fraction(0)) - number
    return left


def counted(device: Device) -> dict[tuple[str, str], Fraction]:
    """What a device takes of each counter."""
    return {
        (consumed.counter_set, name): amount(counter.value)
        for consumed in device.consumes_counters
        for name, counter in consumed.counters.items()
    }
