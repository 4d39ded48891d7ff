"""A control plane on the host: etcd, kube-apiserver, kube-controller-manager, kube-scheduler.

    with cluster.controlplane.start() as cp:
        cp.kubectl("get", "namespaces")

Real components as unprivileged processes on free ports, with keys of their own, in a folder of
their own. All of it is gone when the block ends, and also when this process is killed.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from cluster import build, components, ports, rundir
from cluster.components import HOST_FROM_GUEST, LOOPBACK, Options, Ports
from cluster.kubeconfig import kubeconfig, write_private
from cluster.kubectl import Kubectl
from cluster.pki import Authority, Pair, new_key, private_pem
from cluster.processes import Component, ComponentDiedError, Nursery
from cluster.progress import Progress, Say, to_stderr
from cluster.tunnel import Tunnel

# Seconds until a control plane that is not ready never will be.
_READY_TIMEOUT = 180.0
_POLL = 0.05
# Another program may take a port between the look and the use.
_ATTEMPTS = 3
# Without it, which the controller manager makes, every pod is refused.
_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
_PORT_TAKEN = "address already in use"


@dataclass(frozen=True)
class NodeFolder:
    """The files a guest needs to be a node. ``path`` is to be shared with it, read-only.

    ``node.json`` names the node; admin.kubeconfig, node.kubeconfig, ca.crt, kubelet.crt,
    kubelet.key and tunnel.json lie beside it, all with the host as the guest sees it.
    """

    name: str
    path: Path


class ControlPlane:
    """A running control plane. Made by `start`; a context manager that stops it.

    ``kubeconfig`` and ``kubectl`` are the cluster's admin here; ``guest_kubeconfig`` is the
    admin as a guest sees the host. ``server`` and ``guest_server`` are the two addresses.
    """

    def __init__(self, binaries: Path, options: Options, say: Say) -> None:
        self.binaries = binaries
        account = rundir.unprivileged()
        self._say = say
        self._folder = rundir.RunDirectory(account)
        self._lock = threading.Lock()
        self._stopped = False
        self.path = self._folder.path
        self.logs = self.path / "logs"
        self.kubeconfig = self.path / "admin.kubeconfig"
        self.guest_kubeconfig = self.path / "guest.kubeconfig"
        self.kubectl = Kubectl(binaries / "kubectl", self.kubeconfig, self.check)
        self._authority = Authority()
        names = ("api_server", "controller_manager", "scheduler")
        self._ports = Ports(**dict(zip(names, ports.free(len(names)), strict=True)))
        self.server = f"https://{LOOPBACK}:{self._ports.api_server}"
        self.guest_server = f"https://{HOST_FROM_GUEST}:{self._ports.api_server}"
        self._tunnel = Tunnel(self.path / "egress.sock")
        self._write_files()
        self._folder.give()
        self._nursery = Nursery(binaries, self.logs, account)
        self._options = options

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def components(self) -> Mapping[str, Component]:
        """The running components by name, with their pids and logs."""
        return {component.name: component for component in self._nursery.components}

    def check(self) -> None:
        """Raise `ComponentDiedError`, with the end of its log, when a component is gone."""
        if not self._stopped:
            self._nursery.check()

    def node_folder(self, name: str) -> NodeFolder:
        """Write credentials for a node of that name; see `NodeFolder`."""
        folder = self.path / "nodes" / name
        folder.mkdir(parents=True, exist_ok=True)
        kubelet = self._authority.server(f"system:node:{name}", [name, LOOPBACK])
        node = self._authority.client(f"system:node:{name}", ["system:nodes"])
        gateway = {
            "host": HOST_FROM_GUEST,
            "port": self._tunnel.port,
            "token": self._tunnel.token,
            "node": name,
        }
        files: dict[str, str | bytes] = {
            "ca.crt": self._authority.pair.certificate,
            "kubelet.crt": kubelet.certificate,
            "kubelet.key": kubelet.key,
            "node.kubeconfig": self._kubeconfig(self.guest_server, "node", node),
            "admin.kubeconfig": self.guest_kubeconfig.read_bytes(),
            "tunnel.json": json.dumps(gateway),
            "node.json": json.dumps(
                {"name": name, "feature_gates": dict(self._options.feature_gates)}
            ),
        }
        for file, content in files.items():
            write_private(folder / file, content)
        return NodeFolder(name, folder)

    def user_kubeconfig(self, user: str, groups: Sequence[str] = (), guest: bool = False) -> Path:
        """A kubeconfig for a user without rights of its own, for tests of RBAC."""
        server = self.guest_server if guest else self.server
        text = self._kubeconfig(server, "user", self._authority.client(user, groups))
        name = user.replace("/", "_").replace(":", "_")
        return write_private(self.path / f"user-{name}{'-guest' * guest}.kubeconfig", text)

    def stop(self) -> None:
        """Stop everything and remove the folder; harmless when already stopped."""
        if self._end():
            self._folder.remove()

    def abandon(self) -> None:
        """Stop everything but leave the folder with the logs to be read."""
        if self._end():
            self._folder.release()

    def _end(self) -> bool:
        with self._lock:
            if self._stopped:
                return False
            self._stopped = True
        self._nursery.close()
        self._tunnel.close()
        return True

    def launch(self) -> None:
        """Start the components in order and wait until each is ready."""
        run, nursery, options = self.path, self._nursery, self._options
        nursery.spawn("etcd", components.etcd(run))
        nursery.spawn("kube-apiserver", components.api_server(run, self._ports, options))
        self._wait_ready(self._ports.api_server, "/readyz")
        manager = components.controller_manager(run, self._ports, options)
        nursery.spawn("kube-controller-manager", manager)
        nursery.spawn("kube-scheduler", components.scheduler(run, self._ports, options))
        self._wait_ready(self._ports.controller_manager, "/healthz")
        self._wait_ready(self._ports.scheduler, "/healthz")
        self._wait_ready(self._ports.api_server, _ACCOUNT, _is_account)
        nursery.on_death(lambda death: self._say(str(death)))

    def _wait_ready(
        self, port: int, path: str, is_ready: Callable[[str], bool] = "ok".__eq__
    ) -> None:
        context = ssl.create_default_context(cafile=str(self.path / "pki" / "ca.crt"))
        pki = self.path / "pki"
        context.load_cert_chain(pki / "kubelet-client.crt", pki / "kubelet-client.key")
        deadline = time.monotonic() + _READY_TIMEOUT
        said = "nothing yet"
        while time.monotonic() < deadline:
            self._nursery.check()
            said = _probe(f"https://{LOOPBACK}:{port}{path}", context)
            if is_ready(said):
                return
            time.sleep(_POLL)
        raise TimeoutError(
            f"port {port} was not ready ({path}) after {_READY_TIMEOUT:.0f} s: {said}"
        )

    def _kubeconfig(self, server: str, user: str, pair: Pair) -> str:
        return kubeconfig(server, self._authority.pair.certificate, user, pair)

    def _write_files(self) -> None:
        for folder in ("pki", "logs", "nodes", "etcd"):
            # etcd insists on a data folder that is its owner's alone.
            (self.path / folder).mkdir(mode=0o700)
        self._write_keys()
        admin = self._authority.client("admin", ["system:masters"])
        write_private(self.kubeconfig, self._kubeconfig(self.server, "admin", admin))
        write_private(self.guest_kubeconfig, self._kubeconfig(self.guest_server, "admin", admin))
        for name in ("controller-manager", "scheduler"):
            pair = self._authority.client(f"system:kube-{name}")
            text = self._kubeconfig(self.server, name, pair)
            write_private(self.path / f"{name}.kubeconfig", text)
        write_private(self.path / "egress.json", components.egress(self.path))

    def _write_keys(self) -> None:
        pki = self.path / "pki"
        pairs = {
            "ca": self._authority.pair,
            "server": self._authority.server("kube-apiserver", components.SERVER_NAMES),
            "kubelet-client": self._authority.client("kubelet-client", ["system:masters"]),
        }
        for name, pair in pairs.items():
            write_private(pki / f"{name}.crt", pair.certificate)
            write_private(pki / f"{name}.key", pair.key)
        write_private(pki / "accounts.key", private_pem(new_key()))


def _is_account(said: str) -> bool:
    return '"kind":"ServiceAccount"' in said


def _probe(url: str, context: ssl.SSLContext) -> str:
    """What a health endpoint says; ``ok`` when all is well."""
    try:
        with urllib.request.urlopen(url, context=context, timeout=5) as answer:
            text: str = answer.read().decode(errors="replace")
            return text
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode(errors="replace")
    except OSError as error:
        return str(error)


def start(
    *,
    feature_gates: Mapping[str, bool] | None = None,
    runtime_config: Mapping[str, bool] | None = None,
    api_server_flags: Sequence[str] = (),
    say: Say = to_stderr,
) -> ControlPlane:
    """Start a control plane and return it ready; building it first takes minutes, once.

    The gates go to every component, the rest to kube-apiserver. Raises `build.BuildError`;
    `ComponentDiedError` with the end of the log when a component does not accept its flags;
    `TimeoutError`. The folders of control planes whose owners are gone are removed first.
    """
    options = Options(feature_gates or {}, runtime_config or {}, tuple(api_server_flags))
    binaries = build.binaries(say)
    rundir.sweep(rundir.unprivileged())
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _start(binaries, options, say)
        except ComponentDiedError as death:
            if _PORT_TAKEN not in death.tail or attempt == _ATTEMPTS:
                raise
    raise AssertionError("unreachable")


def _start(binaries: Path, options: Options, say: Say) -> ControlPlane:
    control_plane = ControlPlane(binaries, options, say)
    try:
        with Progress("starting the control plane", say) as progress:
            progress.detail = f"logs in {control_plane.logs}"
            control_plane.launch()
    except BaseException:
        control_plane.abandon()
        raise
    return control_plane
