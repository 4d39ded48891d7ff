"""One claim's calls in order, joined by retries, untouched by cancelled callers."""

from __future__ import annotations

import asyncio

import pytest
from draplugin.works import Works

pytestmark = pytest.mark.looptime


class Script:
    """Work that takes a second and says when it began and ended."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def work(self, name: str) -> str:
        self.log.append(f"{name} begins")
        await asyncio.sleep(1)
        self.log.append(f"{name} ends")
        return name


async def test_a_retry_joins_the_work_that_runs() -> None:
    works, script = Works(), Script()
    results = await asyncio.gather(
        *(works.run("u", "prepare", lambda: script.work("p")) for _ in range(3))
    )
    assert results == ["p", "p", "p"]
    assert script.log == ["p begins", "p ends"]


async def test_a_cancelled_caller_leaves_the_work_for_the_retry() -> None:
    works, script = Works(), Script()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await works.run("u", "prepare", lambda: script.work("p"))
    assert await works.run("u", "prepare", lambda: script.work("again")) == "p"
    assert script.log == ["p begins", "p ends"]


async def test_prepare_and_unprepare_of_one_claim_queue_up() -> None:
    works, script = Works(), Script()
    await asyncio.gather(
        works.run("u", "prepare", lambda: script.work("p")),
        works.run("u", "unprepare", lambda: script.work("u")),
        works.run("u", "prepare", lambda: script.work("p2")),
    )
    assert script.log == ["p begins", "p ends", "u begins", "u ends", "p2 begins", "p2 ends"]


async def test_claims_do_not_wait_for_each_other() -> None:
    works, script = Works(), Script()
    await asyncio.gather(
        works.run("a", "prepare", lambda: script.work("a")),
        works.run("b", "prepare", lambda: script.work("b")),
    )
    assert script.log == ["a begins", "b begins", "a ends", "b ends"]


async def test_finished_work_is_not_joined() -> None:
    works, script = Works(), Script()
    await works.run("u", "prepare", lambda: script.work("p"))
    assert not works.busy("u")
    await works.run("u", "prepare", lambda: script.work("p2"))
    assert script.log[-1] == "p2 ends"


async def test_a_failure_is_every_waiters_and_the_next_in_line_goes_on() -> None:
    works, script = Works(), Script()

    async def fail() -> str:
        await asyncio.sleep(1)
        raise ValueError("broken")

    results = await asyncio.gather(
        works.run("u", "prepare", fail),
        works.run("u", "prepare", fail),
        works.run("u", "unprepare", lambda: script.work("u")),
        return_exceptions=True,
    )
    assert [str(result) for result in results] == ["broken", "broken", "u"]


async def test_stopping_waits_for_the_grace_and_then_cancels() -> None:
    works, script = Works(), Script()
    loop = asyncio.get_running_loop()
    short = asyncio.ensure_future(works.run("a", "prepare", lambda: script.work("a")))
    long = asyncio.ensure_future(works.run("b", "prepare", lambda: asyncio.sleep(100)))
    await asyncio.sleep(0)
    began = loop.time()
    await works.stop(5)
    assert loop.time() - began == pytest.approx(5)
    assert await short == "a"
    with pytest.raises(asyncio.CancelledError):
        await long
