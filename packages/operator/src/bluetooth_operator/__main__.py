"""The command `bluetooth-operator`: `restore` before bluetoothd starts, `run` beside it."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys

from . import __version__, config, restore
from .run import run


def main(argv: list[str] | None = None) -> int:
    """Run one of the commands; the exit status."""
    parser = argparse.ArgumentParser(prog="bluetooth-operator", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    running = commands.add_parser("run", help="serve this node's radios until told to stop")
    restoring = commands.add_parser("restore", help="put stored bonds on disk, then exit")
    for each in (running, restoring):
        config.add_arguments(each)
        each.add_argument("-v", "--verbose", action="store_true", help="log every detail")
        config.add_run_arguments(each)
    parsed = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.DEBUG if parsed.verbose else logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    try:
        configuration = config.from_arguments(parsed)
    except ValueError as error:
        parser.error(str(error))
    if parsed.command == "restore":
        return asyncio.run(restore.run(configuration))
    return asyncio.run(_until_told(configuration))


_DESCRIPTION = (
    "Publishes this node's paired Bluetooth controllers as devices that pods can claim, and serves"
    " the pairing API (Adapter, Peripheral, PairingRequest)."
)


async def _until_told(configuration: config.Config) -> int:
    """Run until SIGTERM or SIGINT, which end the process without taking anything away."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, task.cancel)
    try:
        await run(configuration)
    except asyncio.CancelledError:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
