"""Slow work says what it is doing: one line every few seconds, with the time it took so far."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Protocol, Self

_INTERVAL = 5.0


class Say(Protocol):
    """Takes one line for a person to read."""

    def __call__(self, line: str, /) -> None: ...


def to_stderr(line: str) -> None:
    """Print a line where it does not mix with a program's output."""
    print(line, file=sys.stderr, flush=True)


def elapsed(seconds: float) -> str:
    """A duration as a person says it: ``8s``, ``3m05s``."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"


class Progress:
    """A task under way; ``detail`` may be set at any time and from any thread.

    Prints ``title: detail (elapsed)`` at the start and every five seconds until the end.
    """

    def __init__(self, title: str, say: Say = to_stderr, interval: float = _INTERVAL) -> None:
        self.title = title
        self.detail = "starting"
        self._say = say
        self._interval = interval
        self._begin = time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"progress {title}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()
        outcome = "done" if error is None else "failed"
        self._say(f"{self.title}: {outcome} ({elapsed(time.monotonic() - self._begin)})")

    def _run(self) -> None:
        while True:
            self._say(f"{self.title}: {self.detail} ({elapsed(time.monotonic() - self._begin)})")
            if self._done.wait(self._interval):
                return
