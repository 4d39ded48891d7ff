"""The one process that emulated controllers are forked from, started once for a test run."""

from __future__ import annotations

import asyncio
import atexit
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Loading bumble took over a minute on a busy emulated machine.
_SECONDS = 300.0

_process: subprocess.Popen[bytes] | None = None
_folder: tempfile.TemporaryDirectory[str] | None = None


def prepare() -> None:
    """Start it, if it does not run yet, without waiting until it is of use."""
    global _process, _folder
    if _process and _process.poll() is None:
        return
    _folder = tempfile.TemporaryDirectory(prefix="lab-controllers-", dir="/run")
    with _log().open("ab") as log:
        _process = subprocess.Popen(
            [sys.executable, "-m", "lab.controllers.serve", str(_socket())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    atexit.register(end)


def end() -> None:
    """End it; controllers that live on are not touched."""
    global _process
    if _process:
        _process.kill()
        _process.wait()
        _process = None
    if _folder:
        _folder.cleanup()


async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that is a new controller's; waits until the process is ready.

    Raises RuntimeError with its log when it ends instead.
    """
    prepare()
    assert _process
    async with asyncio.timeout(_SECONDS):
        while not _socket().is_socket():
            if _process.poll() is not None:
                raise RuntimeError(f"controllers cannot be made:\n{_log().read_text()[-3000:]}")
            await asyncio.sleep(0.1)
    while True:
        try:
            return await asyncio.open_unix_connection(str(_socket()))
        except ConnectionRefusedError:  # bound, and not listening yet
            await asyncio.sleep(0.05)


def _socket() -> Path:
    assert _folder
    return Path(_folder.name, "socket")


def _log() -> Path:
    assert _folder
    return Path(os.environ.get("LAB_RESULTS") or _folder.name, "controllers.log")
