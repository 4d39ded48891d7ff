"""Who serves what no operator's radio answers for: the holder of one Lease in the cluster.

A request for a radio that does not exist must still be answered, once and by somebody. The holder
is derived from the Lease object alone; losing it for a moment does no harm, since what it decides
is only which operator writes a status.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from draplugin.kube import LEASES, AlreadyExists, Api, ApiError, Conflict, NotFound, Object

from . import names
from .conditions import seconds

_log = logging.getLogger(__name__)

DURATION = 30
RENEW_EVERY = 10.0


def decide(spec: dict[str, Any], me: str, now: float) -> bool:
    """Whether `me` may hold a Lease with this spec: it holds it, nobody does, or it ran out."""
    holder = spec.get("holderIdentity")
    renewed = seconds(spec.get("renewTime"))
    duration = spec.get("leaseDurationSeconds") or DURATION
    return holder in (None, "", me) or renewed is None or renewed + duration < now


class Lease:
    """Keeps trying to hold the Lease; `held` says whether it does, `changed` is called when."""

    def __init__(self, api: Api, namespace: str, me: str, changed: Callable[[], None]) -> None:
        self._api, self._namespace, self._me, self._changed = api, namespace, me, changed
        self.held = False

    async def run(self) -> None:
        """Renew or take over, for ever; an API server that is away means not held."""
        while True:
            try:
                held = await self._renew()
            except ApiError as error:
                _log.debug("lease %s: %s", names.LEASE_UNHELD, error)
                held = False
            if held != self.held:
                self.held = held
                self._changed()
            await asyncio.sleep(RENEW_EVERY)

    async def _renew(self) -> bool:
        now = datetime.now(UTC)
        try:
            lease = await self._api.get(LEASES, names.LEASE_UNHELD, self._namespace)
        except NotFound:
            return await self._create(now)
        if not decide(lease.get("spec") or {}, self._me, now.timestamp()):
            return False
        try:
            await self._api.replace(LEASES, self._stamped(lease, now))
        except (Conflict, NotFound):
            return False
        return True

    async def _create(self, now: datetime) -> bool:
        where = {"name": names.LEASE_UNHELD, "namespace": self._namespace}
        body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": where}
        try:
            await self._api.create(LEASES, self._stamped(body, now))
        except AlreadyExists:
            return False
        return True

    def _stamped(self, lease: Object, now: datetime) -> Object:
        spec = {
            "holderIdentity": self._me,
            "leaseDurationSeconds": DURATION,
            "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        return {**lease, "spec": {**(lease.get("spec") or {}), **spec}}
