"""A program that runs beside a test: started, watched, ended, its output kept."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

POLL_SECONDS = 0.05
STOP_SECONDS = 20.0


class DaemonError(Exception):
    """A daemon did not do what it is there for; carries the end of its log."""


class Daemon:
    """One program. It may be started again after its end; the log is appended to."""

    def __init__(self, name: str, argv: Sequence[str], logs: Path) -> None:
        self.name = name
        self.argv = list(argv)
        self.log = logs / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process, f"{self.name} was not started"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def launch(self, environment: Mapping[str, str] | None = None) -> None:
        """Start the program; `wait_until` tells when it is of use."""
        assert not self.running, f"{self.name} runs already"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.argv,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # SIGPIPE stays ignored, as a service manager has it (systemd.exec(5), IgnoreSIGPIPE):
                # btvirt would die of a peer that vanished in mid-word.
                restore_signals=False,
            )

    def wait_until(self, done: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
        """Wait for the program to bring something about; DaemonError when it does not."""
        end = time.monotonic() + seconds
        while not done():
            if not self.running:
                raise self.error(f"ended before {what}")
            if time.monotonic() > end:
                raise self.error(f"no {what} in {seconds:.0f} s")
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """SIGTERM and wait. DaemonError if it had ended by itself or does not end."""
        if self._process is None:
            return
        if self._process.poll() is not None:
            error = self.error(f"had ended by itself with status {self._process.returncode}")
            self._process = None
            raise error
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self.error("had to be killed") from None
        self._process = None

    def kill(self, number: int = signal.SIGKILL) -> None:
        """End it as a crash would, and wait until it is gone."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None

    def said(self) -> str:
        """What it has put out so far."""
        return said(self.log)

    def error(self, text: str) -> DaemonError:
        """An error with the end of the log."""
        tail = self.said().splitlines()[-15:]
        return DaemonError("\n".join([f"{self.name} {text} ({self.log})", *tail]))


def said(log: Path) -> str:
    """What a program has put into its log so far, "" before it is there."""
    while True:
        try:
            return log.read_text(errors="replace") if log.exists() else ""
        except OSError as error:
            # Linux 7.2 says so of a 9p file that grew between the look at its size and the read.
            if error.errno != errno.ENODATA:
                raise
