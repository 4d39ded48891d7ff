"""Answers the kubelet: which virtual nodes, or which bus, a claim's containers are given.

Everything a claim asked for is checked here a last time, and what it was given is kept in its CDI
file, from which the demand on the relay is derived. Unprepare has nothing to undo: with the file
gone the claim's demand is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bluezclient import Address, AddressError
from draplugin import Allocation, Claim, ClaimRef, Mount, Prepared, Refused
from draplugin.parameters import configs_for

from . import names
from .parameters import combine
from .plan.devices import devices
from .prepared import device_nodes, record
from .world import World


class ControllerHandler:
    """The driver's half of the kubelet plugin; `world` gives what is known at this instant."""

    def __init__(self, world: Callable[[], World]) -> None:
        self._world = world

    async def prepare(self, claim: Claim) -> Sequence[Prepared]:
        """Give the claim its devices; the same claim asked again is given what is there now."""
        world = self._world()
        return [self._device(world, claim, each) for each in claim.allocations]

    async def unprepare(self, ref: ClaimRef) -> None:
        """Nothing is kept but the claim's CDI file, and that is gone already."""

    def _device(self, world: World, claim: Claim, allocation: Allocation) -> Prepared:
        if allocation.device.endswith(names.MEDIA_SUFFIX):
            return _media_bus(world, allocation)
        address = _address(allocation)
        blocks = configs_for(claim, allocation.request, names.DRIVER)
        demand = combine(block.parameters for block in blocks)
        mirrors = world.mirrors(address)
        if world.relay is None:
            raise Refused("the relay on this node does not answer; its pod is most likely starting")
        if not mirrors:
            raise Refused(
                f"controller {address} has no input node on node {world.node} yet: switch it on"
                " once while the operator runs, or claim another"
            )
        if not world.taints_kept:
            _refuse_untolerated(world, allocation)
        return Prepared(
            device=allocation.device,
            pool=allocation.pool,
            requests=(allocation.request,),
            device_nodes=device_nodes(mirrors),
            annotations=record(address, demand, mirrors),
            share_id=allocation.share_id,
            admin_access=allocation.admin_access,
        )


def _address(allocation: Allocation) -> Address:
    try:
        return Address(allocation.device)
    except AddressError:
        raise Refused(f"{allocation.device!r} is no device of this driver") from None


def _refuse_untolerated(world: World, allocation: Allocation) -> None:
    """Keep away what a taint would have kept away, where the API server drops taints.

    Servers of 1.33 to 1.35 do so unless the gate DRADeviceTaints is on.
    """
    device = next((each for each in devices(world) if each.name == allocation.device), None)
    for taint in device.taints if device else ():
        if not any(each.tolerates(taint) for each in allocation.tolerations):
            raise Refused(
                f"{allocation.device} is tainted {taint.key}:{taint.effect}, which this claim does"
                " not tolerate; this API server drops device taints (enable DRADeviceTaints)"
            )


def _media_bus(world: World, allocation: Allocation) -> Prepared:
    known = {each.name for each in devices(world)}
    if allocation.device not in known:
        raise Refused(f"no radio of node {world.node} is {allocation.device!r}")
    return Prepared(
        device=allocation.device,
        pool=allocation.pool,
        requests=(allocation.request,),
        mounts=(Mount(host_path=names.BUS_DIRECTORY, container_path=names.BUS_DIRECTORY),),
        env={"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={names.BUS_SOCKET}"},
        share_id=allocation.share_id,
        admin_access=allocation.admin_access,
    )
