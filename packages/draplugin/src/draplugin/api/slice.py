"""ResourceSlice: the devices a driver offers.

In the shape of resource.k8s.io/v1; draplugin.api.versions knows the others.
Reference: k8s.io/api/resource/v1 at v0.37.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .codec import REQUIRED, QuantityText, named, required
from .meta import ListMeta, ObjectMeta
from .nodes import NodeSelector

# No quantity at all.
_NOTHING = QuantityText()


@dataclass(frozen=True, slots=True)
class ResourcePool:
    """Where a slice belongs: a pool is complete when all slices of its generation are there."""

    name: str = required(default="")
    generation: int = required(default=0)
    resource_slice_count: int = required(default=0)


@dataclass(frozen=True, slots=True)
class DeviceAttribute:
    """What is true of a device; exactly one field is set.

    The lists need the gate DRAListTypeAttributes (alpha in 1.36).
    """

    int_value: int | None = named("int", default=None)
    bool_value: bool | None = named("bool", default=None)
    string_value: str | None = named("string", default=None)
    version_value: str | None = named("version", default=None)
    int_values: tuple[int, ...] | None = named("ints", default=None)
    bool_values: tuple[bool, ...] | None = named("bools", default=None)
    string_values: tuple[str, ...] | None = named("strings", default=None)
    version_values: tuple[str, ...] | None = named("versions", default=None)


@dataclass(frozen=True, slots=True)
class CapacityRequestPolicyRange:
    """From `min` to `max` in steps: what may be asked of a shared capacity."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


@dataclass(frozen=True, slots=True)
class CapacityRequestPolicy:
    """How a shared capacity is divided."""

    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


@dataclass(frozen=True, slots=True)
class DeviceCapacity:
    """How much there is of something."""

    value: QuantityText = field(default=_NOTHING, metadata=REQUIRED)
    request_policy: CapacityRequestPolicy | None = None


@dataclass(frozen=True, slots=True)
class Counter:
    """An amount that devices share."""

    value: QuantityText = field(default=_NOTHING, metadata=REQUIRED)


@dataclass(frozen=True, slots=True)
class CounterSet:
    """Counters by name, which devices of the pool draw on."""

    name: str = required(default="")
    counters: Mapping[str, Counter] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class DeviceCounterConsumption:
    """What a device takes of a counter set."""

    counter_set: str = required(default="")
    counters: Mapping[str, Counter] = field(default_factory=dict, hash=False)
    compatibility_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceTaint:
    """What keeps claims away: NoSchedule new ones, NoExecute those that hold the device as well."""

    key: str = required(default="")
    value: str = ""
    effect: str = required(default="")
    time_added: str | None = None


@dataclass(frozen=True, slots=True)
class NodeAllocatableMapping:
    """How much of a node's own resource a device stands for."""

    capacity_key: str | None = None
    capacity_multiplier: QuantityText | None = None
    device_multiplier: QuantityText | None = None


@dataclass(frozen=True, slots=True)
class NodeAllocatableOverhead:
    """What a device costs the node on top."""

    per_pod: QuantityText | None = None
    per_container: QuantityText | None = None


@dataclass(frozen=True, slots=True)
class NodeAllocatableResource:
    """What a device means for a node's own resources (alpha)."""

    mapping: NodeAllocatableMapping | None = None
    overhead: NodeAllocatableOverhead | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """One device. Names without a domain are of the driver's own."""

    name: str = required(default="")
    attributes: Mapping[str, DeviceAttribute] = field(default_factory=dict, hash=False)
    capacity: Mapping[str, DeviceCapacity] = field(default_factory=dict, hash=False)
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None
    node_allocatable_resources: Mapping[str, NodeAllocatableResource] = field(
        default_factory=dict, hash=False
    )


@dataclass(frozen=True, slots=True)
class ResourceSliceSpec:
    """Devices of one driver and pool, and the nodes that reach them.

    Exactly one of `node_name`, `node_selector`, `all_nodes` and `per_device_node_selection`.
    """

    driver: str = required(default="")
    pool: ResourcePool = field(default_factory=ResourcePool, metadata=REQUIRED)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: tuple[Device, ...] | None = None
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] | None = None
    partition_type_attribute: str | None = None
    skip_node_operations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceSlice:
    """A part of what a driver offers."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ResourceSliceSpec = field(default_factory=ResourceSliceSpec, metadata=REQUIRED)
    api_version: str = "resource.k8s.io/v1"
    kind: str = "ResourceSlice"


@dataclass(frozen=True, slots=True)
class ResourceSliceList:
    """Slices, with the version of the list."""

    metadata: ListMeta = field(default_factory=ListMeta)
    items: tuple[ResourceSlice, ...] = field(default=(), metadata=REQUIRED)
    api_version: str = "resource.k8s.io/v1"
    kind: str = "ResourceSliceList"
