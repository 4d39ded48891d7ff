"""Builders for the operator's tables: a World in one line, with one pad, one radio, one node."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from bluetooth_operator import names
from bluetooth_operator.bonds import StoredBond, write_snapshots
from bluetooth_operator.parameters import Parameters
from bluetooth_operator.prepared import device_nodes, record
from bluetooth_operator.world import Kube, WindowState, World
from bluezclient import Adapter, Address, Availability, Device, Link, Reason, State
from draplugin import ClaimRef, Prepared, PreparedClaim
from draplugin.kube import Object
from uinputrelay import AbsInfo, NodeState, Observed, PeripheralState, Snapshot

NOW = 1_800_000_000.0
RADIO = Address("04:4A:69:66:92:27")
PAD = Address("A0:AB:51:33:B7:12")
HID = "00001124-0000-1000-8000-00805f9b34fb"

EV_SYN, EV_KEY, EV_REL, EV_ABS = 0, 1, 2, 3
BTN_SOUTH = 0x130

# The pad's own node as hid-playstation makes it, cut down to what gives it its class.
PAD_NODE = Snapshot(
    name="DualSense Wireless Controller",
    bus=5,
    vendor=0x054C,
    product=0x0CE6,
    version=0x8100,
    types={EV_SYN: (), EV_KEY: (BTN_SOUTH, BTN_SOUTH + 1), EV_ABS: (0, 1, 3, 4)},
    absinfo={code: AbsInfo(128, 0, 255, 0, 0, 0) for code in (0, 1, 3, 4)},
)
REMOTE_NODE = Snapshot(
    name="Air Remote",
    bus=5,
    vendor=0x045E,
    product=1,
    version=1,
    types={EV_SYN: (), EV_KEY: (28, 103, 0x110), EV_REL: (0, 1)},
)
INFO = b"[General]\nName=DualSense Wireless Controller\nClass=0x002508\nServices=" + HID.encode()


def pad(**changes: Any) -> Device:
    """The pad as bluetoothd shows it: bonded, trusted, connected unless said otherwise."""
    facts: dict[str, Any] = {
        "path": "/org/bluez/hci0/dev_A0_AB_51_33_B7_12",
        "adapter": "/org/bluez/hci0",
        "adapter_address": RADIO,
        "address": PAD,
        "name": "DualSense Wireless Controller",
        "alias": "DualSense Wireless Controller",
        "class_of_device": 0x2508,
        "icon": "input-gaming",
        "uuids": frozenset({HID}),
        "paired": True,
        "bonded": True,
        "trusted": True,
        "connected": True,
    }
    return Device(**{**facts, **changes})


def radio(**changes: Any) -> Adapter:
    facts: dict[str, Any] = {"path": "/org/bluez/hci0", "address": RADIO, "powered": True}
    return Adapter(**{**facts, **changes})


THE_RADIO = radio()


def mirror(snapshot: Snapshot = PAD_NODE, number: int = 7, **changes: Any) -> NodeState:
    facts: dict[str, Any] = {
        "path": f"/dev/input/event{number}",
        "major": 13,
        "minor": 64 + number,
        "connected": True,
    }
    return NodeState(snapshot, **{**facts, **changes})


def observed(*nodes: NodeState, address: Address = PAD) -> Observed:
    return Observed((PeripheralState(address.colons, nodes),))


def stored(*snapshots: Snapshot, files: Mapping[str, bytes] | None = None) -> StoredBond:
    return StoredBond(RADIO, PAD, files or {"info": INFO}, snapshots)


def claim(
    uid: str = "c1", demand: Parameters | None = None, nodes: Sequence[NodeState] = ()
) -> PreparedClaim:
    """A prepared claim on the pad, as the CDI store remembers it."""
    held = Prepared(
        device=PAD.dashes,
        pool="node-1",
        device_nodes=device_nodes(nodes),
        annotations=record(PAD, demand or Parameters(), nodes),
    )
    return PreparedClaim(ClaimRef("games", f"claim-{uid}", uid), (held,))


def adapter_object(**status: Any) -> Object:
    metadata: dict[str, Any] = {
        "name": RADIO.dashes,
        "generation": 1,
        "finalizers": [names.ADAPTER_FINALIZER],
    }
    return {"metadata": metadata, "spec": {}, "status": {"node": "node-1", **status}}


def peripheral_object(deleting: bool = False, **spec: Any) -> Object:
    metadata: dict[str, Any] = {
        "name": PAD.dashes,
        "generation": 1,
        "labels": {names.ADAPTER_LABEL: RADIO.dashes},
        "finalizers": [names.PERIPHERAL_FINALIZER],
    }
    if deleting:
        metadata["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    return {"metadata": metadata, "spec": {"trusted": True, **spec}}


def request_object(
    device: str = "", adapter: str = RADIO.dashes, name: str = "pad", **status: Any
) -> Object:
    return {
        "metadata": {
            "name": name,
            "namespace": "games",
            "uid": f"uid-{name}",
            "generation": 1,
            "creationTimestamp": "2027-01-15T07:59:00Z",
        },
        "spec": {
            "adapter": adapter,
            "device": device,
            "windowSeconds": 180,
            "ttlSecondsAfterFinished": 60,
        },
        **({"status": status} if status else {}),
    }


def kube(
    *,
    adapters: Sequence[Object] | None = None,
    peripherals: Sequence[Object] | None = None,
    requests: Sequence[Object] = (),
    bonds: Sequence[StoredBond] = (),
) -> Kube:
    def by_name(objects: Sequence[Object]) -> dict[str, Object]:
        return {each["metadata"]["name"]: each for each in objects}

    return Kube(
        adapters=by_name([adapter_object()] if adapters is None else adapters),
        peripherals=by_name([peripheral_object()] if peripherals is None else peripherals),
        requests={f"games/{each['metadata']['name']}": each for each in requests},
        bonds={each.device: each for each in bonds},
    )


class Build:
    """The builders and the fixed names of this file."""

    now = NOW
    radio_address = RADIO
    pad_address = PAD
    pad_node = PAD_NODE
    remote_node = REMOTE_NODE
    info = INFO
    pad = staticmethod(pad)
    radio = staticmethod(radio)
    mirror = staticmethod(mirror)
    observed = staticmethod(observed)
    stored = staticmethod(stored)
    claim = staticmethod(claim)
    adapter_object = staticmethod(adapter_object)
    peripheral_object = staticmethod(peripheral_object)
    request_object = staticmethod(request_object)
    kube = staticmethod(kube)

    def world(
        self,
        *,
        device: Device | None = None,
        adapter: Adapter | None = THE_RADIO,
        reason: Reason | None = None,
        since: float = NOW - 60,
        available: bool = True,
        **changes: Any,
    ) -> World:
        """A World on node-1 with one radio; the pad is there when `device` is given."""
        key = (RADIO, PAD)
        links = {} if reason is None else {key: Link(connected=False, reason=reason, since=since)}
        state = State(
            availability=Availability.AVAILABLE if available else Availability.NO_OWNER,
            detail="" if available else "bluetoothd is not on the bus",
            adapters={adapter.path: adapter} if adapter and available else {},
            devices={device.path: device} if device and available else {},
            links=links,
        )
        facts: dict[str, Any] = {"kube": kube(), "relay": observed(mirror())}
        return World(
            now=NOW,
            node="node-1",
            namespace="bluetooth-system",
            bluez=state,
            **{**facts, **changes},
        )

    def secret(self, *snapshots: Snapshot, **data: bytes) -> Object:
        """The bond Secret as the API server holds it."""
        content = {"info": INFO, **data}
        if snapshots:
            content[names.NODES_KEY] = write_snapshots(snapshots)
        return {
            "metadata": {
                "name": f"bluetooth-bond-{PAD.dashes}",
                "labels": {names.ADAPTER_LABEL: RADIO.dashes},
                "resourceVersion": "5",
            },
            "type": names.SECRET_TYPE,
            "data": {key: base64.b64encode(value).decode() for key, value in content.items()},
        }

    def window(self, **state: Any) -> dict[str, WindowState]:
        """One running window, that of the request called `pad`."""
        return {"uid-pad": WindowState(**state)}


@pytest.fixture
def build() -> Build:
    """The builders."""
    return Build()
