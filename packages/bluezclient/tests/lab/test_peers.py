"""Devices of other kinds on the real bluetoothd: a passkey, an intruder, a host without uhid."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bluezclient import Adapter, Address, Client, Prompt, PromptKind, Reason, host_problems
from bluezclient.storage import read_bond
from dbus_fast import Variant

from .conftest import STORAGE
from .test_pairing import PATIENCE, release, sealed, until_reason

if TYPE_CHECKING:
    from lab.controllers import Intruder, Keyboard, Remote
    from lab.radio import Bluetoothd

pytestmark = pytest.mark.lab

INPUT_CONF = Path("/etc/bluetooth/input.conf")
UHID = Path("/dev/uhid")


@pytest.fixture
async def keyboard(
    request: pytest.FixtureRequest, logs: Path, air: object
) -> AsyncIterator[Keyboard]:
    """A keyboard with the settings of the test's parameter."""
    from lab.controllers import Keyboard

    async with Keyboard(logs, **request.param) as made:
        yield made


@pytest.fixture
async def intruder(logs: Path, air: object) -> AsyncIterator[Intruder]:
    """A gamepad that wants in without a bond."""
    from lab.controllers import Intruder

    async with Intruder(logs) as made:
        yield made


async def returns(client: Client, adapter: Adapter, keyboard: Keyboard, address: Address) -> None:
    """It sleeps and comes back by itself, to be used again."""
    await keyboard.sleep()
    await until_reason(client, adapter, address, Reason.DISCONNECTED_BY_DEVICE)
    await keyboard.wake()
    await until_reason(client, adapter, address, Reason.CONNECTED)
    await keyboard.wait_usable()


async def unpaired(client: Client, adapter: Adapter, address: Address) -> None:
    """Unpair; nothing of it is left on D-Bus or on disk."""
    await client.unpair(adapter, address)
    assert client.state.device(address) is None
    assert read_bond(STORAGE, adapter.address, address) is None


@pytest.mark.parametrize("keyboard", [{"passkey": True}], indirect=True)
async def test_a_keyboard_is_paired_by_the_passkey_that_is_shown(
    client: Client, adapter: Adapter, keyboard: Keyboard
) -> None:
    prompts: list[Prompt] = []

    async def on_prompt(prompt: Prompt) -> None:
        prompts.append(prompt)
        if len(prompts) == 1:
            await keyboard.type(prompt.code)

    address = Address(keyboard.address)
    await keyboard.advertise()
    async with client.pairing_window(adapter, "KeyboardDisplay", on_prompt=on_prompt) as window:
        device = await window.pair(address, deadline=PATIENCE)
    assert (device.bonded, device.trusted) == (True, True)
    assert {(prompt.kind, prompt.address) for prompt in prompts} == {
        (PromptKind.SHOW_PASSKEY, address)
    }
    bond = await sealed(client, adapter, address)
    assert b"Authenticated=1" in bond.files["info"] or b"Authenticated=3" in bond.files["info"]
    await keyboard.wait_usable()
    await returns(client, adapter, keyboard, address)
    await unpaired(client, adapter, address)


@pytest.fixture(params=["true", "false"])
def guard(request: pytest.FixtureRequest, bluetoothd: Bluetoothd) -> Iterator[str]:
    """bluetoothd with ClassicBondedOnly on or off."""
    before = INPUT_CONF.read_text()
    bluetoothd.stop()
    INPUT_CONF.write_text(f"[General]\nUserspaceHID=true\nClassicBondedOnly={request.param}\n")
    bluetoothd.start()
    yield str(request.param)
    INPUT_CONF.write_text(before)


# In so many words since BlueZ 5.54 (profiles/input/device.c, hidp_add_connection).
REJECTED = "Rejected connection from !bonded device"


async def test_a_gamepad_without_a_bond_gets_in_only_when_the_guard_is_off(
    guard: str, client: Client, adapter: Adapter, intruder: Intruder, bluetoothd: Bluetoothd
) -> None:
    """CVE-2023-45866; a desktop's agent that says yes to everything stands by."""
    from lab import inputs
    from lab.bluez import Host

    address = Address(intruder.address)
    async with Host() as desktop:
        if adapter.connectable is None:  # before 5.79 a host without bonds listens while it is seen
            seen = "org.bluez.Adapter1", "Discoverable", Variant("b", True)
            await desktop.set(desktop.adapter, *seen)
        await intruder.attack(adapter.address.colons)
        if guard == "false":
            await asyncio.to_thread(inputs.wait_for, address.colons, 3)
            assert REJECTED not in bluetoothd.daemon.said()
        else:
            await asyncio.to_thread(
                inputs.wait, lambda: REJECTED in bluetoothd.daemon.said(), REJECTED
            )
            assert inputs.of(address.colons) == []
        device = client.state.device(address)
        assert device is None or not device.bonded
    assert read_bond(STORAGE, adapter.address, address) is None
    expected = ["StrangersGetIn"] if guard == "false" else []
    assert [problem.reason for problem in host_problems(release(adapter))] == expected


@pytest.fixture
def no_uhid(bluetoothd: Bluetoothd) -> Iterator[None]:
    """bluetoothd on a host without /dev/uhid."""
    aside = UHID.with_name("uhid-aside")
    bluetoothd.stop()
    UHID.rename(aside)
    bluetoothd.start()
    yield
    aside.rename(UHID)


async def test_without_uhid_a_device_pairs_and_connects_and_never_has_an_event_node(
    no_uhid: None, client: Client, adapter: Adapter, remote: Remote
) -> None:
    """bluez #606: nothing on D-Bus says so, only the look at the host does."""
    from lab import inputs

    problems = host_problems(release(adapter))
    assert "NoUserspaceHID" in [problem.reason for problem in problems]
    address = Address(remote.address)
    await remote.advertise()
    async with client.pairing_window(adapter) as window:
        device = await window.pair(address, deadline=PATIENCE)
    assert (device.bonded, device.trusted) == (True, True)
    await client.until(lambda s: s.require_device(address).services_resolved, PATIENCE)
    assert client.state.links[(adapter.address, address)].reason is Reason.CONNECTED
    assert inputs.of(address.colons) == []
