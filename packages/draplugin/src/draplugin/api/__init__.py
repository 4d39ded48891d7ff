"""resource.k8s.io as values: DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice.

    obj = next(read_documents(text))     # a dict, as on the wire
    validate(obj).causes                 # what an API server would say to it
    value = read(obj)                    # a DeviceClass, whatever version it was written in
    write(value, "v1beta1").object       # the dict again

Values have the shape of v1 and name what only v1alpha3 had. On the wire and in caches plain dicts
stay; a value is made where a driver or a person reads one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .claim import (
    AllocatedDeviceStatus,
    AllocationResult,
    CapacityRequirements,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceConstraint,
    DeviceDerivedAttribute,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    NetworkDeviceData,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimList,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourceClaimTemplateList,
    ResourceClaimTemplateSpec,
)
from .codec import DecodeError, Misfit, QuantityText
from .deviceclass import (
    CELDeviceSelector,
    DeviceClass,
    DeviceClassConfiguration,
    DeviceClassList,
    DeviceClassSpec,
    DeviceSelector,
    OpaqueDeviceConfiguration,
)
from .files import FileError, read_documents, read_file
from .merge import merge
from .meta import Condition, ListMeta, ObjectMeta, OwnerReference
from .nodes import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from .rawjson import RawJson, dumps, loads
from .reading import read, read_as, read_known, with_defaults, write
from .slice import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceTaint,
    ResourcePool,
    ResourceSlice,
    ResourceSliceList,
    ResourceSliceSpec,
)
from .versions import VERSIONS, ConversionError, Converted, convert, from_v1, to_v1

if TYPE_CHECKING:
    from .validation import Cause, Verdict, validate


def __getattr__(name: str) -> Any:
    # Validation brings the whole evaluator of selectors; who only converts does without.
    if name in ("Cause", "Verdict", "validate"):
        from . import validation

        return getattr(validation, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "VERSIONS",
    "AllocatedDeviceStatus",
    "AllocationResult",
    "CELDeviceSelector",
    "CapacityRequestPolicy",
    "CapacityRequestPolicyRange",
    "CapacityRequirements",
    "Cause",
    "Condition",
    "ConversionError",
    "Converted",
    "Counter",
    "CounterSet",
    "DecodeError",
    "Device",
    "DeviceAllocationConfiguration",
    "DeviceAllocationResult",
    "DeviceAttribute",
    "DeviceCapacity",
    "DeviceClaim",
    "DeviceClaimConfiguration",
    "DeviceClass",
    "DeviceClassConfiguration",
    "DeviceClassList",
    "DeviceClassSpec",
    "DeviceConstraint",
    "DeviceCounterConsumption",
    "DeviceDerivedAttribute",
    "DeviceRequest",
    "DeviceRequestAllocationResult",
    "DeviceSelector",
    "DeviceSubRequest",
    "DeviceTaint",
    "DeviceToleration",
    "ExactDeviceRequest",
    "FileError",
    "ListMeta",
    "Misfit",
    "NetworkDeviceData",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "ObjectMeta",
    "OpaqueDeviceConfiguration",
    "OwnerReference",
    "QuantityText",
    "RawJson",
    "ResourceClaim",
    "ResourceClaimConsumerReference",
    "ResourceClaimList",
    "ResourceClaimSpec",
    "ResourceClaimStatus",
    "ResourceClaimTemplate",
    "ResourceClaimTemplateList",
    "ResourceClaimTemplateSpec",
    "ResourcePool",
    "ResourceSlice",
    "ResourceSliceList",
    "ResourceSliceSpec",
    "Verdict",
    "convert",
    "dumps",
    "from_v1",
    "loads",
    "merge",
    "read",
    "read_as",
    "read_documents",
    "read_file",
    "read_known",
    "to_v1",
    "validate",
    "with_defaults",
    "write",
]
