"""What can be done, as values: a plan is a tuple of these, and only `act` knows how each is done.

Each is idempotent and names in `target` what it touches, so that a failing one is retried with its
own back-off and never holds up another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bluezclient import Address
from draplugin.kube import Resource


@dataclass(frozen=True, slots=True)
class Apply:
    """Server-side apply of an object, or of its status alone."""

    resource: Resource
    body: Mapping[str, Any] = field(hash=False, repr=False)
    status: bool = False

    @property
    def target(self) -> str:
        """Kind and name, and which half."""
        metadata = self.body["metadata"]
        name = "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)
        return f"{self.resource.kind} {name}{' status' if self.status else ''}"


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete one very object, by its UID where that is known."""

    resource: Resource
    name: str
    namespace: str | None = None
    uid: str | None = None

    @property
    def target(self) -> str:
        """Kind and name."""
        return f"delete {self.resource.kind} {self.namespace or ''}/{self.name}"


@dataclass(frozen=True, slots=True)
class Release:
    """Take our finalizer off an object; never apply, which would make a deleted object anew."""

    resource: Resource
    name: str
    finalizers: tuple[str, ...]

    @property
    def target(self) -> str:
        """Kind and name."""
        return f"finalizer of {self.resource.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Bluez:
    """One call to bluetoothd: powered, adapterAlias, trusted, alias, disconnect or unpair."""

    verb: str
    adapter: Address
    device: Address | None = None
    value: bool | str | None = None

    @property
    def target(self) -> str:
        """Verb and device."""
        return f"bluetoothd {self.verb} {self.device or self.adapter}"


@dataclass(frozen=True, slots=True)
class Renumber:
    """Rewrite the CDI file of a prepared claim, since its controller's nodes have other numbers."""

    uid: str
    address: Address

    @property
    def target(self) -> str:
        """The claim."""
        return f"CDI file of claim {self.uid}"


@dataclass(frozen=True, slots=True)
class WindowWish:
    """One pairing window that ought to be open, and the device chosen in it, if any."""

    uid: str
    adapter: Address
    closes_at: float
    device: Address | None = None


Action = Apply | Delete | Release | Bluez | Renumber
