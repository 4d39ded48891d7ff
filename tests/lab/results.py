"""Where what the guests leave behind is kept on the host."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from lab import root

# Of runs that named no folder; enough to compare a failure with the run before it.
_KEPT = 8


def folder(named: Path | None = None) -> Path:
    """A folder for one run: the named one, or a new one in the cache, where the oldest go."""
    if named:
        named.mkdir(parents=True, exist_ok=True)
        return named
    runs = root.cache() / "lab-results"
    runs.mkdir(parents=True, exist_ok=True)
    for old in sorted(runs.iterdir())[: -_KEPT + 1]:
        shutil.rmtree(old, ignore_errors=True)
    made = runs / time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    number = 0
    while True:
        place = made.with_name(f"{made.name}-{number:02}")
        try:
            place.mkdir()
        except FileExistsError:
            number += 1
        else:
            return place
