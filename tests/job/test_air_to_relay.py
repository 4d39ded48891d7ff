"""The first half of the main job without Kubernetes: a pad on the air becomes nodes of the relay."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import closing, suppress
from pathlib import Path

import evdev
import pytest
from evdev import ecodes
from lab.bluez import Host
from lab.controllers import DualSense
from lab.daemon import Daemon
from lab.radio import FIRST_RADIO
from uinputrelay import NodeState, NodeWish, Observed, PeripheralWish, Wish
from uinputrelay.client import Client

from job.stage import RELAY_SOCKET, relay_command
from job.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(400)]


@pytest.fixture
async def relay(logs: Path) -> AsyncIterator[Client]:
    """A client of a relay process of the test's own."""
    process = Daemon("relay", relay_command(), logs)
    RELAY_SOCKET.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    process.launch()
    process.wait_until(RELAY_SOCKET.is_socket, "socket of the relay", 120)
    async with Client(str(RELAY_SOCKET)) as client:
        yield client
    process.stop()


async def nodes(relay: Client, expected: str, good: Callable[[NodeState], bool]) -> list[NodeState]:
    """The pad's three nodes, once each is as expected."""

    async def look() -> Observed | None:
        return relay.latest

    def whole(observed: Observed | None) -> bool:
        if observed is None or not observed.peripherals:
            return False
        found = observed.peripherals[0].nodes
        return len(found) == 3 and all(map(good, found))

    logs = Path("/results")
    observed = await until(expected, look, whole, logs=logs, seconds=60)
    assert observed is not None
    return list(observed.peripherals[0].nodes)


async def taps(reader: evdev.InputDevice[str], pad: DualSense) -> list[tuple[int, int, int]]:
    """What a reader of the pad's own node gets of one tap of a button."""
    await pad.tap("BTN_SOUTH")
    found: list[tuple[int, int, int]] = []

    async def look() -> list[tuple[int, int, int]]:
        with suppress(BlockingIOError):
            found.extend((each.type, each.code, each.value) for each in reader.read())
        return found

    south = (ecodes.EV_KEY, ecodes.BTN_SOUTH)
    return await until(
        "both halves of a tap",
        look,
        lambda it: [each[2] for each in it if each[:2] == south] == [1, 0],
        logs=Path("/results"),
        seconds=30,
    )


def _taken(relay: Client, wish: Wish) -> bool:
    return relay.latest is not None and relay.latest.wish == wish.digest


async def test_a_pad_just_paired_is_mirrored_and_read_through_its_sleep_by_one_reader(
    host: Host, dualsense: DualSense, relay: Client
) -> None:
    address = dualsense.address.upper()
    relay.wish(Wish((PeripheralWish(address, FIRST_RADIO),)))
    await dualsense.advertise()
    await host.find(address)
    await host.pair(address)
    await dualsense.wait_usable()
    found = await nodes(relay, "three mirrors", lambda it: bool(it.path) and it.connected)
    assert len({node.minor for node in found}) == 3
    wanted = tuple(NodeWish(node.snapshot, None) for node in found)
    wish = Wish((PeripheralWish(address, FIRST_RADIO, wanted),))
    relay.wish(wish)
    await nodes(relay, "the wish taken", lambda _: _taken(relay, wish))
    own = next(it for it in found if ecodes.BTN_SOUTH in it.snapshot.codes(ecodes.EV_KEY))
    with closing(evdev.InputDevice(str(own.path))) as reader:
        await taps(reader, dualsense)
        await dualsense.sleep()
        await nodes(relay, "mirrors of a pad that sleeps", lambda it: not it.connected)
        await dualsense.wake()
        await dualsense.wait_usable()
        await nodes(relay, "mirrors of a pad that is back", lambda it: it.connected)
        await taps(reader, dualsense)
    after = await nodes(relay, "the same", lambda it: it.connected)
    assert [(it.path, it.minor) for it in after] == [(it.path, it.minor) for it in found]
