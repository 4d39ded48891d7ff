"""The typed values a driver reads and answers with.

A handler never sees protobuf, gRPC or the raw wire: it is given a Claim and answers with
Prepared devices. Everything here is frozen, so that a value can be kept, compared and shared
between tasks without a copy.

Rules of the shapes: k8s.io/api resource/v1 types.go (ResourceClaim status.allocation) and the CDI
specification 0.6.0 (container edits).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from .api import ResourceClaim


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """Raised by a handler: this claim cannot be prepared or released, and why.

    The text reaches the user as the event FailedPrepareDynamicResources on the pod, so it says
    what can be done. The kubelet asks again with back-off, without an end.
    """


@dataclass(frozen=True, slots=True)
class ClaimRef:
    """What identifies a ResourceClaim for the kubelet. Only `uid` is unique over time."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration copied into the allocation by the scheduler; `seconds` None = for ever."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration covers the taint.

        An empty key covers every key, an empty effect every effect
        (k8s.io/dynamic-resource-allocation/resourceclaim, ToleratesTaint, at v0.37). Whether the
        claim's pods then stay is another question: for that an effect must be named.
        """
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return self.operator in ("", "Equal") and self.value == taint.value


@dataclass(frozen=True, slots=True)
class Taint:
    """A device taint. `effect` is NoSchedule, NoExecute or (servers of 1.35+) None.

    `time_added` is RFC 3339; leave it None and the publisher keeps the time the server gave the
    same taint earlier.
    """

    key: str
    effect: str
    value: str = ""
    time_added: str | None = None


@dataclass(frozen=True, slots=True)
class Allocation:
    """One device that the scheduler gave to a claim.

    `request` is the name as recorded, `parent/sub` where `firstAvailable` chose an alternative.
    """

    request: str
    driver: str
    pool: str
    device: str
    share_id: str | None = None
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    consumed_capacity: Mapping[str, str] = field(default_factory=dict, hash=False)

    def tolerates(self, taint: Taint) -> bool:
        """Whether the claim tolerates the taint.

        For a driver that checks its device at prepare: eviction alone cannot be relied on, neither
        for pods with extended resources nor on servers that drop taints.
        """
        return any(toleration.tolerates(taint) for toleration in self.tolerations)

    @property
    def base_request(self) -> str:
        """The request's name without the subrequest: what a pod and the kubelet refer to."""
        return self.request.partition("/")[0]


@dataclass(frozen=True, slots=True)
class OpaqueConfig:
    """One opaque parameter block of an allocation. `requests` empty = every request."""

    source: Literal["FromClass", "FromClaim"]
    driver: str
    parameters: Any
    requests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A ResourceClaim as a driver needs it.

    `allocations` holds this driver's devices only; `configs` this driver's opaque blocks in the
    order the server recorded them (see draplugin.parameters for which apply to a request).
    `classes` maps each request (and `parent/sub`) to its device class. `value` is the whole claim,
    typed; `raw` is it as the API server sent it, in the shape of resource.k8s.io/v1.
    """

    namespace: str
    name: str
    uid: str
    allocations: tuple[Allocation, ...] = ()
    configs: tuple[OpaqueConfig, ...] = ()
    classes: Mapping[str, str] = field(default_factory=dict, hash=False)
    raw: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    value: ResourceClaim | None = field(default=None, repr=False)

    @property
    def ref(self) -> ClaimRef:
        """The claim's identity alone."""
        return ClaimRef(self.namespace, self.name, self.uid)


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A device node for the container (CDI containerEdits.deviceNodes).

    `path` is the path inside, `host_path` the one outside where it differs. With `type`, `major`
    and `minor` given the runtime need not look at the host's file. `permissions` is the cgroup
    rule: `rw` leaves out mknod. `file_mode` is the mode inside the container, as a number.
    """

    path: str
    host_path: str | None = None
    type: str | None = None
    major: int | None = None
    minor: int | None = None
    permissions: str = "rw"
    file_mode: int | None = None
    uid: int | None = None
    gid: int | None = None


@dataclass(frozen=True, slots=True)
class Mount:
    """A bind mount for the container (CDI containerEdits.mounts); read-only unless asked."""

    host_path: str
    container_path: str
    options: tuple[str, ...] = ("ro", "nosuid", "nodev", "bind")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A device made ready for a claim, and what its container gets.

    `pool` and `device` name an allocation of the claim. `requests` are the requests served;
    subrequest suffixes are stripped on the way out, empty means every request that the claim's
    allocation gave this device to. `annotations` are the driver's own state: they are kept in the
    CDI file and come back from `cdi.Store.claims()` after a restart. Keys are plain words or
    `domain/word`, values any text. `status` is written to the claim's `status.devices` (`data`,
    `conditions`, `networkData`) and not kept. `share_id` and `admin_access` are filled in from the
    allocation.
    """

    device: str
    pool: str
    requests: tuple[str, ...] = ()
    device_nodes: tuple[DeviceNode, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    mounts: tuple[Mount, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)
    share_id: str | None = None
    admin_access: bool = False
    status: Mapping[str, Any] | None = field(default=None, hash=False, compare=False)

    @property
    def has_edits(self) -> bool:
        """Whether a container gets anything; a device without edits is given no CDI id."""
        return bool(self.device_nodes or self.env or self.mounts)


@dataclass(frozen=True, slots=True)
class PreparedClaim:
    """A claim whose devices are ready on this node, as the CDI store remembers it."""

    ref: ClaimRef
    devices: tuple[Prepared, ...]


class Semver(str):
    """A version attribute: strict semver 2.0.0 (`1.2.0`, not `1.2`)."""

    __slots__ = ()


#: bool, int (64 bit), str (64 bytes) or Semver (64 bytes).
AttributeValue = bool | int | str | Semver


@dataclass(frozen=True, slots=True)
class Device:
    """A device as it is wished to stand in the node's ResourceSlice.

    Attribute names are unqualified for the driver's own domain or `domain/name`. Capacities are
    Kubernetes quantities (`4Gi`). Limits are those of resource.k8s.io/v1; what breaks one is
    dropped by the publisher and reported, never sent.
    """

    name: str
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict, hash=False)
    taints: tuple[Taint, ...] = ()
    capacity: Mapping[str, str] = field(default_factory=dict, hash=False)
    allow_multiple_allocations: bool = False


@runtime_checkable
class Handler(Protocol):
    """What a driver implements.

    Both calls may be repeated at any time, also after a restart of the process, the kubelet or the
    machine, and must then lead to the same result. Calls for one claim never overlap; different
    claims run side by side. A call is never cancelled by the kubelet's deadline, only by
    `Plugin.stop()`.
    """

    async def prepare(self, claim: Claim) -> Sequence[Prepared]:
        """Make the claim's allocations ready; raise Refused with a text for the user.

        The framework has fetched the claim, checked its UID and that no other claim holds its
        devices; it writes the CDI file of the answer. Any other exception is answered as this
        claim's error and logged with its traceback.
        """
        ...

    async def unprepare(self, ref: ClaimRef) -> None:
        """Undo prepare from local state alone; succeed for a claim that is unknown.

        Called after the claim's CDI file is gone. Raise Refused to be asked again.
        """
        ...
