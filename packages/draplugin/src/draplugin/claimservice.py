"""Preparing and unpreparing one claim: fetch, check, ask the driver, record, answer.

Each step can be repeated and each crash between two steps is harmless: the record (the CDI file)
is written after the driver's work, so an unrecorded preparation is either asked for again or
unprepared; it is hidden before the driver releases, so a released device is in no container's
reach. Nothing here needs the API server to unprepare.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TypeVar

from . import cdi, claims, overlap
from .kube import DEVICECLASSES, RESOURCECLAIMS, Api, ApiError, NotFound, Object
from .metrics import Recorder
from .model import Allocation, Claim, ClaimRef, Handler, Prepared, PreparedClaim, Refused
from .wire import PrepareAnswer, PreparedDevice, ShuttingDown
from .works import Works

_log = logging.getLogger(__name__)
STOPPING = "the driver is shutting down; its next instance will answer"

T = TypeVar("T")
Refusal = Callable[[Claim | ClaimRef, str], None]


class _UnreadableError(Exception):
    """The API server does not say what is claimed; the text is the claim's error."""


class ClaimService:
    """Answers the kubelet's calls for claims; the `Node` of the gRPC services."""

    def __init__(
        self,
        driver: str,
        handler: Handler,
        api: Api,
        store: cdi.Store,
        *,
        recorder: Recorder,
        refused: Refusal,
        prepared: Callable[[Claim, Sequence[Prepared]], None] = lambda _, __: None,
    ) -> None:
        self._driver = driver
        self._handler = handler
        self._api = api
        self._store = store
        self._recorder = recorder
        self._refused = refused
        self._done = prepared
        self._works = Works()
        self._underway: dict[ClaimRef, frozenset[overlap.Held]] = {}
        self._stopping = False

    async def prepare_claims(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Prepare the claims side by side; one's failure is its own."""
        answers = await asyncio.gather(*(self._prepare_one(ref) for ref in refs))
        return dict(zip((ref.uid for ref in refs), answers, strict=True))

    async def unprepare_claims(self, refs: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Unprepare the claims side by side; an empty text is success."""
        errors = await asyncio.gather(*(self._unprepare_one(ref) for ref in refs))
        return dict(zip((ref.uid for ref in refs), errors, strict=True))

    async def release(self, ref: ClaimRef) -> str:
        """Unprepare a claim that the kubelet did not ask for: its object is gone for certain."""
        return await self._unprepare_one(ref)

    def busy(self, uid: str) -> bool:
        """Whether a call for the claim is being worked on."""
        return self._works.busy(uid)

    async def stop(self, grace: float) -> None:
        """Take no more work; end what runs, by cancelling after `grace` seconds."""
        self._stopping = True
        await self._works.stop(grace)

    async def _prepare_one(self, ref: ClaimRef) -> PrepareAnswer:
        async def work() -> PrepareAnswer:
            return await self._answered("prepare", ref, lambda: self._prepare(ref))

        return await self._run(ref, "prepare", work)

    async def _unprepare_one(self, ref: ClaimRef) -> str:
        async def work() -> str:
            async def unprepare() -> PrepareAnswer:
                await self._unprepare(ref)
                return PrepareAnswer()

            return (await self._answered("unprepare", ref, unprepare)).error

        return await self._run(ref, "unprepare", work)

    async def _run(self, ref: ClaimRef, kind: str, work: Callable[[], Awaitable[T]]) -> T:
        if self._stopping:
            raise ShuttingDown(STOPPING)
        try:
            return await self._works.run(ref.uid, kind, work)
        except asyncio.CancelledError:
            # Either our caller was cancelled or, while stopping, the work itself.
            if self._stopping:
                raise ShuttingDown(STOPPING) from None
            raise

    async def _answered(
        self, operation: str, ref: ClaimRef, work: Callable[[], Awaitable[PrepareAnswer]]
    ) -> PrepareAnswer:
        """Run the work, turn every failure into the claim's own error, log and count it."""
        started = time.monotonic()
        try:
            answer = await work()
        except Refused as error:
            answer = PrepareAnswer(error=str(error) or "refused by the driver")
        except _UnreadableError as error:
            answer = PrepareAnswer(error=str(error))
        except Exception as error:
            _log.exception("%s of claim %s (%s) failed", operation, ref, ref.uid)
            answer = PrepareAnswer(error=f"{operation} failed: {type(error).__name__}: {error}")
        seconds = time.monotonic() - started
        self._recorder.claim(operation, ok=not answer.error, seconds=seconds)
        if answer.error:
            _log.warning("claim %s (%s): %s refused: %s", ref, ref.uid, operation, answer.error)
        else:
            _log.info("claim %s (%s): %sd in %.1f ms", ref, ref.uid, operation, seconds * 1e3)
        return answer

    async def _prepare(self, ref: ClaimRef) -> PrepareAnswer:
        claim: Claim | ClaimRef = ref
        try:
            claim = await self._fetch(ref)
            prepared = await self._prepare_claim(claim)
        except Refused as error:
            self._refused(claim, str(error))
            raise
        return PrepareAnswer(tuple(self._told(ref.uid, device) for device in prepared.devices))

    async def _fetch(self, ref: ClaimRef) -> Claim:
        self._store.path(ref.uid)
        try:
            obj = await self._api.get(RESOURCECLAIMS, ref.name, ref.namespace)
        except NotFound:
            raise Refused(f"claim {ref} does not exist") from None
        except ApiError as error:
            raise _UnreadableError(f"cannot read claim {ref}: {error}") from error
        claim = claims.from_object(obj, self._driver)
        claims.check(claim, ref.uid, self._driver)
        names = claims.ambiguous_classes(claim)
        return claims.with_class_requests(claim, await self._classes(names)) if names else claim

    async def _classes(self, names: frozenset[str]) -> dict[str, Object]:
        found: dict[str, Object] = {}
        for name in sorted(names):
            try:
                found[name] = await self._api.get(DEVICECLASSES, name)
            except NotFound:
                continue
            except ApiError as error:
                raise _UnreadableError(f"cannot read device class {name}: {error}") from error
        return found

    async def _prepare_claim(self, claim: Claim) -> PreparedClaim:
        # Snapshot first: a claim that is recorded while the disk is read would be in neither.
        underway = dict(self._underway)
        held = await asyncio.to_thread(self._held, claim.uid)
        overlap.refuse_overlap(claim, {**held, **underway, **self._underway})
        self._underway[claim.ref] = overlap.wanted(claim)
        try:
            devices = completed(claim, await self._handler.prepare(claim))
            recorded = await asyncio.to_thread(self._store.write, claim.ref, devices)
            self._done(claim, devices)
            return recorded
        finally:
            del self._underway[claim.ref]

    def _held(self, uid: str) -> dict[ClaimRef, frozenset[overlap.Held]]:
        held = overlap.holdings(self._store.held())
        for other, path in self._store.unreadable().items():
            if other != uid:
                raise Refused(
                    f"{path} is unreadable: it is unknown which devices claim {other} holds; "
                    "end that claim's pod or remove the file"
                )
        return held

    async def _unprepare(self, ref: ClaimRef) -> None:
        try:
            self._store.path(ref.uid)
        except ValueError:
            # Such a UID can never have been prepared; to refuse would hold its pod for ever.
            return
        await asyncio.to_thread(self._store.begin_release, ref.uid)
        await self._handler.unprepare(ref)
        await asyncio.to_thread(self._store.finish_release, ref.uid)

    def _told(self, uid: str, device: Prepared) -> PreparedDevice:
        return PreparedDevice(
            requests=device.requests,
            pool=device.pool,
            device=device.device,
            cdi_ids=self._store.ids(uid, device),
            share_id=device.share_id,
        )


def completed(claim: Claim, devices: Sequence[Prepared]) -> tuple[Prepared, ...]:
    """The driver's answer with what the allocation knows filled in; Refused when they disagree."""
    done: list[Prepared] = []
    taken: set[_Share] = {(d.pool, d.device, d.share_id) for d in devices if d.share_id is not None}
    for device in devices:
        filled = _complete(claim, device, taken)
        taken.add((filled.pool, filled.device, filled.share_id))
        if filled not in done:
            done.append(filled)
    answered = {(d.pool, d.device, d.share_id) for d in done}
    for allocation in claim.allocations:
        if (allocation.pool, allocation.device, allocation.share_id) not in answered:
            raise Refused(f"the driver did not prepare device {allocation.device} of {claim.ref}")
    return tuple(done)


_Share = tuple[str, str, str | None]


def _complete(claim: Claim, device: Prepared, taken: Set[_Share]) -> Prepared:
    mine = _allocations_of(claim, device)
    if not mine:
        raise Refused(f"the driver prepared {device.device}, which {claim.ref} was not given")
    # A driver that goes through the allocations need not know of shares: one answer, one share.
    shares = [a.share_id for a in mine if (a.pool, a.device, a.share_id) not in taken]
    share = shares[0] if shares else mine[0].share_id
    mine = [allocation for allocation in mine if allocation.share_id == share]
    filled = replace(
        device,
        share_id=share,
        admin_access=all(allocation.admin_access for allocation in mine),
    )
    return cdi.with_requests(filled, device.requests or [a.request for a in mine])


def _allocations_of(claim: Claim, device: Prepared) -> list[Allocation]:
    return [
        allocation
        for allocation in claim.allocations
        if (allocation.pool, allocation.device) == (device.pool, device.device)
        and device.share_id in (None, allocation.share_id)
    ]
