"""Drivers with one thing wrong each, and the check of the conformance suite that says so.

Each is the example driver with a patch; what is wrong is what other drivers got wrong.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from draplugin import (
    Claim,
    ClaimRef,
    Device,
    Plugin,
    Prepared,
    Refused,
    Site,
    SlicePublisher,
    cdi,
    claims,
    overlap,
    plugin,
    wire,
)
from draplugin.claimservice import ClaimService
from draplugin.kube import RESOURCECLAIMS, Change, NotFound
from draplugin.model import PreparedClaim

DRIVER = "fortune.example.com"
Make = Callable[[Site], AbstractAsyncContextManager[object]]
BROKEN: dict[str, Callable[[], AbstractAsyncContextManager[Make]]] = {}


class Fortune:
    """A driver without fault."""

    async def prepare(self, claim: Claim) -> Sequence[Prepared]:
        return [Prepared(a.device, a.pool, env={"F": a.device}) for a in claim.allocations]

    async def unprepare(self, ref: ClaimRef) -> None:
        pass


class OtherRequest(Fortune):
    async def prepare(self, claim: Claim) -> Sequence[Prepared]:
        return [replace(d, requests=("other",)) for d in await super().prepare(claim)]


class StrictRelease(Fortune):
    def __init__(self) -> None:
        self.known: set[str] = set()

    async def prepare(self, claim: Claim) -> Sequence[Prepared]:
        self.known.add(claim.uid)
        return await super().prepare(claim)

    async def unprepare(self, ref: ClaimRef) -> None:
        # Restarted, it knows nothing; but claims that were never prepared have no name here.
        if ref.uid not in self.known and ref.name == "nobody":
            raise Refused("no such claim")


def driver(handler: Callable[[], Fortune] = Fortune) -> Make:
    """The `make` of a driver with this handler."""

    @asynccontextmanager
    async def make(site: Site) -> AsyncIterator[object]:
        store = cdi.Store(site.cdi_dir, f"{DRIVER}/cookie")
        running = Plugin.at(site, DRIVER, handler(), store, events=False)
        async with running, SlicePublisher(site.api, DRIVER, site.node) as slices:
            slices.wish(Device(f"cookie-{n}") for n in (1, 2, 3))
            yield slices

    return make


def breaks(check: str) -> Callable[[Any], Any]:
    """Register a broken driver under the one check that must fail."""

    def register(factory: Any) -> Any:
        BROKEN[check] = asynccontextmanager(factory)
        return factory

    return register


@breaks("test_the_node_owns_the_slices")
async def ownerless() -> AsyncIterator[Make]:
    async def nobody(_: SlicePublisher) -> None:
        return None

    with mock.patch.object(SlicePublisher, "_owner", nobody):
        yield driver()


@breaks("test_a_deleted_slice_comes_back")
async def never_heals() -> AsyncIterator[Make]:
    original = SlicePublisher._changed

    def deaf(self: SlicePublisher, change: Change) -> None:
        if change.kind != "deleted":
            original(self, change)

    with mock.patch.object(SlicePublisher, "_changed", deaf):
        yield driver()


@breaks("test_slices_stay_when_the_driver_stops")
async def retracts() -> AsyncIterator[Make]:
    make = driver()

    @asynccontextmanager
    async def retracting(site: Site) -> AsyncIterator[object]:
        async with make(site) as slices:
            yield slices
            assert isinstance(slices, SlicePublisher)
            await slices.retract()

    yield retracting


@breaks("test_the_sockets_are_gone_when_the_driver_stops")
async def leaves_sockets() -> AsyncIterator[Make]:
    with mock.patch.object(wire.SocketServer, "unlist", return_value=None):
        yield driver()


@breaks("test_every_device_of_a_claim_is_answered_under_its_request")
async def other_request() -> AsyncIterator[Make]:
    yield driver(OtherRequest)


@breaks("test_a_subrequest_is_answered_as_its_base_request")
async def keeps_subrequests() -> AsyncIterator[Make]:
    def kept(device: Prepared, requests: Sequence[str]) -> Prepared:
        return replace(device, requests=tuple(requests))

    with mock.patch.object(cdi, "with_requests", kept):
        yield driver()


@breaks("test_every_cdi_id_answered_can_be_resolved")
async def unknown_ids() -> AsyncIterator[Make]:
    def wrong(_: cdi.Store, uid: str, device: Prepared) -> tuple[str, ...]:
        return (f"{DRIVER}/cookie={uid}-{device.device}-x",)

    with mock.patch.object(cdi.Store, "ids", wrong):
        yield driver()


@breaks("test_two_claims_never_share_a_cdi_id")
async def common_id() -> AsyncIterator[Make]:
    original = cdi.Store.ids
    common = f"{DRIVER}/common=all"

    def shared(self: cdi.Store, uid: str, device: Prepared) -> tuple[str, ...]:
        edits = {"name": "all", "containerEdits": {"env": ["COMMON=1"]}}
        spec = {"cdiVersion": "0.6.0", "kind": f"{DRIVER}/common", "devices": [edits]}
        Path(self.directory / "common.json").write_text(json.dumps(spec))
        return (*original(self, uid, device), common)

    with mock.patch.object(cdi.Store, "ids", shared):
        yield driver()


@breaks("test_a_claim_prepared_again_gets_the_same_answer")
async def answers_once() -> AsyncIterator[Make]:
    original, seen = ClaimService._prepare, set[str]()

    async def once(self: ClaimService, ref: ClaimRef) -> wire.PrepareAnswer:
        answer = await original(self, ref)
        if ref.uid in seen:
            return wire.PrepareAnswer()
        seen.add(ref.uid)
        return answer

    with mock.patch.object(ClaimService, "_prepare", once):
        yield driver()


@breaks("test_after_a_reboot_prepare_writes_the_cdi_files_again")
async def remembers_answers() -> AsyncIterator[Make]:
    original, cache = ClaimService._prepare, dict[str, wire.PrepareAnswer]()

    async def cached(self: ClaimService, ref: ClaimRef) -> wire.PrepareAnswer:
        if ref.uid not in cache:
            cache[ref.uid] = await original(self, ref)
        return cache[ref.uid]

    with mock.patch.object(ClaimService, "_prepare", cached):
        yield driver()


@breaks("test_a_claim_with_another_uid_is_refused")
async def believes_any_uid() -> AsyncIterator[Make]:
    with mock.patch.object(claims, "check", return_value=None):
        yield driver()


@breaks("test_a_missing_claim_costs_its_neighbour_nothing")
async def all_or_nothing() -> AsyncIterator[Make]:
    original = ClaimService.prepare_claims

    async def batch(self: ClaimService, refs: Sequence[ClaimRef]) -> Any:
        answers = await original(self, refs)
        for answer in answers.values():
            if answer.error:
                return dict.fromkeys(answers, answer)
        return answers

    with mock.patch.object(ClaimService, "prepare_claims", batch):
        yield driver()


@breaks("test_a_device_is_not_prepared_for_two_claims_at_once")
async def lends_twice() -> AsyncIterator[Make]:
    with mock.patch.object(overlap, "refuse_overlap", return_value=None):
        yield driver()


@breaks("test_unprepare_removes_what_the_runtime_could_resolve")
async def leaves_files() -> AsyncIterator[Make]:
    mine: set[str] = set()
    write, begin, finish = cdi.Store.write, cdi.Store.begin_release, cdi.Store.finish_release

    def noted(self: cdi.Store, claim: ClaimRef, devices: Sequence[Prepared]) -> PreparedClaim:
        mine.add(claim.uid)
        return write(self, claim, devices)

    def kept(original: Any) -> Any:
        return lambda self, uid: None if uid in mine else original(self, uid)

    # It frees the device, forgets the file, and cleans up what it finds at its next start.
    started = Plugin.start

    async def cleaning(self: Plugin) -> None:
        mine.clear()
        await started(self)

    with (
        mock.patch.object(cdi.Store, "write", noted),
        mock.patch.object(cdi.Store, "begin_release", kept(begin)),
        mock.patch.object(cdi.Store, "finish_release", kept(finish)),
        mock.patch.object(overlap, "holdings", return_value={}),
        mock.patch.object(Plugin, "start", cleaning),
        mock.patch.object(overlap, "refuse_overlap", _refuse_by_memory()),
    ):
        yield driver()


def _refuse_by_memory() -> Callable[..., None]:
    holders: dict[tuple[str, str], str] = {}

    def refuse(claim: Claim, _: object) -> None:
        for allocation in claim.allocations:
            key = (allocation.pool, allocation.device)
            if holders.setdefault(key, claim.uid) != claim.uid:
                holder, holders[key] = holders[key], claim.uid
                raise Refused(f"held by {holder}")

    return refuse


@breaks("test_unprepare_of_an_unknown_claim_succeeds")
async def knows_its_own_only() -> AsyncIterator[Make]:
    yield driver(StrictRelease)


@breaks("test_unprepare_needs_no_api_server")
async def asks_before_release() -> AsyncIterator[Make]:
    original = ClaimService._unprepare

    async def asking(self: ClaimService, ref: ClaimRef) -> None:
        with suppress(NotFound):
            await self._api.get(RESOURCECLAIMS, ref.name, ref.namespace)
        await original(self, ref)

    with mock.patch.object(ClaimService, "_unprepare", asking):
        yield driver()


@breaks("test_a_restarted_driver_unprepares_what_the_last_one_prepared")
async def cleans_up_at_stop() -> AsyncIterator[Make]:
    original = Plugin.stop

    async def cleaning(self: Plugin, grace: float = 10.0) -> None:
        await original(self, grace)
        for claim in list(self.cdi.claims()):
            self.cdi.finish_release(claim.ref.uid)

    with mock.patch.object(Plugin, "stop", cleaning):
        yield driver()


@breaks("test_a_restarted_kubelet_finds_the_driver_again")
async def registers_once() -> AsyncIterator[Make]:
    original, asked = Plugin.info, set[Plugin]()

    def once(self: Plugin) -> Any:
        if self in asked:
            raise RuntimeError("already registered")
        asked.add(self)
        return original(self)

    with mock.patch.object(Plugin, "info", once):
        yield driver()


@breaks("test_a_kubelet_that_knows_only_v1beta1_is_served")
async def newest_only() -> AsyncIterator[Make]:
    services = {"v1.DRAPlugin": wire.DRA_SERVICES["v1.DRAPlugin"]}
    with mock.patch.object(plugin, "DRA_SERVICES", services):
        yield driver()


@breaks("test_v1_is_preferred")
async def oldest_first() -> AsyncIterator[Make]:
    services = dict(reversed(list(wire.DRA_SERVICES.items())))
    with mock.patch.object(plugin, "DRA_SERVICES", services):
        yield driver()


@breaks("test_a_health_stream_is_not_refused")
async def no_health() -> AsyncIterator[Make]:
    with mock.patch.object(plugin, "HEALTH_SERVICES", ()):
        yield driver()
