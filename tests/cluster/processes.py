"""Components as child processes that cannot outlive their parent and do not die unnoticed."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cluster.rundir import Account

_TAIL_LINES = 25
# Agreed with controlplane/main.go.
_PARENT_VARIABLE = "CONTROLPLANE_PARENT"


class ComponentDiedError(RuntimeError):
    """A component ended by itself. ``tail`` is the end of its log."""

    def __init__(self, name: str, status: int, log: Path) -> None:
        self.name = name
        self.status = status
        self.tail = tail(log)
        ended = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        super().__init__(f"{name} {ended}; the end of {log}:\n{self.tail}")


def tail(log: Path, lines: int = _TAIL_LINES) -> str:
    """The last lines of a log, or a word that there is none."""
    try:
        with log.open(errors="replace") as handle:
            return "".join(deque(handle, maxlen=lines)) or "(the log is empty)"
    except FileNotFoundError:
        return "(there is no log)"


class Component:
    """One running component and its log."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.log = log
        self.pid = process.pid
        self._process = process
        self._stopping = False

    @property
    def death(self) -> ComponentDiedError | None:
        """Why the component is gone, or None while it runs or when it was asked to stop."""
        status = self._process.poll()
        if status is None or self._stopping:
            return None
        return ComponentDiedError(self.name, status, self.log)

    def ask_to_stop(self) -> None:
        """Send SIGTERM; the end that follows is no death."""
        self._stopping = True
        self._process.terminate()

    def wait(self, seconds: float) -> None:
        """Wait for the end that was asked for; kill when it does not come."""
        self._stopping = True
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def watch(self, report: Callable[[ComponentDiedError], None]) -> None:
        """Call ``report`` from a thread of its own when the component dies."""

        def wait() -> None:
            self._process.wait()
            death = self.death
            if death is not None:
                report(death)

        threading.Thread(target=wait, name=f"watch {self.name}", daemon=True).start()


class Nursery:
    """Starts components and stops them all.

    The kernel's parent-death signal follows the *thread* that started a child (prctl(2)), so
    all are started by one thread that lives as long as the nursery.
    """

    def __init__(self, binaries: Path, logs: Path, account: Account | None) -> None:
        self._binaries = binaries
        self._logs = logs
        self._account = account
        self._parent = ThreadPoolExecutor(1, thread_name_prefix="parent of components")
        self._report: Callable[[ComponentDiedError], None] = lambda death: None
        self.components: list[Component] = []

    def on_death(self, report: Callable[[ComponentDiedError], None]) -> None:
        """Whom to tell about deaths from now on."""
        self._report = report

    def spawn(
        self,
        name: str,
        arguments: Sequence[str],
        program: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Component:
        """Start a component with its output in ``<name>.log``.

        Without a ``program`` it is the Kubernetes component of that name.
        """
        command = [str(program or self._binaries / name), *arguments]
        started = self._parent.submit(self._start, name, command, environment or {})
        component = started.result()
        self.components.append(component)
        component.watch(lambda death: self._report(death))
        return component

    def _start(self, name: str, command: list[str], environment: Mapping[str, str]) -> Component:
        log = self._logs / f"{name}.log"
        account = self._account
        # The cache may lie in a home that the account cannot enter; an open file it can run.
        program = os.open(command[0], os.O_RDONLY | os.O_CLOEXEC)
        try:
            with log.open("ab") as output:
                process = subprocess.Popen(
                    command,
                    executable=f"/proc/self/fd/{program}" if account else None,
                    pass_fds=[program] if account else [],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd="/",
                    env={**self._environment(), **environment},
                    # Ctrl-C in a terminal is for the parent, which stops them in order.
                    start_new_session=True,
                    user=account.uid if account else None,
                    group=account.gid if account else None,
                    extra_groups=() if account else None,
                )
        finally:
            os.close(program)
        return Component(name, process, log)

    def _environment(self) -> dict[str, str]:
        path = os.environ.get("PATH", os.defpath)
        return {"PATH": path, "HOME": str(self._logs), _PARENT_VARIABLE: str(os.getpid())}

    def stop(self, component: Component, seconds: float = 5.0) -> None:
        """Stop one of them; killed after ``seconds``."""
        component.ask_to_stop()
        component.wait(seconds)
        self.components.remove(component)

    def check(self) -> None:
        """Raise `ComponentDiedError` when one of them is gone."""
        for component in self.components:
            if (death := component.death) is not None:
                raise death

    def close(self, seconds: float = 5.0) -> None:
        """Stop all, the last started first; none is left when this returns."""
        deadline = time.monotonic() + seconds
        for component in reversed(self.components):
            component.ask_to_stop()
            component.wait(max(0.1, deadline - time.monotonic()))
        self._parent.shutdown()
