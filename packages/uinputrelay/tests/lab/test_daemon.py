"""The relay as its own process: killed, restarted, and its clients killed, under open readers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from uinputrelay import Client, Held, Observed, PeripheralWish, Wish, codes, wire

from .devices import (
    ADDRESS,
    OTHER,
    PATIENCE,
    Event,
    Read,
    Reader,
    Source,
    await_events,
    gamepad,
    wish,
)
from .uhid import Hid, keyboard

pytestmark = [pytest.mark.lab, pytest.mark.asyncio]
PREFIX = "lab.daemon"


class Relay:
    """A relay process on one socket; started again on the same one after a kill."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "uinputrelay", "serve"]
        options = ["--socket", str(self.path), "--phys-prefix", PREFIX]
        return subprocess.Popen([*command, *options])

    def kill(self, number: int = signal.SIGKILL) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)

    def restart(self) -> None:
        self.process = self._start()


@pytest.fixture
def relay() -> Iterator[Relay]:
    with tempfile.TemporaryDirectory(prefix="relay-", dir="/tmp") as folder:
        made = Relay(Path(folder, "relay.sock"))
        yield made
        if made.process.poll() is None:
            made.kill(signal.SIGTERM)


@pytest.fixture
def emulate() -> Iterator[Callable[[Hid], Hid]]:
    made: list[Hid] = []

    def keep(device: Hid) -> Hid:
        made.append(device)
        return device

    yield keep
    for device in made:
        device.unplug()


async def _state(client: Client, true: Callable[[Observed], bool]) -> Observed:
    """Wait for an observed state that is as said."""

    async def look() -> Observed:
        if client.latest is not None and true(client.latest):
            return client.latest
        async for observed in client:
            if observed is not None and true(observed):
                return observed
        raise AssertionError("the client ended")

    return await asyncio.wait_for(look(), PATIENCE)


def _numbers(observed: Observed) -> dict[str, list[int | None]]:
    return {each.address: [node.minor for node in each.nodes] for each in observed.peripherals}


def _answers(wished: Wish) -> Callable[[Observed], bool]:
    return lambda observed: observed.wish == wished.digest


TWO_PADS = Wish((wish(gamepad()), wish(gamepad(), address=OTHER)))

CLIENT = """
import asyncio, json, sys
from uinputrelay import Client, Wish
async def main():
    wish = Wish.from_mapping(json.loads(sys.argv[2]))
    async with Client(sys.argv[1]) as client:
        client.wish(wish)
        async for observed in client:
            if observed is not None and observed.wish == wish.digest:
                print("applied", flush=True)
asyncio.run(main())
"""


def _client_process(relay: Relay, wished: Wish) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(relay.path), json.dumps(wished.to_mapping())],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"applied\n"
    return process


async def test_a_client_killed_and_started_again_renumbers_nothing(relay: Relay) -> None:
    first = await asyncio.to_thread(_client_process, relay, TWO_PADS)
    first.kill()
    first.communicate()
    async with Client(str(relay.path)) as onlooker:
        before = await _state(onlooker, _answers(TWO_PADS))
    again = Wish(TWO_PADS.peripherals[::-1])  # so that its answer is told from the first one's
    second = await asyncio.to_thread(_client_process, relay, again)
    async with Client(str(relay.path)) as onlooker:
        after = await _state(onlooker, _answers(again))
    second.kill()
    second.communicate()
    assert after.instance == before.instance
    assert after.peripherals == before.peripherals[::-1]
    assert all(node.path for each in after.peripherals for node in each.nodes)


async def test_a_killed_relay_comes_back_with_the_same_numbers_from_the_snapshots(
    relay: Relay,
) -> None:
    async with Client(str(relay.path)) as client:
        client.wish(TWO_PADS)
        before = await _state(client, _answers(TWO_PADS))
        reversed_pads = Wish(TWO_PADS.peripherals[::-1], _held(before))
        client.wish(reversed_pads)
        await _state(client, _answers(reversed_pads))
        assert relay.kill() == -signal.SIGKILL
        relay.restart()
        after = await _state(client, lambda observed: observed.instance != before.instance)
        after = await _state(client, _answers(reversed_pads))
    assert after.instance != before.instance
    assert _numbers(after) == _numbers(before)
    assert not any(node.held_back for each in after.peripherals for node in each.nodes)


async def test_after_a_restart_in_reverse_order_no_path_carries_the_others_keys(
    relay: Relay, read: Read, emulate: Callable[[Hid], Hid]
) -> None:
    devices = {address: emulate(keyboard(address)) for address in (ADDRESS, OTHER)}
    async with Client(str(relay.path)) as client:
        client.wish(Wish(tuple(PeripheralWish(address) for address in devices)))
        found = await _state(client, _all_connected(2))
        stored = {each.address: wish(each.nodes[0].snapshot, address=each.address)
                  for each in found.peripherals}  # fmt: skip
        held = _held(found)
        paths = {each.address: each.nodes[0].path or "" for each in found.peripherals}
        assert relay.kill() == -signal.SIGKILL
        relay.restart()
        reversed_wish = Wish((stored[OTHER], stored[ADDRESS]), held)
        client.wish(reversed_wish)
        await _state(client, lambda o: _answers(reversed_wish)(o) and _all_connected(2)(o))
        readers = {address: read(path) for address, path in paths.items()}
        for address, device in devices.items():
            device.raw(bytes([0, 0, 4]))
            device.raw(bytes(3))
            assert await asyncio.to_thread(_keys, readers[address], 2) == [(1, 30, 1), (1, 30, 0)]
            others = [reader.events() for a, reader in readers.items() if a != address]
            assert others == [[]]


def _held(observed: Observed) -> tuple[Held, ...]:
    """What claims prepared now would be given."""
    return tuple(
        Held(node.major or 0, node.minor or 0, each.address, node.snapshot.fingerprint)
        for each in observed.peripherals
        for node in each.nodes
    )


def _all_connected(count: int) -> Callable[[Observed], bool]:
    def true(observed: Observed) -> bool:
        nodes = [node for each in observed.peripherals for node in each.nodes]
        return len(nodes) == count and all(node.connected for node in nodes)

    return true


def _keys(reader: Reader, count: int) -> list[Event]:
    """Wait for so many key events."""
    seen: list[Event] = []
    while len(seen) < count:
        seen += [event for event in await_events(reader, 1) if event[0] == codes.EV_KEY]
    return seen


async def test_a_number_lost_in_a_restart_is_reported(relay: Relay, read: Read) -> None:
    async with Client(str(relay.path)) as client:
        only = Wish((wish(gamepad()),))
        client.wish(only)
        (node,) = (await _state(client, _answers(only))).peripherals[0].nodes
        held = Held(13, node.minor or 0, ADDRESS, node.snapshot.fingerprint)
        wished = Wish(only.peripherals, (held,))
        client.wish(wished)
        await _state(client, _answers(wished))
        relay.kill()
        interloper = Source(gamepad("Interloper"), "FF:FF")
        relay.restart()
        moved = await _state(
            client, lambda o: _answers(wished)(o) and o.peripherals[0].nodes[0].held_back
        )
        interloper.unplug()
    assert _numbers(moved)[ADDRESS] != [node.minor]


async def test_keys_flow_from_a_pairing_to_a_reader_through_the_process(
    relay: Relay, read: Read, emulate: Callable[[Hid], Hid]
) -> None:
    """The operator's whole path: nothing stored, a node found, its snapshot wished back."""
    async with Client(str(relay.path)) as client:
        client.wish(Wish((PeripheralWish(ADDRESS),)))
        device = emulate(keyboard(ADDRESS))
        found = await _state(client, lambda o: bool(o.peripherals and o.peripherals[0].nodes))
        (node,) = found.peripherals[0].nodes
        stored = Wish((wish(node.snapshot),))
        client.wish(stored)
        (kept,) = (await _state(client, _answers(stored))).peripherals[0].nodes
        assert (kept.path, kept.connected) == (node.path, True)
        reader = read(kept.path or "")
        device.raw(bytes([0, 0, 4]))
        device.raw(bytes(3))
        assert await asyncio.to_thread(_keys, reader, 2) == [(1, 30, 1), (1, 30, 0)]
        relay.kill(signal.SIGTERM)
        assert relay.path.name not in os.listdir(relay.path.parent)  # noqa: PTH208


async def test_the_process_holds_no_capability_and_still_makes_mirrors(relay: Relay) -> None:
    async with Client(str(relay.path)) as client:
        client.wish(TWO_PADS)
        observed = await _state(client, _answers(TWO_PADS))
    assert all(node.path for each in observed.peripherals for node in each.nodes)
    status = (Path("/proc") / str(relay.process.pid) / "status").read_text()
    said = dict(line.split(":\t", 1) for line in status.splitlines())
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(said[name], 16) == 0, name
    assert said["NoNewPrivs"] == "1"


async def test_garbage_harms_no_mirror(relay: Relay) -> None:
    async with Client(str(relay.path)) as client:
        client.wish(TWO_PADS)
        before = await _state(client, _answers(TWO_PADS))
        assert stat.S_IMODE(os.stat(relay.path).st_mode) == 0o600  # noqa: PTH116
        for data in (b"garbage\n", b'{"version": 9}\n', os.urandom(5000), b"x" * (wire.LIMIT + 9)):
            reader, writer = await asyncio.open_unix_connection(str(relay.path), limit=wire.LIMIT)
            with suppress(OSError):
                writer.write(data)
                writer.write_eof()
                await writer.drain()
                await reader.read()
            writer.close()
        client.wish(Wish(TWO_PADS.peripherals[::-1]))
        after = await _state(client, _answers(Wish(TWO_PADS.peripherals[::-1])))
    assert _numbers(after) == _numbers(before)
    assert after.instance == before.instance
