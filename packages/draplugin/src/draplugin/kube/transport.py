"""HTTP to the API server: configuration, TLS, tokens and proxies by kubernetes.aio.

This is the only file that knows the client library, and it uses four of its calls
(`Configuration`, the two loaders, `ApiClient.param_serialize` / `call_api`), because its typed
models cost four to six times the CPU of plain dicts and its Watch has no bookmarks and no
back-off. `call_api` of 37 is not covered by their compatibility promise: the contract tests of
this module are what notices.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import aiohttp
from kubernetes.aio.client.api_client import ApiClient
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.config import load_incluster_config, load_kube_config
from kubernetes.aio.config.config_exception import ConfigException

from .errors import Unavailable, error_from

Query = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Response:
    """An answer with a 2xx code, read whole."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The decoded body; an empty one is an empty object."""
        return json.loads(self.body) if self.body else {}


class Transport(Protocol):
    """What Api needs of HTTP; the seam for another client library."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: Any = None,
        content_type: str = "application/json",
        timeout: float = 30.0,
    ) -> Response:
        """Send one request; raise a typed ApiError for everything but 2xx."""
        ...

    def lines(
        self, path: str, *, query: Query, timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a GET whose answer is lines of JSON; raise typed errors on opening and reading."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class KubernetesTransport:
    """Transport over kubernetes.aio."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    @classmethod
    async def connect(cls, kubeconfig: str | Path | None, user_agent: str) -> KubernetesTransport:
        """Use the kubeconfig given, else the pod's service account, else the user's kubeconfig.

        Raises ConfigException with the reasons when none works.
        """
        configuration = Configuration()
        if kubeconfig is not None:
            await load_kube_config(  # type: ignore[no-untyped-call]
                config_file=str(kubeconfig),
                client_configuration=configuration,
                persist_config=False,
            )
        else:
            await _load_default(configuration)
        client = ApiClient(configuration)
        client.user_agent = user_agent
        return cls(client)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: Any = None,
        content_type: str = "application/json",
        timeout: float = 30.0,
    ) -> Response:
        """Send one request and read its answer; see Transport."""
        limits = aiohttp.ClientTimeout(total=timeout)
        try:
            response = await self._send(method, path, query, body, content_type, limits)
            try:
                data = await response.read()
            finally:
                response.release()
        except (aiohttp.ClientError, OSError) as error:
            raise _unavailable(method, path, error) from error
        if not 200 <= response.status < 300:
            raise error_from(response.status, data, response.headers.get("Retry-After"))
        return Response(response.status, data)

    @asynccontextmanager
    async def lines(
        self, path: str, *, query: Query, timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a stream of lines; see Transport."""
        limits = aiohttp.ClientTimeout(total=timeout, sock_connect=15)
        try:
            response = await self._send("GET", path, query, None, "application/json", limits)
        except (aiohttp.ClientError, OSError) as error:
            raise _unavailable("GET", path, error) from error
        try:
            if not 200 <= response.status < 300:
                data = await response.read()
                raise error_from(response.status, data, response.headers.get("Retry-After"))
            yield _lines(response, path)
        finally:
            _hang_up(response)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()  # type: ignore[no-untyped-call]

    async def _send(
        self,
        method: str,
        path: str,
        query: Query,
        body: Any,
        content_type: str,
        limits: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": "application/json", "Content-Type": content_type}
        prepared = await self._client.param_serialize(
            method,
            path,
            query_params=list(query),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"],
        )
        answer = await self._client.call_api(*prepared, _request_timeout=limits)
        response: aiohttp.ClientResponse = answer.response
        return response


async def _load_default(configuration: Configuration) -> None:
    try:
        load_incluster_config(configuration)  # type: ignore[no-untyped-call]
    except ConfigException as in_cluster:
        try:
            await load_kube_config(  # type: ignore[no-untyped-call]
                client_configuration=configuration, persist_config=False
            )
        except ConfigException as local:
            raise ConfigException(
                f"no API server: not in a pod ({in_cluster}) and no kubeconfig ({local})"
            ) from local


async def _lines(response: aiohttp.ClientResponse, path: str) -> AsyncIterator[bytes]:
    # StreamReader.readline refuses lines over its buffer limit; an object may be 1.5 MiB and more
    # (etcd's default request limit), and a watch must not fail over one large object for ever.
    pieces: list[bytes] = []
    try:
        async for chunk in response.content.iter_any():
            first, *rest = chunk.split(b"\n")
            pieces.append(first)
            for piece in rest:
                if line := b"".join(pieces):
                    yield line
                pieces = [piece]
    except (aiohttp.ClientError, OSError) as error:
        raise _unavailable("GET", path, error) from error
    if line := b"".join(pieces):
        yield line


def _hang_up(response: aiohttp.ClientResponse) -> None:
    # Closing a TLS connection waits up to 30 s for the peer's goodbye, which a server in the
    # middle of a watch has no reason to send; the socket would outlive its session.
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


def _unavailable(method: str, path: str, error: BaseException) -> Unavailable:
    text = str(error) or type(error).__name__
    return Unavailable(f"{method} {path}: {text}", reason=type(error).__name__)
