"""What each sub-command does with a client."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import ClassVar

from rich.console import Group
from rich.live import Live
from rich.text import Text

from bluezclient.address import Address, AddressError
from bluezclient.bus import end
from bluezclient.classify import kind
from bluezclient.cli.output import Output, plain, table
from bluezclient.cli.person import Person
from bluezclient.client import Client
from bluezclient.errors import AdapterMissing, BluezError, PermissionDenied
from bluezclient.model import Adapter, Device, Link, State
from bluezclient.pairing import PairingWindow
from bluezclient.storage import Bond, read_bonds

Command = Callable[[argparse.Namespace, Output], Coroutine[None, None, int]]

_ADAPTER_COLUMNS = (
    "Address",
    "Alias",
    "Powered",
    "Pairable",
    "Connectable",
    "Discovering",
    "BlueZ",
    "Path",
)
_DEVICE_COLUMNS = (
    "Address",
    "Name",
    "Kind",
    "Bonded",
    "Trusted",
    "Connected",
    "Battery",
    "Adapter",
)
_SEEN_COLUMNS = ("Address", "Name", "Kind", "Signal")
_BOND_COLUMNS = ("Adapter", "Device", "Keys", "Files", "Missing")


class StorageUnreadable(BluezError):  # noqa: N818 -- named as the others are
    """There is no bluetoothd storage at that place, or it cannot be read."""

    reason: ClassVar[str] = "StorageUnreadable"


async def adapters(options: argparse.Namespace, output: Output) -> int:
    """List the radios."""
    async with Client.open(options.bus, keep_connectable=False) as bluez:
        found = list(bluez.require_available().adapters.values())
    data = [_adapter_data(adapter) for adapter in found]
    output.rows("Adapters", _ADAPTER_COLUMNS, map(_adapter_row, found), data)
    return 0


def _adapter_row(adapter: Adapter) -> tuple[str, ...]:
    powered = "blocked (rfkill)" if adapter.blocked else _yes(adapter.powered)
    return (
        adapter.address.colons,
        adapter.alias,
        powered,
        _yes(adapter.pairable),
        _yes(adapter.connectable),
        _yes(adapter.discovering),
        _release(adapter) or "?",
        adapter.path,
    )


def _adapter_data(adapter: Adapter) -> dict[str, object]:
    return {**plain(adapter), "bluez": _release(adapter)}


def _release(adapter: Adapter) -> str | None:
    version = adapter.bluez_version
    return None if version is None else f"{version[0]}.{version[1]}"


def _yes(value: bool | None) -> str:
    return "?" if value is None else "yes" if value else "no"


async def devices(options: argparse.Namespace, output: Output) -> int:
    """List the devices with a bond or a link, or all."""
    async with Client.open(options.bus, keep_connectable=False) as bluez:
        state = await _scanned(bluez, options.scan) if options.scan else bluez.require_available()
    everything = options.all or options.scan
    found = [d for d in state.devices.values() if everything or d.known or d.connected]
    rows = [_device_row(device, state) for device in found]
    output.rows("Devices", _DEVICE_COLUMNS, rows, [_device_data(d, state) for d in found])
    return 0


async def _scanned(bluez: Client, seconds: float) -> State:
    """The state after listening on every radio that is on."""
    async with AsyncExitStack() as stack:
        for adapter in bluez.require_available().adapters.values():
            if adapter.powered:
                await stack.enter_async_context(bluez.discovering(adapter))
        await asyncio.sleep(seconds)
        return bluez.require_available()


def _device_row(device: Device, state: State) -> tuple[str, ...]:
    link = state.link(device)
    battery = device.battery.percentage if device.battery else None
    return (
        device.address.colons,
        device.alias,
        _kind(device),
        "by cable" if device.cable_pairing else _yes(device.bonded),
        _yes(device.trusted),
        str(link.reason) if link else _yes(device.connected),
        "" if battery is None else f"{battery} %",
        device.adapter_address.colons,
    )


def _kind(device: Device) -> str:
    return kind(device.class_of_device, device.appearance, device.uuids)


def _device_data(device: Device, state: State) -> dict[str, object]:
    return {"device": device, "link": state.link(device)}


async def watch(options: argparse.Namespace, output: Output) -> int:
    """Follow every device until interrupted."""
    storage = options.storage if options.storage.is_dir() else None
    async with Client.open(options.bus, keep_connectable=False, storage_root=storage) as bluez:
        if output.console.is_terminal and not output.json:
            await _watch_live(bluez, output)
        else:
            await _watch_lines(bluez, output)
    return 0


async def _watch_live(bluez: Client, output: Output) -> None:
    names: dict[tuple[Address, Address], tuple[str, str]] = {}
    with Live(console=output.console, auto_refresh=False) as live:
        async for state in bluez.states():
            names |= {d.key: (d.alias, _kind(d)) for d in state.devices.values()}
            rows = [_link_row(key, state, names) for key in state.links]
            detail = "" if state.available else f"{state.reason}: {state.detail}"
            live.update(Group(table("Devices", _DEVICE_COLUMNS, rows), Text(detail)), refresh=True)


def _link_row(
    key: tuple[Address, Address],
    state: State,
    names: dict[tuple[Address, Address], tuple[str, str]],
) -> tuple[str, ...]:
    """A device's row, also while bluetoothd, its adapter or itself is away: that is the news."""
    adapter, address = key
    device = state.device(address, adapter)
    if device is not None:
        return _device_row(device, state)
    name, kind_ = names.get(key, ("", ""))
    reason = str(state.links[key].reason)
    return (address.colons, name, kind_, "?", "?", reason, "", adapter.colons)


async def _watch_lines(bluez: Client, output: Output) -> None:
    """A line for the availability and for each link, now and at each change."""
    told: object = None
    links: dict[tuple[Address, Address], Link] = {}
    async for state in bluez.states():
        if told != state.availability:
            told = state.availability
            output.say(f"bluetoothd: {state.reason} {state.detail}".rstrip(), bluetoothd=told)
        for key, link in state.links.items():
            if links.get(key) != link:
                links[key] = link
                flapping = " (flapping)" if link.flapping else ""
                adapter, device = key
                text = f"{device} on {adapter}: {link.reason}{flapping}"
                output.say(text, adapter=adapter, device=device, link=link)


async def pair(options: argparse.Namespace, output: Output) -> int:
    """Open a window, show what is seen and how long is left, pair with one device."""
    person = Person(output)
    async with Client.open(options.bus) as bluez:
        adapter = _choose_adapter(bluez.require_available(), options.adapter)
        window = bluez.pairing_window(adapter, options.capability, on_prompt=person.asked)
        async with window as opened:
            device = await _pair_shown(opened, options, output, person)
    output.say(f"paired with {device.address} ({device.alias})", paired=device)
    return 0


def _choose_adapter(state: State, wanted: Address | None) -> Address:
    if wanted is not None:
        return state.require_adapter(wanted).address
    found = list(state.adapters.values())
    if len(found) != 1:
        raise AdapterMissing(
            f"there are {len(found)} adapters; choose one with --adapter"
            if found
            else "there is no adapter"
        )
    return found[0].address


async def _pair_shown(
    window: PairingWindow, options: argparse.Namespace, output: Output, person: Person
) -> Device:
    ends = time.monotonic() + options.seconds
    pairing = asyncio.ensure_future(window.pair(options.address, deadline=options.seconds))
    shown = asyncio.ensure_future(_show(window, options.address, ends, output, person))
    try:
        await asyncio.wait({pairing, shown}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # A pairing that is called off still has to clear away behind itself.
        await end(pairing, shown)
    if not shown.cancelled():
        shown.result()
    return pairing.result()


async def _show(
    window: PairingWindow, wanted: Address, ends: float, output: Output, person: Person
) -> None:
    if output.json or not output.console.is_terminal:
        await _show_lines(window, output)
        return
    with Live(console=output.console, auto_refresh=False) as live:
        person.live = live
        try:
            while True:
                if not person.asking:
                    live.update(_seen_table(window, wanted, ends), refresh=True)
                await asyncio.sleep(0.5)
        finally:
            person.live = None


def _seen_table(window: PairingWindow, wanted: Address, ends: float) -> Group:
    left = max(0, round(ends - time.monotonic()))
    rows = [(seen.address.colons, seen.name, seen.kind, f"{seen.rssi} dBm") for seen in window.seen]
    title = f"Pairing with {wanted}, {left} s left: hold its pairing button"
    return table(title, _SEEN_COLUMNS, rows)


async def _show_lines(window: PairingWindow, output: Output) -> None:
    told: set[Address] = set()
    while True:
        for seen in window.seen:
            if seen.address not in told:
                told.add(seen.address)
                output.say(f"seen {seen.address} {seen.name} {seen.kind}".rstrip(), seen=seen)
        await asyncio.sleep(0.5)


async def unpair(options: argparse.Namespace, output: Output) -> int:
    """Remove a device and its keys."""
    async with Client.open(options.bus, keep_connectable=False) as bluez:
        device = bluez.require_available().require_device(options.address, options.adapter)
        await bluez.unpair(device.adapter_address, device)
    output.say(f"{device.address} is unpaired", unpaired=device.address)
    return 0


async def bonds(options: argparse.Namespace, output: Output) -> int:
    """Show what is on disk: groups and sizes, never keys."""
    try:
        adapters = [options.adapter] if options.adapter else _adapters_on_disk(options)
        found = [bond for adapter in adapters for bond in read_bonds(options.storage, adapter)]
    except PermissionError as error:
        raise PermissionDenied(f"bonds are for root alone: {error}") from error
    except OSError as error:
        raise StorageUnreadable(str(error)) from error
    rows = [
        (
            bond.adapter.colons,
            bond.device.colons,
            "by cable" if bond.cable_pairing else ", ".join(sorted(bond.key_groups)),
            ", ".join(f"{name} ({len(held)})" for name, held in sorted(bond.files.items())),
            ", ".join(bond.missing) or "-",
        )
        for bond in found
    ]
    output.rows("Bonds", _BOND_COLUMNS, rows, [_bond_data(bond) for bond in found])
    return 0


def _bond_data(bond: Bond) -> dict[str, object]:
    return {
        "adapter": bond.adapter,
        "device": bond.device,
        "keys": bond.key_groups,
        "cable": bond.cable_pairing,
        "files": {name: len(held) for name, held in bond.files.items()},
        "missing": bond.missing,
        "sealed": bond.sealed,
    }


def _adapters_on_disk(options: argparse.Namespace) -> list[Address]:
    found = set()
    for entry in options.storage.iterdir():
        try:
            found.add(Address(entry.name.removeprefix("static-")))
        except AddressError:
            continue
    return sorted(found)


COMMANDS: dict[str, Command] = {
    "adapters": adapters,
    "devices": devices,
    "watch": watch,
    "pair": pair,
    "unpair": unpair,
    "bonds": bonds,
}
