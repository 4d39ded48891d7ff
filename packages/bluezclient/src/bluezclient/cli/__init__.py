"""The `bluezclient` command: tables for people, JSON for programs, no traceback for a bad day."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from bluezclient.address import Address, AddressError
from bluezclient.cli import commands
from bluezclient.cli.output import Output
from bluezclient.errors import BluezError
from bluezclient.pairing import Capability


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: 0 when it did what was asked, else 1 and one line on stderr."""
    options = _parser().parse_args(arguments)
    output = Output(json=options.json)
    try:
        return asyncio.run(commands.COMMANDS[options.command](options, output))
    except BluezError as error:
        output.error(error.reason, error)
    except PermissionError as error:
        output.error("PermissionDenied", error)
    except OSError as error:
        output.error("OSError", error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
    return 1


def _address(text: str) -> Address:
    try:
        return Address(text)
    except AddressError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bluezclient",
        description="Look at bluetoothd, pair and unpair, and read bonds on disk.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document or line per result")
    parser.add_argument("--bus", help="D-Bus address (default: the system bus)")
    parser.add_argument(
        "--storage",
        type=Path,
        default=Path("/var/lib/bluetooth"),
        help="bluetoothd's storage (default: %(default)s)",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("adapters", help="the radios")
    devices = commands.add_parser("devices", help="the devices bluetoothd knows, with reasons")
    devices.add_argument("--all", action="store_true", help="also what is only on the air")
    commands.add_parser("watch", help="follow every device, with the reason of each change")
    pair = commands.add_parser("pair", help="open a window and pair with one device")
    pair.add_argument("address", type=_address)
    pair.add_argument("--adapter", type=_address, help="which radio, if there are several")
    pair.add_argument("--seconds", type=float, default=90.0, help="default: %(default)g")
    pair.add_argument(
        "--capability",
        type=Capability,
        choices=list(Capability),
        default=Capability.NO_INPUT_NO_OUTPUT,
        help="what can be shown and typed here (default: %(default)s)",
    )
    unpair = commands.add_parser("unpair", help="remove a device and its keys")
    unpair.add_argument("address", type=_address)
    unpair.add_argument("--adapter", type=_address, help="which radio, if there are several")
    bonds = commands.add_parser("bonds", help="what is on disk, without its keys")
    bonds.add_argument("--adapter", type=_address, help="only this radio's")
    return parser
