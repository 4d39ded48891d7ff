"""What only tests ask: Kubernetes' own answers to questions that draplugin answers too.

Selectors are put to Kubernetes' CEL library (``oracle/``), objects of resource.k8s.io/v1alpha3 to
an API server of 1.31 (``apiserver131/``), the last that serves that version with suitableNodes.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cluster import build, cache, components, rundir
from cluster.components import Options
from cluster.controlplane import ControlPlane
from cluster.progress import Say, to_stderr

_HERE = Path(__file__).parent
_OLD_GATES = {"DynamicResourceAllocation": True, "DRAControlPlaneController": True}
_OLD_APIS = {"resource.k8s.io/v1alpha3": True}
_NEW_APIS = {f"resource.k8s.io/{version}": True for version in ("v1", "v1beta2", "v1beta1")}


def ask_cel(pairs: Iterable[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """What Kubernetes says of each pair of expression and device; see oracle/main.go."""
    program = build.program(_HERE / "oracle", "oracle", ("-trimpath", "-ldflags=-s -w"))
    lines = (json.dumps({"expression": e, "device": device}) for e, device in pairs)
    done = subprocess.run(
        [program], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


class ApiServer(ControlPlane):
    """An API server with its etcd, and nothing that acts on what it holds."""

    def launch(self) -> None:
        """Start the two and wait until the API server is ready."""
        self._nursery.spawn("etcd", components.etcd(self.path))
        server = components.api_server(self.path, self._ports, self._options)
        self._nursery.spawn("kube-apiserver", server)
        self._wait_ready(self._ports.api_server, "/readyz")


def start_new(say: Say = to_stderr) -> ApiServer:
    """Start an API server that serves every version of resource.k8s.io it still knows.

    A context manager that stops it.
    """
    return _start(build.binaries(say), Options(runtime_config=_NEW_APIS), say)


def start_old(say: Say = to_stderr) -> ApiServer:
    """Start an API server of 1.31 that serves resource.k8s.io/v1alpha3, with suitableNodes.

    A context manager that stops it.
    """
    return _start(_old_binaries(say), Options(_OLD_GATES, _OLD_APIS), say)


def _start(binaries: Path, options: Options, say: Say) -> ApiServer:
    rundir.sweep(rundir.unprivileged())
    server = ApiServer(binaries, options, say)
    try:
        server.launch()
    except BaseException:
        server.abandon()
        raise
    return server


def _old_binaries(say: Say) -> Path:
    source, newer = _HERE / "apiserver131", build.binaries(say)
    version = build.kubernetes_version((source / "go.mod").read_text())
    program = build.program(source, "kube-apiserver", build.flags(version), say)

    def make(folder: Path) -> None:
        (folder / "kube-apiserver").symlink_to(program)
        for name in ("etcd", "kubectl"):
            (folder / name).symlink_to((newer / name).resolve())

    return cache.entry(f"binaries131-{cache.key(str(program), str(newer))}", make)
