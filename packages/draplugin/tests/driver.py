"""A driver to play with, and how tests start it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from draplugin import Api, Claim, ClaimRef, Plugin, Prepared, Refused, cdi
from draplugin.testing import FakeKubelet

from .builders import DRIVER, NODE


class Fortune:
    """Delivers a line of text and remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.claims: list[Claim] = []
        self.refuse: str | None = None
        self.refuse_release: str | None = None
        self.gate: asyncio.Event | None = None
        self.status: dict[str, Any] | None = None

    async def prepare(self, claim: Claim) -> Sequence[Prepared]:
        """Prepare, unless told to refuse; wait for the gate, if there is one."""
        self.calls.append(f"prepare {claim.name}")
        self.claims.append(claim)
        if self.gate is not None:
            await self.gate.wait()
        if self.refuse:
            raise Refused(self.refuse)
        return [
            Prepared(a.device, a.pool, env={"FORTUNE": a.device}, status=self.status)
            for a in claim.allocations
        ]

    async def unprepare(self, ref: ClaimRef) -> None:
        """Unprepare, unless told to refuse."""
        self.calls.append(f"unprepare {ref.name}")
        if self.gate is not None:
            await self.gate.wait()
        if self.refuse_release:
            raise Refused(self.refuse_release)


def make(driver: object, store: cdi.Store, api: Api, kubelet: FakeKubelet, **more: Any) -> Plugin:
    """The plugin of a driver below a kubelet; quiet unless told otherwise."""
    options: dict[str, Any] = {"events": False, "collect_orphans": False, **more}
    return Plugin(
        DRIVER,
        NODE,
        driver,  # type: ignore[arg-type]
        api,
        cdi=store,
        plugins_dir=kubelet.plugins_dir,
        registry_dir=kubelet.registry_dir,
        **options,
    )
