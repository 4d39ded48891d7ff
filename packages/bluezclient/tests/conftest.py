"""A client on the fake bluetoothd, under a fake clock: what most tests here start from."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from bluezclient import Address, Client
from bluezclient.testing import FakeBluez, LoopbackBroker
from hypothesis import settings

# A slow machine is no counterexample; the seed is printed with a failure.
settings.register_profile("bluezclient", deadline=None, print_blob=True, max_examples=50)
settings.load_profile("bluezclient")

ADAPTER = Address("04:4A:69:66:92:27")
PAD = Address("A0:AB:51:33:B7:12")


@pytest.fixture
async def hci0(fake_bluez: FakeBluez) -> str:
    """The object path of one powered adapter."""
    return fake_bluez.add_adapter(ADAPTER)


@pytest.fixture
async def client(broker: LoopbackBroker, hci0: str) -> AsyncIterator[Client]:
    """A client that has seen that adapter."""
    async with Client.open(connect=broker.connect) as client:
        await client.until(lambda state: bool(state.adapters), 1)
        yield client


async def restart(fake: FakeBluez, broker: LoopbackBroker) -> None:
    """The next life of bluetoothd, which knows nothing yet."""
    bus = await broker.connect()
    fake.move_to(bus)
    broker.own(bus, "org.bluez")
