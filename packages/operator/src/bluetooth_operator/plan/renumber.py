"""Which prepared claims' CDI files name numbers that their controller's nodes no longer have.

A running container keeps the node it was given and is evicted by the taint; the next container of
that claim is made from the file, so the file must be right before the new mirrors carry an event
(the relay holds them back until a claim is known to have their numbers).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..actions import Renumber
from ..prepared import holdings, moved
from ..world import World


def renumber(world: World) -> Iterator[Renumber]:
    """One rewrite for each claim whose nodes are not the ones that are there now."""
    for held in holdings(world.prepared):
        if moved(held, world.mirrors(held.address)):
            yield Renumber(held.claim.uid, held.address)
