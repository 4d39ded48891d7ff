"""Everything that is known at one instant, as one frozen value that the plans read.

Every source can be absent and says so: `bluez.available`, `relay is None`, `kube is None`. Nothing
in here is a decision, and nothing outside of it may decide anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bluezclient import Adapter, Address, Device, Prompt, Seen, State
from draplugin import PreparedClaim
from draplugin.kube import Object
from uinputrelay import NodeState, Observed

from .bonds import StoredBond


@dataclass(frozen=True, slots=True)
class WindowState:
    """One pairing window as it runs: what it hears and how its pairing ended.

    `paired` is the identity address of the device that was bonded; `failure` is (reason, message).
    """

    seen: tuple[Seen, ...] = ()
    pairing: Address | None = None
    prompt: Prompt | None = None
    paired: Address | None = None
    failure: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Kube:
    """The Kubernetes objects, by name (requests by `namespace/name`), once all have been listed."""

    adapters: Mapping[str, Object] = field(default_factory=dict)
    peripherals: Mapping[str, Object] = field(default_factory=dict)
    requests: Mapping[str, Object] = field(default_factory=dict)
    bonds: Mapping[Address, StoredBond] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One instant. `now` is seconds since the epoch; `files` are the sealed bonds on this disk."""

    now: float
    node: str
    namespace: str
    bluez: State = field(default_factory=State)
    relay: Observed | None = None
    kube: Kube | None = None
    files: Mapping[tuple[Address, Address], Mapping[str, bytes]] = field(
        default_factory=dict, repr=False
    )
    prepared: tuple[PreparedClaim, ...] = ()
    windows: Mapping[str, WindowState] = field(default_factory=dict)
    serves_unheld: bool = False
    taints_kept: bool = True

    def present(self) -> Mapping[Address, Adapter]:
        """The radios that bluetoothd shows now."""
        return {adapter.address: adapter for adapter in self.bluez.adapters.values()}

    def held(self) -> frozenset[Address]:
        """The radios this operator answers for: present, or this node's when last seen."""
        known = self.kube.adapters if self.kube else {}
        departed = {
            Address(name)
            for name, adapter in known.items()
            if (adapter.get("status") or {}).get("node") == self.node
        }
        return frozenset(departed | set(self.present()))

    def device(self, adapter: Address, device: Address) -> Device | None:
        """What bluetoothd knows of a device on that radio."""
        return next(
            (each for each in self.bluez.devices.values() if each.key == (adapter, device)), None
        )

    def mirrors(self, device: Address) -> tuple[NodeState, ...]:
        """The virtual nodes the relay holds for a device; those it could not make are left out."""
        if self.relay is None:
            return ()
        return tuple(
            node
            for peripheral in self.relay.peripherals
            if peripheral.address == device.colons
            for node in peripheral.nodes
            if node.path is not None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """One bonded device of a radio that this operator holds, whatever its state."""

    adapter: Address
    address: Address
    device: Device | None
    stored: StoredBond | None

    @property
    def bonded(self) -> bool | None:
        """Whether bluetoothd has its keys; None while it cannot be asked."""
        return None if self.device is None else self.device.bonded


def controllers(world: World) -> Iterator[Controller]:
    """The paired set, by address: what is bonded now, and every stored bond of a radio held here.

    Where bluetoothd is away or the radio is unplugged the stored bonds stand for what it would
    say: absence is never a decision.
    """
    held = world.held()
    stored = {
        (bond.adapter, bond.device): bond
        for bond in (world.kube.bonds.values() if world.kube else ())
        if bond.adapter in held
    }
    bonded = {device.key for device in world.bluez.devices.values() if device.bonded}
    for key in sorted(bonded | set(stored), key=lambda key: (key[1].colons, key[0].colons)):
        adapter, address = key
        yield Controller(
            adapter=adapter,
            address=address,
            device=world.device(adapter, address),
            stored=stored.get(key),
        )
