"""Keeps one node's pool on the API server equal to the last wish, whoever deletes what.

The kubelet deletes every slice of its node when it starts, and a driver's own 30 s after its
plugin went away (kubernetes #132683, #141912; NVIDIA k8s-dra-driver-gpu #330), and tells nobody.
So the publisher watches its slices and puts back what is missing. There is no cache of its own
writes that could hide a deletion: a pass plans from the watched copy, once that has caught up with
the last write, or from a fresh list when it does not catch up in time.

Failures of the API are retried with back-off for as long as it takes; nothing here is fatal.
Stopping leaves the slices: a pod that runs must not lose its device to a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ..kube import (
    NODES,
    RESOURCESLICES,
    AlreadyExists,
    Api,
    ApiError,
    Backoff,
    Change,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Object,
    Reflector,
    Unavailable,
)
from ..kube.resources import key_of, resource_version_of, uid_of
from ..metrics import NoRecorder, Recorder
from ..model import Device
from .plan import MAX_TAINTED, Plan, Pool, dropped_fields, plan, split, without_times
from .validate import Drop, sanitize

V = TypeVar("V")
_log = logging.getLogger(__name__)
CATCH_UP = 5.0
MAX_PASSES = 10
UNKNOWN = "?"
QUIET = 60.0
_cause = re.compile(r"spec\.devices\[(\d+)\](?:\.basic)?\.?(attributes|capacity|taints)?")
_key = re.compile(r"(?:attributes|capacity)\[([^\]]+)\]")


@dataclass(frozen=True, slots=True)
class Publication:
    """What of the last wish is on the server.

    `drops` is what client-side checks or the server's refusal took out. `dropped_fields` are
    device fields that the server left out without a word (`taints`: feature gate DRADeviceTaints
    is off). `problem` is the API error of the last attempt, empty when it succeeded; then
    `complete` tells whether the server holds the wish.
    """

    devices: int = 0
    slices: int = 0
    generation: int = 0
    complete: bool = False
    drops: tuple[Drop, ...] = ()
    dropped_fields: frozenset[str] = frozenset()
    problem: str = ""


class SlicePublisher:
    """Publishes one driver's devices of one node.

    `pool` defaults to the node's name, `prefix` (the first slice's name) to `<node>-<driver>`;
    further slices are `<prefix>-2`, `-3`. `max_devices` per slice is 64, because a slice with any
    tainted device may not hold more and a boundary that moves with a taint rewrites every slice;
    a driver that never taints may say 128. Use it as a context manager, or `start()`/`stop()`.
    """

    def __init__(
        self,
        api: Api,
        driver: str,
        node: str,
        pool: str | None = None,
        prefix: str | None = None,
        *,
        max_devices: int = MAX_TAINTED,
        recorder: Recorder | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self.pool = Pool(driver, node, pool or node, prefix or f"{node}-{driver}")
        self._api = api
        self._max_devices = max_devices
        self._recorder = recorder or NoRecorder()
        self._backoff = backoff or Backoff()
        self._healing = Backoff(least=0.1, most=10.0)
        self._healed_at = float("-inf")
        selector = f"spec.driver={driver},spec.nodeName={node}"
        self._reflector = Reflector(api, RESOURCESLICES, field_selector=selector)
        self._reflector.subscribe(self._changed)
        self._wish: tuple[Device, ...] | None = None
        self._wished = False
        self._round = 0
        self._done_round = 0
        self._progress = asyncio.Condition()
        self._wake = asyncio.Event()
        self._hold_until = 0.0
        self._written: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._seen_event = asyncio.Event()
        self._adopted: dict[str, tuple[object, object]] = {}
        self._dropped_fields: dict[str, frozenset[str]] = {}
        self._refused: dict[str, tuple[Device, frozenset[str]]] = {}
        self._owner_uid: str | None = None
        self._ownerless = False
        self._publication = Publication()
        self._reported: frozenset[str] = frozenset()
        self._task: asyncio.Task[None] | None = None

    @property
    def publication(self) -> Publication:
        """What is on the server, as far as the last attempt knows.

        While the slices cannot even be watched, its `problem` says why.
        """
        problem = self._publication.problem or self._reflector.problem
        return replace(self._publication, problem=problem) if problem else self._publication

    @property
    def slices(self) -> Mapping[str, Object]:
        """The slices of this driver on this node, as watched."""
        return self._reflector.items

    def wish(self, devices: Iterable[Device]) -> None:
        """State the devices that shall be published from now on; returns at once."""
        self._set_wish(tuple(devices))

    async def publish(self, devices: Iterable[Device]) -> Publication:
        """State the devices and return when the server holds them.

        Waits through API errors; use `asyncio.timeout` to limit that. The wish stays in any case.
        """
        self._set_wish(tuple(devices))
        return await self._settled(self._round)

    async def retract(self) -> None:
        """Delete all slices of this driver on this node and publish nothing until the next wish."""
        self._set_wish(None)
        await self._settled(self._round)

    def start(self) -> None:
        """Begin to watch and heal in the background; without a wish, nothing is written."""
        self._reflector.start()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="slices")

    async def stop(self) -> None:
        """End the background work; the slices stay as they are."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self._reflector.stop()

    async def __aenter__(self) -> SlicePublisher:
        self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    def _set_wish(self, wish: tuple[Device, ...] | None) -> None:
        if self._wished and wish == self._wish and self._same_contents(wish):
            return
        self._wish, self._wished = wish, True
        self._round += 1
        self._wake.set()

    def _same_contents(self, wish: tuple[Device, ...] | None) -> bool:
        # Mappings inside a frozen dataclass take part in ==, so equal tuples are equal contents;
        # what remains is True == 1 and Semver == str, which are different attributes.
        def kinds(devices: tuple[Device, ...] | None) -> list[list[type]]:
            return [[type(v) for v in d.attributes.values()] for d in devices or ()]

        return kinds(wish) == kinds(self._wish)

    async def _settled(self, round_: int) -> Publication:
        async with self._progress:
            await self._progress.wait_for(lambda: self._done_round >= round_)
        return self._publication

    async def _run(self) -> None:
        await self._reflector.wait_synced()
        self._wake.set()
        while True:
            await self._wake.wait()
            await self._wait_for_healing()
            self._wake.clear()
            if self._wished and not await self._attempt():
                await asyncio.sleep(self._backoff.next())
                self._wake.set()

    async def _wait_for_healing(self) -> None:
        # A new wish need not wait for the moment at which a deleted slice is put back.
        loop = asyncio.get_running_loop()
        while self._round == self._done_round and (left := self._hold_until - loop.time()) > 0:
            self._wake.clear()
            # Not asyncio.wait_for: until Python 3.12 it swallows a cancellation that comes with
            # the event, and stop() would wait for ever (cpython #86296).
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._wake.wait()

    async def _attempt(self) -> bool:
        """One pass; whether it succeeded."""
        round_ = self._round
        try:
            publication = await self._sync()
        except ApiError as error:
            self._failed(error)
            return False
        except Exception as error:
            # A fault of ours must not end the publishing for good, nor stay unsaid.
            _log.exception("publishing %s failed", self.pool.prefix)
            self._failed(error)
            return False
        self._backoff.reset()
        self._report(publication)
        async with self._progress:
            self._publication = publication
            self._done_round = round_
            self._progress.notify_all()
        return True

    def _failed(self, error: Exception) -> None:
        self._recorder.publish_failed(type(error).__name__)
        if not self._publication.problem:
            _log.warning("cannot publish %s: %s; trying again", self.pool.prefix, error)
        self._publication = replace(
            self._publication, problem=str(error) or repr(error), complete=False
        )

    async def _sync(self) -> Publication:
        """Plan and write until nothing is left to do."""
        for _ in range(MAX_PASSES):
            wish, drops = self._acceptable()
            chunks = None if wish is None else split(wish, self._max_devices)
            current = await self._current()
            owner = await self._owner() if chunks is not None else None
            todo = plan(self.pool, chunks, current, owner_uid=owner, adopted=dict(self._adopted))
            if not todo:
                names = {key_of(slice_) for slice_ in current}
                fields = (fs for name, fs in self._dropped_fields.items() if name in names)
                return Publication(
                    devices=len(wish or ()),
                    slices=len(chunks or ()),
                    generation=todo.generation,
                    complete=True,
                    drops=drops,
                    dropped_fields=frozenset[str]().union(*fields),
                )
            await self._write(todo)
        raise Unavailable(f"{self.pool.prefix}: somebody else keeps changing the slices")

    def _acceptable(self) -> tuple[tuple[Device, ...] | None, tuple[Drop, ...]]:
        if self._wish is None:
            return None, ()
        devices, drops = sanitize(self._wish, self.pool.driver)
        kept, refused = self._without_refused(devices)
        return kept, (*drops, *refused)

    def _without_refused(
        self, devices: Sequence[Device]
    ) -> tuple[tuple[Device, ...], tuple[Drop, ...]]:
        kept, drops = [], []
        for device in devices:
            before, names = self._refused.get(device.name, (None, frozenset[str]()))
            if before != device:
                kept.append(device)
                continue
            drops += [
                Drop(device.name, name or "device", "refused by the server") for name in names
            ]
            if "" not in names:
                kept.append(_without(device, names))
        return tuple(kept), tuple(drops)

    async def _write(self, todo: Plan) -> None:
        for slice_ in todo.deletes:
            await self._delete(slice_)
        for body in todo.updates:
            with contextlib.suppress(Conflict, NotFound):
                await self._put(body, create=False)
        for body in todo.creates:
            try:
                await self._put(body, create=True)
            except AlreadyExists:
                await self._check_ours(key_of(body))

    async def _check_ours(self, name: str) -> None:
        """Raise Conflict when the name is taken by a slice that is not for us to change."""
        with contextlib.suppress(NotFound):
            spec = (await self._api.get(RESOURCESLICES, name))["spec"]
            owner = (spec.get("driver"), spec.get("nodeName"))
            if owner != (self.pool.driver, self.pool.node):
                raise Conflict(f"slice {name} belongs to driver {owner[0]} on node {owner[1]}")

    async def _put(self, body: Object, *, create: bool) -> None:
        name = key_of(body)
        # Whatever comes of it, the copy is stale until this write or a list was seen.
        self._written[name] = UNKNOWN
        try:
            write = self._api.create if create else self._api.replace
            stored = await write(RESOURCESLICES, body)
        except Invalid as error:
            if not self._learn(body, error):
                raise
            return
        self._written[name] = resource_version_of(stored)
        sent, have = body["spec"]["devices"], stored["spec"].get("devices") or []
        self._adopted[name] = (without_times(sent), without_times(have))
        self._dropped_fields[name] = dropped_fields(body, stored)
        _log.info(
            "slice %s: generation %d, %d devices",
            name,
            stored["spec"]["pool"]["generation"],
            len(have),
        )

    async def _delete(self, slice_: Object) -> None:
        name = key_of(slice_)
        self._written[name] = UNKNOWN
        self._adopted.pop(name, None)
        with contextlib.suppress(Conflict):
            await self._api.delete(RESOURCESLICES, name, uid=uid_of(slice_))
        _log.info("slice %s: deleted", name)

    def _learn(self, body: Object, error: Invalid) -> bool:
        """Take out what the server names as unacceptable; whether anything new was learned.

        Limits differ between releases (4 taints before 1.35, 16 since): the server has the last
        word, and it must cost one item, not the slice.
        """
        learned = False
        by_name = {device.name: device for device in self._wish or ()}
        sanitized = {d.name: d for d in sanitize(by_name.values(), self.pool.driver)[0]}
        for field in _causes(error):
            match = _cause.search(field)
            if not match or int(match[1]) >= len(body["spec"]["devices"]):
                continue
            device = sanitized.get(body["spec"]["devices"][int(match[1])]["name"])
            if device is None:
                # Wished away while the server was asked: the next attempt is another one.
                learned = True
                continue
            key = _key.search(field)
            what = f"{match[2]} {key[1]}" if key else ("taints" if match[2] == "taints" else "")
            before, names = self._refused.get(device.name, (None, frozenset[str]()))
            names = names if before == device else frozenset()
            learned = learned or what not in names
            self._refused[device.name] = (device, names | {what})
        return learned

    async def _current(self) -> list[Object]:
        """The slices on the server, no older than the last write."""
        if await self._wait_caught_up():
            return list(self._reflector.items.values())
        selector = f"spec.driver={self.pool.driver},spec.nodeName={self.pool.node}"
        listed = await self._api.list(RESOURCESLICES, field_selector=selector)
        self._written.clear()
        return listed

    async def _wait_caught_up(self) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP):
                while not self._caught_up():
                    if UNKNOWN in self._written.values():
                        return False
                    self._seen_event.clear()
                    await self._seen_event.wait()
                return True
        return False

    def _caught_up(self) -> bool:
        self._written = {
            name: version
            for name, version in self._written.items()
            if not _at_least(self._seen.get(name), version)
        }
        return not self._written

    async def _owner(self) -> str | None:
        if self._owner_uid is None and not self._ownerless:
            try:
                self._owner_uid = uid_of(await self._api.get(NODES, self.pool.node))
            except Forbidden as error:
                self._ownerless = True
                _log.warning("slices stay without an owner: %s", error)
        return self._owner_uid

    def _changed(self, change: Change) -> None:
        self._seen[change.key] = resource_version_of(change.object)
        self._seen_event.set()
        if change.kind == "deleted" and change.key not in self._written:
            self._deleted_by_others()
        self._wake.set()

    def _deleted_by_others(self) -> None:
        # The node may have been made anew: a slice owned by the old one is collected again and
        # again. And whoever deletes repeatedly is not to be fought at full speed.
        self._owner_uid = None
        now = asyncio.get_running_loop().time()
        if now - self._healed_at > QUIET:
            self._healing.reset()
        self._healed_at = now
        self._hold_until = now + self._healing.next()

    def _report(self, publication: Publication) -> None:
        self._recorder.published(publication.devices, publication.slices)
        self._recorder.dropped(len(publication.drops) + len(publication.dropped_fields))
        told = {str(drop) for drop in publication.drops} | {
            f"the API server drops the field {name} of devices: its feature gate is off"
            for name in publication.dropped_fields
        }
        for text in sorted(told - self._reported):
            _log.warning("not published: %s", text)
        self._reported = frozenset(told)


def _at_least(seen: str | None, written: str) -> bool:
    """Whether a version seen is the one written or newer.

    Versions of one resource are comparable integers (KEP-5504, stated since 1.35 and true of etcd
    before); UNKNOWN is a write whose outcome is unknown and that nothing but a list settles.
    """
    if seen is None or written == UNKNOWN:
        return False
    if seen.isdigit() and written.isdigit():
        return int(seen) >= int(written)
    return seen == written


def _causes(error: Invalid) -> list[str]:
    details = error.body.get("details") or {}
    return [str(cause.get("field", "")) for cause in details.get("causes") or ()]


def _without(device: Device, names: frozenset[str]) -> Device:
    def rest(kind: str, entries: Mapping[str, V]) -> dict[str, V]:
        return {n: v for n, v in entries.items() if f"{kind} {n}" not in names}

    return replace(
        device,
        attributes=rest("attributes", device.attributes),
        capacity=rest("capacity", device.capacity),
        taints=device.taints[:4] if "taints" in names else device.taints,
    )
