"""The command line: ``serve`` for a supervising program, ``status`` of it, ``mirror`` by hand."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import signal
import sys
from pathlib import Path

from . import codes, numbers, privileges, wire
from .checks import InvalidValueError
from .daemon import AlreadyServedError, Daemon
from .discovery import Discovery, RealNode
from .engine import Engine
from .model import (
    Axis,
    NodeState,
    NodeWish,
    Observed,
    PeripheralWish,
    Snapshot,
    Wish,
    largest,
)
from .source import snapshot_of

DEFAULT_PREFIX = "uinputrelay"
ANSWER_WAIT = 10.0  # s: a relay that is busy moving events answers between them


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(
        level=logging.DEBUG if options.verbose else logging.INFO,
        format="%(levelname)s %(message)s",
    )
    try:
        result: int = options.run(options)
    except TimeoutError:
        print("uinputrelay: the relay does not answer", file=sys.stderr)
        return 1
    except (OSError, InvalidValueError, AlreadyServedError, wire.MessageError) as error:
        print(f"uinputrelay: {error}", file=sys.stderr)
        return 1
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="uinputrelay",
        description="Virtual evdev nodes that keep their number while the real device sleeps, "
        "returns under another number, or is not there yet.",
        epilog="Needs /dev/uinput and the right to open /dev/input/event*. "
        "uinputrelay COMMAND --help says more.",
    )
    parser.add_argument("--verbose", action="store_true", help="log more")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_mirror(_command(commands, "mirror", "mirror one node until interrupted", MIRROR_HELP))
    _add_serve(_command(commands, "serve", "hold mirrors for a client on a socket", SERVE_HELP))
    _add_status(_command(commands, "status", "show what a serving relay holds", STATUS_HELP))
    return parser


MIRROR_HELP = """
Prints the mirror's path, and moves events until SIGINT or SIGTERM. The node may go and come back:
the mirror stays, with every key released, and is fed again by the node of the same name and uniq
(or phys, where it has no uniq). The real node is not grabbed: other readers see its events too.

  uinputrelay mirror /dev/input/event3
  uinputrelay mirror /dev/input/event3 --types EV_KEY --axis ABS_RX:fuzz=4,flat=8
  uinputrelay mirror /dev/input/event3 --save pad.json
  uinputrelay mirror --from pad.json        # before the device is there
"""
SERVE_HELP = """
Holds what the client wishes (uinputrelay.Client) until SIGTERM. A client that goes away takes
nothing with it; the newest one to send a wish wins. The socket has mode 0600.

  uinputrelay serve --socket /run/uinputrelay.sock
"""
STATUS_HELP = """
Prints one line for each mirror: its path, whether its device is there, events moved, losses, name.
Asking changes nothing, and takes the relay from nobody.

  uinputrelay status --socket /run/uinputrelay.sock
  uinputrelay status --socket /run/uinputrelay.sock --json | jq .peripherals
"""


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, line: str, more: str
) -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    return commands.add_parser(
        name, help=line, description=f"{line.capitalize()}.\n{more}", formatter_class=form
    )


def _add_serve(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("--socket", required=True, metavar="PATH", help="where to listen")
    serve.add_argument("--owner", type=int, metavar="UID", help="the client's user; default ours")
    _add_prefix(serve)
    serve.set_defaults(run=_serve)


def _add_status(status: argparse.ArgumentParser) -> None:
    status.add_argument("--socket", required=True, metavar="PATH", help="where the relay listens")
    status.add_argument("--json", action="store_true", help="the whole observed state as one line")
    status.set_defaults(run=_status)


def _add_prefix(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--phys-prefix",
        default=DEFAULT_PREFIX,
        metavar="TEXT",
        help="begins the mirrors' phys, which tells them from real nodes (default: %(default)s)",
    )


def _add_mirror(mirror: argparse.ArgumentParser) -> None:
    mirror.add_argument("node", nargs="?", metavar="/dev/input/eventN", help="the real node")
    mirror.add_argument(
        "--types",
        type=_types,
        default=None,
        metavar="EV_KEY,EV_ABS",
        help="move only events of these types; the others do not even wake the relay",
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
    mirror.add_argument(
        "--json",
        action="store_true",
        help="print the mirror's whole state, one line at each change, instead of its path",
    )
    _add_prefix(mirror)
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
    if options.json:
        engine.watch(lambda observed: print(_only(observed).to_json(), flush=True))
    _run_until_stopped(engine, Wish((wish,)), say=not options.json)
    return 0


def _only(observed: Observed) -> NodeState:
    """Return the one mirror of a wish for one."""
    (node,) = observed.peripherals[0].nodes
    return node


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


def _run_until_stopped(engine: Engine, wish: Wish, *, say: bool) -> None:
    """Apply the wish, say where the mirror is, and pump until SIGINT or SIGTERM."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: engine.stop())
    try:
        node = _only(engine.apply(wish))
        if node.path is None:
            raise OSError(node.error)
        for said in node.differences if say else ():
            print(f"differs: {said}", file=sys.stderr)
        if say:
            print(node.path, flush=True)
        engine.run()
    finally:
        engine.close()


def _serve(options: argparse.Namespace) -> int:
    engine = Engine(phys_prefix=options.phys_prefix)
    daemon = Daemon(engine, options.socket, owner=options.owner)
    daemon.listen()
    privileges.open_many()
    privileges.give_up()
    asyncio.run(_until_stopped(daemon))
    return 0


def _status(options: argparse.Namespace) -> int:
    observed = asyncio.run(asyncio.wait_for(_ask(options.socket), ANSWER_WAIT))
    if options.json:
        print(json.dumps(observed.to_mapping(), separators=(",", ":")))
        return 0
    for each in observed.peripherals:
        for node in each.nodes:
            print(each.address, _line(node))
        if each.error:
            print(each.address, f"error: {each.error}")
        elif not each.nodes:
            print(each.address, "no node yet")
    for minor in observed.placeholders:
        print(f"placeholder on {numbers.INPUT_MAJOR}:{minor}")
    return 0


def _line(node: NodeState) -> str:
    there = "connected" if node.connected else "asleep"
    back = ", held back" if node.held_back else ""
    error = f", error: {node.error}" if node.error else ""
    moved = f"{node.events} events, {node.losses} losses"
    return f"{node.path or 'no mirror'} {there}, {moved}, {node.snapshot.name!r}{back}{error}"


async def _ask(path: str) -> Observed:
    """Return the state a relay tells whoever connects. Raises OSError or MessageError."""
    reader, writer = await asyncio.open_unix_connection(path, limit=wire.LIMIT)
    try:
        answer = wire.read_answer(await reader.readuntil(b"\n"))
    except asyncio.IncompleteReadError:
        raise ConnectionError(f"{path}: the relay closed the connection") from None
    finally:
        writer.close()
    if isinstance(answer, wire.MessageError):
        raise answer
    return answer


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
