"""An HTTP server that answers what a test scripts, and counts what it is asked.

It knows nothing of Kubernetes: rules of the API server are tested against the real one
(tests/api). Here are its faults, which a real one cannot be made to show on demand.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from draplugin.kube import Api
from draplugin.kube.transport import KubernetesTransport
from kubernetes.aio.client.api_client import ApiClient
from kubernetes.aio.client.configuration import Configuration

Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]
DRA = "/apis/resource.k8s.io/v1"


def answer(body: Any, status: int = 200, **headers: str) -> Reply:
    """A whole JSON answer."""

    async def reply(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=status, headers=headers)

    return reply


def status(code: int, reason: str = "", message: str = "", **headers: str) -> Reply:
    """An error as the API server words it."""
    body = {"kind": "Status", "status": "Failure", "code": code, "reason": reason}
    return answer({**body, "message": message or reason}, code, **headers)


def stream(*parts: bytes | dict[str, Any], stay: float = 0.0, cut: bool = False) -> Reply:
    """A watch: lines of JSON, then open for `stay` seconds, then closed or cut."""

    async def reply(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for part in parts:
            await response.write(
                part if isinstance(part, bytes) else json.dumps(part).encode() + b"\n"
            )
        await asyncio.sleep(stay)
        if cut and request.transport is not None:
            request.transport.abort()
        return response

    return reply


def drop_connection() -> Reply:
    """No answer at all."""

    async def reply(request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    return reply


class ScriptedServer:
    """Replies by `METHOD path`: a script is used up from the front, its last reply stays."""

    def __init__(self) -> None:
        self.requests: list[web.Request] = []
        self.bodies: list[Any] = []
        self._scripts: dict[str, list[Reply]] = {}
        self._runner: web.AppRunner | None = None
        self.url = ""
        self._apis: list[Api] = []
        groups = {"versions": [{"groupVersion": DRA[6:], "version": "v1"}]}
        self.on("GET", "/apis/resource.k8s.io", answer(groups))

    def on(self, method: str, path: str, *replies: Reply) -> None:
        """Script the replies of one endpoint; watches are `WATCH path`."""
        self._scripts[f"{method} {path}"] = list(replies)

    def shows(self, path: str, body: Any) -> None:
        """Let GET of the path answer the object."""
        self.on("GET", path, answer(body))

    def asked(self, method: str, path: str) -> list[web.Request]:
        """The requests an endpoint got."""
        return [r for r in self.requests if _key(r) == f"{method} {path}"]

    def api(self, timeout: float = 5.0) -> Api:
        """A client of this server, closed with it."""
        configuration = Configuration()
        configuration.host = self.url
        api = Api(KubernetesTransport(ApiClient(configuration)), timeout=timeout)
        self._apis.append(api)
        return api

    async def __aenter__(self) -> ScriptedServer:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        for api in self._apis:
            await api.close()
        assert self._runner is not None
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        text = await request.text()
        self.bodies.append(json.loads(text) if text else None)
        script = self._scripts.get(_key(request))
        if not script:
            return await status(404, "NotFound", f"{_key(request)} is not there")(request)
        reply = script.pop(0) if len(script) > 1 else script[0]
        return await reply(request)


def _key(request: web.Request) -> str:
    method = "WATCH" if request.query.get("watch") == "true" else request.method
    return f"{method} {request.path}"
