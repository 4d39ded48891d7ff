"""The whole plan for one World: what to do, and what each declarative part is to hold."""

from __future__ import annotations

from dataclasses import dataclass

from draplugin import Device
from uinputrelay import Wish

from ..actions import Action, WindowWish
from ..world import World
from . import adapters, devices, peripherals, relay, requests, secrets
from .renumber import renumber


@dataclass(frozen=True, slots=True)
class Plan:
    """What ought to be. `devices` None withdraws the slice; `relay` None leaves the relay alone."""

    actions: tuple[Action, ...]
    windows: tuple[WindowWish, ...]
    devices: tuple[Device, ...] | None
    relay: Wish | None
    next_instant: float | None


def plan(world: World) -> Plan:
    """Decide everything. Before all objects have been listed once, nothing is decided at all.

    An operator that has just started knows neither stored bonds nor Peripherals; wishing then would
    take away every mirror that the relay kept for it.
    """
    if world.kube is None:
        return Plan((), (), None, None, None)
    actions = (
        *adapters.adapters(world),
        *secrets.secrets(world),
        *peripherals.peripherals(world),
        *requests.requests(world),
        *renumber(world),
    )
    return Plan(
        actions=actions,
        windows=tuple(requests.windows(world)),
        devices=devices.devices(world) or None,
        relay=relay.wish(world),
        next_instant=_next_instant(world),
    )


def _next_instant(world: World) -> float | None:
    instants = (requests.next_instant(world), relay.next_instant(world))
    return min((each for each in instants if each is not None), default=None)
