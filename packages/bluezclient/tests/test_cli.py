"""The command: tables for people, JSON for programs, one line for a bad day."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import pytest
from bluezclient import BluezError, cli
from bluezclient.cli.commands import COMMANDS
from bluezclient.cli.output import Output, plain
from bluezclient.testing import FakeBluez, Peer
from rich.console import Console

from .conftest import ADAPTER, PAD
from .test_storage import KEY, PAD_CACHE, PAD_INFO, bond, place


async def run(*arguments: str, json: bool = False) -> str:
    """What a sub-command prints to a person."""
    shown = io.StringIO()
    options = cli._parser().parse_args(arguments)
    output = Output(json=json, console=Console(file=shown, width=160))
    assert await COMMANDS[options.command](options, output) == 0
    return shown.getvalue()


async def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Any]:
    """The JSON lines a sub-command prints to a program."""
    await run(*arguments, json=True)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


async def test_adapters_and_devices(
    private_bus_address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bus = ("--bus", private_bus_address)
    async with FakeBluez.on_bus(private_bus_address) as fake:
        hci0 = fake.add_adapter(ADAPTER)
        fake.add_device(hci0, PAD, Alias="Sofa [pad]\x1b[31m", Class=0x002508)
        fake.add_device(hci0, ADAPTER, Bonded=False, Paired=False, Alias="Neighbour")
        assert ADAPTER.colons in await run(*bus, "adapters")
        people = await run(*bus, "devices")
        assert "gamepad" in people
        assert "NeverConnected" in people
        assert PAD.colons in people
        assert "Sofa [pad]\N{REPLACEMENT CHARACTER}[31m" in people
        assert "Neighbour" not in people
        assert "Neighbour" in await run(*bus, "devices", "--all")
        [adapters] = await run_json(capsys, *bus, "adapters")
        assert [adapter["address"] for adapter in adapters] == [ADAPTER.colons]
        [devices] = await run_json(capsys, *bus, "devices")
        assert devices[0]["device"]["address"] == PAD.colons
        assert devices[0]["link"]["reason"] == "NeverConnected"


async def test_pair_and_unpair(
    private_bus_address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bus = ("--bus", private_bus_address)
    quick = Peer(PAD, heard_after=0.05, link_after=0.01, bond_after=0.01, services_after=0.01)
    async with FakeBluez.on_bus(private_bus_address) as fake:
        fake.add_adapter(ADAPTER)
        fake.peers.append(quick)
        lines = await run_json(capsys, *bus, "pair", PAD.dashes, "--seconds", "10")
        assert lines[-1]["paired"]["bonded"] is True
        assert {line["seen"]["kind"] for line in lines[:-1]} == {"gamepad"}
        assert "is unpaired" in await run(*bus, "unpair", PAD.dashes)
        assert not any(PAD.bluez in path for path in fake.objects)


@pytest.mark.parametrize("terminal", [True, False])
async def test_watch_follows_links_with_their_reasons_and_the_loss_of_bluetoothd(
    private_bus_address: str, tmp_path: Path, terminal: bool
) -> None:
    shown = io.StringIO()
    output = Output(json=False, console=Console(file=shown, width=160, force_terminal=terminal))
    options = cli._parser().parse_args(["--bus", private_bus_address, "watch"])
    async with FakeBluez.on_bus(private_bus_address) as fake:
        pad = fake.add_device(fake.add_adapter(ADAPTER), PAD, Class=0x002508)
        watching = asyncio.ensure_future(COMMANDS["watch"](options, output))
        await until_shown(shown, "NeverConnected")
        fake.connect_device(pad)
        await until_shown(shown, "Connected")
        fake.disconnect_device(pad, "Timeout")
        await until_shown(shown, "Asleep")
    await until_shown(shown, "bluetoothd is not running")
    watching.cancel()
    await asyncio.wait({watching})


async def until_shown(shown: io.StringIO, text: str) -> None:
    async with asyncio.timeout(10):
        while text not in shown.getvalue():  # noqa: ASYNC110 -- a terminal has no event to wait for
            await asyncio.sleep(0.01)


async def test_pair_on_a_terminal_shows_what_is_seen_and_how_long_is_left(
    private_bus_address: str,
) -> None:
    shown = io.StringIO()
    output = Output(json=False, console=Console(file=shown, width=160, force_terminal=True))
    arguments = ["--bus", private_bus_address, "pair", PAD.dashes, "--seconds", "10"]
    slow = Peer(PAD, heard_after=0.05, link_after=0.7, bond_after=0.01, services_after=0.01)
    async with FakeBluez.on_bus(private_bus_address) as fake:
        fake.add_adapter(ADAPTER)
        fake.peers.append(slow)
        assert await COMMANDS["pair"](cli._parser().parse_args(arguments), output) == 0
    assert "s left: hold its pairing button" in shown.getvalue()
    assert f"Pairing with {PAD}, 10 s left" in shown.getvalue(), "and no emoji in an address"
    assert "gamepad" in shown.getvalue()
    assert "paired with A0:AB:51:33:B7:12 (Wireless Controller)" in shown.getvalue()


async def test_bonds_are_shown_without_their_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place(tmp_path, bond(PAD_INFO, PAD_CACHE))
    people = await run("--storage", str(tmp_path), "bonds")
    assert "LinkKey" in people
    [programs] = await run_json(capsys, "--storage", str(tmp_path), "bonds")
    assert programs == [
        {
            "adapter": ADAPTER.colons,
            "device": PAD.colons,
            "keys": ["LinkKey"],
            "files": {"info": len(PAD_INFO), "cache": len(PAD_CACHE)},
            "missing": [],
            "sealed": True,
        }
    ]
    assert KEY not in people + json.dumps(programs)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        pytest.param(("--bus", "unix:path=/nonexistent/bus", "adapters"), "BluetoothUnavailable"),
        pytest.param(("--bus", "unix:path=/nonexistent/bus", "devices"), "BluetoothUnavailable"),
        pytest.param(
            ("--bus", "unix:path=/nonexistent/bus", "pair", "A0AB5133B712"), "BluetoothUnavailable"
        ),
        pytest.param(("--storage", "/nonexistent", "bonds"), "OSError"),
    ],
)
def test_a_bad_day_is_one_line_and_status_1(
    arguments: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"bluezclient: {reason}: ")
    assert printed.err.count("\n") == 1
    assert cli.main(["--json", *arguments]) == 1
    assert json.loads(capsys.readouterr().err)["error"] == reason


async def test_bluetoothd_missing_from_a_good_bus_is_named(
    private_bus_address: str,
) -> None:
    with pytest.raises(BluezError, match="bluetoothd is not running"):
        await run("--bus", private_bus_address, "devices")


@pytest.mark.parametrize("arguments", [["pair", "not-an-address"], ["pair"], [], ["dance"]])
def test_a_mistyped_command_is_usage_and_status_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert "usage: bluezclient" in capsys.readouterr().err


def test_values_become_json() -> None:
    value = {(1, 2): frozenset({PAD, ADAPTER}), "bytes": b"\x01", "tuple": (PAD,)}
    assert plain(value) == {
        "(1, 2)": [ADAPTER.colons, PAD.colons],
        "bytes": "01",
        "tuple": [PAD.colons],
    }
