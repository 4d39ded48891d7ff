"""What the node's ResourceSlice lists: one device per bonded controller, one media bus per radio.

Listed means bonded; usable or not is said by taints. Only `address` and `connected` are always
there, every other attribute is absent until its fact is known, because a selector that reads an
absent attribute fails loudly and one that reads an empty one is silently wrong.
"""

from __future__ import annotations

import inputid
from bluezclient import Address, classify
from draplugin import AttributeValue, Device, Taint
from uinputrelay import Snapshot

from .. import names
from ..identity import Identity, of_device, of_info
from ..prepared import holdings, moved
from ..world import Controller, World, controllers

STRING_LIMIT = 64
# The words of the class of device's service bits that are published (design: bits 16 to 23).
_SERVICES = (
    "positioning",
    "networking",
    "rendering",
    "capturing",
    "objectTransfer",
    "audio",
    "telephony",
    "information",
)


def devices(world: World) -> tuple[Device, ...]:
    """Every device of this node's pool, controllers by address, then media buses."""
    listed = {}
    for controller in controllers(world):
        name = controller.address.dashes
        # A pad bonded to two radios of one node is one device: the link that is up wins.
        if name not in listed or _connected(world, controller):
            listed[name] = _controller(world, controller)
    buses = [_media_bus(world, adapter) for adapter in sorted(world.held(), key=str)]
    return (*(listed[name] for name in sorted(listed)), *buses)


def snapshots_of(world: World, controller: Controller) -> tuple[Snapshot, ...]:
    """The controller's nodes: those stored with its bond, then those seen since."""
    known = list(controller.stored.snapshots if controller.stored else ())
    counts: dict[str, int] = {}
    for snapshot in known:
        counts[snapshot.fingerprint] = counts.get(snapshot.fingerprint, 0) + 1
    for node in world.mirrors(controller.address):
        fingerprint = node.snapshot.fingerprint
        if counts.get(fingerprint, 0) > 0:
            counts[fingerprint] -= 1
        else:
            known.append(node.snapshot)
    return tuple(known)


def input_classes(snapshots: tuple[Snapshot, ...]) -> tuple[str, ...]:
    """The classes that any of the nodes carries, in udev's order."""
    found = {name for each in snapshots for name in inputid.classes(each.capabilities)}
    return tuple(name for name in inputid.CLASSES if name in found)


def _connected(world: World, controller: Controller) -> bool:
    present = controller.adapter in world.present()
    return present and controller.device is not None and controller.device.connected


def _controller(world: World, controller: Controller) -> Device:
    attributes: dict[str, AttributeValue] = {
        "address": controller.address.colons,
        "connected": _connected(world, controller),
        **_identity_attributes(identity_of(controller)),
        **dict.fromkeys(input_classes(snapshots_of(world, controller)), True),
    }
    return Device(
        name=controller.address.dashes,
        attributes=attributes,
        taints=_taints(world, controller),
    )


def identity_of(controller: Controller) -> Identity:
    """Who the controller is, as bluetoothd says or as its bond remembers."""
    if controller.device is not None:
        return of_device(controller.device)
    if controller.stored is not None:
        return of_info(controller.stored.files.get("info", b""))
    return Identity()


def _identity_attributes(identity: Identity) -> dict[str, AttributeValue]:
    plain = {
        "name": identity.name and cut(identity.name),
        "classOfDevice": identity.class_of_device,
        "appearance": identity.appearance,
        "modalias": identity.modalias and cut(identity.modalias),
        "icon": identity.icon and cut(identity.icon),
        "addressType": identity.address_type,
    }
    found: dict[str, AttributeValue] = {
        key: value for key, value in plain.items() if value not in (None, "")
    }
    if identity.class_of_device is not None:
        unpacked = classify.class_of_device(identity.class_of_device)
        words = {"majorClass": unpacked.major, "minorClass": unpacked.minor}
        found.update({key: word for key, word in words.items() if word})
        services = [word for word in _SERVICES if word in unpacked.services]
        found.update({f"service{word[0].upper()}{word[1:]}": True for word in services})
    found.update(dict.fromkeys(sorted(classify.profile_flags(identity.uuids)), True))
    return found


def cut(text: str) -> str:
    """At most 64 bytes, on a character's boundary: the API server counts bytes, not characters."""
    return text.encode()[:STRING_LIMIT].decode("utf-8", "ignore")


def _taints(world: World, controller: Controller) -> tuple[Taint, ...]:
    mirrors = world.mirrors(controller.address)
    taints = []
    if not _connected(world, controller):
        taints.append(Taint(names.TAINT_DISCONNECTED, "NoExecute"))
    if not mirrors:
        taints.append(Taint(names.TAINT_NO_INPUT_NODE, "NoSchedule"))
    mine = (each for each in holdings(world.prepared) if each.address == controller.address)
    if any(moved(each, mirrors) for each in mine):
        taints.append(Taint(names.TAINT_NODE_MOVED, "NoExecute"))
    return tuple(taints)


def _media_bus(world: World, adapter: Address) -> Device:
    taints = () if adapter in world.present() else (Taint(names.TAINT_DISCONNECTED, "NoSchedule"),)
    return Device(
        name=f"{adapter.dashes}{names.MEDIA_SUFFIX}",
        attributes={
            "address": adapter.colons,
            "kind": "mediaBus",
            names.SUPPORTS_SOUND: True,
        },
        taints=taints,
    )
