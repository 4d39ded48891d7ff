"""What each sub-command does with a client."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine

from rich.console import Group
from rich.live import Live
from rich.text import Text

from bluezclient.address import Address, AddressError
from bluezclient.classify import kind
from bluezclient.cli.output import Output, table
from bluezclient.client import Client
from bluezclient.errors import AdapterMissing
from bluezclient.model import Adapter, Device, Link, State
from bluezclient.pairing import PairingWindow, Prompt, PromptKind
from bluezclient.storage import Bond, read_bonds

Command = Callable[[argparse.Namespace, Output], Coroutine[None, None, int]]

_ADAPTER_COLUMNS = ("Address", "Alias", "Powered", "Pairable", "Connectable", "Discovering", "Path")
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


async def adapters(options: argparse.Namespace, output: Output) -> int:
    """List the radios."""
    async with Client.open(options.bus, keep_connectable=False) as bluez:
        found = list(bluez.require_available().adapters.values())
    output.rows("Adapters", _ADAPTER_COLUMNS, map(_adapter_row, found), found)
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
        adapter.path,
    )


def _yes(value: bool | None) -> str:
    return "?" if value is None else "yes" if value else "no"


async def devices(options: argparse.Namespace, output: Output) -> int:
    """List the devices with a bond or a link, or all."""
    async with Client.open(options.bus, keep_connectable=False) as bluez:
        state = bluez.require_available()
    found = [d for d in state.devices.values() if options.all or d.bonded or d.connected]
    rows = [_device_row(device, state) for device in found]
    output.rows("Devices", _DEVICE_COLUMNS, rows, [_device_data(d, state) for d in found])
    return 0


def _device_row(device: Device, state: State) -> tuple[str, ...]:
    link = state.link(device)
    battery = device.battery.percentage if device.battery else None
    return (
        device.address.colons,
        device.alias,
        kind(device.class_of_device, device.appearance, device.uuids),
        _yes(device.bonded),
        _yes(device.trusted),
        str(link.reason) if link else _yes(device.connected),
        "" if battery is None else f"{battery} %",
        device.adapter_address.colons,
    )


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
    with Live(console=output.console, auto_refresh=False) as live:
        async for state in bluez.states():
            rows = [_device_row(d, state) for d in state.devices.values() if state.link(d)]
            detail = "" if state.available else f"{state.reason}: {state.detail}"
            live.update(Group(table("Devices", _DEVICE_COLUMNS, rows), Text(detail)), refresh=True)


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
    async with Client.open(options.bus) as bluez:
        adapter = _choose_adapter(bluez.require_available(), options.adapter)
        window = bluez.pairing_window(
            adapter, options.capability, on_prompt=_person(output) if sys.stdin.isatty() else None
        )
        async with window as opened:
            device = await _pair_shown(opened, options, output)
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


def _person(output: Output) -> Callable[[Prompt], Awaitable[bool | str | None]]:
    """Asks whoever sits at the terminal."""

    async def ask(prompt: Prompt) -> bool | str | None:
        match prompt.kind:
            case PromptKind.SHOW_PASSKEY | PromptKind.SHOW_PIN:
                output.say(f"type {prompt.code} on {prompt.address}", prompt=prompt)
                return None
            case PromptKind.CONFIRM:
                question = f"does {prompt.address} show {prompt.code}? [y/N] "
                answer = await asyncio.to_thread(input, question)
                return answer.strip().lower() in ("y", "yes")
            case _:
                return await asyncio.to_thread(input, f"code for {prompt.address}: ")

    return ask


async def _pair_shown(window: PairingWindow, options: argparse.Namespace, output: Output) -> Device:
    ends = time.monotonic() + options.seconds
    pairing = asyncio.ensure_future(window.pair(options.address, deadline=options.seconds))
    shown = asyncio.ensure_future(_show(window, options.address, ends, output))
    try:
        return await pairing
    finally:
        shown.cancel()
        await asyncio.wait({shown})


async def _show(window: PairingWindow, wanted: Address, ends: float, output: Output) -> None:
    if output.json or not output.console.is_terminal:
        await _show_lines(window, output)
        return
    with Live(console=output.console, auto_refresh=False) as live:
        while True:
            left = max(0, round(ends - time.monotonic()))
            rows = [
                (seen.address.colons, seen.name, seen.kind, f"{seen.rssi} dBm")
                for seen in window.seen
            ]
            title = f"Pairing with {wanted}, {left} s left: hold its pairing button"
            live.update(table(title, _SEEN_COLUMNS, rows), refresh=True)
            await asyncio.sleep(0.5)


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
    adapters = [options.adapter] if options.adapter else _adapters_on_disk(options)
    found = [bond for adapter in adapters for bond in read_bonds(options.storage, adapter)]
    rows = [
        (
            bond.adapter.colons,
            bond.device.colons,
            ", ".join(sorted(bond.key_groups)),
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
