"""Everything the scheduler looks at when it allocates a claim, as values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from draplugin.api import (
    DeviceClass,
    DeviceTaint,
    NodeSelector,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    read,
)
from draplugin.api.versions import GROUP


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its name, and the labels that slices and pods choose it by."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class PodClaim:
    """An entry of a pod's `resourceClaims`: the claim's name, or the template it is made from."""

    name: str
    claim: str = ""
    template: str = ""


@dataclass(frozen=True, slots=True)
class Pod:
    """What of a pod matters here."""

    namespace: str
    name: str
    node: str = ""
    node_selector: Mapping[str, str] = field(default_factory=dict, hash=False)
    claims: tuple[PodClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class TaintRule:
    """A DeviceTaintRule: a taint that an administrator puts on devices; None selects all."""

    name: str
    taint: DeviceTaint
    driver: str | None = None
    pool: str | None = None
    device: str | None = None

    def on(self, part: ResourceSlice) -> ResourceSlice:
        """The slice with the taint on those of its devices that are meant."""
        spec = part.spec
        if self.driver not in (None, spec.driver) or self.pool not in (None, spec.pool.name):
            return part
        devices = tuple(
            replace(device, taints=(*device.taints, self.taint))
            if self.device in (None, device.name)
            else device
            for device in spec.devices or ()
        )
        return replace(part, spec=replace(spec, devices=devices))


@dataclass(frozen=True, slots=True, order=True)
class DeviceId:
    """What names a device in a cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


@dataclass(frozen=True, slots=True)
class World:
    """Classes by name, slices, claims, nodes, templates and pods."""

    classes: Mapping[str, DeviceClass] = field(default_factory=dict, hash=False)
    slices: tuple[ResourceSlice, ...] = ()
    claims: tuple[ResourceClaim, ...] = ()
    nodes: tuple[Node, ...] = ()
    templates: tuple[ResourceClaimTemplate, ...] = ()
    pods: tuple[Pod, ...] = ()

    def claim(self, namespace: str, name: str) -> ResourceClaim | None:
        """The claim of this name."""
        return next((c for c in self.claims if _is(c.metadata, namespace, name)), None)

    def template(self, namespace: str, name: str) -> ResourceClaimTemplate | None:
        """The template of this name."""
        return next((t for t in self.templates if _is(t.metadata, namespace, name)), None)

    def places(self) -> tuple[Node, ...]:
        """The nodes; where none are known, those that slices name."""
        if self.nodes:
            return self.nodes
        names = {s.spec.node_name for s in self.slices if s.spec.node_name}
        names |= {d.node_name for s in self.slices for d in s.spec.devices or () if d.node_name}
        return tuple(Node(str(name)) for name in sorted(map(str, names))) or (Node("any-node"),)


def _is(metadata: Any, namespace: str, name: str) -> bool:
    return metadata.name == name and (metadata.namespace or "default") == (namespace or "default")


def world_of(objects: Iterable[Mapping[str, Any]]) -> World:
    """A world of plain objects in any version; raises ValueError, DecodeError for misfits.

    Nodes, pods and DeviceTaintRules are read for what matters here, the last into the taints of the
    slices' devices; other kinds are passed over.
    """
    found: dict[str, list[Any]] = {}
    for obj in objects:
        kind = str(obj.get("kind", ""))
        if kind == "DeviceTaintRule":
            found.setdefault(kind, []).extend(_taint_rules(obj))
        elif str(obj.get("apiVersion", "")).startswith(f"{GROUP}/"):
            value = read(obj)
            items = getattr(value, "items", None)
            for item in items if isinstance(items, tuple) else (value,):
                found.setdefault(kind.removesuffix("List"), []).append(item)
        elif obj.get("apiVersion") == "v1" and kind in ("Node", "Pod"):
            found.setdefault(kind, []).append(_READERS[kind](obj))
    return World(
        {c.metadata.name: c for c in found.get("DeviceClass", [])},
        tuple(_tainted(found.get("ResourceSlice", []), found.get("DeviceTaintRule", []))),
        tuple(found.get("ResourceClaim", [])),
        tuple(found.get("Node", [])),
        tuple(found.get("ResourceClaimTemplate", [])),
        tuple(found.get("Pod", [])),
    )


def _tainted(
    slices: Iterable[ResourceSlice], rules: Iterable[TaintRule]
) -> Iterator[ResourceSlice]:
    ordered = sorted(rules, key=lambda rule: rule.name)
    for part in slices:
        for rule in ordered:
            part = rule.on(part)
        yield part


def _taint_rules(obj: Mapping[str, Any]) -> Iterator[TaintRule]:
    metadata, spec = obj.get("metadata") or {}, obj.get("spec") or {}
    selector, taint = spec.get("deviceSelector"), spec.get("taint") or {}
    # Without a selector it is for no device.
    if selector is not None:
        yield TaintRule(
            str(metadata.get("name", "")),
            DeviceTaint(*(str(taint.get(name) or "") for name in ("key", "value", "effect"))),
            *(selector.get(name) for name in ("driver", "pool", "device")),
        )


def _node(obj: Mapping[str, Any]) -> Node:
    metadata = obj.get("metadata") or {}
    return Node(str(metadata.get("name", "")), dict(metadata.get("labels") or {}))


def _pod(obj: Mapping[str, Any]) -> Pod:
    metadata, spec = obj.get("metadata") or {}, obj.get("spec") or {}
    made = {
        entry.get("name"): entry.get("resourceClaimName") or ""
        for entry in (obj.get("status") or {}).get("resourceClaimStatuses") or []
    }
    claims = tuple(
        PodClaim(
            str(entry.get("name", "")),
            str(entry.get("resourceClaimName") or made.get(entry.get("name")) or ""),
            str(entry.get("resourceClaimTemplateName") or ""),
        )
        for entry in spec.get("resourceClaims") or []
    )
    return Pod(
        str(metadata.get("namespace") or "default"),
        str(metadata.get("name", "")),
        str(spec.get("nodeName") or ""),
        dict(spec.get("nodeSelector") or {}),
        claims,
    )


_READERS = {"Node": _node, "Pod": _pod}


def selected(
    node: Node, name: str | None, everywhere: bool | None, chosen: NodeSelector | None
) -> bool:
    """Whether a slice's or device's scope reaches a node (the first that is set decides)."""
    if name:
        return node.name == name
    if everywhere:
        return True
    return chosen is not None and chosen.matches(node.name, node.labels)
