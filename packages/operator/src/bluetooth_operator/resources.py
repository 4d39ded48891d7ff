"""The operator's own kinds, as the Kubernetes client addresses them."""

from __future__ import annotations

from draplugin.kube import Resource

from . import names

ADAPTERS = Resource(names.GROUP, names.VERSION, "adapters", "Adapter", namespaced=False)
PERIPHERALS = Resource(names.GROUP, names.VERSION, "peripherals", "Peripheral", namespaced=False)
PAIRINGREQUESTS = Resource(names.GROUP, names.VERSION, "pairingrequests", "PairingRequest")
