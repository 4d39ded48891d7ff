"""Which bond Secrets are written, and that a stored bond is never replaced by less."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from bluetooth_operator.bonds import read_secret, read_snapshots, write_snapshots
from bluetooth_operator.plan.secrets import secrets
from hypothesis import given
from hypothesis import strategies as st
from uinputrelay import InvalidValueError

FILES = {"info": b"[General]\n\n[LinkKey]\nKey=00\n", "cache": b"[ServiceRecords]\n"}


def written(world: Any) -> list[dict[str, bytes]]:
    bodies = [each.body for each in secrets(world)]
    return [{k: base64.b64decode(v) for k, v in body["data"].items()} for body in bodies]


def test_a_sealed_bond_is_stored_byte_for_byte_with_the_nodes_seen(build: Any) -> None:
    key = (build.radio_address, build.pad_address)
    world = build.world(device=build.pad(), files={key: FILES})
    (action,) = secrets(world)
    assert action.body["metadata"] == {
        "name": "bluetooth-bond-a0-ab-51-33-b7-12",
        "namespace": "bluetooth-system",
        "labels": {"bluetooth.liken.sh/adapter": "04-4a-69-66-92-27"},
    }
    assert action.body["type"] == "bluetooth.liken.sh/bond"
    (data,) = written(world)
    assert {key: data[key] for key in FILES} == FILES
    assert read_snapshots(data["nodes.json"]) == (build.pad_node,)


ROWS: dict[str, tuple[dict[str, Any], bool, bool, int]] = {
    "nothing sealed, nothing stored": ({}, False, False, 0),
    "the same is stored": ({}, True, True, 0),
    "stored, and the disk says nothing": ({}, False, True, 0),
    "stored, and bluetoothd has not taken the restored bond": ({"bonded": False}, True, True, 0),
}


@pytest.mark.parametrize(("facts", "sealed", "stored", "count"), ROWS.values(), ids=ROWS)
def test_when_there_is_nothing_to_write(
    build: Any, facts: dict[str, Any], sealed: bool, stored: bool, count: int
) -> None:
    key = (build.radio_address, build.pad_address)
    world = build.world(
        device=build.pad(**facts),
        files={key: FILES} if sealed else {},
        kube=build.kube(bonds=[build.stored(build.pad_node, files=FILES)] if stored else []),
    )
    assert len(written(world)) == count


def test_a_node_seen_for_the_first_time_is_added_to_the_stored_bond(build: Any) -> None:
    world = build.world(device=build.pad(), kube=build.kube(bonds=[build.stored(files=FILES)]))
    (data,) = written(world)
    assert read_snapshots(data["nodes.json"]) == (build.pad_node,)
    assert data["info"] == FILES["info"]


def test_a_peripheral_being_deleted_is_not_stored_again(build: Any) -> None:
    key = (build.radio_address, build.pad_address)
    deleting = build.kube(peripherals=[build.peripheral_object(deleting=True)])
    world = build.world(device=build.pad(), files={key: FILES}, kube=deleting)
    assert written(world) == []


def test_a_secret_that_cannot_be_read_is_reported_and_left_as_it_is(build: Any) -> None:
    bond = read_secret(build.secret(**{"nodes.json": b"{}"}))
    assert bond is not None
    assert bond.problem == "nodes.json: not a list of snapshots"
    world = build.world(device=build.pad(), kube=build.kube(bonds=[bond]))
    assert written(world) == []


def test_a_secret_is_read_back_as_it_was_written(build: Any) -> None:
    bond = read_secret(build.secret(build.pad_node, cache=b"\x00\xff"))
    assert bond is not None
    assert (bond.adapter, bond.device) == (build.radio_address, build.pad_address)
    assert dict(bond.files) == {"info": build.info, "cache": b"\x00\xff"}
    assert bond.snapshots == (build.pad_node,)


def test_keys_are_in_no_repr(build: Any) -> None:
    bond = build.stored(files={"info": b"Key=0123456789ABCDEF"})
    world = build.world(kube=build.kube(bonds=[bond]), files={(1, 2): bond.files})
    assert "0123456789ABCDEF" not in repr(world)


OTHERS = {
    "another type": {"type": "Opaque"},
    "a name that is no address": {"metadata": {"name": "bluetooth-bond-pad", "labels": {}}},
    "no label": {"metadata": {"name": "bluetooth-bond-a0-ab-51-33-b7-12"}},
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_other_secrets_are_none_of_ours(build: Any, change: dict[str, Any]) -> None:
    assert read_secret({**build.secret(), **change}) is None


@given(st.binary(max_size=200))
def test_no_bytes_in_nodes_json_raise_anything_but_the_named_error(text: bytes) -> None:
    try:
        snapshots = read_snapshots(text)
    except InvalidValueError:
        return
    assert read_snapshots(write_snapshots(snapshots)) == snapshots
