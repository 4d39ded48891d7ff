"""What the framework costs on top of a driver's own work.

    python benchmarks/prepare.py

Prints, for this machine and this moment: how long the kubelet waits for a prepare and an unprepare,
as a multiple of the bare GET of the claim that no driver can do without; how that grows with the
claims already on the node; and what a plugin costs while nothing happens.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from draplugin import cdi
from draplugin.kube import RESOURCECLAIMS
from draplugin.testing import FakeKubelet
from tests.builders import DRIVER, claim_object, claim_path, ref
from tests.driver import Fortune, make
from tests.scripted import ScriptedServer

ROUNDS = 100
# Memory where there is some, as the directories under /run are on a node.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
IDLE_SECONDS = 5.0


async def timed(work: Callable[[int], Awaitable[object]]) -> float:
    """The median seconds of the work."""
    spent = []
    for number in range(ROUNDS):
        began = time.perf_counter()
        await work(number)
        spent.append(time.perf_counter() - began)
    return statistics.median(spent)


async def run(held: int) -> tuple[float, float, float]:
    """Seconds of a bare GET, a prepare and an unprepare with so many claims on the node."""
    with tempfile.TemporaryDirectory(prefix="k", dir=MEMORY) as root:
        async with ScriptedServer() as server, FakeKubelet(Path(root)) as kubelet:
            store = cdi.Store(Path(root) / "cdi", f"{DRIVER}/cookie")
            api = server.api()
            for number in range(held + ROUNDS):
                claim = ref(number)
                server.shows(claim_path(claim), claim_object(claim, f"cookie-{number}"))
            async with make(Fortune(), store, api, kubelet):
                await kubelet.registered(DRIVER)
                for number in range(held):
                    await kubelet.prepare(DRIVER, ref(ROUNDS + number))
                get = await timed(lambda n: api.get(RESOURCECLAIMS, ref(n).name, "default"))
                prepare = await timed(lambda n: kubelet.prepare(DRIVER, ref(n)))
                unprepare = await timed(lambda n: kubelet.unprepare(DRIVER, ref(n)))
                return get, prepare, unprepare


async def idle() -> float:
    """The share of one CPU that a registered plugin uses while nothing happens."""
    with tempfile.TemporaryDirectory(prefix="k") as root:
        async with ScriptedServer() as server, FakeKubelet(Path(root)) as kubelet:
            store = cdi.Store(Path(root) / "cdi", f"{DRIVER}/cookie")
            async with make(Fortune(), store, server.api(), kubelet):
                await kubelet.registered(DRIVER)
                await kubelet.stop()
                began = time.process_time()
                await asyncio.sleep(IDLE_SECONDS)
                return (time.process_time() - began) / IDLE_SECONDS


def main() -> None:
    """Print the figures."""
    for held in (0, 10, 50):
        get, prepare, unprepare = asyncio.run(run(held))
        print(
            f"{held:3} claims on the node: bare GET {get * 1e3:.2f} ms, "
            f"prepare {prepare / get:.1f} x, unprepare {unprepare / get:.1f} x"
        )
    print(f"idle: {asyncio.run(idle()):.3%} of a CPU")
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"largest resident size: {largest / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
