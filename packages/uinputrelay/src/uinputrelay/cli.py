"""The command line: ``serve`` for a supervising program, ``mirror`` for one node by hand."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

from . import codes, privileges
from .checks import InvalidValueError
from .daemon import AlreadyServedError, Daemon
from .discovery import Discovery, RealNode
from .engine import Engine
from .model import Axis, NodeWish, PeripheralWish, Snapshot, Wish, largest
from .source import snapshot_of

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
    _add_mirror(commands.add_parser("mirror", help="mirror one node until interrupted"))
    return parser


def _add_mirror(mirror: argparse.ArgumentParser) -> None:
    mirror.add_argument("node", nargs="?", metavar="/dev/input/eventN")
    mirror.add_argument(
        "--types", type=_types, default=None, metavar="EV_KEY,EV_ABS", help="move only these"
    )
    mirror.add_argument(
        "--axis",
        type=_axis,
        action="append",
        default=[],
        metavar="ABS_RX:fuzz=4,flat=8",
        help="set an axis of the real node while it is mirrored; may be repeated",
    )
    mirror.add_argument("--save", type=Path, metavar="FILE", help="write the node's snapshot")
    mirror.add_argument(
        "--from", dest="stored", type=Path, metavar="FILE", help="mirror a stored snapshot"
    )
    mirror.add_argument("--phys-prefix", default=DEFAULT_PREFIX, metavar="TEXT")
    mirror.set_defaults(run=_mirror)


def _number(names: str, text: str) -> int:
    """Turn EV_KEY or ABS_RX into its number."""
    from evdev import ecodes

    number = ecodes.ecodes.get(text)
    if not text.startswith(names) or not isinstance(number, int):
        raise argparse.ArgumentTypeError(f"no such code: {text}; {names}* of input-event-codes.h")
    return number


def _types(text: str) -> frozenset[int]:
    return frozenset(_number("EV_", name) for name in text.split(","))


def _axis(text: str) -> tuple[int, Axis]:
    name, _, settings = text.partition(":")
    code = _number("ABS_", name)
    if code == codes.ABS_MT_SLOT:
        raise argparse.ArgumentTypeError("the kernel does not change ABS_MT_SLOT")
    stated: dict[str, int] = {}
    for setting in settings.split(","):
        field, _, value = setting.partition("=")
        if field not in Axis._fields or not value.isdigit() or int(value) > codes.INT32_MAX:
            raise argparse.ArgumentTypeError(f"{text}: not ABS_X:fuzz=4, :flat=8 or :fuzz=4,flat=8")
        stated[field] = int(value)
    return code, Axis(**stated)


def _mirror(options: argparse.Namespace) -> int:
    """Mirror one node: the one given, or whichever has the stored snapshot, now or later."""
    if options.node is None and options.stored is None:
        print("uinputrelay: mirror needs a node or --from", file=sys.stderr)
        return 2
    device = _identified(options.node) if options.node else None
    if options.stored:
        shot = Snapshot.from_json(options.stored.read_bytes())
    elif device is not None:
        shot = snapshot_of(device.path, device.identity)
    if options.save:
        options.save.write_text(shot.to_json() + "\n")

    def belongs(_: PeripheralWish, node: RealNode) -> bool:
        return node.name == shot.name and (device is None or _returns_as(device, node))

    wish = PeripheralWish(
        "STANDALONE",
        None,
        (NodeWish(shot, options.types),),
        largest(*({c: a} for c, a in options.axis)),
    )
    engine = Engine(phys_prefix=options.phys_prefix, belongs=belongs, adopt=False)
    _run_until_stopped(engine, Wish((wish,)))
    return 0


def _identified(path: str) -> RealNode:
    """Find the node udev has under a path."""
    real = Path(path).resolve()
    for node in Discovery("").scan():
        if Path(node.path) == real:
            return node
    raise FileNotFoundError(2, "no event node of the kernel's", path)


def _returns_as(before: RealNode, node: RealNode) -> bool:
    """Tell a device's next life: by uniq, or by phys (its port) where it has none."""
    if before.uniq or node.uniq:
        return before.uniq == node.uniq
    return before.phys == node.phys


def _run_until_stopped(engine: Engine, wish: Wish) -> None:
    """Apply the wish, print where the mirror is, and pump until SIGINT or SIGTERM."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: engine.stop())
    try:
        (node,) = engine.apply(wish).peripherals[0].nodes
        if node.path is None:
            raise OSError(node.error)
        for said in node.differences:
            print(f"differs: {said}", file=sys.stderr)
        print(node.path, flush=True)
        engine.run()
    finally:
        engine.close()


def _serve(options: argparse.Namespace) -> int:
    engine = Engine(phys_prefix=options.phys_prefix)
    daemon = Daemon(engine, options.socket, owner=options.owner)
    daemon.listen()
    privileges.give_up()
    asyncio.run(_until_stopped(daemon))
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
