"""The Kubernetes API as plain dicts: a handful of verbs, typed errors, one version seam.

Level-triggered code wants to state an object and be told what came of it; that is server-side
apply, so `apply` and `apply_status` are the usual verbs here. Nothing is retried inside: each
caller has its own idea of when to try again.
"""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from . import versions
from .errors import AlreadyExists, ApiError, NotFound, Unavailable
from .resources import DRA_GROUP, EVENTS, Object, Resource
from .transport import KubernetesTransport, Query, Transport

_log = logging.getLogger(__name__)
_MERGE = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
_APPLY = "application/apply-patch+yaml"
PAGE = 500
NOTE_LIMIT = 1024
Objects = list[Object]  # `list` is a method inside of Api


class Api:
    """A connection to one API server.

    `manager` is the field manager of applies and patches, the source of events and the user
    agent. All methods raise the classes of draplugin.kube.errors; a missing answer within
    `timeout` seconds is Unavailable.
    """

    def __init__(
        self, transport: Transport, *, manager: str = "draplugin", timeout: float = 30.0
    ) -> None:
        self._transport = transport
        self.manager = manager
        self.timeout = timeout
        self._dra_version: str | None = None
        self._negotiating = asyncio.Lock()

    @classmethod
    async def connect(
        cls,
        kubeconfig: str | Path | None = None,
        *,
        manager: str = "draplugin",
        timeout: float = 30.0,
    ) -> Api:
        """Connect by the kubeconfig given, else as the pod's service account, else as `kubectl`.

        Sends nothing yet, so that a driver starts while the API server is away.
        """
        transport = await KubernetesTransport.connect(kubeconfig, user_agent=manager)
        return cls(transport, manager=manager, timeout=timeout)

    async def __aenter__(self) -> Api:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    async def server_version(self) -> tuple[int, int]:
        """The server's (major, minor), for what depends on a release."""
        answer = (await self._transport.request("GET", "/version", timeout=self.timeout)).json()
        digits = "".join(c for c in str(answer.get("minor", "0")) if c.isdigit())
        return int(answer.get("major") or 0), int(digits or 0)

    async def dra_version(self, *, refresh: bool = False) -> str:
        """The version of resource.k8s.io that is spoken with this server, `v1` where possible.

        Raises NotFound when the server serves none that is known here.
        """
        async with self._negotiating:
            if self._dra_version is None or refresh:
                self._dra_version = await self._negotiate()
            return self._dra_version

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        """One object; NotFound when it is not there."""
        return await self._call("GET", resource, namespace, name)

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Objects:
        """All objects, in pages of 500, without managedFields."""
        items, _ = await self.list_at(
            resource, namespace, label_selector=label_selector, field_selector=field_selector
        )
        return items

    async def list_at(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> tuple[Objects, str]:
        """All objects and the resource version from which a watch carries on."""
        items: Objects = []
        query = [("limit", str(PAGE)), *selectors(label_selector, field_selector)]
        token = ""
        while True:
            page_query = [*query, ("continue", token)] if token else query
            page = await self._call("GET", resource, namespace, query=page_query)
            items += [self._item(resource, item) for item in page.get("items") or ()]
            metadata = page.get("metadata") or {}
            token = metadata.get("continue") or ""
            if not token:
                return items, str(metadata.get("resourceVersion") or "")

    async def create(self, resource: Resource, body: Object, *, dry_run: bool = False) -> Object:
        """Create an object; AlreadyExists when the name is taken.

        With `dry_run` the server validates, defaults and answers, but stores nothing.
        """
        query = [("dryRun", "All")] if dry_run else []
        return await self._call("POST", resource, _namespace(body), query=query, body=body)

    async def replace(
        self, resource: Resource, body: Object, *, subresource: str | None = None
    ) -> Object:
        """Put a whole object; Conflict when its resourceVersion is not the current one."""
        metadata = body["metadata"]
        return await self._call(
            "PUT", resource, _namespace(body), metadata["name"], subresource, body=body
        )

    async def apply(
        self,
        resource: Resource,
        body: Object,
        *,
        force: bool = True,
        subresource: str | None = None,
        manager: str | None = None,
    ) -> Object:
        """Server-side apply: create, or set what `body` states and drop what it no longer states.

        With `force=False` a field owned by another manager is a Conflict.
        """
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        query = [("fieldManager", manager or self.manager), ("force", str(force).lower())]
        return await self._call(
            "PATCH",
            resource,
            _namespace(body),
            body["metadata"]["name"],
            subresource,
            query=query,
            body=body,
            content_type=_APPLY,
        )

    async def apply_status(
        self, resource: Resource, body: Object, *, force: bool = True, manager: str | None = None
    ) -> Object:
        """Server-side apply of the status subresource; `body` holds metadata and status."""
        return await self.apply(resource, body, force=force, subresource="status", manager=manager)

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Mapping[str, Any] | Sequence[Any],
        namespace: str | None = None,
        *,
        subresource: str | None = None,
    ) -> Object:
        """Merge patch (a mapping; null deletes) or JSON patch (a list of operations)."""
        return await self._call(
            "PATCH",
            resource,
            namespace,
            name,
            subresource,
            query=[("fieldManager", self.manager)],
            body=patch,
            content_type=_MERGE if isinstance(patch, Mapping) else _JSON_PATCH,
        )

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> bool:
        """Delete an object; whether there was one.

        With `uid` or `resource_version` only that very object or state: Conflict otherwise.
        """
        conditions = {"uid": uid, "resourceVersion": resource_version}
        wanted = {key: value for key, value in conditions.items() if value}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": wanted}
        try:
            await self._call("DELETE", resource, namespace, name, body=body if wanted else None)
        except NotFound:
            return False
        return True

    async def event(
        self,
        regarding: Mapping[str, Any],
        *,
        reason: str,
        note: str,
        type: str = "Warning",  # noqa: A002 - the API's word
        action: str | None = None,
        instance: str | None = None,
    ) -> bool:
        """Tell the people looking at an object; whether the server took it.

        The same event again counts up instead of adding another. Never raises an ApiError: an
        event is a courtesy, what it is about is handled elsewhere.
        """
        body = _event(regarding, reason, note, type, action or reason, self.manager, instance)
        try:
            try:
                await self.create(EVENTS, body)
            except AlreadyExists:
                await self._count_up(body)
        except ApiError as error:
            _log.warning("event %s for %s not recorded: %s", reason, regarding.get("name"), error)
            return False
        return True

    @asynccontextmanager
    async def watch(
        self, resource: Resource, namespace: str | None, query: Query, *, timeout: float
    ) -> AsyncIterator[AsyncIterator[tuple[str, Object]]]:
        """Open a watch: (type, object) pairs, DRA objects in the shape of v1."""
        resource = await self._resolve(resource)
        path = resource.path(namespace)
        full = [("watch", "true"), *query]
        try:
            async with self._transport.lines(path, query=full, timeout=timeout) as lines:
                yield _events(resource, lines)
        except NotFound as error:
            if _dra(resource) and not error.reason:
                # As in _call: this version is served no more. The next watch asks for another.
                await self.dra_version(refresh=True)
            raise

    async def _call(
        self,
        method: str,
        resource: Resource,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        *,
        query: Query = (),
        body: Any = None,
        content_type: str = "application/json",
    ) -> Object:
        async def send(version: Resource) -> Object:
            sent = versions.from_v1(body, version.version) if _converts(version, body) else body
            response = await self._transport.request(
                method,
                version.path(namespace, name, subresource),
                query=query,
                body=sent,
                content_type=content_type,
                timeout=self.timeout,
            )
            return _received(version, response.json())

        resolved = await self._resolve(resource)
        try:
            return await send(resolved)
        except NotFound as error:
            # An unknown path is answered without a Status: this version is served no more.
            if not _dra(resource) or error.reason:
                raise
            await self.dra_version(refresh=True)
            return await send(await self._resolve(resource))

    def _item(self, resource: Resource, item: Object) -> Object:
        # Items of a list carry no kind and apiVersion of their own.
        version = (self._dra_version or resource.version) if _dra(resource) else resource.version
        item.setdefault("apiVersion", resource.at(version).api_version)
        item.setdefault("kind", resource.kind)
        item["metadata"].pop("managedFields", None)
        return versions.to_v1(item, version) if _dra(resource) else item

    async def _resolve(self, resource: Resource) -> Resource:
        return resource.at(await self.dra_version()) if _dra(resource) else resource

    async def _negotiate(self) -> str:
        path = f"/apis/{DRA_GROUP}"
        group = (await self._transport.request("GET", path, timeout=self.timeout)).json()
        served = [entry["version"] for entry in group.get("versions") or ()]
        chosen = versions.choose(served)
        if chosen is None:
            raise NotFound(
                f"the API server serves {DRA_GROUP} {', '.join(served) or 'in no version'}; "
                f"one of {', '.join(versions.SUPPORTED)} is needed",
                status=404,
            )
        return chosen

    async def _count_up(self, body: Object) -> None:
        metadata = body["metadata"]
        current = await self.get(EVENTS, metadata["name"], metadata["namespace"])
        count = int((current.get("series") or {}).get("count") or 1) + 1
        series = {"count": count, "lastObservedTime": body["eventTime"]}
        await self.patch(EVENTS, metadata["name"], {"series": series}, metadata["namespace"])


def selectors(label_selector: str | None, field_selector: str | None) -> list[tuple[str, str]]:
    """The selectors as query parameters."""
    pairs = (("labelSelector", label_selector), ("fieldSelector", field_selector))
    return [(name, value) for name, value in pairs if value]


def reference(obj: Mapping[str, Any]) -> dict[str, str]:
    """An object's reference, for `Api.event`."""
    metadata = obj["metadata"]
    fields = {
        "apiVersion": obj.get("apiVersion"),
        "kind": obj.get("kind"),
        "namespace": metadata.get("namespace"),
        "name": metadata.get("name"),
        "uid": metadata.get("uid"),
    }
    return {name: str(value) for name, value in fields.items() if value}


def _dra(resource: Resource) -> bool:
    return resource.group == DRA_GROUP


def _converts(resource: Resource, body: Any) -> bool:
    return _dra(resource) and isinstance(body, dict)


def _received(resource: Resource, answer: Object) -> Object:
    metadata = answer.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
    return versions.to_v1(answer, resource.version) if _dra(resource) else answer


def _namespace(body: Mapping[str, Any]) -> str | None:
    namespace = body["metadata"].get("namespace")
    return str(namespace) if namespace else None


async def _events(
    resource: Resource, lines: AsyncIterator[bytes]
) -> AsyncIterator[tuple[str, Object]]:
    async for line in lines:
        try:
            event = json.loads(line)
            kind, obj = event["type"], event["object"]
        except (ValueError, KeyError, TypeError) as error:
            raise Unavailable(f"watch of {resource.plural}: broken line: {error!r}") from error
        if kind in ("ADDED", "MODIFIED", "DELETED"):
            obj["metadata"].pop("managedFields", None)
            obj = versions.to_v1(obj, resource.version) if _dra(resource) else obj
        yield kind, obj


def _event(
    regarding: Mapping[str, Any],
    reason: str,
    note: str,
    kind: str,
    action: str,
    manager: str,
    instance: str | None,
) -> Object:
    note = _cut(note, NOTE_LIMIT)
    seed = "\0".join([regarding.get("uid", ""), kind, reason, note, manager, instance or ""])
    digest = hashlib.sha256(seed.encode()).hexdigest()[:16]
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {
            "name": f"{str(regarding.get('name', 'object'))[:200]}.{digest}",
            # Events about cluster-wide objects live in `default` (client-go tools/events).
            "namespace": regarding.get("namespace") or "default",
        },
        "eventTime": now,
        "type": kind,
        "reason": reason[:128],
        "action": action[:128],
        "note": note,
        "regarding": dict(regarding),
        "reportingController": manager,
        "reportingInstance": (instance or manager)[:128],
    }


def _cut(text: str, limit: int) -> str:
    data = text.encode()
    if len(data) <= limit:
        return text
    return data[: limit - 3].decode(errors="ignore") + "…"
