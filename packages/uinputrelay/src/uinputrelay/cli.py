"""The command line: ``serve`` for a supervising program, ``mirror`` for one node by hand."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys

from .checks import InvalidValueError
from .daemon import AlreadyServedError, Daemon
from .engine import Engine

DEFAULT_PREFIX = "uinputrelay"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(
        level=logging.DEBUG if options.verbose else logging.INFO,
        format="%(levelname)s %(message)s",
    )
    try:
        result: int = options.run(options)
    except (OSError, InvalidValueError, AlreadyServedError) as error:
        print(f"uinputrelay: {error}", file=sys.stderr)
        return 1
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="uinputrelay", description=__doc__)
    parser.add_argument("--verbose", action="store_true", help="log more")
    commands = parser.add_subparsers(required=True)
    serve = commands.add_parser("serve", help="hold mirrors for a client on a socket")
    serve.add_argument("--socket", required=True, metavar="PATH")
    serve.add_argument("--owner", type=int, metavar="UID", help="the client's user; default ours")
    serve.add_argument("--phys-prefix", default=DEFAULT_PREFIX, metavar="TEXT")
    serve.set_defaults(run=_serve)
    return parser


def _serve(options: argparse.Namespace) -> int:
    engine = Engine(phys_prefix=options.phys_prefix)
    asyncio.run(_until_stopped(Daemon(engine, options.socket, owner=options.owner)))
    return 0


async def _until_stopped(daemon: Daemon) -> None:
    """Serve until SIGTERM or SIGINT."""
    task = asyncio.create_task(daemon.serve())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return
