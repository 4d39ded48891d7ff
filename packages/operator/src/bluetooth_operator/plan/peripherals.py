"""What each bonded device's Peripheral says, what its spec asks for, and the ordered way it goes.

Only a deletionTimestamp unpairs. A bond that vanished, a radio that left, a Secret that nobody can
read: each is reported in a condition and deletes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bluezclient import Address, Device, Link, Reason
from draplugin.kube import SECRETS, Object

from .. import names
from ..actions import Action, Apply, Bluez, Delete, Release
from ..bonds import secret_name
from ..conditions import Condition, render, rfc3339
from ..prepared import holdings
from ..resources import PERIPHERALS
from ..world import Controller, World, controllers
from .devices import identity_of, input_classes, snapshots_of


def peripherals(world: World) -> Iterator[Action]:
    """Adopt every bond, state every Peripheral of a radio held here, unpair those being deleted."""
    if world.kube is None:
        return
    seen = set()
    for controller in controllers(world):
        known = world.kube.peripherals.get(controller.address.dashes)
        seen.add(controller.address.dashes)
        if known is None:
            yield adopt(controller.adapter, controller.address)
        elif "deletionTimestamp" in known["metadata"]:
            yield from _unpair(world, known, controller)
        else:
            yield from _keep(world, known, controller)
    for name, known in sorted(world.kube.peripherals.items()):
        if name not in seen and _ours(world, known):
            yield from _bondless(world, known)


def adopt(adapter: Address, device: Address) -> Apply:
    """The Peripheral of a bond that has none. What a user may set is left to the defaults."""
    return Apply(
        PERIPHERALS,
        {
            "metadata": {
                "name": device.dashes,
                "labels": {names.ADAPTER_LABEL: adapter.dashes},
                "finalizers": [names.PERIPHERAL_FINALIZER],
            },
            "spec": {},
        },
    )


def _ours(world: World, known: Object) -> bool:
    label = (known["metadata"].get("labels") or {}).get(names.ADAPTER_LABEL, "")
    return label in {address.dashes for address in world.held()}


def _keep(world: World, known: Object, controller: Controller) -> Iterator[Action]:
    metadata = known["metadata"]
    wanted = adopt(controller.adapter, controller.address)
    labels = metadata.get("labels") or {}
    if (
        names.PERIPHERAL_FINALIZER not in (metadata.get("finalizers") or ())
        or labels.get(names.ADAPTER_LABEL) != controller.adapter.dashes
    ):
        yield wanted
    yield from _state(world, known, _facts(world, known, controller))
    yield from _spec(known, controller)


def _spec(known: Object, controller: Controller) -> Iterator[Action]:
    """Bring trust and name to what the spec says; trust never before the device is bonded."""
    device = controller.device
    if device is None or not device.bonded:
        return
    spec = known.get("spec") or {}
    trusted = spec.get("trusted", True)
    if device.trusted != trusted:
        yield Bluez("trusted", controller.adapter, controller.address, trusted)
    alias = spec.get("alias")
    if alias and alias != device.alias:
        yield Bluez("alias", controller.adapter, controller.address, alias)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a Peripheral's status is made of."""

    status: Mapping[str, Any]
    conditions: tuple[Condition, ...]


def _state(world: World, known: Object, facts: _Facts) -> Iterator[Action]:
    metadata = known["metadata"]
    status = {key: value for key, value in facts.status.items() if value not in (None, "", [])}
    status["observedGeneration"] = metadata.get("generation", 0)
    status["conditions"] = render(facts.conditions, known, world.now)
    if status != (known.get("status") or {}):
        yield Apply(
            PERIPHERALS, {"metadata": {"name": metadata["name"]}, "status": status}, status=True
        )


def _facts(world: World, known: Object, controller: Controller) -> _Facts:
    device, old = controller.device, known.get("status") or {}
    link = world.bluez.links.get((controller.adapter, controller.address))
    classes = input_classes(snapshots_of(world, controller))
    claims = [each.claim for each in holdings(world.prepared) if each.address == controller.address]
    battery = device.battery.percentage if device and device.battery else None
    brought = _brought_by(world, controller.address)
    status = {
        "address": controller.address.colons,
        "deviceName": identity_of(controller).name,
        "adapter": controller.adapter.dashes,
        "node": world.node,
        "connected": device is not None and device.connected,
        "bonded": device is not None and device.bonded,
        "battery": battery,
        "inputs": list(classes),
        "claims": sorted(str(claim) for claim in claims),
        "secret": secret_name(controller.address) if controller.stored else None,
        "pairedAt": brought.get("pairedAt") or old.get("pairedAt") or rfc3339(world.now),
        "request": brought.get("request") or old.get("request"),
    }
    conditions = (
        _bonded(world, controller, link),
        _stored(controller),
        _input_ready(world, controller),
        _connected(world, device, link),
    )
    return _Facts(status, (_ready(conditions[:3]), *conditions))


def _brought_by(world: World, device: Address) -> Mapping[str, str]:
    """Which request paired it last and when, as long as that request is still there."""
    found = [
        (str(request["status"].get("finishedAt", "")), key)
        for key, request in (world.kube.requests if world.kube else {}).items()
        if (request.get("status") or {}).get("peripheral") == device.dashes
    ]
    if not found:
        return {}
    paired_at, key = max(found)
    return {"pairedAt": paired_at, "request": key}


def _ready(needed: tuple[Condition, ...]) -> Condition:
    missing = next((each for each in needed if not each.status), None)
    if missing is None:
        return Condition("Ready", True, "Claimable", "a pod can claim it, asleep or awake")
    return Condition("Ready", False, missing.reason, missing.message)


def _bonded(world: World, controller: Controller, link: Link | None) -> Condition:
    if not world.bluez.available:
        return Condition("Bonded", None, "BluetoothUnavailable", world.bluez.detail)
    if controller.adapter not in world.present():
        return Condition("Bonded", None, "AdapterRemoved", "its radio is not plugged in")
    if controller.bonded and link is not None and link.key_missing:
        return Condition(
            "Bonded",
            False,
            "KeyMissing",
            "the device refuses our key, it has most likely been paired elsewhere; pair it again",
        )
    if controller.bonded:
        return Condition("Bonded", True, "Bonded", "bluetoothd holds its keys")
    return Condition(
        "Bonded",
        False,
        "BondMissing",
        "bluetoothd has no keys for it although its bond is stored; restart the operator's pod to"
        " restore it, or delete this Peripheral and pair it again",
    )


def _stored(controller: Controller) -> Condition:
    name = secret_name(controller.address)
    if controller.stored is None:
        return Condition(
            "BondStored", False, "Sealing", "its bond is stored once bluetoothd has written it all"
        )
    if controller.stored.problem:
        return Condition(
            "BondStored", False, "SecretUnreadable", f"Secret {name}: {controller.stored.problem}"
        )
    return Condition("BondStored", True, "Stored", f"in Secret {name}")


def _input_ready(world: World, controller: Controller) -> Condition:
    if world.relay is None:
        return Condition(
            "InputReady", False, "RelayUnavailable", "the relay does not answer on its socket"
        )
    mirrors = world.mirrors(controller.address)
    if mirrors:
        paths = ", ".join(node.path for node in mirrors if node.path)
        return Condition("InputReady", True, "NodesHeld", paths)
    errors = [
        node.error
        for each in world.relay.peripherals
        if each.address == controller.address.colons
        for node in each.nodes
        if node.error
    ]
    if errors:
        return Condition("InputReady", False, "RelayError", errors[0])
    return Condition(
        "InputReady",
        False,
        "NoInputNode",
        "it has not been read yet: switch it on once, and its input nodes appear",
    )


def _connected(world: World, device: Device | None, link: Link | None) -> Condition:
    if not world.bluez.available:
        return Condition("Connected", None, str(Reason.BLUETOOTH_UNAVAILABLE), world.bluez.detail)
    if device is not None and device.connected:
        return Condition("Connected", True, str(Reason.CONNECTED), "")
    reason = link.reason if link is not None else Reason.NEVER_CONNECTED
    if reason is Reason.CONNECTED:
        reason = Reason.UNSPECIFIED
    return Condition("Connected", False, str(reason), _ADVICE.get(reason, ""))


_ADVICE = {
    Reason.ASLEEP: "press a button to wake it",
    Reason.DISCONNECTED_BY_DEVICE: "it switched itself off or went to sleep; press a button",
    Reason.LINK_LOST: "out of reach, or its battery is empty",
    Reason.NEVER_CONNECTED: "switch it on once",
    Reason.AUTHENTICATION_FAILED: "it refused our key; if this goes on, pair it again",
    Reason.ADAPTER_REMOVED: "its radio was unplugged",
    Reason.ADAPTER_POWERED_OFF: "its radio is off",
    Reason.BOND_REMOVED: "its bond is gone; pair it again",
}


def _bondless(world: World, known: Object) -> Iterator[Action]:
    """A Peripheral of a radio held here that has neither keys nor a stored bond."""
    metadata = known["metadata"]
    if "deletionTimestamp" in metadata:
        yield from _release(known)
        return
    old = known.get("status") or {}
    message = "no bond of it is left; pair it again, or delete this Peripheral"
    conditions = tuple(
        Condition(type_, False, "BondRemoved", message)
        for type_ in ("Ready", "Bonded", "BondStored", "InputReady", "Connected")
    )
    kept = ("address", "deviceName", "adapter", "node", "pairedAt", "request")
    status = {key: old[key] for key in kept if key in old}
    status.setdefault("address", Address(metadata["name"]).colons)
    status.update(connected=False, bonded=False)
    yield from _state(world, known, _Facts(status, conditions))


def _unpair(world: World, known: Object, controller: Controller) -> Iterator[Action]:
    """One step of the ordered goodbye, derived from how far it has come.

    Untrust first, or a trusted LE device is connected again at once and a HIDP one comes straight
    back; then drop the link, so that the taint evicts whoever holds it; then wait for the claims;
    only then remove the bond, and last of all the Secret.
    """
    device, adapter, address = controller.device, controller.adapter, controller.address
    facts = _facts(world, known, controller)
    claims = facts.status["claims"]
    waiting = f"waiting for claim {', '.join(claims)} to be released" if claims else "unpairing"
    gone = Condition("Ready", False, "Unpairing", waiting)
    yield from _state(world, known, _Facts(facts.status, (gone, *facts.conditions[1:])))
    if not world.bluez.available:
        return
    if device is not None and device.bonded and device.trusted:
        yield Bluez("trusted", adapter, address, value=False)
    elif device is not None and device.connected:
        yield Bluez("disconnect", adapter, address)
    elif claims:
        return
    elif device is not None and device.bonded:
        yield Bluez("unpair", adapter, address)
    elif controller.stored is not None:
        yield Delete(SECRETS, secret_name(address), world.namespace)
    else:
        yield from _release(known)


def _release(known: Object) -> Iterator[Action]:
    metadata = known["metadata"]
    finalizers = metadata.get("finalizers") or ()
    if names.PERIPHERAL_FINALIZER in finalizers:
        rest = tuple(each for each in finalizers if each != names.PERIPHERAL_FINALIZER)
        yield Release(PERIPHERALS, metadata["name"], rest)
