"""kubectl as a function: output back, refusals as exceptions, nothing left in anybody's home."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


class KubectlError(RuntimeError):
    """kubectl ended with a status other than 0; ``stderr`` is what it said."""

    def __init__(self, arguments: Sequence[str], status: int, stderr: str) -> None:
        self.status = status
        self.stderr = stderr
        super().__init__(f"kubectl {' '.join(arguments)} ended with {status}: {stderr.strip()}")


class Kubectl:
    """Calls kubectl with one kubeconfig. ``check`` may raise before every call."""

    def __init__(
        self, program: Path, kubeconfig: Path, check: Callable[[], None] = lambda: None
    ) -> None:
        self.program = program
        self.kubeconfig = kubeconfig
        self._check = check

    def __call__(self, *arguments: str, stdin: str | None = None, timeout: float = 60.0) -> str:
        """What kubectl printed.

        Raises `KubectlError` when it refuses and `subprocess.TimeoutExpired` after ``timeout``
        seconds.
        """
        self._check()
        with tempfile.TemporaryDirectory(prefix="kubectl-") as cache:
            done = subprocess.run(
                [self.program, f"--cache-dir={cache}", *arguments],
                env=os.environ | {"KUBECONFIG": str(self.kubeconfig)},
                input="" if stdin is None else stdin,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
        if done.returncode:
            raise KubectlError(arguments, done.returncode, done.stderr)
        return done.stdout

    def get(self, *arguments: str) -> dict[str, Any]:
        """``kubectl get ... -o json``, read."""
        answer: dict[str, Any] = json.loads(self("get", *arguments, "-o", "json"))
        return answer

    def apply(self, *objects: Mapping[str, Any]) -> str:
        """``kubectl apply`` of the objects, in order."""
        items = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        return self("apply", "-f", "-", stdin=json.dumps(items))
