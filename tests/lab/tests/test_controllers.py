"""Emulated controllers are what real bluetoothd and the real kernel take for controllers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import evdev
import pytest
from evdev import UInput, ecodes
from lab import inputs
from lab.bluez import Host
from lab.controllers import ControllerError, DualSense, Remote
from lab.inputs import Node
from lab.radio import Bluetoothd

pytestmark = pytest.mark.lab

PAD = "DualSense Wireless Controller"


def tap(code: int) -> list[tuple[int, int]]:
    return [(code, 1), (code, 0)]


class Events:
    """A reader of one node: what came since it was opened."""

    def __init__(self, device: evdev.InputDevice[str]) -> None:
        self._device = device

    async def next(self, kind: int, count: int) -> list[tuple[int, int]]:
        """The next events of one type, as (code, value)."""
        found: list[tuple[int, int]] = []
        async with asyncio.timeout(60):
            async for event in self._device.async_read_loop():
                if event.type == kind:
                    found.append((event.code, event.value))
                if len(found) == count:
                    break
        return found


@contextmanager
def reading(node: Node) -> Iterator[Events]:
    device = evdev.InputDevice(str(node.path))
    try:
        yield Events(device)
    finally:
        device.close()


def named(address: str, name: str) -> Node:
    (node,) = [node for node in inputs.of(address) if node.name == name]
    return node


async def paired(host: Host, pad: DualSense) -> list[Node]:
    await pad.advertise()
    await host.pair(pad.address)
    await pad.wait_usable()
    return await asyncio.to_thread(inputs.wait_for, pad.address, 3)


async def test_a_dualsense_pairs_and_the_kernel_makes_its_three_nodes(
    host: Host, dualsense: DualSense
) -> None:
    nodes = await paired(host, dualsense)

    assert {node.name for node in nodes} == {PAD, f"{PAD} Motion Sensors", f"{PAD} Touchpad"}
    properties = await host.device(dualsense.address)
    assert properties["Class"] == 0x2508
    assert properties["Modalias"] == "usb:v054Cp0CE6d0100"
    assert properties["Connected"]


async def test_a_dualsense_is_read_before_and_after_its_sleep(
    host: Host, dualsense: DualSense
) -> None:
    await paired(host, dualsense)
    with reading(named(dualsense.address, PAD)) as events:
        await dualsense.tap("BTN_SOUTH")
        assert await events.next(ecodes.EV_KEY, 2) == tap(ecodes.BTN_SOUTH)
        await dualsense.move(ABS_X=255, ABS_RZ=200)
        assert sorted(await events.next(ecodes.EV_ABS, 2)) == [
            (ecodes.ABS_X, 255),
            (ecodes.ABS_RZ, 200),
        ]
        await dualsense.sleep()

    await asyncio.to_thread(inputs.wait_for, dualsense.address, 0)
    await host.until(dualsense.address, lambda it: not it["Connected"], "end of the link")
    await dualsense.wake()
    await asyncio.to_thread(inputs.wait_for, dualsense.address, 3)

    with reading(named(dualsense.address, PAD)) as events:
        await dualsense.tap("BTN_SOUTH")
        assert await events.next(ecodes.EV_KEY, 2) == tap(ecodes.BTN_SOUTH)


async def test_a_dualsense_returns_under_another_number_when_its_own_is_taken(
    host: Host, dualsense: DualSense
) -> None:
    before = {node.path for node in await paired(host, dualsense)}
    await dualsense.sleep()
    await asyncio.to_thread(inputs.wait_for, dualsense.address, 0)
    with UInput(name="takes the number"), UInput(name="takes"), UInput(name="all three"):
        await dualsense.wake()
        after = await asyncio.to_thread(inputs.wait_for, dualsense.address, 3)

    assert before.isdisjoint(node.path for node in after)


async def test_a_controller_that_vanishes_is_a_link_timeout_and_not_a_goodbye(
    host: Host, bluetoothd: Bluetoothd, dualsense: DualSense
) -> None:
    await paired(host, dualsense)
    await dualsense.vanish()
    await host.until(dualsense.address, lambda it: not it["Connected"], "end of the link")

    # MGMT_DEV_DISCONN_TIMEOUT is 1, MGMT_DEV_DISCONN_REMOTE 3 (bluez, lib/mgmt.h).
    assert "reason 1" in bluetoothd.daemon.said()
    await dualsense.wake()
    await asyncio.to_thread(inputs.wait_for, dualsense.address, 3)


async def test_a_bond_outlives_a_killed_bluetoothd(
    bluetoothd: Bluetoothd, dualsense: DualSense
) -> None:
    async with Host() as host:
        await paired(host, dualsense)
    bluetoothd.kill()
    bluetoothd.start()
    async with Host() as host:
        assert (await host.device(dualsense.address))["Bonded"]
        await dualsense.wait_connected(False)
        await dualsense.wake()
        await asyncio.to_thread(inputs.wait_for, dualsense.address, 3)


async def test_a_remote_pairs_with_its_battery_and_keys_before_and_after_its_sleep(
    host: Host, remote: Remote
) -> None:
    await remote.advertise()
    await host.pair(remote.address)
    await remote.wait_usable()
    properties = await host.until(remote.address, lambda it: "Percentage" in it, "battery")
    assert properties["Percentage"] == 55
    assert properties["AddressType"] == "random"

    (node,) = await asyncio.to_thread(inputs.wait_for, remote.address, 1)
    assert node.name == "Remote Keyboard"
    with reading(node) as events:
        await remote.tap("KEY_ENTER")
        assert await events.next(ecodes.EV_KEY, 2) == tap(ecodes.KEY_ENTER)
        await remote.tap("KEY_PLAYPAUSE")
        assert await events.next(ecodes.EV_KEY, 2) == tap(ecodes.KEY_PLAYPAUSE)

    await remote.sleep()
    await host.until(remote.address, lambda it: not it["Connected"], "end of the link")
    await remote.wake()
    await remote.wait_usable()
    (node,) = await asyncio.to_thread(inputs.wait_for, remote.address, 1)
    with reading(node) as events:
        await remote.tap("KEY_UP")
        assert await events.next(ecodes.EV_KEY, 2) == tap(ecodes.KEY_UP)


async def test_a_verb_that_cannot_be_done_says_why(dualsense: DualSense) -> None:
    with pytest.raises(ControllerError, match="no host to come back to"):
        await dualsense.wake()
    with pytest.raises(ControllerError, match="no button BTN_SOUTHPAW"):
        await dualsense.press("BTN_SOUTHPAW")
