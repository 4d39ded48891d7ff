"""What each radio's Adapter object says, and what its spec asks of the radio."""

from __future__ import annotations

from collections.abc import Iterator

from bluezclient import Adapter, Address
from draplugin.kube import Object

from .. import names
from ..actions import Action, Apply, Bluez, Release
from ..conditions import Condition, render
from ..resources import ADAPTERS
from ..world import World


def adapters(world: World) -> Iterator[Action]:
    """Adopt every radio that is here, state what became of those of this node that are not."""
    if world.kube is None:
        return
    present = world.present()
    for address in sorted(world.held(), key=str):
        known = world.kube.adapters.get(address.dashes)
        adapter = present.get(address)
        if known is None:
            yield _adopt(address)
            continue
        yield from _finalizer(known, adapter is not None)
        yield from _status(world, known, address, adapter)
        if adapter is not None:
            yield from _radio(known, adapter)


def _adopt(address: Address) -> Apply:
    return Apply(
        ADAPTERS,
        {
            "metadata": {"name": address.dashes, "finalizers": [names.ADAPTER_FINALIZER]},
            "spec": {},
        },
    )


def _finalizer(known: Object, present: bool) -> Iterator[Action]:
    """Deleting is refused while the radio is here, because the next start would adopt it again."""
    metadata = known["metadata"]
    has = names.ADAPTER_FINALIZER in (metadata.get("finalizers") or ())
    deleting = "deletionTimestamp" in metadata
    if deleting and has and not present:
        rest = tuple(f for f in metadata["finalizers"] if f != names.ADAPTER_FINALIZER)
        yield Release(ADAPTERS, metadata["name"], rest)
    elif not deleting and not has:
        yield _adopt(Address(metadata["name"]))


def _status(
    world: World, known: Object, address: Address, adapter: Adapter | None
) -> Iterator[Action]:
    metadata = known["metadata"]
    conditions = [_ready(world, adapter)]
    if "deletionTimestamp" in metadata and adapter is not None:
        conditions.append(
            Condition(
                "DeletionRefused",
                True,
                "AdapterPresent",
                f"the radio is plugged into {world.node}; unplug it, and this object goes",
            )
        )
    status = {
        "address": address.colons,
        "node": world.node,
        "powered": adapter is not None and adapter.powered,
        "observedGeneration": metadata.get("generation", 0),
        "conditions": render(conditions, known, world.now),
    }
    if status != (known.get("status") or {}):
        yield Apply(
            ADAPTERS, {"metadata": {"name": metadata["name"]}, "status": status}, status=True
        )


def _ready(world: World, adapter: Adapter | None) -> Condition:
    if not world.bluez.available:
        detail = world.bluez.detail or "bluetoothd does not answer"
        return Condition("Ready", False, "BluetoothUnavailable", detail)
    if adapter is None:
        return Condition(
            "Ready", False, "AdapterRemoved", f"{world.node} no longer has this radio; plug it in"
        )
    if adapter.blocked:
        return Condition(
            "Ready", False, "Blocked", "rfkill holds the radio off; on the node: rfkill unblock all"
        )
    if not adapter.powered:
        return Condition("Ready", False, "PoweredOff", "the radio is being switched on")
    return Condition("Ready", True, "Powered", "the radio is on")


def _radio(known: Object, adapter: Adapter) -> Iterator[Action]:
    if not adapter.powered and not adapter.blocked:
        yield Bluez("powered", adapter.address, value=True)
    alias = (known.get("spec") or {}).get("alias")
    if alias and alias != adapter.alias:
        yield Bluez("adapterAlias", adapter.address, value=alias)
