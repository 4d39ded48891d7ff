"""Reads every source into one World. Nothing here decides; each source may be away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bluezclient import Address, Client
from draplugin.cdi import Store
from draplugin.kube import SECRETS, Api, Reflector
from draplugin.slices import SlicePublisher
from uinputrelay.client import Client as Relay

from .bonds import StoredBond, read_secret
from .config import Config
from .files import BondFiles
from .lease import Lease
from .resources import ADAPTERS, PAIRINGREQUESTS, PERIPHERALS
from .windows import Windows
from .world import Kube, World


@dataclass(frozen=True, slots=True)
class Objects:
    """Live copies of the Kubernetes objects that the operator reads."""

    adapters: Reflector
    peripherals: Reflector
    requests: Reflector
    secrets: Reflector

    @classmethod
    def of(cls, api: Api, namespace: str) -> Objects:
        """Reflectors of the three kinds, and of the Secrets in the operator's own namespace."""
        return cls(
            Reflector(api, ADAPTERS),
            Reflector(api, PERIPHERALS),
            Reflector(api, PAIRINGREQUESTS),
            Reflector(api, SECRETS, namespace),
        )

    def each(self) -> tuple[Reflector, ...]:
        """All of them."""
        return (self.adapters, self.peripherals, self.requests, self.secrets)

    def read(self) -> Kube | None:
        """The objects, once every kind has been listed; afterwards the last that is known."""
        if not all(reflector.synced for reflector in self.each()):
            return None
        found = (read_secret(secret) for secret in self.secrets.items.values())
        bonds: Mapping[Address, StoredBond] = {each.device: each for each in found if each}
        return Kube(
            adapters=dict(self.adapters.items),
            peripherals=dict(self.peripherals.items),
            requests=dict(self.requests.items),
            bonds=bonds,
        )


@dataclass(slots=True, kw_only=True)
class Sources:
    """All that is observed."""

    config: Config
    bluez: Client
    relay: Relay
    objects: Objects
    files: BondFiles
    store: Store
    windows: Windows
    lease: Lease
    publisher: SlicePublisher

    def world(self, now: float) -> World:
        """Everything that is known at this instant."""
        return World(
            now=now,
            node=self.config.node,
            namespace=self.config.namespace,
            bluez=self.bluez.state,
            relay=self.relay.latest,
            kube=self.objects.read(),
            files=self.files.sealed(),
            prepared=tuple(self.store.held()),
            windows=self.windows.states(),
            serves_unheld=self.lease.held,
            taints_kept="taints" not in self.publisher.publication.dropped_fields,
        )
