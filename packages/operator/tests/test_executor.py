"""Actions run each on their own: one that fails rests alone, and nothing is done twice for an echo."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from bluetooth_operator.actions import Action, Bluez
from bluetooth_operator.executor import Executor
from bluezclient import Address

PAD = Address("A0:AB:51:33:B7:12")
OTHER = Address("A0:AB:51:33:B7:13")

pytestmark = [pytest.mark.looptime, pytest.mark.asyncio]


def trust(address: Address = PAD, value: bool = True) -> Bluez:
    return Bluez("trusted", PAD, address, value)


class Hands:
    """Does nothing but count, and fails for whom it is told to."""

    def __init__(self, *failing: Address) -> None:
        self.failing = set(failing)
        self.times: dict[str, list[float]] = {}

    async def __call__(self, action: Action) -> None:
        now = asyncio.get_running_loop().time()
        self.times.setdefault(action.target, []).append(round(now, 3))
        if isinstance(action, Bluez) and action.device in self.failing:
            raise OSError("no")


async def submit_every_half_second(executor: Executor, *actions: Action, until: float) -> None:
    loop = asyncio.get_running_loop()
    while loop.time() < until:
        executor.submit(actions)
        await asyncio.sleep(0.5)


async def test_a_failing_action_rests_longer_each_time_and_holds_up_no_other() -> None:
    hands = Hands(PAD)
    executor = Executor(hands, lambda: None)
    await submit_every_half_second(executor, trust(PAD), trust(OTHER), until=16)
    assert hands.times[trust(PAD).target] == [0, 1, 3, 7, 15]
    assert hands.times[trust(OTHER).target] == [0, 2, 4, 6, 8, 10, 12, 14]


async def test_an_action_just_done_is_not_done_again_until_its_echo_is_due() -> None:
    hands = Hands()
    executor = Executor(hands, lambda: None)
    await submit_every_half_second(executor, trust(), until=1.9)
    assert hands.times == {trust().target: [0]}


async def test_a_changed_wish_for_the_same_target_is_done_at_once() -> None:
    hands = Hands()
    executor = Executor(hands, lambda: None)
    executor.submit([trust()])
    await asyncio.sleep(0.1)
    executor.submit([trust(value=False)])
    await asyncio.sleep(0.1)
    assert hands.times == {trust().target: [0, 0.1]}


async def test_the_loop_is_kicked_when_an_action_ended_and_when_it_may_be_tried_again() -> None:
    kicks: Counter[float] = Counter()
    loop = asyncio.get_running_loop()
    executor = Executor(Hands(PAD), lambda: kicks.update([round(loop.time(), 3)]))
    executor.submit([trust()])
    await asyncio.sleep(5)
    assert kicks == {0: 1, 1.0: 1}


async def test_one_action_for_a_target_runs_at_a_time() -> None:
    running = 0
    most = 0

    async def slow(action: Action) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(3)
        running -= 1

    executor = Executor(slow, lambda: None)
    executor.submit([trust()])
    await asyncio.sleep(1)
    executor.submit([trust(value=False)])
    await executor.stop()
    assert most == 1
