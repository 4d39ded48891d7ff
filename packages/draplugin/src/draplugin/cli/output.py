"""Text for people: columns, and colour where a terminal shows it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_COLOURS = {"good": "32", "bad": "31", "middling": "33", "head": "1", "faint": "2"}


class UsageError(Exception):
    """What was asked for cannot be answered; the text says what to do."""


def coloured() -> bool:
    """Whether standard output is a terminal that wants colour (no-color.org)."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str) -> str:
    """The text in a colour, or as it is."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if colour and coloured() else text


def table(head: Sequence[str], rows: Sequence[Sequence[tuple[str, str]]]) -> str:
    """Columns as wide as they must be; each cell is a text and the name of a colour or nothing."""
    cells = [[(title, "head") for title in head], *rows]
    widths = [max(len(row[column][0]) for row in cells) for column in range(len(head))]
    lines = []
    for row in cells:
        padded = [
            paint(text, colour) + " " * (width - len(text))
            for (text, colour), width in zip(row, widths, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def clean(text: str) -> str:
    """A text from a cluster, without what could move a terminal's cursor."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
