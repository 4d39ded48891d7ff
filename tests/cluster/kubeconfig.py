"""Kubeconfigs that carry all they need, so that one file can be handed to anybody.

Written as JSON, which is YAML: a user called ``n`` or a port can never turn into something else.
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

from cluster.pki import Pair


def kubeconfig(server: str, authority: bytes, user: str, pair: Pair) -> str:
    """The text of a kubeconfig for one user at ``https://host:port``."""

    def encode(pem: bytes) -> str:
        return base64.b64encode(pem).decode()

    cluster = {"server": server, "certificate-authority-data": encode(authority)}
    credentials = {
        "client-certificate-data": encode(pair.certificate),
        "client-key-data": encode(pair.key),
    }
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "cluster", "cluster": cluster}],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": user}}],
            "current-context": "cluster",
        },
        indent=1,
    )


def write_private(path: Path, text: str | bytes) -> Path:
    """Write a file that only its owner reads, from its first byte on."""
    data = text.encode() if isinstance(text, str) else text
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as handle:
        handle.write(data)
    return path
