"""The conformance suite: the example passes, and each broken driver fails exactly one check."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from draplugin import Api
from draplugin.conformance import test_conformance as suite
from draplugin.conformance.bench import Make, bench

from .broken import BROKEN, driver

if TYPE_CHECKING:
    from cluster.controlplane import ControlPlane

pytestmark = pytest.mark.api
# One loop for all: grpc keeps what it made for a loop beyond the loop's end.
one_loop = pytest.mark.asyncio(loop_scope="module")
AT_ONCE = 7
# What the suite itself gives a check.
CHECK_SECONDS = 60
EXAMPLE = Path(__file__).parents[2] / "examples" / "fortune-driver"
CHECKS = {
    name: check
    for name, check in inspect.getmembers(suite, inspect.iscoroutinefunction)
    if name.startswith("test_")
}


async def failing(make: Make, kubeconfig: Path) -> dict[str, str]:
    """The checks a driver fails, each with its reason; several at once, on nodes of their own."""
    places = asyncio.Semaphore(AT_ONCE)

    async def run(name: str, admin: Api) -> str:
        with tempfile.TemporaryDirectory(prefix="k") as root:
            async with places, bench(kubeconfig, Path(root), make, admin) as on_bench:
                try:
                    async with asyncio.timeout(CHECK_SECONDS):
                        await CHECKS[name](on_bench)
                except (Exception, pytest.fail.Exception) as error:
                    return f"{type(error).__name__}: {error}"
                return ""

    async with await Api.connect(kubeconfig, manager="bench") as admin:
        verdicts = await asyncio.gather(*(run(name, admin) for name in CHECKS))
    return {name: verdict for name, verdict in zip(CHECKS, verdicts, strict=True) if verdict}


@one_loop
async def test_a_driver_without_fault_fails_nothing(api: Path) -> None:
    assert await failing(driver(), api) == {}


def test_there_is_a_broken_driver_for_every_check() -> None:
    assert sorted(BROKEN) == sorted(CHECKS)


@one_loop
@pytest.mark.parametrize("check", sorted(BROKEN))
async def test_a_broken_driver_fails_one_check_only(api: Path, check: str) -> None:
    async with BROKEN[check]() as make:
        verdicts = await failing(make, api)
    assert list(verdicts) == [check], verdicts


def test_the_example_passes_by_the_command_that_driver_authors_use(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "pytest", "--pyargs", "draplugin.conformance", "-q"]
    command += [
        "--driver",
        "fortune_driver:make",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(EXAMPLE),
    ]
    environment = {**os.environ, "KUBEBUILDER_ASSETS": str(control_plane.binaries)}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        command, cwd=EXAMPLE, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(CHECKS)} passed" in done.stdout
