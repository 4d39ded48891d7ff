"""What the relay is told: every bonded controller's nodes, and which events anybody wants."""

from __future__ import annotations

from bluezclient import Address, Reason
from uinputrelay import NodeWish, PeripheralWish, Wish

from ..prepared import held_numbers, holdings, wanted_axes, wanted_types
from ..world import Controller, World, controllers
from .devices import snapshots_of

# A remote that lost its link while awake is back within seconds and needs no waking.
ASLEEP_AT_LEAST = 10.0


def wish(world: World) -> Wish:
    """The whole wished state, whoever is asleep and whoever holds a claim."""
    held = tuple(holdings(world.prepared))
    peripherals: dict[Address, PeripheralWish] = {}
    for controller in controllers(world):
        # One device on two radios is one set of nodes; the relay finds them by address alone then.
        known = peripherals.get(controller.address)
        adapter = None if known else controller.adapter.colons
        demands = [each.demand for each in held if each.address == controller.address]
        peripherals[controller.address] = PeripheralWish(
            address=controller.address.colons,
            adapter=adapter,
            nodes=tuple(
                NodeWish(snapshot, wanted_types(snapshot, demands))
                for snapshot in snapshots_of(world, controller)
            ),
            axes=wanted_axes(demands),
            wake=_wake(world, controller),
        )
    return Wish(tuple(peripherals.values()), held_numbers(held))


def _wake(world: World, controller: Controller) -> int:
    """A number that rises once for each sleep of at least ten seconds; 0 while awake.

    Derived from when the sleep began, so that a restarted operator neither forgets a sleep nor
    counts one twice.
    """
    link = world.bluez.links.get((controller.adapter, controller.address))
    if link is None or link.reason is not Reason.ASLEEP:
        return 0
    return int(link.since) if world.now - link.since >= ASLEEP_AT_LEAST else 0


def next_instant(world: World) -> float | None:
    """When the next sleep will have lasted long enough to deserve a wake press."""
    due = [
        link.since + ASLEEP_AT_LEAST
        for link in world.bluez.links.values()
        if link.reason is Reason.ASLEEP and link.since + ASLEEP_AT_LEAST > world.now
    ]
    return min(due, default=None)
