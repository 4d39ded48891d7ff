"""From wished devices and stored slices to writes: names, splits, generations, renderings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from draplugin import Device, Taint
from draplugin.slices.plan import (
    Plan,
    Pool,
    devices_of,
    dropped_fields,
    plan,
    slice_object,
    split,
    without_times,
)

POOL = Pool("d.example.com", "n", "n", "n-d.example.com")
T = Taint("example.com/t", "NoExecute")
A, B, C = Device("a"), Device("b"), Device("c")
A2, B2 = Device("a", {"x": 1}), Device("b", {"x": 1})


def stored(
    *chunks: Sequence[Device], generation: int = 1, owner: str | None = "uid"
) -> list[dict[str, Any]]:
    """Slices as an earlier pass left them."""
    return [
        slice_object(
            POOL, POOL.slice_name(i), devices_of(chunk, ()), len(chunks), generation, owner
        )
        for i, chunk in enumerate(chunks)
    ]


def planned(wish: Any, current: Any, adopted: Any = None, owner: str | None = "uid") -> Plan:
    return plan(POOL, wish, current, owner_uid=owner, adopted=adopted or {})


def words(todo: Plan) -> list[str]:
    """The plan in short: what is written in which order and at which generation."""

    def said(verb: str, slices: Sequence[Any]) -> list[str]:
        return [f"{verb} {s['metadata']['name'].removeprefix(POOL.prefix) or '-1'}" for s in slices]

    writes = [*todo.updates, *todo.creates]
    generations = {s["spec"]["pool"]["generation"] for s in writes}
    assert generations <= {todo.generation}
    return [
        *said("delete", todo.deletes),
        *said("update", todo.updates),
        *said("create", todo.creates),
        f"generation {todo.generation}",
    ]


@pytest.mark.parametrize(
    ("wish", "current", "expected"),
    [
        pytest.param([[A]], [], ["create -1", "generation 1"], id="first"),
        pytest.param([[]], [], ["create -1", "generation 1"], id="an empty pool is a pool"),
        pytest.param([[A]], stored([A]), ["generation 1"], id="unchanged"),
        pytest.param([[A2]], stored([A]), ["update -1", "generation 1"], id="one slice changed"),
        pytest.param(
            [[A2], [B]],
            stored([A], [B], generation=4),
            ["update -1", "generation 4"],
            id="one of two",
        ),
        pytest.param(
            [[A2], [B2]],
            stored([A], [B]),
            ["update -1", "update -2", "generation 2"],
            id="both changed",
        ),
        pytest.param(
            [[A], [B]], stored([A]), ["update -1", "create -2", "generation 2"], id="one more"
        ),
        pytest.param(
            [[A]], stored([A], [B]), ["delete -2", "update -1", "generation 1"], id="one fewer"
        ),
        pytest.param(
            [[A], [B]],
            stored([A], [B], generation=3)[1:],
            ["update -2", "create -1", "generation 4"],
            id="the first was deleted",
        ),
        pytest.param(
            [[A], [B]],
            [stored([A], [B], generation=3)[0], stored([A], [B], generation=4)[1]],
            ["update -1", "update -2", "generation 5"],
            id="a torn rewrite is repaired",
        ),
        pytest.param(
            None, stored([A], [B]), ["delete -1", "delete -2", "generation 0"], id="retract"
        ),
        pytest.param(None, [], ["generation 0"], id="retract nothing"),
        pytest.param(
            [[A]], stored([A], owner=None), ["update -1", "generation 1"], id="no owner yet"
        ),
        pytest.param(
            [[A]], stored([A], owner="old"), ["update -1", "generation 1"], id="owner replaced"
        ),
    ],
)
def test_what_is_written(wish: Any, current: Any, expected: list[str]) -> None:
    assert words(planned(wish, current)) == expected


def test_without_permission_to_read_the_node_ownerless_slices_are_left_alone() -> None:
    assert not planned([[A]], stored([A], owner=None), owner=None)


@pytest.mark.parametrize(("field", "value"), [("nodeName", "other"), ("driver", "other")])
def test_a_slice_whose_immutable_fields_differ_goes_first(field: str, value: str) -> None:
    (current,) = stored([A])
    current["spec"][field] = value
    todo = planned([[A]], [current])
    assert words(todo) == ["delete -1", "create -1", "generation 1"]
    assert "resourceVersion" not in todo.creates[0]["metadata"]


def test_a_slice_being_deleted_is_not_counted_on() -> None:
    (current,) = stored([A])
    current["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert words(planned([[A]], [current])) == ["delete -1", "create -1", "generation 1"]


def test_an_update_carries_the_version_and_metadata_it_is_based_on() -> None:
    (current,) = stored([A])
    current["metadata"] |= {"resourceVersion": "7", "uid": "u", "labels": {"a": "b"}}
    (update,) = planned([[A2]], [current]).updates
    assert update["metadata"]["resourceVersion"] == "7"
    assert update["metadata"]["labels"] == {"a": "b"}


def tainted(time: str | None = None, effect: str = "NoExecute") -> Device:
    return Device("a", taints=(Taint("example.com/t", effect, time_added=time),))


NOON = "2026-01-01T12:00:00Z"


@pytest.mark.parametrize(
    ("wish", "current", "expected"),
    [
        pytest.param(tainted(), tainted(NOON), None, id="no time equals any"),
        pytest.param(
            tainted(), Device("a"), {"effect": "NoExecute"}, id="new: the server says when"
        ),
        pytest.param(
            Device("a", {"x": 1}, tainted().taints),
            tainted(NOON),
            {"effect": "NoExecute", "timeAdded": NOON},
            id="kept through another change",
        ),
        pytest.param(
            tainted(effect="NoSchedule"),
            tainted(NOON),
            {"effect": "NoSchedule"},
            id="another effect is another taint",
        ),
    ],
)
def test_taints_keep_their_time(wish: Device, current: Device, expected: Any) -> None:
    todo = planned([[wish]], stored([current]))
    if expected is None:
        assert not todo
    else:
        (taint,) = todo.updates[0]["spec"]["devices"][0]["taints"]
        assert taint == {"key": "example.com/t", **expected}


def test_a_taint_keeps_its_time_when_its_device_moves_to_another_slice() -> None:
    todo = planned([[B], [tainted()]], stored([tainted(NOON)], [B]))
    (taint,) = todo.updates[1]["spec"]["devices"][0]["taints"]
    assert taint["timeAdded"] == NOON


def test_the_servers_rendering_of_what_was_sent_is_not_written_again() -> None:
    sent = devices_of([Device("a", capacity={"memory": "1024Mi"}, taints=(T,))], ())
    (current,) = stored([Device("a", capacity={"memory": "1Gi"})])
    have = current["spec"]["devices"]
    adopted = {POOL.prefix: (without_times(sent), without_times(have))}
    wish = [[Device("a", capacity={"memory": "1024Mi"}, taints=(T,))]]
    assert planned(wish, [current])
    assert not planned(wish, [current], adopted)
    current["spec"]["devices"] = devices_of([A], ())
    assert planned(wish, [current], adopted), "but what somebody else made of it is"


def test_fields_a_server_leaves_out_are_found_by_comparing() -> None:
    sent, have = stored([Device("a", {"x": 1}, (T,)), B])[0], stored([A2, B])[0]
    assert dropped_fields(sent, have) == {"taints"}
    assert dropped_fields(have, have) == frozenset()


def many(number: int, taints: tuple[Taint, ...] = ()) -> list[Device]:
    return [Device(f"d{n}", taints=taints) for n in range(number)]


@pytest.mark.parametrize(
    ("devices", "most", "sizes"),
    [
        ([], 64, [0]),
        (many(64), 64, [64]),
        (many(65), 64, [64, 1]),
        (many(129), 128, [128, 1]),
        (many(129, (T,)), 128, [64, 64, 1]),
        ([*many(100), *many(1, (T,))], 128, [100, 1]),
        ([*many(60), *many(1, (T,)), *many(10)], 128, [64, 7]),
    ],
)
def test_slices_hold_64_devices_or_128_without_taints(
    devices: list[Device], most: int, sizes: list[int]
) -> None:
    chunks = split(devices, most)
    assert [len(chunk) for chunk in chunks] == sizes
    assert [device for chunk in chunks for device in chunk] == devices
