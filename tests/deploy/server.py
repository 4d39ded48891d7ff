"""The API server as a test asks it: one call, its status and its answer, under any identity.

kubectl would do, but a table of a hundred refusals is a hundred programs to start.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

# What `kubectl --dry-run=server --validate=strict` asks for: everything but the writing.
DRY = "?dryRun=All&fieldValidation=Strict"
STRICT = "?fieldValidation=Strict"
_TIMEOUT = 30
# Seconds: policies are read through a watch and compiled once a second (1.37, policy/generic).
_PATIENCE, _POLL = 60, 0.05


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    status: int
    body: dict[str, Any]

    @property
    def refusal(self) -> str | None:
        """The server's message, or None where it did as it was asked."""
        return None if self.status < 300 else str(self.body.get("message", self.body))


class Server:
    """Calls with the identity of a kubeconfig, or with a token instead."""

    def __init__(self, kubeconfig: Path, token: str | None = None) -> None:
        config = json.loads(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._kubeconfig = kubeconfig
        self._host = urlsplit(cluster["server"]).netloc
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=authority)
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
            return
        with tempfile.NamedTemporaryFile() as pair:
            for part in ("client-certificate-data", "client-key-data"):
                pair.write(base64.b64decode(user[part]))
            pair.flush()
            self._context.load_cert_chain(pair.name)

    def with_token(self, token: str) -> Server:
        """The same server, asked by the holder of a token."""
        return Server(self._kubeconfig, token)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One call."""
        connection = http.client.HTTPSConnection(
            self._host, context=self._context, timeout=_TIMEOUT
        )
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, self._headers | dict(headers or {}))
            answer = connection.getresponse()
            return Answer(answer.status, json.loads(answer.read()))
        finally:
            connection.close()

    def until(
        self,
        is_so: Callable[[str | None], bool],
        path: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """POST until the refusal, None where there is none, is as it has to become.

        What a policy says takes effect some time after it was written. Raises AssertionError with
        the last refusal.
        """
        deadline = time.monotonic() + _PATIENCE
        while not is_so(said := self.call("POST", path, body, headers).refusal):
            assert time.monotonic() < deadline, f"after {_PATIENCE} s still: {said}"
            time.sleep(_POLL)

    def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Create for good; the object as it now is. Raises AssertionError with the refusal."""
        answer = self.call("POST", path + STRICT, body)
        assert answer.refusal is None, answer.refusal
        return answer.body

    def merge(self, path: str, patch: Mapping[str, Any]) -> Answer:
        """Merge-patch the object at the path."""
        kind = {"Content-Type": "application/merge-patch+json"}
        return self.call("PATCH", path, patch, kind)

    def delete(self, path: str) -> None:
        """Delete the object at the path at once, if it is there."""
        now = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        answer = self.call("DELETE", path, now)
        assert answer.status in (200, 202, 404), answer.refusal
