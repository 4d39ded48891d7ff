"""DeviceClass: what an administrator lets people ask for by one name.

A class selects devices and adds configuration for the driver that serves them; a claim's request
names a class. It is cluster-wide and may change at any time: a claim is allocated by what the class
said at that moment.
Reference: resource.k8s.io v1alpha3 (1.31) to v1 (1.34+), k8s.io/api/resource.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .codec import REQUIRED, required
from .meta import ListMeta, ObjectMeta
from .nodes import NodeSelector
from .rawjson import RawJson


@dataclass(frozen=True, slots=True)
class CELDeviceSelector:
    """A selector in CEL (draplugin.cel).

    `expression` must give true for a device that fits and false for one that does not; anything
    else is an error that aborts the allocation. At most 10 KiB since 1.32.
    """

    expression: str = required(default="")


@dataclass(frozen=True, slots=True)
class DeviceSelector:
    """A condition on a device; exactly one field is set, and there is only one."""

    cel: CELDeviceSelector | None = None


@dataclass(frozen=True, slots=True)
class OpaqueDeviceConfiguration:
    """Parameters for one driver, which nobody else reads.

    `driver` is the DNS subdomain of the kubelet plugin that gets them. `parameters` is its JSON
    object as text, never looked into here; usually it names itself by `apiVersion` and `kind`.
    At most 10 KiB since 1.32.
    """

    driver: str = required(default="")
    parameters: RawJson | None = None


@dataclass(frozen=True, slots=True)
class DeviceClassConfiguration:
    """Configuration that every device asked for through the class brings along.

    Exactly one field is set, and there is only one. It is handed to the driver and plays no part
    in the choice of devices.
    """

    opaque: OpaqueDeviceConfiguration | None = None


@dataclass(frozen=True, slots=True)
class DeviceClassSpec:
    """What the class selects and adds.

    `selectors` (at most 32) must all be true of a device. `config` (at most 32) goes to the
    drivers, each block to the one it names. Both lists are atomic: a merge replaces them whole.
    `suitable_nodes`, v1alpha3 of 1.31 only, limits the nodes where a control-plane controller may
    allocate; the scheduler's own allocation ignores it. `extended_resource_name` (1.34+) lets pods
    ask for the class as an extended resource such as `example.com/gpu`.
    """

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    suitable_nodes: NodeSelector | None = None
    extended_resource_name: str | None = None


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A class. Changing `spec` raises `metadata.generation`."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: DeviceClassSpec = field(default_factory=DeviceClassSpec, metadata=REQUIRED)
    api_version: str = "resource.k8s.io/v1"
    kind: str = "DeviceClass"


@dataclass(frozen=True, slots=True)
class DeviceClassList:
    """Classes, with the version of the list."""

    metadata: ListMeta = field(default_factory=ListMeta)
    items: tuple[DeviceClass, ...] = field(default=(), metadata=REQUIRED)
    api_version: str = "resource.k8s.io/v1"
    kind: str = "DeviceClassList"
