"""Claims that are prepared here but no longer exist anywhere else.

The kubelet unprepares what it remembers; its memory is lost with /var/lib/kubelet or when it was
down while a claim was force-deleted (NVIDIA k8s-dra-driver-gpu #840, #1278), and the device would
stay taken for ever. Only certain answers count: the object is not found by a Status that says so,
has another UID, or has no allocation. And they must count twice, a minute apart, because the
containers of a force-deleted pod run on for their grace period.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from .kube import RESOURCECLAIMS, Api, ApiError, NotFound
from .kube.resources import uid_of
from .model import ClaimRef

_log = logging.getLogger(__name__)
CONFIRM_AFTER = 60.0
EVERY = 600.0


class OrphanCollector:
    """Looks at start, a minute later, and every ten minutes.

    `held` lists the claims with a record on this node, `busy` those being worked on, `release`
    unprepares one and returns an error text.
    """

    def __init__(
        self,
        api: Api,
        *,
        held: Callable[[], Iterable[ClaimRef]],
        busy: Callable[[str], bool],
        release: Callable[[ClaimRef], Awaitable[str]],
    ) -> None:
        self._api = api
        self._held = held
        self._busy = busy
        self._release = release
        self._suspects: frozenset[ClaimRef] = frozenset()

    async def run(self) -> None:
        """Collect until cancelled; what goes wrong is logged and looked at again."""
        while True:
            try:
                await self.look()
            except Exception:
                _log.exception("cannot look for claims that are gone")
            await asyncio.sleep(CONFIRM_AFTER if self._suspects else EVERY)

    async def look(self) -> list[ClaimRef]:
        """One pass: release what the last pass suspected too; returns what was released."""
        refs = await asyncio.to_thread(lambda: list(self._held()))
        gone = {ref for ref in refs if not self._busy(ref.uid) and await self._is_gone(ref)}
        released = [
            ref for ref in sorted(gone & self._suspects, key=str) if await self._collect(ref)
        ]
        self._suspects = frozenset(gone.difference(released))
        return released

    async def _collect(self, ref: ClaimRef) -> bool:
        error = await self._release(ref)
        if error:
            _log.warning("claim %s (%s) is gone but cannot be released: %s", ref, ref.uid, error)
        else:
            _log.info("claim %s (%s) is gone: released", ref, ref.uid)
        return not error

    async def _is_gone(self, ref: ClaimRef) -> bool:
        if not ref.name:
            return False
        try:
            obj = await self._api.get(RESOURCECLAIMS, ref.name, ref.namespace)
        except NotFound as error:
            # A 404 without this reason is about the path: a proxy, or an API not served.
            return error.reason == "NotFound"
        except ApiError:
            return False
        return uid_of(obj) != ref.uid or not (obj.get("status") or {}).get("allocation")
