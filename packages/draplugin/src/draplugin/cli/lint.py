"""`draplugin lint`: what an API server would refuse in files, and what it would not."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from draplugin.api import (
    DecodeError,
    DeviceClass,
    ResourceSlice,
    read,
    read_as,
    read_documents,
    read_file,
)
from draplugin.lint import KINDS, Report, lint

from .cel import _version
from .output import UsageError, clean, paint

_HELP = """Check classes, claims and templates in files.

Says what the API server of --server would refuse, with the paths it names, and what it would take
and somebody regret: reads without has(), selectors that match no device of --slices, classes
without a driver check. ResourceSlices among the files count as --slices.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "lint",
        help="check classes, claims and templates in files",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="YAML or JSON; - = standard input")
    parser.add_argument("--server", default="1.37", help="whose rules (default: 1.37)")
    parser.add_argument("--slices", action="append", default=[], metavar="FILE")
    parser.add_argument("--strict", action="store_true", help="fail on warnings as well")
    parser.add_argument("--json", action="store_true", help="a JSON object for each object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check everything; 1 when something is refused (or, strictly, regretted)."""
    server = _version(options.server)
    objects = [(name, obj) for name in options.files for obj in objects_of(name)]
    everything = [*(obj for _, obj in objects), *_all(options.slices)]
    slices, classes = list(_slices(everything)), dict(_classes(everything))
    reports = [
        lint(obj, file=name, server=server, slices=slices, classes=classes)
        for name, obj in objects
        if obj.get("kind") in KINDS
    ]
    if not reports:
        raise UsageError(f"no {', '.join(KINDS)} in these files")
    for report in reports:
        print(json.dumps(report.as_json(), ensure_ascii=False) if options.json else _told(report))
    bad = any(not r.accepted or (options.strict and r.warnings) for r in reports)
    return 1 if bad else 0


def objects_of(name: str) -> list[dict[str, Any]]:
    """The objects of a file, or of standard input for `-`."""
    if name == "-":
        return list(read_documents(sys.stdin.read(), "standard input"))
    return read_file(Path(name))


def _all(names: Sequence[str]) -> Iterator[dict[str, Any]]:
    for name in names:
        yield from objects_of(name)


def _slices(objects: Sequence[dict[str, Any]]) -> Iterator[ResourceSlice]:
    for obj in objects:
        if obj.get("kind") in ("ResourceSlice", "ResourceSliceList"):
            value = read(obj)
            yield from getattr(value, "items", (value,))


def _classes(objects: Sequence[dict[str, Any]]) -> Iterator[tuple[str, DeviceClass]]:
    for obj in objects:
        if obj.get("kind") == "DeviceClass":
            with suppress(DecodeError, ValueError):
                found = read_as(DeviceClass, obj)
                yield found.metadata.name, found


def _told(report: Report) -> str:
    said = paint("accepted", "good") if report.accepted else paint("refused", "bad")
    lines = [f"{report.file}: {report.kind} {clean(report.name)}: {said}"]
    lines += [f"  {paint('error', 'bad')} {clean(str(cause))}" for cause in report.causes]
    lines += [f"  {paint('warning', 'middling')} {clean(str(c))}" for c in report.warnings]
    return "\n".join(lines)
