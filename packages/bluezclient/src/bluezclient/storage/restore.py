"""Putting bonds back before bluetoothd starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bluezclient.address import Address
from bluezclient.storage.bond import Bond


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What `restore` did, by device address.

    `written`: files put in place. `kept`: the disk's own bond was left (it has keys and
    `prefer="disk"`). `removed`: directories of devices named in `unpaired`. `refused`: bad material
    and why, in a sentence without key bytes; nothing of it was written.
    """

    written: frozenset[Address]
    kept: frozenset[Address]
    removed: frozenset[Address]
    refused: Mapping[Address, str]


def restore(
    root: Path,
    adapter: Address,
    bonds: Iterable[Bond],
    *,
    prefer: Literal["disk", "bond"] = "disk",
    unpaired: Iterable[Address] = (),
    static: bool = False,
    identity: bytes | None = None,
) -> RestoreReport:
    """Write bonds into bluetoothd's storage; only while bluetoothd is not running.

    `prefer`: who wins when the disk holds keys for the device already. `unpaired`: devices whose
    directories must go. `static`: the adapter has a static random address (`static-<ADDR>`).
    `identity`: the adapter's own `identity` file (privacy). One bad bond never stops the others.
    """
    raise NotImplementedError
