"""Api and Reflector against the real API server."""

from __future__ import annotations

import asyncio

import pytest
from draplugin.kube import (
    CONFIGMAPS,
    EVENTS,
    AlreadyExists,
    Api,
    Change,
    Conflict,
    Invalid,
    NotFound,
    Reflector,
    reference,
)

pytestmark = pytest.mark.api


def config_map(namespace: str, name: str = "c", **data: str) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


async def test_apply_creates_changes_and_drops_what_it_states_no_more(
    client: Api, namespace: str
) -> None:
    await client.apply(CONFIGMAPS, config_map(namespace, a="1", b="1"))
    await client.apply(CONFIGMAPS, config_map(namespace, c="1"), manager="other")
    stored = await client.apply(CONFIGMAPS, config_map(namespace, a="2"))
    assert stored["data"] == {"a": "2", "c": "1"}
    assert "managedFields" not in stored["metadata"]


async def test_a_field_of_another_manager_is_a_conflict_unless_forced(
    client: Api, namespace: str
) -> None:
    await client.apply(CONFIGMAPS, config_map(namespace, a="1"))
    with pytest.raises(Conflict, match="conflict"):
        await client.apply(CONFIGMAPS, config_map(namespace, a="2"), manager="other", force=False)
    stored = await client.apply(CONFIGMAPS, config_map(namespace, a="2"), manager="other")
    assert stored["data"] == {"a": "2"}


async def test_the_errors_of_the_server_are_typed(client: Api, namespace: str) -> None:
    with pytest.raises(NotFound):
        await client.get(CONFIGMAPS, "nobody", namespace)
    first = await client.create(CONFIGMAPS, config_map(namespace))
    with pytest.raises(AlreadyExists):
        await client.create(CONFIGMAPS, config_map(namespace))
    with pytest.raises(Invalid, match="must consist of lower case"):
        await client.create(CONFIGMAPS, config_map(namespace, "Not A Name"))
    await client.patch(CONFIGMAPS, "c", {"data": {"x": "1"}}, namespace)
    with pytest.raises(Conflict):
        await client.replace(CONFIGMAPS, first)
    with pytest.raises(Conflict):
        await client.delete(CONFIGMAPS, "c", namespace, uid="other")
    assert await client.delete(CONFIGMAPS, "c", namespace)
    assert not await client.delete(CONFIGMAPS, "c", namespace)


async def test_both_kinds_of_patch(client: Api, namespace: str) -> None:
    await client.create(CONFIGMAPS, config_map(namespace, a="1", b="1"))
    merged = await client.patch(CONFIGMAPS, "c", {"data": {"a": None, "c": "1"}}, namespace)
    assert merged["data"] == {"b": "1", "c": "1"}
    operations = [{"op": "replace", "path": "/data/b", "value": "2"}]
    assert (await client.patch(CONFIGMAPS, "c", operations, namespace))["data"]["b"] == "2"


async def test_a_reflector_follows_additions_changes_and_deletions(
    client: Api, namespace: str
) -> None:
    await client.create(CONFIGMAPS, config_map(namespace, "a"))
    changes: asyncio.Queue[Change] = asyncio.Queue()
    async with Reflector(client, CONFIGMAPS, namespace, label_selector="!skip") as reflector:
        await reflector.wait_synced()
        assert f"{namespace}/a" in reflector.items
        reflector.subscribe(changes.put_nowait)
        await client.create(CONFIGMAPS, config_map(namespace, "b"))
        await client.patch(CONFIGMAPS, "b", {"data": {"x": "1"}}, namespace)
        await client.delete(CONFIGMAPS, "b", namespace)
        async with asyncio.timeout(45):
            seen = [await changes.get() for _ in range(3)]
        assert [(c.kind, c.key) for c in seen] == [
            ("added", f"{namespace}/b"),
            ("modified", f"{namespace}/b"),
            ("deleted", f"{namespace}/b"),
        ]
        assert seen[1].object["kind"] == "ConfigMap"
        assert "managedFields" not in seen[1].object["metadata"]


async def test_more_objects_than_a_page_holds_are_all_listed(client: Api, namespace: str) -> None:
    names = [f"c-{n:03}" for n in range(520)]
    for start in range(0, len(names), 40):
        chunk = names[start : start + 40]
        await asyncio.gather(*(client.create(CONFIGMAPS, config_map(namespace, n)) for n in chunk))
    listed = {o["metadata"]["name"] for o in await client.list(CONFIGMAPS, namespace)}
    assert listed >= set(names)


async def test_an_event_is_recorded_once_and_counted(client: Api, namespace: str) -> None:
    stored = await client.create(CONFIGMAPS, config_map(namespace))
    about = reference({"apiVersion": "v1", "kind": "ConfigMap", **stored})
    for _ in range(3):
        assert await client.event(about, reason="ClaimPrepareFailed", note="because")
    (event,) = [
        e
        for e in await client.list(EVENTS, namespace)
        if e["regarding"].get("uid") == stored["metadata"]["uid"]
    ]
    assert (event["reason"], event["note"], event["type"]) == (
        "ClaimPrepareFailed",
        "because",
        "Warning",
    )
    assert event["series"]["count"] == 3


async def test_an_event_about_a_cluster_wide_object_goes_to_default(client: Api) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n"}}
    assert await client.event(reference(node), reason="TaintsDropped", note="because")
    events = await client.list(EVENTS, "default", field_selector="reason=TaintsDropped")
    assert [e["regarding"]["name"] for e in events] == ["n"]
