"""The `bluezclient` command: tables for people, JSON for programs, no traceback for a bad day."""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import bluezclient
from bluezclient.address import Address, AddressError
from bluezclient.cli import commands
from bluezclient.cli.output import Output
from bluezclient.errors import BluezError
from bluezclient.pairing import Capability

_HELP = """\
Look at bluetoothd, pair and unpair, and read bonds on disk.

  bluezclient devices                      what is bonded, and why it is not connected
  bluezclient devices --scan 15            what is on the air, by address and kind
  bluezclient pair a0:ab:51:33:b7:12       hold the pairing buttons, then run this
  bluezclient watch                        every link as it comes and goes, with the reason
  sudo bluezclient bonds                   what is on disk, and what is missing from it
"""
_EPILOG = """\
An address may be written with colons, dashes, underscores or nothing between its digits. With
--json each result is one JSON document or line, and an error is one on stderr.

Status: 0 done; 1 not done, with the reason on stderr; 2 not understood; 130 interrupted.
"""
_PAIR = """\
Open a pairing window on one radio and pair with one device and no other.

The device has to be in pairing mode: on most controllers two buttons held until the light blinks
fast. An old bond of it is removed first. Interrupted or out of time, nothing half-paired is left.

  bluezclient pair a0:ab:51:33:b7:12
  bluezclient pair f0:f1:f2:f3:f4:f5 --capability KeyboardDisplay     a keyboard with a passkey
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: 0 when it did what was asked, else 1 and one line on stderr."""
    options = _parser().parse_args(arguments)
    output = Output(json=options.json)
    try:
        return asyncio.run(commands.COMMANDS[options.command](options, output))
    except BluezError as error:
        output.error(error.reason, error)
    except BrokenPipeError:
        # Whoever read us has left; the interpreter would complain of it once more at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        output.error(type(error).__name__, error)
    except KeyboardInterrupt:
        return 130
    return 1


def _address(text: str) -> Address:
    try:
        return Address(text)
    except AddressError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds


def _common(parser: argparse.ArgumentParser, *, first: bool) -> None:
    """What may stand before the command or after it; after it, silence changes nothing."""
    absent = argparse.SUPPRESS
    parser.add_argument(
        "--json",
        action="store_true",
        default=False if first else absent,
        help="one JSON document or line per result",
    )
    parser.add_argument(
        "--bus", default=None if first else absent, help="D-Bus address (default: the system bus)"
    )
    parser.add_argument(
        "--storage",
        type=Path,
        default=Path("/var/lib/bluetooth") if first else absent,
        help="bluetoothd's storage (default: /var/lib/bluetooth)",
    )


def _parser() -> argparse.ArgumentParser:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="bluezclient", description=_HELP, epilog=_EPILOG, formatter_class=plain
    )
    parser.add_argument(
        "--version", action="version", version=f"bluezclient {bluezclient.__version__}"
    )
    _common(parser, first=True)
    names = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, about: str, description: str = "") -> argparse.ArgumentParser:
        made = names.add_parser(
            name, help=about, description=description or _sentence(about), formatter_class=plain
        )
        _common(made, first=False)
        return made

    command("adapters", "the radios, and the release of bluetoothd behind them")
    devices = command("devices", "the devices bluetoothd knows, with reasons")
    devices.add_argument("--all", action="store_true", help="also what is only on the air")
    devices.add_argument(
        "--scan", type=_seconds, metavar="SECONDS", help="listen first, so long; implies --all"
    )
    command("watch", "follow every device, with the reason of each change, until interrupted")
    pair = command("pair", "open a window and pair with one device", _PAIR)
    pair.add_argument("address", type=_address, help="on its label, or in `devices --scan 15`")
    pair.add_argument("--adapter", type=_address, help="which radio, if there are several")
    pair.add_argument("--seconds", type=_seconds, default=90.0, help="default: %(default)g")
    pair.add_argument(
        "--capability",
        type=Capability,
        choices=list(Capability),
        default=Capability.NO_INPUT_NO_OUTPUT,
        metavar="CAPABILITY",
        help=f"what can be shown and typed here: {', '.join(Capability)} (default: %(default)s)",
    )
    unpair = command("unpair", "remove a device and its keys")
    unpair.add_argument("address", type=_address)
    unpair.add_argument("--adapter", type=_address, help="which radio, if there are several")
    bonds = command("bonds", "what is on disk, without its keys")
    bonds.add_argument("--adapter", type=_address, help="only this radio's")
    return parser


def _sentence(about: str) -> str:
    return f"{about[0].upper()}{about[1:]}."
