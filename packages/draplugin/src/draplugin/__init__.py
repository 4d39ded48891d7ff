"""Write a Kubernetes Dynamic Resource Allocation (DRA) driver in Python.

    api = await Api.connect()
    store = cdi.Store("/var/run/cdi", "fortune.example.com/fortune")
    plugin = Plugin("fortune.example.com", node, handler, api, cdi=store)
    slices = SlicePublisher(api, "fortune.example.com", node)
    async with plugin, slices:
        await slices.publish([Device("cookie-1")])

`handler` has two methods, see `Handler`. What a claim's parameters say is decoded by
`parameters`; the API server is `kube`; `testing` has a kubelet for tests.
"""

from . import cdi, kube, parameters
from .health import HealthHandler
from .kube import Api, Reflector
from .metrics import NoRecorder, PrometheusRecorder, Recorder
from .model import (
    Allocation,
    AttributeValue,
    Claim,
    ClaimRef,
    Device,
    DeviceNode,
    Handler,
    Mount,
    OpaqueConfig,
    Prepared,
    PreparedClaim,
    Refused,
    Semver,
    Taint,
    Toleration,
)
from .plugin import Plugin, Registration
from .site import Site, terminated
from .slices import Drop, Publication, SlicePublisher
from .wire import DeviceHealth

__version__ = "0.1.0"

__all__ = [
    "Allocation",
    "Api",
    "AttributeValue",
    "Claim",
    "ClaimRef",
    "Device",
    "DeviceHealth",
    "DeviceNode",
    "Drop",
    "Handler",
    "HealthHandler",
    "Mount",
    "NoRecorder",
    "OpaqueConfig",
    "Plugin",
    "Prepared",
    "PreparedClaim",
    "PrometheusRecorder",
    "Publication",
    "Recorder",
    "Reflector",
    "Refused",
    "Registration",
    "Semver",
    "Site",
    "SlicePublisher",
    "Taint",
    "Toleration",
    "cdi",
    "kube",
    "parameters",
    "terminated",
]
