"""Nodes of the kernel's own HIDP (UserspaceHID=false): found by address and adapter like uhid's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import inputs
from lab.bluez import Host
from lab.controllers import DualSense
from lab.radio import Bluetoothd
from uinputrelay import PeripheralWish
from uinputrelay.discovery import by_uniq

from .devices import SYN, Bench, Event, Read, keyed, wish

BELONGS = by_uniq
pytestmark = [pytest.mark.lab, pytest.mark.asyncio]
INPUT_CONF = Path("/etc/bluetooth/input.conf")
BTN_SOUTH = 304


@pytest.fixture
def kernels_hidp(bluetoothd: Bluetoothd) -> Iterator[None]:
    before = INPUT_CONF.read_text()
    bluetoothd.stop()
    INPUT_CONF.write_text("[General]\nUserspaceHID=false\n")
    bluetoothd.start()
    yield
    INPUT_CONF.write_text(before)


async def _adapter(host: Host) -> str:
    member = "org.freedesktop.DBus.Properties.Get"
    (value,) = await host.call(host.adapter, member, "ss", "org.bluez.Adapter1", "Address")
    return str(value.value)


def _through_uhid(node: inputs.Node) -> bool:
    return "/uhid/" in str(Path("/sys/class/input", node.path.name).resolve())


def _presses(events: list[Event]) -> list[Event]:
    return [event for event in events if event[0] == 1]


async def test_a_pad_of_the_kernels_hidp_is_mirrored_and_delivers(
    kernels_hidp: None, host: Host, dualsense: DualSense, bench: Bench, read: Read
) -> None:
    await dualsense.advertise()
    await host.pair(dualsense.address)
    await dualsense.wait_usable()
    real = await asyncio.to_thread(inputs.wait_for, dualsense.address, 3)
    assert not any(_through_uhid(node) for node in real)
    address = dualsense.address.upper()
    bench.apply(PeripheralWish(address, await _adapter(host)))
    bench.until(lambda _: len(bench.nodes()) == 3, "three mirrors")
    found = bench.connected(address)
    assert {node.real for node in found} == {str(node.path) for node in real}
    bench.apply(wish(*(node.snapshot for node in found), address=address))
    pad = next(node for node in bench.nodes() if BTN_SOUTH in node.snapshot.codes(1))
    reader = read(pad.path or "")
    await dualsense.tap("BTN_SOUTH")
    seen = bench.collect(reader, lambda events: len(_presses(events)) == 2)
    assert _presses(seen) == [keyed(BTN_SOUTH, 1), keyed(BTN_SOUTH, 0)]
    assert seen[-1] == SYN
    await dualsense.sleep()
    bench.gone(address)
