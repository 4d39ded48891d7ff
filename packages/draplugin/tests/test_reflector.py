"""A live copy under every fault a server or a network shows: contents right, requests bounded."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from draplugin.kube import (
    SECRETS,
    ApiError,
    Backoff,
    Change,
    Forbidden,
    Gone,
    Object,
    Reflector,
    Unavailable,
)

pytestmark = pytest.mark.looptime
Event = tuple[str, Object]


def secret(name: str, version: int, uid: str = "u") -> Object:
    return {
        "metadata": {"name": name, "namespace": "ns", "resourceVersion": str(version), "uid": uid}
    }


def status(code: int, reason: str) -> Event:
    return ("ERROR", {"kind": "Status", "code": code, "reason": reason, "message": reason})


class Script:
    """Stands where Api stands: scripted lists and watches on the test's clock.

    A watch is a list of events, exceptions and numbers (seconds to wait); a single exception is
    raised on opening. The last entry of each script stays.
    """

    def __init__(self, lists: Sequence[Any], watches: Sequence[Any]) -> None:
        self.lists, self.watches = list(lists), list(watches)
        self.asked: list[str] = []
        self.queries: list[dict[str, str]] = []

    async def list_at(self, *_: object, **__: object) -> tuple[list[Object], str]:
        self.asked.append("list")
        entry = self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]
        if isinstance(entry, ApiError):
            raise entry
        items, version = entry
        return list(items), str(version)

    @asynccontextmanager
    async def watch(
        self, _: object, __: object, query: Any, *, timeout: float
    ) -> AsyncIterator[AsyncIterator[Event]]:
        self.asked.append("watch")
        self.queries.append({**dict(query), "timeout": str(timeout)})
        entry = self.watches.pop(0) if len(self.watches) > 1 else self.watches[0]
        if isinstance(entry, ApiError):
            raise entry
        yield self._events(entry)

    async def _events(self, entry: Sequence[Any]) -> AsyncIterator[Event]:
        for item in entry:
            if isinstance(item, (int, float)):
                await asyncio.sleep(item)
            elif isinstance(item, ApiError):
                raise item
            else:
                yield item

    def reflector(self) -> Reflector:
        return Reflector(self, SECRETS, "ns", rng=random.Random(1))  # type: ignore[arg-type]


async def run(script: Script, seconds: float) -> tuple[Reflector, list[str]]:
    """Let a reflector run; what it holds, and its changes in words."""
    reflector = script.reflector()
    changes: list[str] = []

    def note(change: Change) -> None:
        version = change.object["metadata"]["resourceVersion"]
        changes.append(f"{change.kind} {change.key}@{version}")

    reflector.subscribe(note)
    async with reflector:
        await asyncio.sleep(seconds)
    return reflector, changes


QUIET = [1000]
ONE = ([secret("a", 1)], 5)


async def test_the_list_and_then_the_events_are_the_changes() -> None:
    events = [
        ("ADDED", secret("b", 6)),
        ("MODIFIED", secret("a", 7)),
        ("BOOKMARK", secret("", 9)),
        ("DELETED", secret("b", 10)),
        *QUIET,
    ]
    reflector, changes = await run(Script([ONE], [events]), 1)
    assert changes == ["added ns/a@1", "added ns/b@6", "modified ns/a@7", "deleted ns/b@10"]
    assert list(reflector.items) == ["ns/a"]
    assert reflector.synced
    assert reflector.problem is None


async def test_a_watch_starts_at_the_list_and_goes_on_from_the_last_bookmark() -> None:
    script = Script([ONE], [[20, ("BOOKMARK", secret("", 9))], QUIET])
    await run(script, 30)
    assert [q["resourceVersion"] for q in script.queries] == ["5", "9"]
    assert all(q["allowWatchBookmarks"] == "true" for q in script.queries)
    assert script.asked == ["list", "watch", "watch"]


async def test_a_watch_asks_for_its_own_end_before_the_connection_counts_as_half_open() -> None:
    script = Script([ONE], [QUIET])
    await run(script, 1)
    (query,) = script.queries
    assert 240 <= int(query["timeoutSeconds"]) <= 300
    assert float(query["timeout"]) == int(query["timeoutSeconds"]) + 30


FAULTS: list[Any] = [
    # What happens; lists, watches; most requests in 4 s and in 10 min; what is asked again.
    pytest.param([ONE], [[]], 5, 50, "watch", id="server closes each watch at once"),
    pytest.param([ONE], [[("BOOKMARK", secret("", 9))]], 6, 800, "watch", id="one event each time"),
    pytest.param([ONE], [[status(410, "Expired")]], 10, 100, "list", id="410 in the stream"),
    pytest.param([ONE], [Gone("old", status=410)], 10, 100, "list", id="410 on opening"),
    pytest.param([ONE], [Unavailable("500", status=500)], 5, 50, "watch", id="500 on opening"),
    pytest.param([ONE], [[Unavailable("reset")]], 5, 50, "watch", id="connection reset"),
    pytest.param([ONE], [Forbidden("no", status=403)], 5, 50, "watch", id="403 on opening"),
    pytest.param([Unavailable("down")], [QUIET], 5, 50, "list", id="no server at all"),
    pytest.param([Forbidden("no", status=403)], [QUIET], 5, 50, "list", id="403 on list"),
    pytest.param(
        [ONE], [Unavailable("busy", status=429, retry_after=20.0)], 2, 40, "watch", id="429, 20 s"
    ),
]


@pytest.mark.parametrize(("lists", "watches", "soon", "later", "again"), FAULTS)
async def test_no_fault_makes_it_hot(
    lists: list[Any], watches: list[Any], soon: int, later: int, again: str
) -> None:
    for seconds, most in ((4, soon), (600, later)):
        script = Script(lists, watches)
        await run(script, seconds)
        assert 1 < len(script.asked) <= most or script.asked == ["list"] * len(script.asked)
        assert len(script.asked) <= most
        assert again in script.asked[1:] or seconds == 4


async def test_the_copy_outlives_the_server_and_the_reason_is_told() -> None:
    script = Script([ONE], [[20, Unavailable("connection refused")], Unavailable("still down")])
    reflector, _ = await run(script, 60)
    assert list(reflector.items) == ["ns/a"]
    assert reflector.problem == "secrets: still down"


async def test_a_server_that_comes_back_clears_the_problem() -> None:
    script = Script([ONE], [Unavailable("down"), QUIET])
    reflector, _ = await run(script, 60)
    assert reflector.problem is None
    assert reflector.restarts == {"unavailable": 1}


async def test_an_expired_version_is_no_problem_but_a_fresh_list() -> None:
    script = Script([ONE, ([secret("a", 1)], 50)], [[status(410, "Expired")], QUIET])
    reflector, changes = await run(script, 60)
    assert script.asked == ["list", "watch", "list", "watch"]
    assert script.queries[1]["resourceVersion"] == "50"
    assert changes == ["added ns/a@1"]
    assert reflector.problem is None


@pytest.mark.parametrize(
    ("fresh", "expected"),
    [
        pytest.param([], ["deleted ns/a@1"], id="deleted meanwhile"),
        pytest.param([secret("a", 1)], [], id="unchanged"),
        pytest.param([secret("a", 8)], ["modified ns/a@8"], id="changed meanwhile"),
        pytest.param(
            [secret("a", 8, "other")], ["deleted ns/a@1", "added ns/a@8"], id="replaced meanwhile"
        ),
    ],
)
async def test_a_new_list_is_compared_with_the_copy(fresh: list[Object], expected: Any) -> None:
    script = Script([ONE, (fresh, 50)], [Gone("old", status=410), QUIET])
    _, changes = await run(script, 60)
    assert changes == ["added ns/a@1", *expected]


async def test_other_errors_in_the_stream_are_typed_too() -> None:
    script = Script([ONE], [[status(500, "InternalError")], QUIET])
    reflector, _ = await run(script, 60)
    assert reflector.restarts == {"unavailable": 1}
    assert script.asked == ["list", "watch", "watch"]


async def test_what_nobody_foresaw_costs_a_list_and_not_the_copy(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nameless: Event = ("ADDED", {"metadata": {"resourceVersion": "9"}})
    script = Script([ONE, ([secret("a", 1), secret("b", 9)], 50)], [[nameless], QUIET])
    reflector, changes = await run(script, 60)
    assert script.asked == ["list", "watch", "list", "watch"]
    assert changes == ["added ns/a@1", "added ns/b@9"]
    assert (reflector.restarts, reflector.problem) == ({"unexpected": 1}, None)
    assert "KeyError: 'name'" in caplog.text


async def test_a_subscriber_that_fails_does_not_cost_the_others() -> None:
    script, seen = Script([ONE], [QUIET]), []

    def fail(_: Change) -> None:
        raise ValueError

    reflector = script.reflector()
    reflector.subscribe(fail)
    undo: Callable[[], None] = reflector.subscribe(lambda change: seen.append(change.key))
    async with reflector:
        await reflector.wait_synced()
        undo()
    assert seen == ["ns/a"]


def test_waits_grow_to_the_bound_with_jitter_and_start_over() -> None:
    backoff = Backoff(0.8, 30, random.Random(3))
    waits = [backoff.next() for _ in range(200)]
    assert all(0.8 <= wait <= 30 for wait in waits)
    assert waits[0] <= 1.6
    assert max(waits[10:]) > 25
    assert len(set(waits)) > 190
    backoff.reset()
    assert backoff.next() <= 1.6


@pytest.mark.parametrize(
    ("asked", "least", "most"), [(20, 20, 30), (3600, 120, 120), (None, 0.8, 1.6)]
)
def test_a_server_may_ask_for_more_patience_within_reason(
    asked: float | None, least: float, most: float
) -> None:
    assert least <= Backoff().next(asked) <= most
