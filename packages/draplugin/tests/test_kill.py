"""kill -9 at every point of prepare and unprepare; then a restart and the kubelet's retry.

Whatever the point: the same answer as if nothing had happened, the device in one claim's hands,
and after unprepare nothing left on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from draplugin.testing import FakeKubelet, KubeletDevice, PrepareFailed, UnprepareFailed

from . import mortal
from .builders import DRIVER, claim_object, claim_path, ref
from .scripted import ScriptedServer
from .waiting import until

TREE = Path(__file__).parent
Answers = dict[str, tuple[KubeletDevice, ...]]


class Mortals:
    """Driver processes that die at a chosen point, forked from one that has imported all."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @asynccontextmanager
    async def dying(self, operation: str, point: int, root: Path, url: str) -> AsyncIterator[None]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{operation} {point} {root} {url}\n".encode())
        child = int(await self._line())
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            assert await self._line() == "killed"

    async def _line(self) -> str:
        assert self._process.stdout is not None
        return (await self._process.stdout.readline()).decode().strip()


@pytest.fixture
async def mortals() -> AsyncIterator[Mortals]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(TREE / "mortal.py"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    yield Mortals(process)
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()


PLACES = ("cdi", "locks", f"plugins/{DRIVER}", "plugins_registry")


def on_disk(root: Path, *places: str) -> list[str]:
    """What there is of the driver: CDI files, locks, sockets."""
    places = places or PLACES
    return sorted(str(p.relative_to(root)) for place in places for p in (root / place).glob("*"))


@asynccontextmanager
async def recovered(kubelet: FakeKubelet, root: Path, url: str) -> AsyncIterator[None]:
    """The next instance of the driver, known to the kubelet."""
    plugin = mortal.plugin(root, url)
    async with plugin:
        await until(lambda: plugin.registration.state == "registered")
        yield
    await plugin._api.close()


@pytest.mark.timeout(240)
async def test_killed_anywhere_in_prepare_the_retry_gets_the_same_answer(
    kubelet_root: Path, server: ScriptedServer, mortals: Mortals
) -> None:
    server.shows(claim_path(ref()), claim_object(ref()))
    answers: dict[int, Answers] = {}
    for point in itertools.count():
        root = kubelet_root / str(point)
        async with FakeKubelet(root) as kubelet:
            died = False
            async with mortals.dying("prepare", point, root, server.url):
                await kubelet.registered(DRIVER)
                try:
                    answers[point] = await kubelet.prepare(DRIVER, ref())
                except PrepareFailed:
                    died = True
            async with recovered(kubelet, root, server.url):
                if died:
                    answers[point] = await kubelet.prepare(DRIVER, ref())
                assert on_disk(root, "cdi", "locks") == [
                    f"cdi/{DRIVER}-{ref().uid}.json",
                    f"locks/{ref().uid}",
                ], f"point {point}"
                await kubelet.unprepare(DRIVER, ref())
            assert on_disk(root) == [], f"point {point}"
        if not died:
            break
    assert all(answer == answers[point] for answer in answers.values())
    assert point > 8, "the bomb was not under the work"


@pytest.mark.timeout(240)
@pytest.mark.parametrize("operation", ["prepare", "unprepare"])
async def test_killed_anywhere_and_unprepared_nothing_is_left(
    kubelet_root: Path, server: ScriptedServer, mortals: Mortals, operation: str
) -> None:
    server.shows(claim_path(ref()), claim_object(ref()))
    for point in itertools.count():
        root = kubelet_root / str(point)
        async with FakeKubelet(root) as kubelet:
            died = False
            async with mortals.dying(operation, point, root, server.url):
                await kubelet.registered(DRIVER)
                try:
                    await kubelet.prepare(DRIVER, ref())
                    await kubelet.unprepare(DRIVER, ref())
                except (PrepareFailed, UnprepareFailed):
                    died = True
            async with recovered(kubelet, root, server.url):
                await kubelet.unprepare(DRIVER, ref())
            assert on_disk(root) == [], f"point {point}"
        if not died:
            break
    assert point > 5, "the bomb was not under the work"
