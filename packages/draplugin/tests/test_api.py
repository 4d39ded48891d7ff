"""Requests and their errors, over HTTP: what reaches the server and what comes back typed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from draplugin.kube import (
    EVENTS,
    NODES,
    RESOURCECLAIMS,
    RESOURCESLICES,
    SECRETS,
    AlreadyExists,
    Api,
    ApiError,
    Change,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    Reflector,
    Unauthorized,
    Unavailable,
    key_of,
    reference,
)

from .builders import claim_object, ref
from .scripted import ScriptedServer, answer, drop_connection, status, stream

NODE = "/api/v1/nodes/n"
SECRET_LIST = "/api/v1/namespaces/ns/secrets"


def item(name: str, version: str = "1", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "resourceVersion": version, **more}}


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", Invalid),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Gone),
        (413, "RequestEntityTooLarge", Invalid),
        (415, "UnsupportedMediaType", Invalid),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", Unavailable),
        (500, "InternalError", Unavailable),
        (503, "ServiceUnavailable", Unavailable),
        (504, "", Unavailable),
    ],
)
async def test_each_refusal_is_its_own_class(
    server: ScriptedServer, code: int, reason: str, kind: type[ApiError]
) -> None:
    server.on("GET", NODE, status(code, reason, "because"))
    with pytest.raises(ApiError) as error:
        await server.api().get(NODES, "n")
    assert type(error.value) is kind
    assert (error.value.status, error.value.reason, str(error.value)) == (code, reason, "because")


async def test_a_busy_server_says_when_to_come_back(server: ScriptedServer) -> None:
    server.on("GET", NODE, status(429, "TooManyRequests", **{"Retry-After": "7"}))
    with pytest.raises(Unavailable) as error:
        await server.api().get(NODES, "n")
    assert error.value.retry_after == 7.0


async def test_an_answer_that_is_no_status_still_has_a_class(server: ScriptedServer) -> None:
    server.on("GET", NODE, answer("<html>bad gateway</html>", 502))
    with pytest.raises(Unavailable, match="bad gateway"):
        await server.api().get(NODES, "n")


async def test_a_connection_that_breaks_is_unavailable(server: ScriptedServer) -> None:
    server.on("GET", NODE, drop_connection())
    with pytest.raises(Unavailable, match=NODE):
        await server.api().get(NODES, "n")


async def test_a_server_that_is_not_there_is_unavailable(server: ScriptedServer) -> None:
    api = server.api()
    assert server._runner is not None
    await server._runner.cleanup()
    with pytest.raises(Unavailable, match=NODE):
        await api.get(NODES, "n")


async def test_a_watch_that_falls_silent_past_its_end_is_unavailable(
    server: ScriptedServer,
) -> None:
    """Half open: a peer that vanished sends nothing, not even the end."""
    server.on("WATCH", SECRET_LIST, stream({"type": "ADDED", "object": item("a")}, stay=10))
    seen = []

    async def follow() -> None:
        async with server.api().watch(SECRETS, "ns", [], timeout=1.0) as events:
            async for kind, obj in events:
                seen.append((kind, key_of(obj)))

    with pytest.raises(Unavailable, match="TimeoutError"):
        await follow()
    assert seen == [("ADDED", "ns/a")]


async def test_a_server_that_says_nothing_is_unavailable_after_the_timeout(
    server: ScriptedServer,
) -> None:
    server.on("GET", NODE, stream(stay=5))
    with pytest.raises(Unavailable):
        await server.api(timeout=0.2).get(NODES, "n")


async def test_apply_states_manager_and_force_and_fills_in_the_kind(
    server: ScriptedServer,
) -> None:
    server.on("PATCH", f"{SECRET_LIST}/s", answer(item("s")))
    await server.api().apply(SECRETS, item("s"), force=False, manager="me")
    (request,) = server.asked("PATCH", f"{SECRET_LIST}/s")
    assert dict(request.query) == {"fieldManager": "me", "force": "false"}
    assert request.content_type == "application/apply-patch+yaml"
    assert server.bodies[-1] == {"apiVersion": "v1", "kind": "Secret", **item("s")}


async def test_status_is_applied_to_its_subresource(server: ScriptedServer) -> None:
    server.on("PATCH", f"{SECRET_LIST}/s/status", answer(item("s")))
    await server.api().apply_status(SECRETS, item("s"))
    assert len(server.asked("PATCH", f"{SECRET_LIST}/s/status")) == 1


@pytest.mark.parametrize(
    ("patch", "content_type"),
    [
        ({"data": None}, "application/merge-patch+json"),
        ([{"op": "remove", "path": "/data"}], "application/json-patch+json"),
    ],
)
async def test_a_mapping_is_a_merge_patch_and_a_list_a_json_patch(
    server: ScriptedServer, patch: Any, content_type: str
) -> None:
    server.on("PATCH", f"{SECRET_LIST}/s", answer(item("s")))
    await server.api().patch(SECRETS, "s", patch, "ns")
    (request,) = server.asked("PATCH", f"{SECRET_LIST}/s")
    assert request.content_type == content_type
    assert server.bodies[-1] == patch


async def test_a_long_list_comes_in_pages_and_without_managed_fields(
    server: ScriptedServer,
) -> None:
    first = {"items": [item("a", managedFields=[{}])], "metadata": {"continue": "t"}}
    last = {"items": [item("b")], "metadata": {"resourceVersion": "9"}}
    server.on("GET", SECRET_LIST, answer(first), answer(last))
    items, version = await server.api().list_at(SECRETS, "ns", label_selector="a=b")
    assert [(key_of(i), i["kind"], "managedFields" in i["metadata"]) for i in items] == [
        ("ns/a", "Secret", False),
        ("ns/b", "Secret", False),
    ]
    assert version == "9"
    queries = [dict(request.query) for request in server.asked("GET", SECRET_LIST)]
    assert queries == [
        {"limit": "500", "labelSelector": "a=b"},
        {"limit": "500", "labelSelector": "a=b", "continue": "t"},
    ]


async def test_delete_says_whether_there_was_something(server: ScriptedServer) -> None:
    api = server.api()
    server.on("DELETE", f"{SECRET_LIST}/s", answer({}), status(404, "NotFound"))
    assert await api.delete(SECRETS, "s", "ns", uid="u")
    assert server.bodies[-1]["preconditions"] == {"uid": "u"}
    assert not await api.delete(SECRETS, "s", "ns")


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "a?b", "ä#"])
async def test_a_name_never_reaches_another_path(server: ScriptedServer, name: str) -> None:
    with pytest.raises((ValueError, NotFound)):
        await server.api().get(NODES, name)
    assert all(r.path.startswith("/api/v1/nodes/") for r in server.requests)
    assert all("/" not in r.raw_path.removeprefix("/api/v1/nodes/") for r in server.requests)


async def test_a_namespaced_object_needs_its_namespace(server: ScriptedServer) -> None:
    with pytest.raises(ValueError, match="namespace is needed"):
        await server.api().get(SECRETS, "s")


async def test_a_version_served_no_more_is_negotiated_again(server: ScriptedServer) -> None:
    claim = claim_object(ref(), "cookie-1")
    direct = {**claim, "apiVersion": "resource.k8s.io/v1beta1"}
    direct["spec"] = {"devices": {"requests": [{"name": "cookie", "deviceClassName": "fortune"}]}}
    old = "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaims/claim-1"
    api = server.api()
    assert await api.dra_version() == "v1"
    server.on("GET", "/apis/resource.k8s.io", answer({"versions": [{"version": "v1beta1"}]}))
    server.on("GET", old.replace("v1beta1", "v1"), answer("404 page not found", 404))
    server.shows(old, direct)
    assert await api.get(RESOURCECLAIMS, "claim-1", "default") == claim
    assert await api.dra_version() == "v1beta1"


async def test_a_watch_of_a_version_served_no_more_goes_on_in_the_next_one(
    server: ScriptedServer,
) -> None:
    """A cluster is upgraded under a driver that has nothing to say itself."""
    old = "/apis/resource.k8s.io/v1beta1/resourceslices"
    new = old.replace("v1beta1", "v1")
    server.on(
        "GET",
        "/apis/resource.k8s.io",
        answer({"versions": [{"version": "v1beta1"}]}),
        answer({"versions": [{"version": "v1"}]}),
    )
    server.on("GET", old, answer({"items": [], "metadata": {"resourceVersion": "5"}}))
    server.on("WATCH", old, answer("404 page not found", 404))
    metadata = {"name": "s", "resourceVersion": "6"}
    event = {"type": "ADDED", "object": {"metadata": metadata, "spec": {"devices": []}}}
    server.on("WATCH", new, stream(event, stay=3))
    seen: asyncio.Queue[Change] = asyncio.Queue()
    async with Reflector(server.api(), RESOURCESLICES) as reflector:
        reflector.subscribe(seen.put_nowait)
        assert (await seen.get()).key == "s"
    assert [r.query["resourceVersion"] for r in server.asked("WATCH", new)] == ["5"]


async def test_a_server_without_the_group_says_what_is_needed(server: ScriptedServer) -> None:
    server.on("GET", "/apis/resource.k8s.io", answer({"versions": [{"version": "v9"}]}))
    with pytest.raises(NotFound, match=r"serves resource.k8s.io v9; one of v1, v1beta2, v1beta1"):
        await server.api().list(RESOURCESLICES)


EVENT_LIST = "/apis/events.k8s.io/v1/namespaces/ns/events"


async def test_an_event_names_its_object_and_its_source(server: ScriptedServer) -> None:
    server.on("POST", EVENT_LIST, answer({}, 201))
    obj = {"apiVersion": "v1", "kind": "Secret", **item("s", uid="u")}
    assert await server.api().event(reference(obj), reason="Stored", note="n" * 2000, type="Normal")
    body = server.bodies[-1]
    assert body["regarding"] == {
        "apiVersion": "v1",
        "kind": "Secret",
        "namespace": "ns",
        "name": "s",
        "uid": "u",
    }
    assert (body["reason"], body["type"], body["action"]) == ("Stored", "Normal", "Stored")
    assert body["reportingController"] == "draplugin"
    assert len(body["note"].encode()) <= 1024


async def test_the_same_event_again_counts_up(server: ScriptedServer) -> None:
    obj = {"apiVersion": "v1", "kind": "Secret", **item("s", uid="u")}
    server.on("POST", EVENT_LIST, answer({}, 201), status(409, "AlreadyExists"))
    api = server.api()
    await api.event(reference(obj), reason="Stored", note="n")
    name = server.bodies[-1]["metadata"]["name"]
    server.on("GET", f"{EVENT_LIST}/{name}", answer({"metadata": {"name": name}}))
    server.on("PATCH", f"{EVENT_LIST}/{name}", answer({}))
    assert await api.event(reference(obj), reason="Stored", note="n")
    assert server.bodies[-1]["series"]["count"] == 2


async def test_an_event_that_is_refused_is_no_error(server: ScriptedServer) -> None:
    server.on("POST", EVENT_LIST, status(403, "Forbidden"))
    assert not await server.api().event({"name": "s", "namespace": "ns"}, reason="R", note="n")
    assert EVENTS.group == "events.k8s.io"


async def test_an_object_of_five_megabytes_comes_through_a_watch(server: ScriptedServer) -> None:
    big = item("big", "6", annotations={"x": "y" * 5_000_000})
    line = json.dumps({"type": "ADDED", "object": big}).encode() + b"\n"
    server.on("GET", SECRET_LIST, answer({"items": [], "metadata": {"resourceVersion": "5"}}))
    server.on("WATCH", SECRET_LIST, stream(line[:3_000_000], line[3_000_000:], stay=3))
    seen: asyncio.Queue[Change] = asyncio.Queue()
    async with Reflector(server.api(), SECRETS, "ns") as reflector:
        reflector.subscribe(seen.put_nowait)
        change = await seen.get()
    assert len(change.object["metadata"]["annotations"]["x"]) == 5_000_000
    assert reflector.restarts == {}


BROKEN = [
    pytest.param(stream(b'{"type": "ADDED", "obj', cut=True), id="cut in a line"),
    pytest.param(stream(b"not json\n"), id="no JSON"),
    pytest.param(stream(b'{"type": "ADDED"}\n'), id="no object"),
    pytest.param(stream(b"[]\n"), id="no event"),
    pytest.param(status(500, "InternalError"), id="500"),
    # Twice: aiohttp itself repeats a GET once that found its kept connection closed.
    pytest.param([drop_connection(), drop_connection()], id="dropped"),
]


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_broken_watch_is_opened_again_and_goes_on(
    server: ScriptedServer, broken: Any
) -> None:
    event = {"type": "ADDED", "object": item("a", "6")}
    server.on("GET", SECRET_LIST, answer({"items": [], "metadata": {"resourceVersion": "5"}}))
    first = broken if isinstance(broken, list) else [broken]
    server.on("WATCH", SECRET_LIST, *first, stream(event, stay=3))
    seen: asyncio.Queue[Change] = asyncio.Queue()
    async with Reflector(server.api(), SECRETS, "ns") as reflector:
        reflector.subscribe(seen.put_nowait)
        assert (await seen.get()).key == "ns/a"
    assert reflector.restarts == {"unavailable": 1}
    assert len(server.asked("GET", SECRET_LIST)) == 1


async def test_a_kubeconfig_is_enough_to_connect(server: ScriptedServer, tmp_path: Path) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {"token": "secret-token"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))
    server.shows(NODE, {"metadata": {"name": "n"}})
    async with await Api.connect(path, manager="me") as api:
        await api.get(NODES, "n")
    (request,) = server.requests
    assert request.headers["Authorization"] == "Bearer secret-token"
    assert request.headers["User-Agent"] == "me"


async def test_a_service_account_token_is_read_again_when_it_rotates(
    server: ScriptedServer, tmp_path: Path
) -> None:
    from kubernetes.aio.client.configuration import Configuration
    from kubernetes.aio.config.incluster_config import InClusterConfigLoader

    token, authority = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("first")
    authority.write_text("-")
    host, _, port = server.url.removeprefix("http://").partition(":")
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    loader = InClusterConfigLoader(  # type: ignore[no-untyped-call]
        str(token), str(authority), environ=environment
    )
    configuration = Configuration()
    loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    tokens = []
    for value in ("first", "second"):
        token.write_text(value)
        loader.token_expires_at = loader.token_expires_at.min
        tokens.append(await configuration.get_api_key_with_prefix("BearerToken"))
    assert tokens == ["bearer first", "bearer second"]
