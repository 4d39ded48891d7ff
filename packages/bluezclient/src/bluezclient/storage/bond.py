"""One device's bond as bluetoothd keeps it: its files, and whether they are all there yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bluezclient.address import Address


@dataclass(frozen=True, slots=True)
class Bond:
    """The files of one bond, byte for byte.

    `files` maps names to bytes: `info` always; `cache` (the file `cache/<DEVICE>`), `attributes` and
    any other regular file of the device's directory when present. Holds link keys: `repr` shows
    names only.
    """

    adapter: Address
    device: Address
    files: Mapping[str, bytes]

    @property
    def key_groups(self) -> frozenset[str]:
        """The sections of `info` that hold usable keys: LinkKey, LongTermKey, PeripheralLongTermKey."""
        raise NotImplementedError

    @property
    def missing(self) -> tuple[str, ...]:
        """What is not there yet, in words ("LinkKey", "SupportedTechnologies", "ServiceRecords", ...)."""
        raise NotImplementedError

    @property
    def sealed(self) -> bool:
        """Whether the files alone carry the bond: nothing is `missing`. `Bonded` on D-Bus comes on top."""
        return not self.missing


def read_bond(root: Path, adapter: Address, device: Address) -> Bond | None:
    """The bond as it is on disk now, read consistently; None when there is no non-empty `info`.

    `root` is bluetoothd's storage, usually /var/lib/bluetooth; `<ADAPTER>` and `static-<ADAPTER>`
    directories are both looked at.
    """
    raise NotImplementedError


def read_bonds(root: Path, adapter: Address) -> tuple[Bond, ...]:
    """Every device of one adapter that has a key group on disk, by address."""
    raise NotImplementedError
