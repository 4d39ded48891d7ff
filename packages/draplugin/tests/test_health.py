"""Device health from the driver to the kubelet, and what happens to streams at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from draplugin import DeviceHealth, cdi
from draplugin.health import HealthFeed
from draplugin.testing import FakeKubelet

from .builders import DRIVER, NODE
from .driver import Fortune, make
from .scripted import ScriptedServer
from .waiting import until

GOOD = DeviceHealth(NODE, "cookie-1", True)
BAD = DeviceHealth(NODE, "cookie-1", False, "crumbled", timeout=20)


class Monitored(Fortune):
    """A driver whose reports the test hands in."""

    def __init__(self) -> None:
        super().__init__()
        self.reports: asyncio.Queue[Sequence[DeviceHealth] | Exception] = asyncio.Queue()
        self.started = 0

    async def health(self) -> AsyncIterator[Sequence[DeviceHealth]]:
        self.started += 1
        while True:
            report = await self.reports.get()
            if isinstance(report, Exception):
                raise report
            yield report


async def test_a_driver_with_a_monitor_offers_health_and_the_kubelet_hears_it(
    store: cdi.Store, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    driver = Monitored()
    async with make(driver, store, server.api(), kubelet):
        registered = await kubelet.registered(DRIVER)
        assert registered.info.services[2:] == (
            "v1.DRAResourceHealth",
            "v1alpha1.DRAResourceHealth",
        )
        driver.reports.put_nowait([GOOD])
        assert (await kubelet.healthy(DRIVER, NODE, "cookie-1")).healthy is True
        driver.reports.put_nowait([BAD])
        await until(lambda: registered.health[NODE, "cookie-1"] == BAD)


async def test_stopping_is_not_held_up_by_open_streams(
    store: cdi.Store, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    driver = Monitored()
    plugin = make(driver, store, server.api(), kubelet)
    await plugin.start()
    await kubelet.registered(DRIVER)
    driver.reports.put_nowait([GOOD])
    await kubelet.healthy(DRIVER, NODE, "cookie-1")
    began = asyncio.get_running_loop().time()
    await plugin.stop(grace=30)
    assert asyncio.get_running_loop().time() - began < 10


@pytest.mark.looptime
async def test_a_new_stream_begins_with_what_is_still_valid() -> None:
    driver = Monitored()
    feed = HealthFeed(driver)
    feed.start()
    driver.reports.put_nowait([GOOD, DeviceHealth(NODE, "cookie-2", True, timeout=10)])
    await asyncio.sleep(15)
    stream = feed.stream()
    assert list(await anext(stream)) == [GOOD]
    await feed.stop()
    assert [report async for report in stream] == []


@pytest.mark.looptime
async def test_a_monitor_that_hangs_decays_instead_of_being_repeated() -> None:
    driver = Monitored()
    feed = HealthFeed(driver)
    feed.start()
    driver.reports.put_nowait([GOOD])
    await asyncio.sleep(1)
    stream = feed.stream()
    await anext(stream)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3600):
            await anext(stream)
    await feed.stop()


@pytest.mark.looptime
async def test_a_monitor_that_fails_is_started_again_with_patience() -> None:
    driver = Monitored()
    feed = HealthFeed(driver)
    feed.start()
    for _ in range(100):
        driver.reports.put_nowait(ValueError("broken"))
    await asyncio.sleep(60)
    assert 2 <= driver.started <= 20
    await feed.stop()


@pytest.mark.looptime
async def test_without_a_monitor_a_stream_is_silent_until_the_end() -> None:
    feed = HealthFeed(None)
    feed.start()
    waiting = asyncio.ensure_future(anext(feed.stream(), None))
    await asyncio.sleep(3600)
    assert not waiting.done()
    await feed.stop()
    assert await waiting is None
