"""Putting bonds back before bluetoothd starts.

bluetoothd reads a controller's storage once, when it registers the adapter, so files placed later
are not seen, and it makes a permanent device of every directory it finds, with or without keys
(measured on 5.66). So: only material that can work, never a directory without a key, whole
directories by one rename, bytes as they were. Whether bluetoothd took a bond up shows on D-Bus
alone: `Client.rejected_restores`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from bluezclient.address import Address
from bluezclient.storage.bond import (
    CACHE,
    INFO,
    LINK_KEY,
    LONG_TERM_KEYS,
    Bond,
    adapter_directory,
    cable_paired,
    read_bond,
    usable_keys,
)
from bluezclient.storage.keyfile import KeyFileError, Sections, parse

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_HEX_KEY = re.compile(r"[0-9A-Fa-f]{32}")
_KEY_GROUPS = (LINK_KEY, *LONG_TERM_KEYS, "SlaveLongTermKey", "IdentityResolvingKey")


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What `restore` did, by device address.

    `written`: files put in place. `kept`: the disk's own bond was left (it has keys and
    `prefer="disk"`). `removed`: directories of devices named in `unpaired`. `refused`: bad material
    and why, in a sentence without key bytes; nothing of it was written. `incomplete`: written, but
    parts are missing (a BR/EDR pad without its service records may need pairing again).
    """

    written: frozenset[Address]
    kept: frozenset[Address]
    removed: frozenset[Address]
    refused: Mapping[Address, str]
    incomplete: Mapping[Address, tuple[str, ...]]


class BadBond(ValueError):  # noqa: N818
    """The material would not work, or would do harm; the text says which part."""


@dataclass(slots=True)
class _Tally:
    written: set[Address] = field(default_factory=set)
    kept: set[Address] = field(default_factory=set)
    removed: set[Address] = field(default_factory=set)
    refused: dict[Address, str] = field(default_factory=dict)
    incomplete: dict[Address, tuple[str, ...]] = field(default_factory=dict)

    def report(self) -> RestoreReport:
        return RestoreReport(
            frozenset(self.written),
            frozenset(self.kept),
            frozenset(self.removed),
            MappingProxyType(self.refused),
            MappingProxyType(self.incomplete),
        )


def restore(
    root: Path,
    adapter: Address,
    bonds: Iterable[Bond],
    *,
    prefer: Literal["disk", "bond"] = "disk",
    unpaired: Iterable[Address] = (),
    static: bool = False,
    identity: bytes | None = None,
    addresses: bytes | None = None,
) -> RestoreReport:
    """Write bonds into bluetoothd's storage; only while bluetoothd is not running.

    `prefer`: who wins when the disk holds keys for the device already. `unpaired`: devices whose
    directories must go. `static`: the adapter has a static random address (`static-<ADDR>`).
    `identity`: the adapter's own `identity` file (privacy), `addresses`: the storage's `addresses`
    file (controllers without an address of their own). One bad bond never stops the others; OSError
    is raised when the storage itself cannot be written.
    """
    folder = _adapter_folder(root, adapter, static)
    tally = _Tally()
    for device in unpaired:
        if _remove(folder, device):
            tally.removed.add(device)
    for bond in bonds:
        _restore_one(root, folder, adapter, bond, prefer, tally)
    if identity:
        _make_folder(folder)
        _write(folder / "identity", identity)
    if addresses:
        _write(root / "addresses", addresses)
    return tally.report()


def _adapter_folder(root: Path, adapter: Address, static: bool) -> Path:
    existing = adapter_directory(root, adapter)
    if existing.is_dir():
        return existing
    return root / (f"static-{adapter.colons}" if static else adapter.colons)


def _restore_one(
    root: Path, folder: Path, adapter: Address, bond: Bond, prefer: str, tally: _Tally
) -> None:
    try:
        check(bond, adapter)
    except BadBond as error:
        tally.refused[bond.device] = str(error)
        return
    held = read_bond(root, adapter, bond.device)
    if prefer == "disk" and held is not None and held.usable:
        tally.kept.add(bond.device)
        return
    _write_bond(folder, bond)
    tally.written.add(bond.device)
    if bond.missing:
        tally.incomplete[bond.device] = bond.missing


def check(bond: Bond, adapter: Address) -> None:
    """Raise `BadBond` for material that must not reach bluetoothd's storage."""
    if bond.adapter != adapter:
        raise BadBond(f"it belongs to adapter {bond.adapter}")
    for name in bond.files:
        if not _FILE_NAME.fullmatch(name):
            raise BadBond(f"{name!r} is no file name of a bond")
    try:
        info = parse(bond.files.get(INFO, b""))
    except KeyFileError as error:
        raise BadBond(f"info is {error}") from None
    _check_keys(info)
    _check_address(info, bond.device)


def _check_keys(info: Sections) -> None:
    for group in _KEY_GROUPS:
        key = info.get(group, {}).get("Key")
        if key is not None and not _HEX_KEY.fullmatch(key):
            raise BadBond(f"the key in [{group}] is not 32 hexadecimal digits")
    for group in LONG_TERM_KEYS:
        if group in info and "Rand" not in info[group]:
            raise BadBond(f"[{group}] has no Rand")
    if not (cable_paired(info) or any(usable_keys(info))):
        raise BadBond("info holds no key")


def _check_address(info: Sections, device: Address) -> None:
    random = info.get("General", {}).get("AddressType") in ("static", "random")
    if random and not device.is_static_random:
        raise BadBond(f"{device} is a private random address, which no bond can be kept under")
    if not device:
        raise BadBond("the address is zero")


def _write_bond(folder: Path, bond: Bond) -> None:
    _make_folder(folder)
    if bond.files.get(CACHE):
        _make_folder(folder / CACHE)
        _write(folder / CACHE / bond.device.colons, bond.files[CACHE])
    home = folder / bond.device.colons
    own = {name: data for name, data in bond.files.items() if name not in (CACHE, INFO) and data}
    # `info` last: a directory without it becomes a device without keys.
    files = {**own, INFO: bond.files[INFO]}
    if home.is_dir():
        home.chmod(0o700)
        for name, data in files.items():
            _write(home / name, data)
        return
    # A name that is no address is not read by bluetoothd (src/adapter.c, load_devices).
    fresh = Path(tempfile.mkdtemp(prefix=".restore-", dir=folder))
    try:
        for name, data in files.items():
            _write(fresh / name, data)
        fresh.rename(home)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    _sync_folder(folder)


def _make_folder(path: Path) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)


def _write(path: Path, data: bytes) -> None:
    """Replace a file whole and durably; mkstemp makes it 0600."""
    handle, temporary = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).rename(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(folder: Path, device: Address) -> bool:
    home, cache = folder / device.colons, folder / CACHE / device.colons
    there = home.is_dir() or cache.exists()
    if home.is_dir():
        # Out of bluetoothd's sight in one step, then at leisure.
        grave = Path(tempfile.mkdtemp(prefix=".removed-", dir=folder))
        home.rename(grave / device.colons)
        _sync_folder(folder)
        shutil.rmtree(grave)
    cache.unlink(missing_ok=True)
    return there
