"""Following bonds on disk until each is complete and quiet."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from bluezclient.address import Address
from bluezclient.storage.bond import Bond


@dataclass(frozen=True, slots=True)
class BondSnapshot:
    """A bond worth storing now. `complete` is False when the 10 s cap passed before it was sealed."""

    bond: Bond
    complete: bool


def watch_bonds(
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
    `quiet` seconds have passed without change; after `cap` seconds it is given out as it is, if it has
    a key group. A change of keys goes out at once after that; other churn at most every `churn`
    seconds. Unchanged bytes are not given out twice. A vanished directory says nothing: deleting is
    never decided here.
    """
    raise NotImplementedError
