"""What a driver costs while nothing happens, beside processes that do nothing at all.

    python benchmarks/idle.py [seconds]

The driver is the example, in a process of its own, registered with the kubelet of
draplugin.testing and watching its slice; the kubelet and the API server are in this process and
say nothing either. Beside it, for the same time: an asyncio server on a unix socket, and a gRPC
server without a service. CPU time and memory are the kernel's (`schedstat` and `status` in /proc);
wakeups are voluntary context switches of all threads, which is what keeps a CPU from sleeping.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from draplugin.testing import FakeKubelet
from tests.builders import DRIVER, NODE
from tests.scripted import ScriptedServer, answer

EXAMPLE = Path(__file__).parents[1] / "examples" / "fortune-driver" / "fortune_driver.py"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
# Imports, the first list and the first garbage collections are not idling.
SETTLE = 3.0

ASYNCIO = """
import asyncio, sys

async def main():
    async with await asyncio.start_unix_server(lambda r, w: None, sys.argv[1]) as server:
        print(flush=True)
        await server.serve_forever()

asyncio.run(main())
"""
GRPC = """
import asyncio, sys
import grpc.aio

async def main():
    server = grpc.aio.server()
    server.add_insecure_port("unix:" + sys.argv[1])
    await server.start()
    print(flush=True)
    await server.wait_for_termination()

asyncio.run(main())
"""


@dataclass(frozen=True)
class Spent:
    """What a process has used: CPU seconds and wakeups since its start, MiB now, threads now."""

    cpu: float
    wakeups: int
    memory: float
    threads: int


def spent(pid: int) -> Spent:
    """What the kernel has counted for a process."""
    process = Path(f"/proc/{pid}")
    tasks = list((process / "task").iterdir())
    wakeups = sum(int(_status(task / "status")["voluntary_ctxt_switches"]) for task in tasks)
    cpu = sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
    memory = int(_status(process / "status")["VmRSS"].split()[0]) / 1024
    return Spent(cpu, wakeups, memory, len(tasks))


def _status(path: Path) -> dict[str, str]:
    lines = (line.partition(":") for line in path.read_text().splitlines())
    return {name: value.strip() for name, _, value in lines}


class Slices:
    """The collection of slices: what is put there comes back in an open watch."""

    def __init__(self, server: ScriptedServer) -> None:
        self.made: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.told = asyncio.Event()
        empty = {"items": [], "metadata": {"resourceVersion": "5"}}
        server.shows(f"/api/v1/nodes/{NODE}", {"metadata": {"name": NODE, "uid": "node"}})
        server.on("GET", SLICES, answer(empty))
        server.on("POST", SLICES, self.create)
        server.on("WATCH", SLICES, self.watch)

    async def create(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        body["metadata"] |= {"resourceVersion": "6", "uid": "slice"}
        self.made.put_nowait(body)
        return web.json_response(body, status=201)

    async def watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            event = {"type": "ADDED", "object": await self.made.get()}
            await response.write(json.dumps(event).encode() + b"\n")
            self.told.set()


@asynccontextmanager
async def process(*command: str, **environment: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A Python process, ended with the block."""
    started = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield started
    finally:
        started.terminate()
        await started.wait()


@asynccontextmanager
async def driver(root: Path) -> AsyncIterator[int]:
    """The example driver, registered and with its slice published."""
    async with ScriptedServer() as server, FakeKubelet(root) as kubelet:
        slices = Slices(server)
        environment = {
            "NODE_NAME": NODE,
            "KUBECONFIG": str(_kubeconfig(root, server.url)),
            "KUBELET_PLUGINS": str(kubelet.plugins_dir),
            "KUBELET_REGISTRY": str(kubelet.registry_dir),
            "CDI_DIR": str(root / "cdi"),
        }
        async with process(str(EXAMPLE), **environment) as started:
            await kubelet.registered(DRIVER, timeout=60)
            async with asyncio.timeout(60):
                await slices.told.wait()
            yield started.pid


def _kubeconfig(root: Path, url: str) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = root / "kubeconfig"
    path.write_text(json.dumps(config))
    return path


@asynccontextmanager
async def bare(root: Path, code: str) -> AsyncIterator[int]:
    """A server that nobody calls."""
    async with process("-c", code, str(root / f"{len(code)}.sock")) as started:
        assert started.stdout is not None
        await started.stdout.readline()
        yield started.pid


async def measure(seconds: float) -> Mapping[str, tuple[Spent, Spent]]:
    """Each process before and after so many seconds, all at the same time."""
    async with AsyncExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="k")))
        pids = {
            "asyncio server": await stack.enter_async_context(bare(root, ASYNCIO)),
            "gRPC server": await stack.enter_async_context(bare(root, GRPC)),
            "fortune driver": await stack.enter_async_context(driver(root)),
        }
        await asyncio.sleep(SETTLE)
        before = {name: spent(pid) for name, pid in pids.items()}
        await asyncio.sleep(seconds)
        return {name: (before[name], spent(pid)) for name, pid in pids.items()}


def main() -> None:
    """Print a table; the last row over the row above is what the framework adds."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 30.0
    began = time.monotonic()
    measured = asyncio.run(measure(seconds))
    least = measured["asyncio server"][1].memory
    print(f"{seconds:.0f} s of idling, as a minute would be")
    for name, (before, after) in measured.items():
        minute = 60 / seconds
        print(
            f"{name:15} CPU {(after.cpu - before.cpu) * minute * 1e3:4.0f} ms/min, "
            f"{(after.wakeups - before.wakeups) * minute:6.0f} wakeups/min, "
            f"{after.threads:2} threads, {after.memory:3.0f} MiB ({after.memory / least:.1f} x)"
        )
    print(f"took {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
