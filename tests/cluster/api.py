"""The few calls the harness itself makes to the API server, with nothing but the standard library.

Tests use kubectl or a client library; this is for the places where starting one takes longer
than the call.
"""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any


class Api:
    """Handles objects with the identity of one of this package's kubeconfigs."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._server: str = cluster["server"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=authority)
        # The default since Python 3.13; a certificate that fails it is found on any Python.
        self._context.verify_flags |= ssl.VERIFY_X509_STRICT
        # OpenSSL takes a key pair only from files.
        with tempfile.TemporaryDirectory() as folder:
            pair = Path(folder) / "pair.pem"
            pair.touch(0o600)
            pair.write_bytes(
                base64.b64decode(user["client-certificate-data"])
                + base64.b64decode(user["client-key-data"])
            )
            self._context.load_cert_chain(pair)

    def get(self, path: str, timeout: float = 10.0) -> dict[str, Any] | None:
        """The object at the path, None when there is none; raises `OSError` otherwise."""
        return self._call(urllib.request.Request(self._server + path), timeout)

    def create(self, path: str, item: Mapping[str, Any], timeout: float = 10.0) -> dict[str, Any]:
        """Create an object in the collection at the path; the object as it now is."""
        body = json.dumps(item).encode()
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._server + path, body, kind, method="POST")
        created = self._call(request, timeout)
        if created is None:
            raise OSError(f"{path} is no collection of this server")
        return created

    def delete(self, path: str, timeout: float = 10.0) -> None:
        """Delete the object at the path, which may be gone already."""
        self._call(urllib.request.Request(self._server + path, method="DELETE"), timeout)

    def _call(self, request: urllib.request.Request, timeout: float) -> dict[str, Any] | None:
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=timeout) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            with error:
                if error.code == HTTPStatus.NOT_FOUND:
                    return None
                said = _message(error.read())
            raise OSError(f"{request.full_url}: {error.code} {said}") from error


def _message(body: bytes) -> str:
    """The message of a Status object, or the answer as it is (a proxy may have written it)."""
    try:
        message: str = json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")
    return message
