"""Whose pods are deleted although the claim has its devices: taints with the effect NoExecute.

The scheduler takes a toleration without an effect for one of every effect. The controller that
deletes pods does not: to it only a toleration counts that names NoExecute itself.
Rules: k8s.io/kubernetes pkg/controller/devicetainteviction `claimEvictionTime` at v1.37.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from draplugin.api import Device, DeviceTaint, DeviceToleration, ResourceClaim

from .allocator import Given
from .matching import taint_text, way_of
from .world import DeviceId, World


@dataclass(frozen=True, slots=True)
class Eviction:
    """A taint that has the pods of a claim deleted, `seconds` after it was put on the device."""

    request: str
    device: str
    taint: str
    seconds: int = 0

    def __str__(self) -> str:
        when = f"{self.seconds} s after it came" if self.seconds else "at once"
        return f"pods of this claim are deleted {when}: {self.device} has taint {self.taint}"


def of_given(world: World, claim: ResourceClaim, given: Iterable[Given]) -> Iterator[Eviction]:
    """What would follow if the claim were given these devices."""
    for item in given:
        way = way_of(claim, item.request)
        yield from _evictions(world, item.request, item.device_id, way.tolerations if way else ())


def of_allocation(world: World, claim: ResourceClaim) -> Iterator[Eviction]:
    """What follows for a claim that is allocated: the tolerations are those recorded with it."""
    allocation = claim.status.allocation
    for result in allocation.devices.results if allocation else ():
        device_id = DeviceId(result.driver, result.pool, result.device)
        yield from _evictions(world, result.request, device_id, result.tolerations)


def _evictions(
    world: World, request: str, device_id: DeviceId, tolerations: Sequence[DeviceToleration]
) -> Iterator[Eviction]:
    device = _device(world, device_id)
    for taint in device.taints if device else ():
        if taint.effect == "NoExecute":
            seconds = endured(taint, tolerations)
            if seconds is not None:
                yield Eviction(request, str(device_id), taint_text(taint), seconds)


def endured(taint: DeviceTaint, tolerations: Iterable[DeviceToleration]) -> int | None:
    """For how many seconds the pods stay; None is for ever."""
    counting = [
        t
        for t in tolerations
        if t.effect == "NoExecute" and t.tolerates(taint.key, taint.value, taint.effect)
    ]
    if any(t.toleration_seconds is None for t in counting):
        return None
    return min((max(t.toleration_seconds or 0, 0) for t in counting), default=0)


def _device(world: World, device_id: DeviceId) -> Device | None:
    found = [
        part
        for part in world.slices
        if (part.spec.driver, part.spec.pool.name) == (device_id.driver, device_id.pool)
    ]
    newest = max((part.spec.pool.generation for part in found), default=0)
    return next(
        (
            device
            for part in found
            if part.spec.pool.generation == newest
            for device in part.spec.devices or ()
            if device.name == device_id.device
        ),
        None,
    )
