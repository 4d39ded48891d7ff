"""One device's bond as bluetoothd keeps it: its files, and whether they are all there yet.

    <ADAPTER>/ or static-<ADAPTER>/     (a radio with a static random address)
        <DEVICE>/info                   keys, trust, alias, services
        <DEVICE>/*                      attributes and the like
        cache/<DEVICE>                  SDP records and GATT database; without the HID record
                                        a BR/EDR pad cannot come back (bluez PR#1195)

bluetoothd writes by temporary file and rename with no lock, and a new bond in steps: keys first,
`[General]` from an idle callback, services and cache seconds later (BlueZ `src/device.c`, 5.87).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from bluezclient.address import Address, AddressError
from bluezclient.storage.keyfile import KeyFileError, Sections, parse

INFO, CACHE = "info", "cache"
_TEMPORARY = re.compile(r".*\.[A-Za-z0-9]{6}")
_KEY = re.compile(r"[0-9A-Fa-f]{32}")
_HIDP, _HOG = "00001124-0000-1000-8000-00805f9b34fb", "00001812-0000-1000-8000-00805f9b34fb"
LINK_KEY = "LinkKey"
LONG_TERM_KEYS = ("LongTermKey", "PeripheralLongTermKey")
# A file that keeps changing while it is read; the next quiet time will do.
_READ_ATTEMPTS = 5


@dataclass(frozen=True, slots=True, repr=False)
class Bond:
    """The files of one bond, byte for byte.

    `files` maps names to bytes: `info` always; `cache` (the file `cache/<DEVICE>`), `attributes`
    and any other regular file of the device's directory when present. Holds link keys: `repr` shows
    names only.
    """

    adapter: Address
    device: Address
    files: Mapping[str, bytes]

    def __post_init__(self) -> None:
        """Freeze the mapping."""
        object.__setattr__(self, "files", MappingProxyType(dict(self.files)))

    def __repr__(self) -> str:
        return f"Bond({self.adapter}, {self.device}, files={sorted(self.files)})"

    @property
    def key_groups(self) -> frozenset[str]:
        """The groups of `info` with usable keys: LinkKey, LongTermKey, PeripheralLongTermKey."""
        return frozenset(usable_keys(self._info()))

    @property
    def cable_pairing(self) -> bool:
        """Whether the device was paired by cable and knows no keys, as a DualShock 3."""
        return cable_paired(self._info())

    @property
    def usable(self) -> bool:
        """Whether bluetoothd can make a bond of it: by a key, or by a cable's pairing."""
        return bool(self.key_groups) or self.cable_pairing

    @property
    def missing(self) -> tuple[str, ...]:
        """What is not there yet: "key", "SupportedTechnologies", "AddressType", "Services",
        "ServiceRecords", or "info" when it cannot be read at all.
        """
        return tuple(_missing(self._info(), self._sections(CACHE)))

    @property
    def sealed(self) -> bool:
        """Whether the files carry the whole bond; `Bonded` on D-Bus comes on top of it."""
        return not self.missing

    def _info(self) -> Sections:
        return self._sections(INFO)

    def _sections(self, name: str) -> Sections:
        try:
            return parse(self.files.get(name, b""))
        except KeyFileError:
            return {}


def usable_keys(info: Sections) -> Iterator[str]:
    """The key groups that bluetoothd could load."""
    if _KEY.fullmatch(info.get(LINK_KEY, {}).get("Key", "")):
        yield LINK_KEY
    for group in LONG_TERM_KEYS:
        held = info.get(group, {})
        if _KEY.fullmatch(held.get("Key", "")) and "Rand" in held:
            yield group


def cable_paired(info: Sections) -> bool:
    """Whether a cable's pairing stands in for keys (BlueZ 5.83, `CablePairing` in [General])."""
    return info.get("General", {}).get("CablePairing") == "true"


def _missing(info: Sections, cache: Sections) -> Iterator[str]:
    if not info:
        yield INFO
        return
    general, keys = info.get("General", {}), set(usable_keys(info))
    technologies = general.get("SupportedTechnologies", "").split(";")
    services = set(general.get("Services", "").lower().split(";")) - {""}
    if not any(technologies):
        yield "SupportedTechnologies"
    if "LE" in technologies and "AddressType" not in general:
        yield "AddressType"
    if _is_input(general) and not services:
        yield "Services"
    by_cable = cable_paired(info)
    if not (by_cable or _carries(keys, services)):
        yield "key"
    if _HIDP in services and (by_cable or LINK_KEY in keys) and not cache.get("ServiceRecords"):
        yield "ServiceRecords"


def _is_input(general: Mapping[str, str]) -> bool:
    appearance = _number(general.get("Appearance", ""))
    peripheral = _number(general.get("Class", "")) >> 8 & 0x1F == 5
    return peripheral or 0x03C0 <= appearance <= 0x03CA or appearance == 0x0180


def _number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return 0


def _carries(keys: set[str], services: set[str]) -> bool:
    """Whether the bearer that carries HID has its key (bluez #2034); any key if there is no HID."""
    long_term = bool(keys & set(LONG_TERM_KEYS))
    carriers = [
        held
        for service, held in ((_HIDP, LINK_KEY in keys), (_HOG, long_term))
        if service in services
    ]
    return any(carriers) if carriers else bool(keys)


def adapter_directory(root: Path, adapter: Address) -> Path:
    """The adapter's directory: `static-<ADDR>` if that is what exists, else `<ADDR>`."""
    static = root / f"static-{adapter.colons}"
    plain = root / adapter.colons
    return static if static.is_dir() and not plain.is_dir() else plain


@dataclass(frozen=True, slots=True)
class AdapterFiles:
    """What bonds depend on beside their own files; keyword arguments of `restore`.

    `static`: the adapter has a static random address. `identity`: its own resolving key, which LE
    peers know it by when privacy is on. `addresses`: the file by which a controller without an
    address of its own got one. All of it is as secret as a bond: `repr` shows no content.
    """

    static: bool = False
    identity: bytes | None = field(default=None, repr=False)
    addresses: bytes | None = field(default=None, repr=False)


def read_adapter_files(root: Path, adapter: Address) -> AdapterFiles:
    """The adapter's part of its bonds, as it is on disk now."""
    folder = adapter_directory(root, adapter)
    return AdapterFiles(
        static=folder.name.startswith("static-"),
        identity=_read(folder / "identity") or None,
        addresses=_read(root / "addresses") or None,
    )


def read_bond(root: Path, adapter: Address, device: Address) -> Bond | None:
    """The bond as it is on disk now, read consistently; None when there is no non-empty `info`.

    `root` is bluetoothd's storage, usually /var/lib/bluetooth; `<ADAPTER>` and `static-<ADAPTER>`
    directories are both looked at. Raises OSError when the storage cannot be read.
    """
    folder = adapter_directory(root, adapter)
    for _ in range(_READ_ATTEMPTS):
        before = _fingerprint(folder, device)
        files = {name: content for name, path in _files(folder, device) if (content := _read(path))}
        if before == _fingerprint(folder, device):
            return Bond(adapter, device, files) if files.get(INFO) else None
    return None


def read_bonds(root: Path, adapter: Address) -> tuple[Bond, ...]:
    """Every device of one adapter that has a usable bond on disk, by address."""
    bonds = (
        read_bond(root, adapter, device)
        for device in devices_on_disk(adapter_directory(root, adapter))
    )
    return tuple(bond for bond in bonds if bond is not None and bond.usable)


def devices_on_disk(folder: Path) -> tuple[Address, ...]:
    """The devices that have a directory under an adapter's directory, by address."""
    found = []
    for entry in _entries(folder):
        try:
            address = Address(entry.name)
        except AddressError:
            continue
        if entry.name == address.colons and entry.is_dir(follow_symlinks=False):
            found.append(address)
    return tuple(sorted(found))


def _files(folder: Path, device: Address) -> Iterator[tuple[str, Path]]:
    for entry in _entries(folder / device.colons):
        if entry.is_file(follow_symlinks=False) and not _TEMPORARY.fullmatch(entry.name):
            yield entry.name, Path(entry.path)
    yield CACHE, folder / CACHE / device.colons


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _read(path: Path) -> bytes:
    """The content of a regular file; empty when there is none."""
    try:
        with open(path, "rb", opener=_no_links) as file:
            return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except FileNotFoundError:
        return b""


def _no_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _fingerprint(folder: Path, device: Address) -> tuple[object, ...]:
    """What changes when any file of the bond is replaced or written."""
    stats = []
    for name, path in _files(folder, device):
        try:
            held = path.lstat()
        except FileNotFoundError:
            continue
        stats.append((name, held.st_ino, held.st_mtime_ns, held.st_size))
    return tuple(stats)
