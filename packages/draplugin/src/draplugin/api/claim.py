"""ResourceClaim and ResourceClaimTemplate: devices asked for, and what was given.

In the shape of resource.k8s.io/v1; draplugin.api.versions knows the others.
Reference: k8s.io/api/resource/v1 at v0.37.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .codec import REQUIRED, QuantityText, named, required
from .deviceclass import DeviceSelector, OpaqueDeviceConfiguration
from .meta import Condition, ListMeta, ObjectMeta
from .nodes import NodeSelector
from .rawjson import RawJson


@dataclass(frozen=True, slots=True)
class DeviceToleration:
    """A taint that a request puts up with.

    Empty `key` with operator Exists covers every taint, empty `effect` every effect. With
    NoExecute, `toleration_seconds` is how long; None is for ever.
    """

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def tolerates(self, key: str, value: str, effect: str) -> bool:
        """Whether a taint is covered (resourceclaim.ToleratesTaint)."""
        if (self.effect and self.effect != effect) or (self.key and self.key != key):
            return False
        if self.operator == "Exists":
            return True
        return self.operator in ("", "Equal") and self.value == value


@dataclass(frozen=True, slots=True)
class CapacityRequirements:
    """How much of a shared device's capacities is asked for, by capacity name."""

    requests: Mapping[str, QuantityText] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class DeviceDerivedAttribute:
    """An attribute computed for constraints (alpha in 1.37)."""

    name: str = required(default="")
    expression: str = required(default="")


@dataclass(frozen=True, slots=True)
class ExactDeviceRequest:
    """One way to serve a request.

    `allocation_mode` is `ExactCount` (with `count`, by default 1) or `All` (every device that
    matches, without `count`). `selectors` are added to those of the class. `admin_access` gives
    devices that others hold, in namespaces that are labelled for it.
    """

    device_class_name: str = required(default="")
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceSubRequest:
    """One of several ways to serve a request, in order of preference."""

    name: str = required(default="")
    device_class_name: str = required(default="")
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """A request by name: either `exactly` or at most 8 of `first_available`."""

    name: str = required(default="")
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceConstraint:
    """What devices must have in common, or not; `requests` empty = all requests.

    One of `match_attribute` (equal on all of them) and `distinct_attribute` (different on each),
    both fully qualified.
    """

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


@dataclass(frozen=True, slots=True)
class DeviceClaimConfiguration:
    """Configuration of a claim for some of its requests; empty = all of them."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


@dataclass(frozen=True, slots=True)
class DeviceClaim:
    """What is asked for. Each list holds at most 32."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceClaimSpec:
    """The wish, which cannot be changed later.

    `controller`, v1alpha3 of 1.31 only, names the control-plane controller that allocates.
    """

    devices: DeviceClaim = field(default_factory=DeviceClaim, metadata=REQUIRED)
    controller: str = ""


@dataclass(frozen=True, slots=True)
class DeviceRequestAllocationResult:
    """A device that was given. `request` is `name` or `name/subrequest`."""

    request: str = required(default="")
    driver: str = required(default="")
    pool: str = required(default="")
    device: str = required(default="")
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = named("shareID", default=None)
    consumed_capacity: Mapping[str, QuantityText] = field(default_factory=dict, hash=False)
    skip_node_operations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceAllocationConfiguration:
    """A block of configuration as it was when the claim was allocated.

    `source` is FromClass or FromClaim.
    """

    source: str = required(default="")
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


@dataclass(frozen=True, slots=True)
class DeviceAllocationResult:
    """The devices given, and the configuration for them in order of precedence."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


@dataclass(frozen=True, slots=True)
class AllocationResult:
    """What was given, and where it can be used; no `node_selector` = everywhere."""

    devices: DeviceAllocationResult = field(default_factory=DeviceAllocationResult)
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None
    controller: str = ""


@dataclass(frozen=True, slots=True)
class ResourceClaimConsumerReference:
    """Who may use the claim: a pod, for instance."""

    api_group: str = ""
    resource: str = required(default="")
    name: str = required(default="")
    uid: str = required(default="")


@dataclass(frozen=True, slots=True)
class NetworkDeviceData:
    """What a network driver says of a device."""

    interface_name: str = ""
    ips: tuple[str, ...] = ()
    hardware_address: str = ""


@dataclass(frozen=True, slots=True)
class AllocatedDeviceStatus:
    """What a driver says of a device it prepared."""

    driver: str = required(default="")
    pool: str = required(default="")
    device: str = required(default="")
    share_id: str | None = named("shareID", default=None)
    conditions: tuple[Condition, ...] = ()
    data: RawJson | None = None
    network_data: NetworkDeviceData | None = None


@dataclass(frozen=True, slots=True)
class ResourceClaimStatus:
    """What became of the wish. `deallocation_requested` is of v1alpha3 in 1.31 alone."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()
    deallocation_requested: bool | None = None


@dataclass(frozen=True, slots=True)
class ResourceClaim:
    """A wish for devices and its fulfilment."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ResourceClaimSpec = field(default_factory=ResourceClaimSpec, metadata=REQUIRED)
    status: ResourceClaimStatus = field(default_factory=ResourceClaimStatus)
    api_version: str = "resource.k8s.io/v1"
    kind: str = "ResourceClaim"


@dataclass(frozen=True, slots=True)
class ResourceClaimList:
    """Claims, with the version of the list."""

    metadata: ListMeta = field(default_factory=ListMeta)
    items: tuple[ResourceClaim, ...] = field(default=(), metadata=REQUIRED)
    api_version: str = "resource.k8s.io/v1"
    kind: str = "ResourceClaimList"


@dataclass(frozen=True, slots=True)
class ResourceClaimTemplateSpec:
    """Labels and annotations for the claims made from it, and their spec."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ResourceClaimSpec = field(default_factory=ResourceClaimSpec, metadata=REQUIRED)


@dataclass(frozen=True, slots=True)
class ResourceClaimTemplate:
    """What each pod gets a claim of its own from."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ResourceClaimTemplateSpec = field(
        default_factory=ResourceClaimTemplateSpec, metadata=REQUIRED
    )
    api_version: str = "resource.k8s.io/v1"
    kind: str = "ResourceClaimTemplate"


@dataclass(frozen=True, slots=True)
class ResourceClaimTemplateList:
    """Templates, with the version of the list."""

    metadata: ListMeta = field(default_factory=ListMeta)
    items: tuple[ResourceClaimTemplate, ...] = field(default=(), metadata=REQUIRED)
    api_version: str = "resource.k8s.io/v1"
    kind: str = "ResourceClaimTemplateList"
