"""Progress for people: one line each time something that takes a while begins."""

from __future__ import annotations

import sys
import time

_start = time.monotonic()


def say(text: str) -> None:
    """Print a line with the seconds since the program started, at once."""
    print(f"[lab {time.monotonic() - _start:6.1f}s] {text}", file=sys.stderr, flush=True)
