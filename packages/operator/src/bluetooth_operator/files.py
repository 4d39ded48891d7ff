"""Follows bluetoothd's storage of every radio here, and keeps what is sealed of each bond."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from bluezclient import Address
from bluezclient.storage import watch_bonds

_log = logging.getLogger(__name__)
RESTART_AFTER = 5.0


class BondFiles:
    """The sealed bonds on this disk; `bonded` asks bluetoothd, `changed` is called on news."""

    def __init__(
        self,
        root: Path,
        bonded: Callable[[Address, Address], bool],
        changed: Callable[[], None],
    ) -> None:
        self._root, self._bonded, self._changed = root, bonded, changed
        self._sealed: dict[tuple[Address, Address], Mapping[str, bytes]] = {}
        self._watching: dict[Address, asyncio.Task[None]] = {}

    def sealed(self) -> Mapping[tuple[Address, Address], Mapping[str, bytes]]:
        """Files by (radio, device); a device that is no longer bonded is left out."""
        return {key: files for key, files in self._sealed.items() if self._bonded(*key)}

    def want(self, adapters: Iterable[Address]) -> None:
        """Watch these radios' bonds and no others."""
        wanted = set(adapters)
        for address in wanted - self._watching.keys():
            task = asyncio.get_running_loop().create_task(self._watch(address))
            self._watching[address] = task
        for address in self._watching.keys() - wanted:
            self._watching.pop(address).cancel()

    async def _watch(self, adapter: Address) -> None:
        def bonded(device: Address) -> bool:
            return self._bonded(adapter, device)

        while True:
            try:
                async for snapshot in watch_bonds(self._root, adapter, bonded=bonded):
                    bond = snapshot.bond
                    self._sealed[(bond.adapter, bond.device)] = bond.files
                    _log.info(
                        "bond of %s is %s on disk: %s",
                        bond.device,
                        "sealed" if snapshot.complete else "kept incomplete",
                        ", ".join(bond.files),
                    )
                    self._changed()
            except OSError as error:
                _log.warning("cannot follow the bonds of %s: %s", adapter, error)
            await asyncio.sleep(RESTART_AFTER)

    async def stop(self) -> None:
        """Stop watching."""
        tasks = list(self._watching.values())
        self._watching = {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
