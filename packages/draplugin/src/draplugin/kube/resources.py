"""Names of the resources this framework and its users read and write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

Object = dict[str, Any]
DRA_GROUP = "resource.k8s.io"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of the API: group (empty = core), version, plural, kind and scope."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def at(self, version: str) -> Resource:
        """The same resource in another version."""
        return self if version == self.version else replace(self, version=version)

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """The URL path of the collection, or of one object when `name` is given.

        Raises ValueError for a namespaced object without its namespace. Names are quoted, so that
        a name can never reach another path.
        """
        if name is not None and self.namespaced and not namespace:
            raise ValueError(f"{self.plural} are namespaced: a namespace is needed for {name!r}")
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part is not None]
        if not all(parts) or any(part in (".", "..") for part in parts):
            raise ValueError(f"not a name: {name!r} in {namespace!r}")
        return "/" + "/".join(quote(part, safe="") for part in parts)


NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod")
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
RESOURCECLAIMS = Resource(DRA_GROUP, "v1", "resourceclaims", "ResourceClaim")
RESOURCECLAIMTEMPLATES = Resource(
    DRA_GROUP, "v1", "resourceclaimtemplates", "ResourceClaimTemplate"
)
RESOURCESLICES = Resource(DRA_GROUP, "v1", "resourceslices", "ResourceSlice", namespaced=False)
DEVICECLASSES = Resource(DRA_GROUP, "v1", "deviceclasses", "DeviceClass", namespaced=False)


def key_of(obj: Mapping[str, Any]) -> str:
    """`namespace/name`, or `name` for a cluster-wide object: how caches know it."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def uid_of(obj: Mapping[str, Any]) -> str:
    """The object's UID, empty where it has none yet."""
    return str(obj.get("metadata", {}).get("uid", ""))


def resource_version_of(obj: Mapping[str, Any]) -> str:
    """The object's resourceVersion, empty where it has none yet."""
    return str(obj.get("metadata", {}).get("resourceVersion", ""))
