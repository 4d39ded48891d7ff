"""Following bonds on disk until each is complete and quiet.

`Sealer` decides, with the time as an argument: when to look, and whether what was read is worth
storing. `watch_bonds` feeds it from inotify. As measured with GLib 2.74, one save is: CREATE
`info`, CLOSE_WRITE (empty!), CREATE `info.ABC123`, MODIFY, CLOSE_WRITE, MOVED_TO `info`: only
MOVED_TO means content.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import inotify_simple  # type: ignore[import-untyped]

from bluezclient.address import Address, AddressError
from bluezclient.storage.bond import (
    CACHE,
    INFO,
    Bond,
    adapter_directory,
    devices_on_disk,
    read_bond,
)
from bluezclient.storage.keyfile import KeyFileError, parse

_TEMPORARY = re.compile(r".*\.[A-Za-z0-9]{6}")


@dataclass(frozen=True, slots=True)
class BondSnapshot:
    """A bond worth storing now; not `complete` when the cap passed before it was sealed."""

    bond: Bond
    complete: bool


@dataclass(slots=True)
class _Follow:
    first_change: float
    last_change: float


@dataclass(slots=True)
class Sealer:
    """When to read a bond again and when to give it out; times in seconds of one monotonic clock.

    `quiet`: without change for so long; `cap`: look at least so long after the first change;
    `churn`: least time between two snapshots whose keys are the same.
    """

    quiet: float = 1.5
    cap: float = 10.0
    churn: float = 30.0
    _following: dict[Address, _Follow] = field(default_factory=dict)
    _given: dict[Address, tuple[float, Bond]] = field(default_factory=dict)

    def changed(self, device: Address, now: float) -> None:
        """A file of this device changed (or the device is new here)."""
        follow = self._following.get(device)
        if follow is None:
            self._following[device] = _Follow(now, now)
        else:
            follow.last_change = now

    def next_look(self) -> float | None:
        """The instant at which some device is due, None when nothing is being followed."""
        return min(map(self._due, self._following.values()), default=None)

    def due(self, now: float) -> list[Address]:
        """The devices to read now."""
        return [device for device, f in self._following.items() if self._due(f) <= now]

    def _due(self, follow: _Follow) -> float:
        return min(follow.last_change + self.quiet, follow.first_change + self.cap)

    def judge(
        self, device: Address, bond: Bond | None, bonded: bool, now: float
    ) -> BondSnapshot | None:
        """What to give out of what was read of a due device, None if nothing (yet)."""
        follow = self._following.pop(device)
        if bond is None or not bond.usable:
            return None
        complete = bonded and bond.sealed
        waited_out = now >= follow.first_change + self.cap
        if not complete and not waited_out:
            # Nothing may announce the missing part (Bonded comes over D-Bus), so look again.
            self._following[device] = _Follow(follow.first_change, now)
            return None
        if not complete and not bonded:
            # bluetoothd may take the bond up at any time without touching a file, so never stop.
            self._following[device] = _Follow(now, now + self.cap)
            return None
        return self._give(device, BondSnapshot(bond, complete), now)

    def _give(self, device: Address, snapshot: BondSnapshot, now: float) -> BondSnapshot | None:
        since, before = self._given.get(device, (float("-inf"), None))
        if before is not None and before.files == snapshot.bond.files:
            return None
        if before is not None and key_material(before) == key_material(snapshot.bond):
            wait = since + self.churn - now
            if wait > 0:
                self._following[device] = _Follow(now + wait - self.cap, now + wait - self.quiet)
                return None
        self._given[device] = (now, snapshot.bond)
        return snapshot


def key_material(bond: Bond) -> dict[str, str]:
    """The keys of a bond by group, to tell a new key from everyday churn."""
    try:
        info = parse(bond.files.get(INFO, b""))
    except KeyFileError:
        return {}
    return {name: group["Key"] for name, group in info.items() if "Key" in group}


async def watch_bonds(
    root: Path,
    adapter: Address,
    *,
    bonded: Callable[[Address], bool],
    quiet: float = 1.5,
    cap: float = 10.0,
    churn: float = 30.0,
) -> AsyncIterator[BondSnapshot]:
    """Every bond of one adapter, first as it is, then whenever it has changed and settled.

    A bond is given out once its files are sealed, `bonded(device)` (D-Bus's `Bonded`) holds and
    `quiet` seconds have passed without change; `cap` seconds after the first change it is given out
    as it is, if it is bonded and usable. A change of keys goes out at once after that;
    other churn at most every `churn` seconds. Unchanged bytes are not given out twice. A vanished
    directory says nothing: deleting is never decided here. Waits for the adapter's directory to
    appear.
    """
    loop = asyncio.get_running_loop()
    sealer = Sealer(quiet, cap, churn)
    changes = asyncio.Event()
    with _Tree(root, adapter) as tree:
        loop.add_reader(tree.fileno(), changes.set)
        try:
            while True:
                changes.clear()
                for device in tree.changed():
                    sealer.changed(device, loop.time())
                for device in sealer.due(loop.time()):
                    bond = read_bond(root, adapter, device)
                    snapshot = sealer.judge(device, bond, bonded(device), loop.time())
                    if snapshot is not None:
                        yield snapshot
                await _change_or(changes, sealer.next_look())
        finally:
            loop.remove_reader(tree.fileno())


async def _change_or(changes: asyncio.Event, at: float | None) -> None:
    try:
        async with asyncio.timeout_at(at):
            await changes.wait()
    except TimeoutError:
        return


class _Tree:
    """inotify on root, the adapter's directory, its cache and every device's directory.

    Watches are added before a directory is listed, so nothing falls between the two.
    """

    def __init__(self, root: Path, adapter: Address) -> None:
        self._root, self._adapter = root, adapter
        self._inotify = inotify_simple.INotify(nonblocking=True)
        self._watches: dict[int, Path] = {}
        self._first = True

    def __enter__(self) -> _Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self._inotify.close()

    def fileno(self) -> int:
        """The inotify descriptor, readable when something changed."""
        return int(self._inotify.fileno())

    def changed(self) -> set[Address]:
        """The devices with changes since the last call; all of them at first and after overflow."""
        events = self._inotify.read(timeout=0)
        flags = inotify_simple.flags
        everything = self._first or any(event.mask & flags.Q_OVERFLOW for event in events)
        self._first = False
        changed: set[Address] = set()
        for event in events:
            if event.mask & flags.IGNORED:
                self._watches.pop(event.wd, None)
            elif event.wd in self._watches:
                changed.update(self._devices_of(self._watches[event.wd], event))
        changed.update(self._add_watches(everything))
        return changed

    def _devices_of(self, folder: Path, event: inotify_simple.Event) -> Iterator[Address]:
        content = event.mask & (inotify_simple.flags.MOVED_TO | inotify_simple.flags.DELETE)
        if not content or _TEMPORARY.fullmatch(event.name):
            return
        name = event.name if folder.name == CACHE else folder.name
        address = _address(name)
        if address is not None:
            yield address

    def _add_watches(self, everything: bool) -> set[Address]:
        """Watch what is not watched yet; devices newly watched count as changed."""
        folder = adapter_directory(self._root, self._adapter)
        self._watch(self._root)
        if self._watch(folder):
            everything = True
        self._watch(folder / CACHE)
        devices = devices_on_disk(folder)
        fresh = {device for device in devices if self._watch(folder / device.colons)}
        return set(devices) if everything else fresh

    def _watch(self, path: Path) -> bool:
        """Whether the directory exists and was not watched before."""
        flags = inotify_simple.flags
        mask = flags.MOVED_TO | flags.CREATE | flags.DELETE | flags.DELETE_SELF | flags.ONLYDIR
        try:
            watch = self._inotify.add_watch(os.fspath(path), mask)
        except (FileNotFoundError, NotADirectoryError):
            return False
        fresh = self._watches.get(watch) != path
        self._watches[watch] = path
        return fresh


def _address(name: str) -> Address | None:
    try:
        address = Address(name)
    except AddressError:
        return None
    return address if name == address.colons else None
