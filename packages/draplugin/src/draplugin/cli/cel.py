"""`draplugin cel`: evaluate selectors on devices."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from draplugin.cel import (
    AbortedError,
    CompileError,
    EvaluationError,
    Version,
    compile_new,
    compile_stored,
    parse_version,
)

from .output import UsageError

_HELP = """Evaluate device selectors as Kubernetes does.

With -e, the expression on one device (--device FILE, or - for standard input; JSON with driver,
attributes and capacity as in a ResourceSlice). Without, JSON lines of {"expression", "device"} from
standard input. Prints a JSON line for each: compile_error, match, eval_error.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "cel",
        help="evaluate selectors on devices",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-e", "--expression", help="the expression")
    parser.add_argument("-d", "--device", metavar="FILE", help="JSON of the device; default: none")
    parser.add_argument("--server", default="1.37", help="the server's version (default: 1.37)")
    parser.add_argument(
        "--new",
        action="store_true",
        help="compile as the API server does on create, not as the scheduler runs it",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Answer every question; 1 unless all of them match."""
    server = _version(options.server)
    matched = True
    for question in _questions(options):
        answer = evaluate(question, server, new=options.new)
        print(json.dumps(answer, ensure_ascii=False))
        matched = matched and answer["match"] is True
    return 0 if matched else 1


def _version(text: str) -> Version:
    try:
        return parse_version(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def evaluate(question: Mapping[str, Any], server: Version, *, new: bool) -> dict[str, Any]:
    """The answer to one question."""
    answer: dict[str, Any] = {"compile_error": None, "match": None, "eval_error": None}
    expression, device = question.get("expression"), question.get("device") or {}
    if not isinstance(expression, str) or not isinstance(device, Mapping):
        raise UsageError("a question is an object with a text `expression` and an object `device`")
    try:
        selector = (compile_new if new else compile_stored)(expression, server)
        answer["match"] = selector.matches(device)
    except CompileError as error:
        answer["compile_error"] = str(error)
    except (EvaluationError, AbortedError) as error:
        answer["eval_error"] = str(error)
    except (AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"the device is none of a ResourceSlice: {error}") from None
    return answer


def _questions(options: argparse.Namespace) -> Iterator[Mapping[str, Any]]:
    if options.expression is not None:
        yield {"expression": options.expression, "device": _device(options.device)}
        return
    if options.device:
        raise UsageError("--device goes with -e")
    for number, line in enumerate(sys.stdin, 1):
        if line.strip():
            yield _json(line, f"line {number}")


def _device(name: str | None) -> Mapping[str, Any]:
    if name is None:
        return {}
    text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    return _json(text, name)


def _json(text: str, where: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None
    if not isinstance(value, Mapping):
        raise UsageError(f"{where}: must be a JSON object")
    return value
