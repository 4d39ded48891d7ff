"""The commands of `python -m lab`."""

from __future__ import annotations

import argparse
import os
import select
import shutil
import sys
import termios
import threading
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab import root, vm
from lab.recipe import RECIPES
from lab.say import say


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the status is the guest program's own, 3 when the lab failed."""
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.command(arguments)
    except (root.BuildError, vm.GuestDiedError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 3
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lab", description=__doc__)
    parser.add_argument("--root", default="forky", choices=sorted(RECIPES))
    commands = parser.add_subparsers(required=True)
    build = commands.add_parser("root", help="build the guest's root, if it is not there yet")
    build.set_defaults(command=_root)
    run = commands.add_parser("run", help="boot, run one program, power off")
    run.add_argument("--results", type=Path, help="folder that is /results inside")
    run.add_argument("--timeout", type=float, default=600, help="seconds for the program")
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROGRAM")
    run.set_defaults(command=_run)
    shell = commands.add_parser("shell", help="boot and give a shell inside")
    shell.add_argument("--results", type=Path, help="folder that is /results inside")
    shell.set_defaults(command=_shell)
    return parser


def _root(arguments: argparse.Namespace) -> int:
    print(root.build(arguments.root).path)
    return 0


def _run(arguments: argparse.Namespace) -> int:
    program = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not program:
        print("lab: which program? python -m lab run -- PROGRAM ...", file=sys.stderr)
        return 2
    with vm.boot(root=arguments.root, results=arguments.results) as machine:
        done = machine.run(program, timeout=arguments.timeout)
        if done.timed_out:
            say(f"out of time after {arguments.timeout:.0f} s: {program[0]}")
        say(f"logs and results: {machine.results}")
        return done.status


def _shell(arguments: argparse.Namespace) -> int:
    with vm.boot(root=arguments.root, results=arguments.results) as machine:
        say("a shell inside; leave it to power off")
        terminal = os.environ.get("TERM", "dumb")
        shell = machine.begin(["bash", "-i"], pty=True, env={"TERM": terminal})
        size = shutil.get_terminal_size()
        shell.resize(size.lines, size.columns)
        with _raw_terminal():
            ended = threading.Event()
            threading.Thread(target=_feed, args=(shell, ended), daemon=True).start()
            done = shell.wait()
            ended.set()
        return done.status


def _feed(shell: vm.Program, ended: threading.Event) -> None:
    while not ended.is_set():
        ready, _, _ = select.select([sys.stdin], [], [], 0.2)
        if ready:
            data = os.read(sys.stdin.fileno(), 4096)
            shell.write(data)
            if not data:
                return


@contextmanager
def _raw_terminal() -> Iterator[None]:
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setraw(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
