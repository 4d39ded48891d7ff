"""What the command prints, in one place: a table on a terminal, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from bluezclient.address import Address


def plain(value: object) -> Any:
    """A value as JSON has it: addresses as text, sets sorted, frozen values as objects."""
    if isinstance(value, Address):
        return value.colons
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(held) for key, held in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(plain(item) for item in value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    return value


@dataclass(slots=True)
class Output:
    """Where results go; `json` chooses programs over people."""

    json: bool
    console: Console = field(default_factory=lambda: Console(soft_wrap=True))

    def document(self, value: object) -> None:
        """One JSON line."""
        sys.stdout.write(json.dumps(plain(value)) + "\n")
        sys.stdout.flush()

    def rows(
        self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], data: object
    ) -> None:
        """A table of `rows`, or `data` as JSON."""
        found = list(rows)
        if self.json:
            self.document(data)
        elif found:
            self.console.print(table(title, columns, found))
        else:
            self.say(f"{title}: none")

    def say(self, text: str, **data: object) -> None:
        """A sentence, or `data` as a JSON line."""
        if self.json:
            self.document(data)
        else:
            self.console.print(Text(printable(text)))

    def error(self, reason: str, error: Exception) -> None:
        """One line on stderr: the reason, the text, and the D-Bus name if there is one."""
        name = getattr(error, "name", "")
        if self.json:
            sys.stderr.write(json.dumps({"error": reason, "text": str(error), "name": name}) + "\n")
        else:
            origin = f" ({name})" if name else ""
            sys.stderr.write(f"bluezclient: {reason}: {error}{origin}\n")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Group:
    """A titled table of plain text.

    Text, never markup: a device chooses its own name, and rich reads `:AB:` in an address as an
    emoji.
    """
    made = Table(header_style="bold")
    for column in columns:
        made.add_column(column)
    for row in rows:
        made.add_row(*(Text(printable(cell)) for cell in row))
    return Group(Text(title, style="bold"), made)


def printable(text: str) -> str:
    """Text with control characters replaced, so that a name cannot drive the terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
