"""What every object carries: its metadata (k8s.io/apimachinery/pkg/apis/meta/v1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .codec import named, required


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """An object that this one goes with: deleted with it by the garbage collector."""

    api_version: str = required(default="")
    kind: str = required(default="")
    name: str = required(default="")
    uid: str = required(default="")
    controller: bool | None = None
    block_owner_deletion: bool | None = None


@dataclass(frozen=True, slots=True)
class ObjectMeta:
    """Name, namespace, labels and what the server keeps about an object.

    Times are RFC 3339 texts. `managed_fields` stay as the server sent them.
    """

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    self_link: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    managed_fields: tuple[Any, ...] = field(default=(), hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class ListMeta:
    """What the server says of a list: its version, and where the next page begins."""

    self_link: str = ""
    resource_version: str = ""
    continue_: str = named("continue", default="")
    remaining_item_count: int | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that is observed of an object: `status` is True, False or Unknown."""

    type: str = required(default="")
    status: str = required(default="")
    observed_generation: int = 0
    last_transition_time: str | None = None
    reason: str = required(default="")
    message: str = required(default="")
