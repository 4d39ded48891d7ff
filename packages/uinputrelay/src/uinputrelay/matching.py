"""Which mirror a real node belongs to: by fingerprint, and twins by their order.

Pure. A path or a number is no identity, and names repeat on one device, so neither is looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .numbers import Key


def keys(address: str, fingerprints: Iterable[str]) -> list[Key]:
    """Name nodes of one device, given in their order: the n-th with a fingerprint is turn n."""
    seen: Counter[str] = Counter()
    named = []
    for fingerprint in fingerprints:
        named.append(Key(address, fingerprint, seen[fingerprint]))
        seen[fingerprint] += 1
    return named
