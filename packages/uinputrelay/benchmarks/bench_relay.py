"""What a moved event costs, beside a minimal C relay and python-evdev's objects; prints ratios.

Run inside the lab, as root: `python packages/uinputrelay/benchmarks/bench_relay.py`. Every
contender moves the same frames between two uinput devices; the CPU time is the relay process's own,
as the scheduler counts it, without its start. Absolute times of an emulated machine mean nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from uinputrelay import AbsInfo, NodeWish, PeripheralWish, Snapshot, Wish
from uinputrelay.engine import PACE, Engine
from uinputrelay.mirror import Blueprint, Mirror, blueprint

RATES = (1000, 8000)
SECONDS = 4
ROUNDS = 2
GOAL = 1.2
ADDRESS = "BENCH"
STICK = AbsInfo(128, 0, 255)
SHOT = Snapshot(
    "Benchmark Pad", 5, 1, 2, 3,
    types={0: (), 1: (304,), 3: (0, 1), 4: (4,)}, absinfo={0: STICK, 1: STICK},
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One contender at one rate: nanoseconds and frames."""

    cpu: float
    p50: int
    p99: int
    lost: int


def main() -> int:
    """Run every contender in turns, so that a busy host hurts all alike."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "relay")
        source = Path(__file__).with_name("relay.c")
        subprocess.run(["cc", "-O2", "-Wall", "-pthread", "-o", program, source], check=True)
        for rate in RATES:
            runs: dict[str, list[Run]] = {name: [] for name in CONTENDERS}
            for _ in range(ROUNDS):
                for name in CONTENDERS:
                    runs[name].append(_run(name, program, rate))
            _print(rate, runs)
    return 0


def _print(rate: int, runs: dict[str, list[Run]]) -> None:
    base = {name: median(run.cpu for run in runs[name]) for name in runs}
    direct = median(run.p50 for run in runs["direct"]), median(run.p99 for run in runs["direct"])
    c50, c99 = (median(getattr(run, p) for run in runs["c"]) for p in ("p50", "p99"))
    print(f"{rate} events/s, {ROUNDS} rounds of {SECONDS} s; ratios beside the C relay")
    print(f"  {'':12} {'CPU/event':>10} {'added p50':>10} {'added p99':>10} {'frames lost':>12}")
    for name, done in runs.items():
        if name == "direct":
            continue
        p50, p99 = (median(getattr(run, p) for run in done) for p in ("p50", "p99"))
        lost = sum(run.lost for run in done)
        print(
            f"  {name:12} {base[name] / base['c']:10.2f} {_ratio(p50, c50, direct[0]):>10}"
            f" {_ratio(p99, c99, direct[1]):>10} {lost:12}"
        )
    said = "met" if base["uinputrelay"] <= GOAL * base["c"] else "NOT met"
    print(f"  goal of {GOAL} times the C relay's CPU: {said}")


def _ratio(here: float, base: float, direct: float) -> str:
    """Compare latencies less what a reader of the source itself sees."""
    return f"{max(here - direct, 0) / max(base - direct, 1):.2f}"


def _run(name: str, program: Path, rate: int) -> Run:
    plan = Blueprint(b"Benchmark Pad", (5, 1, 2, 3), (), dict(SHOT.types), SHOT.absinfo)
    source = Mirror(plan, f"source/{ADDRESS}")
    try:
        with CONTENDERS[name](program, source) as (path, pid):
            before = _cpu(pid)
            done = subprocess.run(
                [program, "drive", str(source.fd), path, str(rate), str(SECONDS)],
                pass_fds=[source.fd], check=True, capture_output=True,
            )  # fmt: skip
            spent = _cpu(pid) - before
    finally:
        source.close()
    told = json.loads(done.stdout)
    events = told["frames"] * 4
    return Run(spent / events, told["p50"], told["p99"], told["frames"] - told["seen"])


def _cpu(pid: int) -> int:
    """Nanoseconds all threads of a process have run (Documentation/scheduler/sched-stats.rst)."""
    if pid == 0:
        return 0
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads)


@contextmanager
def _direct(_: Path, source: Mirror) -> Iterator[tuple[str, int]]:
    """No relay: the reader's own latency."""
    yield source.path, 0


@contextmanager
def _c(program: Path, source: Mirror) -> Iterator[tuple[str, int]]:
    mirror = Mirror(blueprint(SHOT), "bench/c")
    child = subprocess.Popen(
        [program, "relay", source.path, str(mirror.fd)],
        pass_fds=[mirror.fd], stdout=subprocess.PIPE,
    )  # fmt: skip
    with _ended(child):
        _first_line(child)
        yield mirror.path, child.pid
    mirror.close()


@contextmanager
def _python(kind: str, source: Mirror) -> Iterator[tuple[str, int]]:
    child = subprocess.Popen([sys.executable, __file__, kind, source.path], stdout=subprocess.PIPE)
    with _ended(child):
        yield _first_line(child), child.pid


@contextmanager
def _ours(_: Path, source: Mirror) -> Iterator[tuple[str, int]]:
    with _python("uinputrelay", source) as started:
        yield started


@contextmanager
def _unpaced(_: Path, source: Mirror) -> Iterator[tuple[str, int]]:
    with _python("unpaced", source) as started:
        yield started


@contextmanager
def _objects(_: Path, source: Mirror) -> Iterator[tuple[str, int]]:
    with _python("evdev", source) as started:
        yield started


@contextmanager
def _ended(child: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        child.kill()
        child.wait()


def _first_line(child: subprocess.Popen[bytes]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().decode().strip()


CONTENDERS = {
    "direct": _direct,
    "c": _c,
    "uinputrelay": _ours,
    "unpaced": _unpaced,
    "evdev objects": _objects,
}


def relay_with_uinputrelay(pace: float) -> None:
    """The engine as `uinputrelay serve` runs it, and without its pace."""
    engine = Engine(
        phys_prefix="bench.ours", belongs=lambda _, node: ADDRESS in node.phys, pace=pace
    )
    wish = Wish((PeripheralWish(ADDRESS, None, (NodeWish(SHOT, None),)),))
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
    if sys.argv[1:2] == ["uinputrelay"]:
        relay_with_uinputrelay(PACE)
    elif sys.argv[1:2] == ["unpaced"]:
        relay_with_uinputrelay(0)
    elif sys.argv[1:2] == ["evdev"]:
        relay_with_evdev_objects(sys.argv[2])
    else:
        os.environ.setdefault("PYTHONUNBUFFERED", "1")
        sys.exit(main())
