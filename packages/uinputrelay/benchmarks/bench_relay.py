"""What a moved event costs, beside a minimal C relay and python-evdev's objects; prints ratios.

Run inside the lab, as root: `python packages/uinputrelay/benchmarks/bench_relay.py`. Every
contender moves the same frames between two uinput devices of its own. All of them run from the
start, so that nobody's start is counted, and are driven one after the other, round by round, so
that a busy host hurts all alike. The CPU time is the relay process's own, as the scheduler counts
it. Absolute times of an emulated machine mean nothing; the ratios are of the same round.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from uinputrelay import AbsInfo, NodeWish, PeripheralWish, Snapshot, Wish
from uinputrelay.engine import PACE, Engine
from uinputrelay.mirror import Blueprint, Mirror, blueprint

RATES = (1000, 8000)  # events/s; a frame has four
SECONDS = 2
ROUNDS = 7  # one alone is off by half on a busy host
GOAL = 1.2
STICK = AbsInfo(128, 0, 255)
SHOT = Snapshot(
    "Benchmark Pad", 5, 1, 2, 3,
    types={0: (), 1: (304,), 3: (0, 1), 4: (4,)}, absinfo={0: STICK, 1: STICK},
)  # fmt: skip
PYTHON_RELAYS = ("uinputrelay", "unpaced", "objects")


@dataclass(frozen=True)
class Relay:
    """A contender: its process moves from ``source`` to the node at ``path``; pid 0 for none."""

    source: Mirror
    path: str
    pid: int = 0


@dataclass(frozen=True)
class Run:
    """One contender in one round: nanoseconds of CPU per moved event, of latency; lost frames."""

    cpu: float
    p50: int
    p99: int
    lost: int


def main() -> int:
    """Start everything, drive it, print."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        program = Path(folder, "relay")
        source = Path(__file__).with_name("relay.c")
        subprocess.run(["cc", "-O2", "-Wall", "-pthread", "-o", program, source], check=True)
        relays = _start_all(stack, program)
        subprocess.run(["udevadm", "settle"], check=True)
        for rate in RATES:
            rounds = [
                {name: _drive(program, relay, rate) for name, relay in relays.items()}
                for _ in range(ROUNDS)
            ]
            _print(rate, rounds)
    return 0


def _start_all(stack: ExitStack, program: Path) -> dict[str, Relay]:
    """Start every contender at once, and wait until each moves events."""
    sources = {
        name: stack.enter_context(_device(f"source/{name}"))
        for name in ("direct", "c", *PYTHON_RELAYS)
    }
    c_mirror = stack.enter_context(_device("bench/c"))
    c = stack.enter_context(
        _process(program, "relay", sources["c"].path, str(c_mirror.fd), inherited=c_mirror.fd)
    )
    started = {
        name: stack.enter_context(_process(sys.executable, __file__, name, sources[name].path))
        for name in PYTHON_RELAYS
    }
    _first_line(c)
    return {
        "direct": Relay(sources["direct"], sources["direct"].path),
        "c": Relay(sources["c"], c_mirror.path, c.pid),
        **{n: Relay(sources[n], _first_line(child), child.pid) for n, child in started.items()},
    }


@contextmanager
def _device(phys: str) -> Iterator[Mirror]:
    plan: Blueprint = blueprint(SHOT)
    device = Mirror(plan, phys)
    try:
        yield device
    finally:
        device.close()


@contextmanager
def _process(*words: str | Path, inherited: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    kept = () if inherited is None else (inherited,)
    child = subprocess.Popen(words, pass_fds=kept, stdout=subprocess.PIPE)
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def _first_line(child: subprocess.Popen[bytes]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().decode().strip()


def _drive(program: Path, relay: Relay, rate: int) -> Run:
    fd = relay.source.fd
    before = _cpu(relay.pid)
    command: list[str | Path] = [program, "drive", str(fd), relay.path, str(rate), str(SECONDS)]
    done = subprocess.run(command, pass_fds=[fd], check=True, stdout=subprocess.PIPE)
    spent = _cpu(relay.pid) - before
    told = json.loads(done.stdout)
    moved = max(4 * told["seen"], 1)
    return Run(spent / moved, told["p50"], told["p99"], told["frames"] - told["seen"])


def _cpu(pid: int) -> int:
    """Nanoseconds all threads of a process have run (Documentation/scheduler/sched-stats.rst)."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat") if pid else ()
    return sum(int(thread.read_text().split()[0]) for thread in threads)


def _print(rate: int, rounds: Sequence[Mapping[str, Run]]) -> None:
    print(
        f"{rate} events/s, {ROUNDS} rounds of {SECONDS} s; beside the C relay (this machine's ms)"
    )
    print(f"  {'':12} {'CPU/event':>10} {'added p50':>18} {'added p99':>18} {'frames lost':>12}")
    for name in rounds[0]:
        if name == "direct":
            continue
        cpu = median(each[name].cpu / each["c"].cpu for each in rounds)
        lost = sum(each[name].lost for each in rounds)
        p50, p99 = (_added(rounds, name, which) for which in ("p50", "p99"))
        print(f"  {name:12} {cpu:10.2f} {p50:>18} {p99:>18} {lost:12}", flush=True)
    print(f"  goal of {GOAL} times the C relay's CPU and no frame lost: {_verdict(rounds)}")


def _verdict(rounds: Sequence[Mapping[str, Run]]) -> str:
    if any(each[name].lost for each in rounds for name in ("direct", "c")):
        return "not to be told: this machine is too busy for this rate, the C relay loses frames"
    ratio = median(each["uinputrelay"].cpu / each["c"].cpu for each in rounds)
    lost = any(each["uinputrelay"].lost for each in rounds)
    return "NOT met" if lost or ratio > GOAL else "met"


def _added(rounds: Sequence[Mapping[str, Run]], name: str, which: str) -> str:
    """Latency less what a reader of the source itself sees, beside the C relay's."""
    here, c = (
        median(getattr(each[who], which) - getattr(each["direct"], which) for each in rounds)
        for who in (name, "c")
    )
    return f"{here / max(c, 1):.2f} ({here / 1e6:.2f})"


def relay_with_uinputrelay(name: str, pace: float) -> None:
    """The engine as `uinputrelay serve` runs it, and without its pace."""
    engine = Engine(
        phys_prefix=f"bench.{name}",
        belongs=lambda _, node: node.phys == f"source/{name}",
        pace=pace,
    )
    wish = Wish((PeripheralWish("BENCH", None, (NodeWish(SHOT, None),)),))
    engine.apply(wish)
    while not (node := engine.observe().peripherals[0].nodes[0]).connected:
        engine.step(0.1)
    print(node.path, flush=True)
    engine.run()


def relay_with_evdev_objects(path: str) -> None:
    """What most Python relays do: an object and a write for every event."""
    import evdev

    device = evdev.InputDevice(path)
    with evdev.UInput.from_device(device, name="Benchmark Pad") as mirror:
        print(mirror.device.path, flush=True)
        for event in device.read_loop():
            mirror.write_event(event)


if __name__ == "__main__":
    if sys.argv[1:2] == ["objects"]:
        relay_with_evdev_objects(sys.argv[2])
    elif len(sys.argv) > 1:
        relay_with_uinputrelay(sys.argv[1], 0 if sys.argv[1] == "unpaced" else PACE)
    else:
        sys.exit(main())
