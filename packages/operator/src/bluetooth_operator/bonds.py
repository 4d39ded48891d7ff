"""A bond as the operator keeps it: one Secret, with bluetoothd's files and the nodes' snapshots.

`nodes.json` beside them holds what each evdev node of the device could do when it was first read,
so that its virtual nodes exist before the device connects again. Keys stay in `data`, which no
`repr` shows; everything here is pure.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bluezclient import Address, AddressError
from draplugin.kube import Object
from uinputrelay import InvalidValueError, Snapshot

from . import names

FILES = ("info", "cache")


@dataclass(frozen=True, slots=True)
class StoredBond:
    """One bond Secret. `problem` says what of it could not be read; the rest is used anyway."""

    adapter: Address
    device: Address
    files: Mapping[str, bytes] = field(repr=False)
    snapshots: tuple[Snapshot, ...] = ()
    problem: str = ""
    resource_version: str = ""


def secret_name(device: Address) -> str:
    """The name of the Secret that keeps a device's bond."""
    return f"{names.SECRET_PREFIX}{device.dashes}"


def read_secret(secret: Object) -> StoredBond | None:
    """The bond in a Secret; None for a Secret that is not a bond of ours."""
    metadata = secret["metadata"]
    if secret.get("type") != names.SECRET_TYPE:
        return None
    try:
        device = Address(metadata["name"].removeprefix(names.SECRET_PREFIX))
        adapter = Address((metadata.get("labels") or {}).get(names.ADAPTER_LABEL, ""))
    except AddressError:
        return None
    data, problem = _decoded(secret.get("data") or {})
    snapshots: tuple[Snapshot, ...] = ()
    if names.NODES_KEY in data:
        try:
            snapshots = read_snapshots(data.pop(names.NODES_KEY))
        except InvalidValueError as error:
            problem = f"{names.NODES_KEY}: {error}"
    version = str(metadata.get("resourceVersion", ""))
    return StoredBond(adapter, device, data, snapshots, problem, version)


def _decoded(data: Mapping[str, str]) -> tuple[dict[str, bytes], str]:
    files: dict[str, bytes] = {}
    problem = ""
    for key, text in data.items():
        try:
            files[key] = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            problem = f"{key}: not base64"
    return files, problem


def read_snapshots(text: bytes) -> tuple[Snapshot, ...]:
    """The snapshots of `nodes.json`. Raises InvalidValueError, naming what is wrong."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(f"not JSON: {error}") from None
    if not isinstance(listed, list):
        raise InvalidValueError("not a list of snapshots")
    return tuple(
        Snapshot.from_mapping(each, f"snapshot[{index}]") for index, each in enumerate(listed)
    )


def write_snapshots(snapshots: Sequence[Snapshot]) -> bytes:
    """The bytes of `nodes.json`: the same snapshots always give the same bytes."""
    listed = [snapshot.to_mapping() for snapshot in snapshots]
    return json.dumps(listed, separators=(",", ":"), sort_keys=True).encode()


def secret_body(
    namespace: str,
    adapter: Address,
    device: Address,
    files: Mapping[str, bytes],
    snapshots: Sequence[Snapshot],
) -> Object:
    """The Secret to apply for a bond."""
    data = dict(files)
    if snapshots:
        data[names.NODES_KEY] = write_snapshots(snapshots)
    return {
        "metadata": {
            "name": secret_name(device),
            "namespace": namespace,
            "labels": {names.ADAPTER_LABEL: adapter.dashes},
        },
        "type": names.SECRET_TYPE,
        "data": {key: base64.b64encode(value).decode() for key, value in sorted(data.items())},
    }
