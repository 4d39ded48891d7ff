"""Asks a real API server what it thinks of an object, without creating it."""

from __future__ import annotations

import base64
import http.client
import json
import re
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

_PLURALS = {
    "DeviceClass": "deviceclasses",
    "ResourceClaim": "namespaces/default/resourceclaims",
    "ResourceClaimTemplate": "namespaces/default/resourceclaimtemplates",
    "ResourceSlice": "resourceslices",
}
_UNKNOWN = re.compile(r'unknown field "([^"]+)"')


@dataclass(frozen=True)
class Answer:
    """Whether the server would take it, the fields it names (with reasons), and what it stores."""

    accepted: bool
    causes: frozenset[tuple[str, str]]
    object: dict[str, Any]


class Server:
    """One connection to an API server, as its admin."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        with tempfile.TemporaryDirectory() as folder:
            pair = Path(folder) / "pair.pem"
            pair.touch(0o600)
            certificate = base64.b64decode(user["client-certificate-data"])
            pair.write_bytes(certificate + base64.b64decode(user["client-key-data"]))
            context.load_cert_chain(pair)
        address = urlsplit(cluster["server"])
        self._connection = http.client.HTTPSConnection(address.netloc, context=context, timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def create(self, obj: dict[str, Any], text: str | None = None) -> Answer:
        """Ask for a creation that is not carried out; `text` = the JSON to send."""
        path = f"/apis/{obj['apiVersion']}/{_PLURALS[obj['kind']]}"
        status, said = self.call(
            "POST", f"{path}?dryRun=All&fieldValidation=Strict", text or json.dumps(obj)
        )
        if status == http.client.CREATED:
            return Answer(True, frozenset(), said)
        return Answer(False, _causes(said), said)

    def call(
        self, method: str, path: str, body: str | None = None, kind: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        """One request; the status and the JSON of the answer."""
        content = None if body is None else body.encode()
        self._connection.request(method, path, content, {"Content-Type": kind})
        answer = self._connection.getresponse()
        said: dict[str, Any] = json.loads(answer.read() or "{}")
        return answer.status, said

    def changes(self, path: str, since: str) -> list[dict[str, Any]]:
        """What happened to a collection after a resourceVersion, as the events of a watch."""
        query = f"watch=1&resourceVersion={since}&timeoutSeconds=1"
        self._connection.request("GET", f"{path}?{query}")
        return [json.loads(line) for line in self._connection.getresponse().read().splitlines()]


def _causes(said: dict[str, Any]) -> frozenset[tuple[str, str]]:
    unknown = _UNKNOWN.findall(str(said.get("message", "")))
    if unknown:
        return frozenset((path, "UnknownField") for path in unknown)
    causes = said.get("details", {}).get("causes") or []
    if not causes and said.get("code") == http.client.BAD_REQUEST:
        return frozenset({("", "WrongType")})
    return frozenset((cause.get("field", ""), cause.get("reason", "")) for cause in causes)
