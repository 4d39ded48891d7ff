"""`uinputrelay mirror`, run as a user runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .devices import BTN_SOUTH, SYN, Plug, Read, at, await_events, gamepad, keyed

pytestmark = pytest.mark.lab


def _start(*words: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "uinputrelay", "mirror", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def _stop(process: subprocess.Popen[str]) -> int:
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    return process.returncode


def test_a_node_is_mirrored_until_interrupted(plug: Plug, read: Read) -> None:
    source = plug(gamepad())
    process, path = _start(source.path, "--types", "EV_KEY", "--axis", "ABS_RX:fuzz=4,flat=9")
    reader = read(path)
    source.frame(keyed(BTN_SOUTH, 1), at(0, 3))
    assert await_events(reader, 2) == [keyed(BTN_SOUTH, 1), SYN]
    assert (source.absinfo(3).fuzz, source.absinfo(3).flat) == (4, 9)
    assert _stop(process) == 0
    assert (source.absinfo(3).fuzz, source.absinfo(3).flat) == (0, 15)


def test_a_program_is_told_each_change_as_a_line_of_json(plug: Plug) -> None:
    source = plug(gamepad())
    process, line = _start(source.path, "--json")
    states = [json.loads(line)]
    assert process.stdout is not None
    while not states[-1]["connected"]:
        states.append(json.loads(process.stdout.readline()))
    source.unplug()
    while states[-1]["connected"]:
        states.append(json.loads(process.stdout.readline()))
    assert {(state["path"], state["major"], state["minor"]) for state in states} == {
        (states[0]["path"], 13, states[0]["minor"])
    }
    assert _stop(process) == 0


def test_a_saved_snapshot_makes_the_mirror_before_the_device_is_there(
    plug: Plug, read: Read, tmp_path: Path
) -> None:
    stored = tmp_path / "snapshot.json"
    source = plug(gamepad())
    process, _ = _start(source.path, "--save", str(stored))
    assert _stop(process) == 0
    assert json.loads(stored.read_text())["name"] == "Test Pad"
    source.unplug()
    process, path = _start("--from", str(stored))
    reader = read(path)
    back = plug(gamepad())
    back.frame(keyed(BTN_SOUTH, 1))
    assert await_events(reader, 2) == [keyed(BTN_SOUTH, 1), SYN]
    assert _stop(process) == 0
