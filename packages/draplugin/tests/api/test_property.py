"""Whatever the device data, what is left of it is accepted by the real API server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from draplugin import Device
from draplugin.kube import RESOURCESLICES, Api
from draplugin.slices import sanitize
from draplugin.slices.plan import Pool, devices_of, dropped_fields, slice_object, split
from hypothesis import HealthCheck, given, settings

from ..devices import DRIVER, device_lists

pytestmark = pytest.mark.api
POOL = Pool(DRIVER, "node", "node", f"node-{DRIVER}")


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(devices=device_lists)
def test_every_slice_that_is_sent_is_accepted_whole(api: Path, devices: list[Device]) -> None:
    kept, _ = sanitize(devices, DRIVER)

    async def accepted() -> None:
        async with await Api.connect(api) as client:
            chunks = split(kept)
            for index, chunk in enumerate(chunks):
                name = POOL.slice_name(index)
                body = slice_object(POOL, name, devices_of(chunk, ()), len(chunks), 1, None)
                stored = await client.create(RESOURCESLICES, body, dry_run=True)
                assert dropped_fields(body, stored) == frozenset()
                assert len(stored["spec"].get("devices") or ()) == len(chunk)

    asyncio.run(accepted())
