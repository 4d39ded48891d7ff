"""What the command line takes and refuses, before any device is touched."""

from __future__ import annotations

import json
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from uinputrelay import Axis, NodeState, Observed, PeripheralState, Snapshot, codes, wire
from uinputrelay.cli import _parser, main


def test_types_and_axes_are_named_as_in_the_kernels_header() -> None:
    words = (
        "mirror /dev/input/event3 --types EV_KEY,EV_ABS --axis ABS_RX:fuzz=4 --axis ABS_RY:flat=8"
    )
    options = _parser().parse_args(words.split())
    assert options.types == {codes.EV_KEY, codes.EV_ABS}
    assert options.axis == [(codes.ABS_RX, Axis(fuzz=4)), (codes.ABS_RY, Axis(flat=8))]


REFUSED = {
    "a type that does not exist": ("--types EV_KEYS", "EV_"),
    "a key as a type": ("--types KEY_A", "EV_"),
    "an axis that does not exist": ("--axis ABS_Q:fuzz=1", "ABS_"),
    "a negative fuzz": ("--axis ABS_X:fuzz=-1", "fuzz=4"),
    "no setting": ("--axis ABS_X", "fuzz=4"),
    "another field": ("--axis ABS_X:minimum=1", "fuzz=4"),
    "the number of slots": ("--axis ABS_MT_SLOT:fuzz=1", "ABS_MT_SLOT"),
}


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED)
def test_refused(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["mirror", "/dev/input/event3", *words.split()])
    assert left.value.code == 2
    assert said in capsys.readouterr().err


def test_a_node_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mirror", "/dev/input/event4711"]) == 1
    assert "/dev/input/event4711" in capsys.readouterr().err


def test_a_stored_snapshot_that_is_garbled_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = tmp_path / "snapshot.json"
    stored.write_text("{}")
    assert main(["mirror", "--from", str(stored)]) == 1
    assert "snapshot: id is missing" in capsys.readouterr().err


def test_mirror_needs_something_to_mirror(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mirror"]) == 2
    assert "--from" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["mirror", "serve", "status"])
def test_every_command_teaches_its_use_by_examples(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    assert f"\n  uinputrelay {command} " in capsys.readouterr().out


PAD = NodeState(
    Snapshot("Pad", 5, 1, 2, 3), "/dev/input/event7", 13, 71, connected=True, events=12, losses=1
)
BROKEN = NodeState(Snapshot("Remote", 5, 1, 2, 3), error="no room")
SERVED = Observed(
    (
        PeripheralState("AA", (PAD, BROKEN)),
        PeripheralState("BB", (), "/dev/input/event9: gone"),
        PeripheralState("CC"),
    ),
    (70,),
    "instance",
    "wish",
)


@pytest.fixture
def relay() -> Iterator[str]:
    """A relay that says one state to whoever connects, and hangs up."""
    with tempfile.TemporaryDirectory(prefix="relay-", dir="/tmp") as folder:
        path = f"{folder}/relay.sock"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            telling = threading.Thread(target=_tell_once, args=(listener,))
            telling.start()
            yield path
            telling.join()


def _tell_once(listener: socket.socket) -> None:
    peer, _ = listener.accept()
    with peer:
        peer.sendall(wire.observed_line(SERVED))


def test_status_prints_a_line_for_each_mirror(
    relay: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--socket", relay]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "AA /dev/input/event7 connected, 12 events, 1 losses, 'Pad'",
        "AA no mirror asleep, 0 events, 0 losses, 'Remote', error: no room",
        "BB error: /dev/input/event9: gone",
        "CC no node yet",
        "placeholder on 13:70",
    ]


def test_status_as_json_is_the_whole_observed_state(
    relay: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--socket", relay, "--json"]) == 0
    assert Observed.from_mapping(json.loads(capsys.readouterr().out)) == SERVED


def test_status_without_a_relay_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--socket", str(tmp_path / "none.sock")]) == 1
    assert capsys.readouterr().err.startswith("uinputrelay: ")
