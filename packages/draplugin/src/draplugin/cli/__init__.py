"""The command `draplugin`: `cel`, `explain` and `lint`.

Exit status: 0 when all is well, 1 when something is refused or does not match, 2 when the question
itself is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from draplugin.api import DecodeError, FileError
from draplugin.cel import UnavailableError

from . import cel, explain, lint
from .output import UsageError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the process's exit status."""
    parser = argparse.ArgumentParser(prog="draplugin", description="Ask about Kubernetes DRA.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in (cel, explain, lint):
        module.add(commands)
    options = parser.parse_args(argv)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except (UsageError, UnavailableError, FileError, DecodeError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            # The reader has enough, as in `draplugin cel | head`.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"draplugin: {error}", file=sys.stderr)
        return 2
    return status
