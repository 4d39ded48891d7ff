"""The command: tables for people, JSON for programs, one line for a bad day."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pty
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bluezclient import Address, BluezError, PairingRejected, PairingTimedOut, PinRequired, cli
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
    async with asyncio.timeout(45):
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
            "cable": False,
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
        pytest.param(("--storage", "/nonexistent", "bonds"), "StorageUnreadable"),
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


# -- what people type ----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [("--json", "bonds"), ("bonds", "--json")])
def test_the_common_options_are_taken_before_the_command_and_after_it(
    tmp_path: Path, order: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    place(tmp_path, bond(PAD_INFO, PAD_CACHE))
    assert cli.main([*order, "--storage", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)[0]["device"] == PAD.colons


@pytest.mark.parametrize("seconds", ["0", "-5", "nan", "inf", "soon"])
def test_a_time_that_is_none_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["pair", PAD.colons, "--seconds", seconds])
    assert caught.value.code == 2
    assert f"'{seconds}' is not a number of seconds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "taught"),
    [
        (["--help"], ["bluezclient pair a0:ab:51:33:b7:12", "Status: 0 done", "sudo"]),
        (["pair", "--help"], ["pairing mode", "--capability KeyboardDisplay", "--json"]),
        (["bonds", "--help"], ["What is on disk, without its keys."]),
        (["--version"], ["bluezclient 0."]),
    ],
)
def test_the_help_teaches(
    arguments: list[str], taught: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 0
    printed = capsys.readouterr().out
    assert [text for text in taught if text not in printed] == []


async def test_a_reader_that_leaves_ends_the_command_without_a_word(tmp_path: Path) -> None:
    place(tmp_path, bond(PAD_INFO, PAD_CACHE))
    command = [sys.executable, "-m", "bluezclient", "--json", "--storage", str(tmp_path), "bonds"]
    reading, writing = os.pipe()
    os.close(reading)
    process = await asyncio.create_subprocess_exec(*command, stdout=writing, stderr=PIPE)
    os.close(writing)
    _, complaint = await process.communicate()
    assert (process.returncode, complaint) == (1, b"")


def test_bonds_that_may_not_be_read_are_for_root(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is made up, since root is denied nothing and runs these tests too."""

    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    place(tmp_path, bond(PAD_INFO, PAD_CACHE))
    monkeypatch.setattr("os.scandir", denied)
    assert cli.main(["--storage", str(tmp_path), "bonds"]) == 1
    assert "PermissionDenied: bonds are for root alone" in capsys.readouterr().err


async def test_adapters_tell_the_release_of_bluetoothd(
    private_bus_address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bus = ("--bus", private_bus_address)
    async with FakeBluez.on_bus(private_bus_address) as fake:
        fake.add_adapter(ADAPTER, Modalias="usb:v1D6Bp0246d0557")
        assert "5.87" in await run(*bus, "adapters")
        [adapters] = await run_json(capsys, *bus, "adapters")
        assert adapters[0]["bluez"] == "5.87"


async def test_a_scan_shows_what_is_in_pairing_mode_and_nothing_is_told_as_none(
    private_bus_address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bus = ("--bus", private_bus_address)
    async with FakeBluez.on_bus(private_bus_address) as fake:
        fake.add_adapter(ADAPTER)
        fake.add_adapter(Address("04:4A:69:66:92:28"), 1, powered=False)
        fake.peers.append(quick())
        assert await run(*bus, "devices", "--all") == "Devices: none\n"
        [devices] = await run_json(capsys, *bus, "devices", "--scan", "0.3")
        assert [(d["device"]["address"], d["device"]["rssi"]) for d in devices] == [
            (PAD.colons, -50)
        ]
        assert "StopDiscovery" in [call.member for call in fake.calls]


async def test_watch_on_a_terminal_keeps_a_device_whose_radio_was_pulled(
    private_bus_address: str,
) -> None:
    shown = io.StringIO()
    output = Output(json=False, console=Console(file=shown, width=160, force_terminal=True))
    options = cli._parser().parse_args(["watch", "--bus", private_bus_address])
    async with FakeBluez.on_bus(private_bus_address) as fake:
        hci0 = fake.add_adapter(ADAPTER)
        fake.add_device(hci0, PAD, Class=0x002508, Alias="Sofa")
        watching = asyncio.ensure_future(COMMANDS["watch"](options, output))
        await until_shown(shown, "NeverConnected")
        fake.unplug(hci0)
        await until_shown(shown, "AdapterRemoved")
        row = next(r for r in reversed(shown.getvalue().splitlines()) if "AdapterRemoved" in r)
        assert "Sofa" in row
        assert "gamepad" in row
        watching.cancel()
        await asyncio.wait({watching})


PASSKEY = ("DisplayPasskey", "uq", (123456, 0))
TYPED_THREE = ("DisplayPasskey", "uq", (123456, 3))
COMPARE = ("RequestConfirmation", "u", (123456,))
ENTER = ("RequestPasskey", "", ())


def quick(*asks: tuple[str, str, tuple[Any, ...]]) -> Peer:
    """A device that asks these things at once."""
    return Peer(
        PAD, heard_after=0.05, link_after=0.01, bond_after=0.01, services_after=0.01, asks=[*asks]
    )


async def pair_json(
    bus_address: str, capsys: pytest.CaptureFixture[str], peer: Peer
) -> list[dict[str, Any]]:
    """The lines of `pair --json` with that device."""
    arguments = ["pair", PAD.colons, "--capability", "KeyboardDisplay", "--seconds", "5"]
    async with FakeBluez.on_bus(bus_address) as fake:
        fake.add_adapter(ADAPTER)
        fake.peers.append(peer)
        return await run_json(capsys, "--bus", bus_address, *arguments)


async def test_a_passkey_reaches_a_program_that_is_no_terminal(
    private_bus_address: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    lines = await pair_json(private_bus_address, capsys, quick(PASSKEY, TYPED_THREE))
    prompts = [line["prompt"] for line in lines if "prompt" in line]
    assert [(p["kind"], p["code"], p["entered"]) for p in prompts] == [
        ("ShowPasskey", "123456", 0),
        ("ShowPasskey", "123456", 3),
    ]
    assert lines[-1]["paired"]["bonded"] is True


@pytest.mark.parametrize(
    ("ask", "error"), [(COMPARE, PairingRejected), (ENTER, PinRequired)], ids=["compare", "enter"]
)
async def test_what_needs_an_answer_is_refused_where_nobody_can_give_one(
    private_bus_address: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    ask: tuple[str, str, tuple[Any, ...]],
    error: type[BluezError],
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(error):
        await pair_json(private_bus_address, capsys, quick(ask))
    assert "standard input is no terminal" in capsys.readouterr().err


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Standard input is a terminal; what is written to this descriptor is typed on it."""
    master, slave = pty.openpty()
    with os.fdopen(slave) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield master
    os.close(master)


@pytest.mark.parametrize(
    ("ask", "line", "bonded"),
    [
        (COMPARE, b"y\n", True),
        (COMPARE, b"n\n", False),
        (COMPARE, b"\n", False),
        (ENTER, b"123456\n", True),
        (ENTER, b"\n", False),
    ],
)
async def test_what_is_typed_at_the_terminal_is_the_answer(
    private_bus_address: str,
    keyboard: int,
    ask: tuple[str, str, tuple[Any, ...]],
    line: bytes,
    bonded: bool,
) -> None:
    shown = io.StringIO()
    output = Output(json=False, console=Console(file=shown, width=160, force_terminal=True))
    arguments = ["pair", PAD.colons, "--capability", "KeyboardDisplay", "--seconds", "5"]
    options = cli._parser().parse_args([*arguments, "--bus", private_bus_address])
    os.write(keyboard, line)
    async with FakeBluez.on_bus(private_bus_address) as fake:
        fake.add_adapter(ADAPTER)
        fake.peers.append(quick(ask))
        if bonded:
            assert await COMMANDS["pair"](options, output) == 0
        else:
            with pytest.raises((PairingRejected, PinRequired)):
                await COMMANDS["pair"](options, output)


@pytest.mark.parametrize("end", ["its deadline", "Ctrl-C"])
async def test_a_question_that_nobody_answers_keeps_nobody_waiting(
    private_bus_address: str, keyboard: int, capsys: pytest.CaptureFixture[str], end: str
) -> None:
    """A thread in input() would hold the command until Enter is pressed."""
    output = Output(json=False, console=Console(file=io.StringIO(), force_terminal=True))
    arguments = ["pair", PAD.colons, "--capability", "KeyboardDisplay", "--seconds", "2"]
    options = cli._parser().parse_args([*arguments, "--bus", private_bus_address])
    async with FakeBluez.on_bus(private_bus_address) as fake:
        fake.add_adapter(ADAPTER)
        fake.peers.append(quick(COMPARE))
        pairing = asyncio.ensure_future(COMMANDS["pair"](options, output))
        if end == "Ctrl-C":
            async with asyncio.timeout(45):
                while "does A0:AB" not in capsys.readouterr().err:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            pairing.cancel()
        await asyncio.wait({pairing}, timeout=10)
        assert pairing.done()
        assert pairing.cancelled() or isinstance(pairing.exception(), PairingTimedOut)
        assert not any(PAD.bluez in path for path in fake.objects)
