"""The pools that a node reaches, in the order in which the scheduler walks through them.

Rules: k8s.io/dynamic-resource-allocation/structured/internal/incubating pools_incubating.go at
v0.37: only the newest generation counts, a pool with missing slices or names twice gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from draplugin.api import Device, ResourceSlice

from .world import DeviceId, Node, World, selected


@dataclass(frozen=True, slots=True)
class Offered:
    """A device of a slice that a node reaches."""

    id: DeviceId
    device: Device
    reached: bool


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool as a node sees it. `problem` says why nothing is taken from it."""

    driver: str
    name: str
    slices: tuple[ResourceSlice, ...]
    everywhere: tuple[ResourceSlice, ...]
    problem: str = ""

    def devices(self, node: Node) -> Iterator[Offered]:
        """Its devices in order; with a scope per device, `reached` says if this node is in it."""
        for part in self.slices:
            for device in part.spec.devices or ():
                reached = not part.spec.per_device_node_selection or selected(
                    node, device.node_name, device.all_nodes, device.node_selector
                )
                yield Offered(DeviceId(self.driver, self.name, device.name), device, reached)


def pools(world: World, node: Node) -> list[Pool]:
    """The pools of a node, by driver and name; those with binding conditions come last."""
    found: dict[tuple[str, str], list[ResourceSlice]] = {}
    for part in world.slices:
        found.setdefault((part.spec.driver, part.spec.pool.name), []).append(part)
    made = [pool for key, parts in found.items() if (pool := _pool(*key, parts, node))]
    return sorted(made, key=lambda pool: (_binds(pool), pool.driver, pool.name))


def _reaches(part: ResourceSlice, node: Node) -> bool:
    spec = part.spec
    if spec.per_device_node_selection:
        return any(
            selected(node, d.node_name, d.all_nodes, d.node_selector) for d in spec.devices or ()
        )
    return selected(node, spec.node_name, spec.all_nodes, spec.node_selector)


def _pool(driver: str, name: str, everywhere: list[ResourceSlice], node: Node) -> Pool | None:
    parts = [part for part in everywhere if _reaches(part, node)]
    newest = max(part.spec.pool.generation for part in everywhere)
    here = [part for part in parts if part.spec.pool.generation == newest]
    if not here:
        return None
    current = [part for part in everywhere if part.spec.pool.generation == newest]
    wanted = here[0].spec.pool.resource_slice_count
    problem = ""
    if wanted not in (len(here), len(current)):
        problem = f"pool incomplete: {len(current)} of {wanted} slices"
    names = [d.name for part in here for d in part.spec.devices or ()]
    twice = next((n for n in names if names.count(n) > 1), None)
    if not problem and twice:
        problem = f"pool invalid: device {twice} is there twice"
    ordered = sorted(here, key=lambda part: part.metadata.name)
    return Pool(driver, name, tuple(ordered), tuple(current), problem)


def _binds(pool: Pool) -> bool:
    return any(d.binding_conditions for part in pool.slices for d in part.spec.devices or ())
