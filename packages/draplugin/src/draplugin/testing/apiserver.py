"""A real kube-apiserver with its etcd, for tests, found the way driver authors know.

`KUBEBUILDER_ASSETS` names a directory with the programs `etcd` and `kube-apiserver`, as the
envtest tools of controller-runtime lay them out. Nothing here imitates the API: validation,
defaulting, server-side apply and watches are the server's own.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

ASSETS = "KUBEBUILDER_ASSETS"
PROGRAMS = ("etcd", "kube-apiserver")
START_TIMEOUT = 90.0


class Unusable(Exception):  # noqa: N818 - the reason a test is skipped for
    """There is no API server to be had here; the text says what is missing."""


def find_assets(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory of the programs; Unusable when there is none."""
    named = environment.get(ASSETS)
    if not named:
        raise Unusable(f"{ASSETS} is not set: it names a directory with {' and '.join(PROGRAMS)}")
    missing = [name for name in PROGRAMS if not os.access(Path(named) / name, os.X_OK)]
    if missing:
        raise Unusable(f"{ASSETS}={named} has no program {' nor '.join(missing)}")
    return Path(named)


class LocalApiServer:
    """etcd and kube-apiserver on free ports of the loopback, in a directory of their own.

    `flags` are added to kube-apiserver's (`--feature-gates=...`). Needs the package
    `cryptography` for the key that signs service account tokens.
    """

    def __init__(self, assets: Path, flags: Sequence[str] = ()) -> None:
        self._assets = assets
        self._flags = tuple(flags)
        self._directory = Path(tempfile.mkdtemp(prefix="apiserver-"))
        self._token = secrets.token_urlsafe(32)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.url = ""

    @property
    def kubeconfig(self) -> Path:
        """An administrator's kubeconfig."""
        return self._directory / "kubeconfig"

    def __enter__(self) -> LocalApiServer:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start both and return when the API server says it is ready."""
        port = _free_port()
        self.url = f"https://127.0.0.1:{port}"
        self._write_secrets()
        self._spawn("etcd", *self._etcd_flags())
        self._spawn("kube-apiserver", *self._apiserver_flags(port))
        self._wait_ready()
        self._write_kubeconfig()

    def stop(self) -> None:
        """End both and remove their directory."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        self._processes.clear()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _spawn(self, name: str, *flags: str) -> None:
        with (self._directory / f"{name}.log").open("wb") as log:
            command = [str(self._assets / name), *flags]
            self._processes.append(subprocess.Popen(command, stdout=log, stderr=log))

    def _etcd_flags(self) -> list[str]:
        client, peer = (f"unix://{self._directory}/{name}.sock" for name in ("etcd", "peer"))
        return [
            f"--data-dir={self._directory}/etcd",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            # Nothing is to be kept.
            "--unsafe-no-fsync",
        ]

    def _apiserver_flags(self, port: int) -> list[str]:
        where = self._directory
        return [
            f"--etcd-servers=unix://{where}/etcd.sock",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={where}/certs",
            f"--token-auth-file={where}/tokens",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={where}/sa.key",
            f"--service-account-signing-key-file={where}/sa.key",
            "--service-cluster-ip-range=10.0.0.0/24",
            # No controller makes service accounts here.
            "--disable-admission-plugins=ServiceAccount",
            *self._flags,
        ]

    def _write_secrets(self) -> None:
        from cryptography.hazmat.primitives.asymmetric import rsa
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        key = rsa.generate_private_key(65537, 2048)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        (self._directory / "sa.key").write_bytes(pem)
        (self._directory / "tokens").write_text(f"{self._token},admin,admin,system:masters\n")

    def _write_kubeconfig(self) -> None:
        cluster = {"server": self.url, "certificate-authority": str(self._certificate)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "local", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": self._token}}],
            "contexts": [{"name": "local", "context": {"cluster": "local", "user": "admin"}}],
            "current-context": "local",
        }
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(json.dumps(config))

    @property
    def _certificate(self) -> Path:
        # The server makes itself a certificate and appends the authority that signed it.
        return self._directory / "certs" / "apiserver.crt"

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while not self._ready():
            if any(process.poll() is not None for process in self._processes):
                raise RuntimeError(f"a server ended while starting:\n{self._logs()}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"not ready after {START_TIMEOUT:.0f} s:\n{self._logs()}")
            time.sleep(0.1)

    def _ready(self) -> bool:
        if not self._certificate.exists():
            return False
        try:
            context = ssl.create_default_context(cafile=str(self._certificate))
            headers = {"Authorization": f"Bearer {self._token}"}
            request = urllib.request.Request(f"{self.url}/readyz", headers=headers)  # noqa: S310
            with urllib.request.urlopen(request, timeout=5, context=context):  # noqa: S310
                return True
        except (urllib.error.URLError, OSError, ssl.SSLError):
            return False

    def _logs(self) -> str:
        return "\n".join(
            f"--- {path.name}\n{path.read_text(errors='replace')[-2000:]}"
            for path in sorted(self._directory.glob("*.log"))
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
