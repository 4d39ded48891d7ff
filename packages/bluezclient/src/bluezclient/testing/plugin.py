"""pytest fixtures around the fake bluetoothd, loaded wherever bluezclient is installed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from bluezclient.testing import FakeBluez, LoopbackBroker


@pytest.fixture
async def broker() -> AsyncIterator[LoopbackBroker]:
    """An in-process message bus; pass `broker.connect` to `Client.open(connect=...)`."""
    from bluezclient.testing import LoopbackBroker

    broker = LoopbackBroker()
    yield broker
    broker.stop()


@pytest.fixture
async def fake_bluez(broker: LoopbackBroker) -> AsyncIterator[FakeBluez]:
    """A fake bluetoothd on the in-process bus, owning org.bluez, with no adapter yet."""
    from bluezclient.testing import FakeBluez

    bus = await broker.connect()
    fake = FakeBluez(bus)
    broker.own(bus, "org.bluez")
    yield fake
    fake.crash()


@pytest.fixture
def private_bus_address() -> Iterator[str]:
    """The address of a private dbus-daemon; skips, with the reason, where there is none."""
    from bluezclient.testing.privatebus import PrivateBusError, private_bus

    try:
        with private_bus() as address:
            yield address
    except PrivateBusError as missing:
        pytest.skip(str(missing))
