"""A live copy of a set of objects, and a call whenever one of them changes.

State machine:

    list --ok--> watch --closed, error--> wait --> watch
     ^             |                       |
     |             +---- 410, by stream or by HTTP ---> wait --> list
     +-- wait <-- error

The list is paged and fixes the resource version the watch starts from; bookmarks move it on while
nothing happens, so that a reconnect after an hour of silence is no relist. Deletions that happened
while no watch was open are found by comparing the new list with the old copy. `managedFields` are
dropped on receipt: they are more than half of a typical object and nobody here reads them.

Waits are full jitter between 0.8 s and a bound that doubles to 30 s, and start over once a watch
has delivered something; a watch that was open for 10 s is opened again at once. A server that
closes every watch at once is thus asked a few times a minute, where most Python clients ask a
thousand times a second.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from .api import Api, selectors
from .errors import ApiError, Gone, error_from_status
from .resources import Object, Resource, key_of, resource_version_of, uid_of

_log = logging.getLogger(__name__)

# A watch asks to be ended after 4 to 5 minutes; 30 s past that nothing can come any more and the
# connection is half open (a peer that vanished sends no FIN).
WATCH_SECONDS = (240, 300)
HALF_OPEN_GRACE = 30.0
LONG_WATCH = 10.0


@dataclass(frozen=True, slots=True)
class Change:
    """One object came, changed or went; `key` is `namespace/name` or `name`."""

    kind: Literal["added", "modified", "deleted"]
    key: str
    object: Object


class Backoff:
    """Full jitter between `least` and a bound that doubles up to `most` seconds."""

    def __init__(
        self, least: float = 0.8, most: float = 30.0, rng: random.Random | None = None
    ) -> None:
        self._least = least
        self._most = most
        self._rng = rng or random.Random()  # noqa: S311 - spreading load, not a secret
        self._bound = least * 2

    def reset(self) -> None:
        """Start over: things work."""
        self._bound = self._least * 2

    def next(self, at_least: float | None = None) -> float:
        """Seconds to wait before the next attempt, at least what the server asked for."""
        wait = self._rng.uniform(self._least, self._bound)
        self._bound = min(self._bound * 2, self._most)
        return max(wait, min(at_least or 0.0, 120.0))


class Reflector:
    """Keeps `items` equal to what the API server holds.

    Start it with `start()` (or `async with`), stop it with `await stop()`. `items` maps keys to
    objects and is never empty just because the server is away: then it is old, and `problem` says
    since when nothing works and why.
    """

    def __init__(
        self,
        api: Api,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        *,
        backoff: Backoff | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.resource = resource
        self.restarts: dict[str, int] = {}
        self.problem: str | None = None
        self._api = api
        self._namespace = namespace
        self._selectors = selectors(label_selector, field_selector)
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._items: dict[str, Object] = {}
        self._version: str | None = None
        self._synced = asyncio.Event()
        self._subscribers: list[Callable[[Change], None]] = []
        self._rng = rng or random.Random()  # noqa: S311 - spreading load, not a secret
        self._backoff = backoff or Backoff(rng=self._rng)
        self._task: asyncio.Task[None] | None = None

    @property
    def items(self) -> Mapping[str, Object]:
        """A read-only view of the copy; objects in it must not be changed."""
        return MappingProxyType(self._items)

    @property
    def synced(self) -> bool:
        """Whether the copy was complete at least once."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Return when the first list is in."""
        await self._synced.wait()

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        """Call `callback` after each change, in order, from the event loop; returns the undo.

        A callback that raises is logged; the others are called all the same.
        """
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    def start(self) -> None:
        """Begin in the background; a second call changes nothing."""
        if self._task is None:
            name = f"reflector {self.resource.plural}"
            self._task = asyncio.get_running_loop().create_task(self.run(), name=name)

    async def stop(self) -> None:
        """End the background task; the copy stays readable."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def __aenter__(self) -> Reflector:
        self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def run(self) -> None:
        """List and watch until cancelled; never raises an error."""
        while True:
            wait = await self._step()
            if wait > 0:
                await asyncio.sleep(wait)

    async def _step(self) -> float:
        """One list or one watch; how long to wait before the next step."""
        try:
            if self._version is None:
                await self._list()
                return 0.0
            return await self._watch(self._version)
        except Gone as error:
            # No failure of the server: the copy is made again from a fresh list.
            self._version = None
            return self._restart("gone", error)
        except ApiError as error:
            return self._failed(type(error).__name__.lower(), error)
        except Exception as error:
            # An object nobody foresaw must not end the copy for good; a list makes it whole again.
            _log.exception("%s: unexpected", self.resource.plural)
            self._version = None
            return self._failed("unexpected", ApiError(repr(error)))

    def _restart(self, cause: str, error: ApiError) -> float:
        self.restarts[cause] = self.restarts.get(cause, 0) + 1
        return self._backoff.next(error.retry_after)

    def _failed(self, cause: str, error: ApiError) -> float:
        wait = self._restart(cause, error)
        if self.problem is None:
            _log.warning("%s: %s; trying again", self.resource.plural, error)
        self.problem = f"{self.resource.plural}: {error}"
        return wait

    def _works(self) -> None:
        if self.problem is not None:
            _log.info("%s: reachable again", self.resource.plural)
        self.problem = None

    async def _list(self) -> None:
        items, version = await self._api.list_at(
            self.resource,
            self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
        )
        self._works()
        self._replace({key_of(item): item for item in items})
        self._version = version
        self._synced.set()

    def _replace(self, new: dict[str, Object]) -> None:
        for key in [key for key in self._items if key not in new]:
            self._notify(Change("deleted", key, self._items.pop(key)))
        for key, item in new.items():
            self._put(key, item)

    def _put(self, key: str, item: Object) -> None:
        old = self._items.get(key)
        if old is not None and uid_of(old) != uid_of(item):
            # Deleted and created again while nobody looked: two changes, not one.
            del self._items[key]
            self._notify(Change("deleted", key, old))
            old = None
        if old is not None and resource_version_of(old) == resource_version_of(item):
            return
        self._items[key] = item
        self._notify(Change("added" if old is None else "modified", key, item))

    async def _watch(self, version: str) -> float:
        seconds = self._rng.randint(*WATCH_SECONDS)
        query = [
            *self._selectors,
            ("resourceVersion", version),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", str(seconds)),
        ]
        clock = asyncio.get_running_loop().time
        opened = clock()
        async with self._api.watch(
            self.resource, self._namespace, query, timeout=seconds + HALF_OPEN_GRACE
        ) as events:
            self._works()
            await self._consume(events)
        self.restarts["closed"] = self.restarts.get("closed", 0) + 1
        if clock() - opened < LONG_WATCH:
            return self._backoff.next()
        self._backoff.reset()
        return 0.0

    async def _consume(self, events: AsyncIterator[tuple[str, Object]]) -> None:
        async for kind, obj in events:
            if kind == "ERROR":
                raise error_from_status(obj)
            self._version = resource_version_of(obj) or self._version
            self._backoff.reset()
            if kind in ("ADDED", "MODIFIED"):
                self._put(key_of(obj), obj)
            elif kind == "DELETED":
                self._delete(key_of(obj), obj)

    def _delete(self, key: str, obj: Object) -> None:
        if self._items.pop(key, None) is not None:
            self._notify(Change("deleted", key, obj))

    def _notify(self, change: Change) -> None:
        for callback in tuple(self._subscribers):
            try:
                callback(change)
            except Exception:
                _log.exception("a subscriber of %s failed", self.resource.plural)
