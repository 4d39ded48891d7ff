"""The way test reports take from the guest's pytest to the host's: JSON lines in a pipe."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition
from typing import Any, TextIO

PIPE = "/run/lab/reports"
VARIABLE = "LAB_REPORTS"


class Sender:
    """The guest's end."""

    def __init__(self, pipe: Path) -> None:
        # Opening waits for the host's reader, so no report is lost.
        self._pipe: TextIO = pipe.open("w")

    def send(self, kind: str, item: str, report: dict[str, Any] | None = None) -> None:
        """Pass one step of an item's life: begin, report or end."""
        line = json.dumps({"kind": kind, "item": item, "report": report}, default=str)
        self._pipe.write(line + "\n")
        self._pipe.flush()


@dataclass
class _Item:
    reports: deque[dict[str, Any]] = field(default_factory=deque)
    begun: bool = False
    ended: bool = False


class Receiver:
    """The host's end: bytes in from one thread, reports out by item to another."""

    def __init__(self) -> None:
        self._pending = b""
        self._items: defaultdict[str, _Item] = defaultdict(_Item)
        self._changed = Condition()
        self._closed = False

    def feed(self, data: bytes) -> None:
        """Take bytes of the pipe, cut anywhere."""
        *lines, self._pending = (self._pending + data).split(b"\n")
        with self._changed:
            for line in lines:
                self._take(json.loads(line))
            self._changed.notify_all()

    def close(self) -> None:
        """No more will come: waiting ends."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def next(self, item: str) -> dict[str, Any] | None:
        """The item's next report, in order; None when it ended or nothing more comes."""
        with self._changed:
            state = self._items[item]
            self._changed.wait_for(lambda: state.reports or state.ended or self._closed)
            return state.reports.popleft() if state.reports else None

    def ended(self, item: str) -> bool:
        """Whether the item went all its way."""
        return self._items[item].ended

    def running(self) -> str | None:
        """The item that began and did not end, if any."""
        with self._changed:
            at_work = (name for name, it in self._items.items() if it.begun and not it.ended)
            return next(at_work, None)

    def _take(self, message: dict[str, Any]) -> None:
        state = self._items[message["item"]]
        match message["kind"]:
            case "begin":
                state.begun = True
            case "report":
                state.reports.append(message["report"])
            case "end":
                state.ended = True
