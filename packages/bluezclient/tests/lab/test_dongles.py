"""A radio that is pulled and comes back under another index; and one that leaves private addresses
to the kernel, as btvirt's own do not.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from bluezclient import Adapter, Address, Client, Reason
from bluezclient.storage import read_bond

from .conftest import STORAGE
from .test_bonds import listening, pair
from .test_pairing import PATIENCE, sealed, until_reason
from .test_peers import returns, unpaired

if TYPE_CHECKING:
    from lab.controllers import DualSense, Keyboard
    from lab.radio import Bluetoothd, Dongle

pytestmark = pytest.mark.lab


@pytest.fixture
def on_dongle() -> bool:
    """Here always."""
    return True


async def test_a_radio_back_under_another_index_is_the_same_adapter_with_its_bonds(
    client: Client, adapter: Adapter, dualsense: DualSense, dongle: Dongle
) -> None:
    """home-assistant/core #151283; the index it had is another radio's by then."""
    from lab.radio import Dongle

    pad = await pair(client, adapter, dualsense)
    await until_reason(client, adapter, pad, Reason.CONNECTED)
    bond = read_bond(STORAGE, adapter.address, pad)
    await asyncio.to_thread(dongle.pull)
    await client.until(lambda s: s.adapter(adapter.address) is None, PATIENCE)
    await until_reason(client, adapter, pad, Reason.ADAPTER_REMOVED)
    await dualsense.vanish()

    with Dongle() as other:
        state = await client.until(lambda s: bool(s.adapters), PATIENCE)
        [stranger] = state.adapters.values()
        assert stranger.path == adapter.path
        assert stranger.address != adapter.address
        # The devices went before their adapter did; that this was no unpairing stands by now.
        assert state.links[(adapter.address, pad)].reason is Reason.ADAPTER_REMOVED

        index = await asyncio.to_thread(dongle.plug)
        state = await client.until(
            lambda s: s.adapter(adapter.address) is not None and s.device(pad) is not None, PATIENCE
        )
        back = state.require_adapter(adapter.address)
        assert back.path == f"/org/bluez/hci{index}" != adapter.path
        device = state.require_device(pad)
        assert (device.key, device.bonded) == ((adapter.address, pad), True)
        held = read_bond(STORAGE, adapter.address, pad)
        assert bond is not None
        assert held is not None
        assert held.files["info"] == bond.files["info"]
        await listening(client, adapter)
        await dualsense.wake()
        await until_reason(client, adapter, pad, Reason.CONNECTED)
        await dualsense.wait_usable()
        await asyncio.to_thread(other.pull)


async def test_a_private_address_gives_way_to_the_identity_and_the_path_does_not(
    client: Client, adapter: Adapter, private: Keyboard, bluetoothd: Bluetoothd
) -> None:
    random, identity = Address(private.address), Address(private.identity)
    assert random != identity
    await private.advertise()
    async with client.pairing_window(adapter) as window:
        device = await window.pair(random, deadline=PATIENCE)
        assert identity in [seen.address for seen in window.seen]
    assert (device.address, device.bonded, device.trusted) == (identity, True, True)
    assert device.path.endswith(random.bluez)
    assert client.state.device(random) is None
    assert [key[1] for key in client.state.links] == [identity]
    await sealed(client, adapter, identity)
    assert read_bond(STORAGE, adapter.address, random) is None
    await private.wait_usable()
    await returns(client, adapter, private, identity)

    await private.sleep()
    await asyncio.to_thread(bluetoothd.restart)
    state = await client.until(
        lambda s: s.device(identity) is not None, PATIENCE, through_loss=True
    )
    assert state.require_device(identity).path.endswith(identity.bluez)
    assert state.require_device(identity).bonded
    await client.set_powered(adapter, True)
    await private.wake()
    await until_reason(client, adapter, identity, Reason.CONNECTED)
    assert [key[1] for key in client.state.links] == [identity]
    await unpaired(client, adapter, identity)
