"""A driver process that kills itself at a chosen point of its work; run by test_kill.py.

Points are counted from the moment a prepare or unprepare begins: each await at which it stands
still, and each file it opens, renames or removes. Lines on stdin are `<operation> <point> <root>
<url>`; for each a child is forked that serves until it is killed, by itself or by an end of file.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from draplugin import Api, Claim, ClaimRef, Plugin, Prepared, cdi
from draplugin.claimservice import ClaimService
from draplugin.kube.transport import KubernetesTransport
from kubernetes.aio.client.api_client import ApiClient
from kubernetes.aio.client.configuration import Configuration

DRIVER = "fortune.example.com"
FILE_EVENTS = frozenset({"open", "os.rename", "os.remove", "os.mkdir", "os.scandir"})


class Bomb:
    """Counts points while armed and kills the process at the chosen one."""

    def __init__(self, point: int, root: Path) -> None:
        self.left = point
        self.root = str(root)
        self.armed = False

    def point(self) -> None:
        if self.armed:
            self.left -= 1
            if self.left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.armed and event in FILE_EVENTS and str(arguments[0]).startswith(self.root):
            self.point()

    def watch(self, work: Coroutine[Any, Any, Any]) -> Stepped:
        return Stepped(self, work)


class Stepped:
    """Runs a coroutine and counts every point at which it stands still."""

    def __init__(self, bomb: Bomb, work: Coroutine[Any, Any, Any]) -> None:
        self.bomb, self.work = bomb, work

    def __await__(self) -> Generator[Any, Any, Any]:
        self.bomb.armed = True
        resume: Callable[[], Any] = partial(self.work.send, None)
        try:
            while True:
                self.bomb.point()
                wanted = resume()
                try:
                    resume = partial(self.work.send, (yield wanted))
                except BaseException as error:
                    resume = partial(self.work.throw, error)
        except StopIteration as end:
            self.bomb.point()
            return end.value
        finally:
            self.bomb.armed = False


class Locksmith:
    """A driver with a lasting effect outside of CDI: one lock file for each claim."""

    def __init__(self, locks: Path) -> None:
        self.locks = locks
        locks.mkdir(exist_ok=True)

    async def prepare(self, claim: Claim) -> Sequence[Prepared]:
        await asyncio.sleep(0)
        (self.locks / claim.uid).write_text(claim.name)
        await asyncio.sleep(0)
        return [Prepared(a.device, a.pool, env={"LOCK": claim.uid}) for a in claim.allocations]

    async def unprepare(self, ref: ClaimRef) -> None:
        await asyncio.sleep(0)
        (self.locks / ref.uid).unlink(missing_ok=True)
        await asyncio.sleep(0)


def plugin(root: Path, url: str) -> Plugin:
    """The plugin of a locksmith below `root`."""
    configuration = Configuration()
    configuration.host = url
    api = Api(KubernetesTransport(ApiClient(configuration)))
    store = cdi.Store(root / "cdi", f"{DRIVER}/cookie")
    return Plugin(
        DRIVER,
        "node-1",
        Locksmith(root / "locks"),
        api,
        cdi=store,
        plugins_dir=root / "plugins",
        registry_dir=root / "plugins_registry",
        events=False,
        collect_orphans=False,
    )


def arm(operation: str, bomb: Bomb) -> None:
    """Put the bomb under one operation."""
    name = f"_{operation}"
    original = getattr(ClaimService, name)

    async def stepped(self: ClaimService, ref: ClaimRef) -> Any:
        return await bomb.watch(original(self, ref))

    setattr(ClaimService, name, stepped)
    sys.addaudithook(bomb.audit)


async def serve(root: Path, url: str) -> None:
    await plugin(root, url).start()
    await asyncio.Event().wait()


def main() -> None:
    """Fork a child for each line; say how it ended."""
    for line in sys.stdin:
        operation, point, root, url = line.split()
        child = os.fork()
        if child == 0:
            arm(operation, Bomb(int(point), Path(root)))
            asyncio.run(serve(Path(root), url))
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else "ended", flush=True)


if __name__ == "__main__":
    main()
