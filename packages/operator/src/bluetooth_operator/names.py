"""The names that Kubernetes objects, files and users share with this operator, in one place."""

from __future__ import annotations

DRIVER = "bluetooth.liken.sh"
GROUP = "bluetooth.liken.sh"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
FIELD_MANAGER = "bluetooth-operator"

CDI_KIND = f"{DRIVER}/controller"
MEDIA_SUFFIX = "-media"
SUPPORTS_SOUND = "sound.liken.sh/supportsSound"

# Deleting is ordered work, and only the operator that holds the radio can do it.
PERIPHERAL_FINALIZER = f"{GROUP}/unpair"
ADAPTER_FINALIZER = f"{GROUP}/adapter-present"

ADAPTER_LABEL = f"{GROUP}/adapter"
SECRET_TYPE = f"{GROUP}/bond"
SECRET_PREFIX = "bluetooth-bond-"  # noqa: S105 - a name, not a secret
NODES_KEY = "nodes.json"

TAINT_DISCONNECTED = f"{DRIVER}/disconnected"
TAINT_NO_INPUT_NODE = f"{DRIVER}/no-input-node"
TAINT_NODE_MOVED = f"{DRIVER}/node-moved"

LEASE_UNHELD = "bluetooth-operator-unheld"

# Where a claim on the media bus finds bluetoothd's private bus, on the host and in the container.
BUS_DIRECTORY = "/var/run/bluetooth.liken.sh/dbus"
BUS_SOCKET = f"{BUS_DIRECTORY}/system_bus_socket"
