"""Which mirror a real node belongs to: by fingerprint, and twins by their order.

Pure. A path or a number is no identity, and names repeat on one device, so neither decides. Twins,
nodes of one device with one fingerprint, are told apart by the order in which the driver registers
them; one that is attached stays where it is while the other comes and goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from .discovery import RealNode
from .model import Snapshot
from .numbers import Key


def keys(address: str, fingerprints: Iterable[str]) -> list[Key]:
    """Name snapshots of one device, given in their order: the n-th with a fingerprint is turn n."""
    seen: Counter[str] = Counter()
    named = []
    for fingerprint in fingerprints:
        named.append(Key(address, fingerprint, seen[fingerprint]))
        seen[fingerprint] += 1
    return named


def assign(
    address: str,
    found: Sequence[tuple[RealNode, Snapshot | None]],
    attached: Mapping[str, Key],
) -> list[tuple[Key, RealNode, Snapshot]]:
    """Say which mirror each found node of one device belongs to.

    ``found`` is in order of registration; None stands for a snapshot that cannot be read yet.
    ``attached`` maps the keys of real nodes to where they are now. A node behind one of the same
    name that cannot be read yet may be its twin, and waits.
    """
    here = {real.key for real, _ in found}
    taken = {key for real, key in attached.items() if real in here}
    unread: set[str] = set()
    assigned = []
    for real, shot in found:
        if shot is None:
            unread.add(real.name)
        elif real.key in attached:
            assigned.append((attached[real.key], real, shot))
        elif real.name not in unread:
            key = _first_free(address, shot.fingerprint, taken)
            taken.add(key)
            assigned.append((key, real, shot))
    return assigned


def _first_free(address: str, fingerprint: str, taken: set[Key]) -> Key:
    turns = (Key(address, fingerprint, turn) for turn in count())
    return next(key for key in turns if key not in taken)
