"""Which version of resource.k8s.io is spoken with a server; everything above knows v1 only.

The shapes themselves are converted by draplugin.api.versions, the one set of converters.
"""

from __future__ import annotations

from collections.abc import Iterable

from draplugin.api.versions import VERSIONS, from_v1, to_v1

#: Best first.
SUPPORTED = VERSIONS


def choose(served: Iterable[str]) -> str | None:
    """The best version both sides know, None where there is none."""
    offered = set(served)
    return next((version for version in SUPPORTED if version in offered), None)


__all__ = ["SUPPORTED", "choose", "from_v1", "to_v1"]
