"""The README's examples run as they stand."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from bluezclient import Address, Client
from bluezclient.testing import FakeBluez, LoopbackBroker, Peer

from .conftest import ADAPTER, PAD

BLOCKS = re.findall(
    r"^```python\n(.*?)^```", (Path(__file__).parents[1] / "README.md").read_text(), re.M | re.S
)


async def test_the_first_example_pairs_and_follows(
    private_bus_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed: asyncio.Queue[str] = asyncio.Queue()
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", private_bus_address)
    program, _, _ = BLOCKS[0].rpartition("asyncio.run")
    names: dict[str, Any] = {"print": lambda *words: printed.put_nowait(" ".join(map(str, words)))}
    exec(program, names)
    async with FakeBluez.on_bus(private_bus_address) as fake:
        fake.add_adapter(ADAPTER)
        fake.peers.append(Peer(PAD, heard_after=0.1, services_after=0.1))
        example = asyncio.ensure_future(names["main"]())
        async with asyncio.timeout(15):
            assert await printed.get() == (
                "Wireless Controller is bonded and trusted; ['Wireless Controller']"
            )
            assert await printed.get() == "Connected"
        example.cancel()
        await asyncio.wait({example})


@pytest.mark.looptime
async def test_the_second_example_is_a_test(broker: LoopbackBroker, fake_bluez: FakeBluez) -> None:
    names: dict[str, Any] = {"Client": Client, "Address": Address}
    exec(BLOCKS[1], names)
    await names["test_my_code"](broker, fake_bluez)
