"""The command: udevadm's lines on stdout, one clear line per failure on stderr, and its status."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from inputid import __version__, cli

from .test_dumps import EVEMU, LIBINPUT, PROC_32, PROC_64

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def pad(tmp_path: Path) -> Path:
    """A copied sysfs directory of a pad."""
    directory = tmp_path / "input3"
    (directory / "capabilities").mkdir(parents=True)
    for name, text in {"ev": "b", "key": "7cdb000000000000 0 0 0 0", "abs": "3003f"}.items():
        (directory / "capabilities" / name).write_text(f"{text}\n")
    (directory / "name").write_text("Pad\x1b[31m\n")
    return directory


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    file = tmp_path / "devices"
    file.write_text(PROC_64)
    return file


def test_a_directory_prints_udevadms_lines(pad: Path, capsys: Capture) -> None:
    assert cli.main([str(pad)]) == 0
    out, err = capsys.readouterr()
    assert out == "# Pad?[31m\nE: ID_INPUT=1\nE: ID_INPUT_JOYSTICK=1\n\n"
    assert err == ""


def test_a_dump_prints_every_device(dump: Path, capsys: Capture) -> None:
    assert cli.main(["--from", str(dump)]) == 0
    assert capsys.readouterr().out == (
        "P: /devices/virtual/misc/uhid/0005:0171:0421.0003/input/input4\n"
        "N: input/event4\n"
        "# AR Keyboard\n"
        "E: ID_INPUT=1\nE: ID_INPUT_KEY=1\nE: ID_INPUT_KEYBOARD=1\n\n"
        "P: /devices/virtual/misc/uhid/0005:0171:0421.0003/input/input5\n"
        "N: input/event5\n"
        "# AR\n"
        "E: ID_INPUT=1\n\n"
    )


@pytest.mark.parametrize("text", [PROC_64, EVEMU, LIBINPUT], ids=["proc", "evemu", "libinput"])
def test_standard_input_is_recognised(
    text: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert cli.main(["--from", "-"]) == 0
    assert "E: ID_INPUT=1\n" in capsys.readouterr().out


def test_the_release_is_selectable(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "pad.evemu"
    file.write_text(
        "N: Pad\nI: 0003 28bd 091b 0100\nB: 00 07\nB: 01" + " 00" * 32 + " 03\nB: 02 00 01\n"
    )
    assert cli.main(["--from", str(file), "--systemd", "252"]) == 0
    old = capsys.readouterr().out
    assert cli.main(["--from", str(file)]) == 0
    new = capsys.readouterr().out
    assert old == "# Pad\nE: ID_INPUT=1\nE: ID_INPUT_KEY=1\n\n"
    assert new == "# Pad\nE: ID_INPUT=1\nE: ID_INPUT_TABLET=1\nE: ID_INPUT_TABLET_PAD=1\n\n"


def test_the_word_of_a_dump_can_be_stated(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "devices"
    file.write_text(PROC_32.split("\n\n")[1])
    assert cli.main(["--from", str(file), "--words", "32"]) == 0
    assert "E: ID_INPUT_JOYSTICK=1\n" in capsys.readouterr().out


def test_json_is_one_object_a_line(pad: Path, dump: Path, capsys: Capture) -> None:
    assert cli.main([str(pad), "--from", str(dump), "--json"]) == 0
    first, second, third = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first == {
        "name": "Pad\x1b[31m",
        "path": "",
        "node": "",
        "classes": ["joystick"],
        "properties": {"ID_INPUT": "1", "ID_INPUT_JOYSTICK": "1"},
        "capabilities": {
            "ev": "b",
            "key": "7cdb000000000000 0 0 0 0",
            "abs": "3003f",
            "id": [0, 0, 0, 0],
        },
    }
    assert second["classes"] == ["key", "keyboard"]
    assert third["classes"] == []


def test_explain_says_rule_by_rule_why(pad: Path, capsys: Capture) -> None:
    assert cli.main([str(pad), "--explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].startswith("# accelerometer: no change  (")
    assert any(line.startswith("# absolute: +joystick  (") for line in lines)


def test_explain_in_json_names_the_device_behind_each_rule(pad: Path, capsys: Capture) -> None:
    assert cli.main([str(pad), "--explain", "--json"]) == 0
    steps = {step["rule"]: step for step in json.loads(capsys.readouterr().out)["explain"]}
    assert steps["absolute"]["added"] == ["joystick"]
    assert steps["absolute"]["facts"]["buttons"] == 11
    assert all(step["device"] and step["says"] for step in steps.values())


def test_each_failure_is_one_line_and_the_others_are_printed(
    pad: Path, tmp_path: Path, capsys: Capture
) -> None:
    plain = tmp_path / "plain"
    plain.write_text("hello\n")
    missing = tmp_path / "missing"
    unknown = "neither /proc/bus/input/devices, evemu-describe nor libinput record"
    arguments = [str(missing), "/dev/null", str(tmp_path), str(plain), str(pad)]
    assert cli.main([*arguments, "--from", str(plain), "--from", str(missing)]) == 1
    out, err = capsys.readouterr()
    assert out.count("E: ID_INPUT=1\n") == 1
    assert err.splitlines() == [
        f"inputid: {missing}: No such file or directory",
        "inputid: /dev/null: not an input device",
        f"inputid: {tmp_path}: not an input device",
        f"inputid: {plain}: neither a device node nor a directory (a dump needs --from)",
        f"inputid: {plain}: {unknown}: 'hello'",
        f"inputid: {missing}: No such file or directory",
    ]


def test_a_name_with_control_characters_stays_one_line_on_stderr(
    tmp_path: Path, capsys: Capture
) -> None:
    assert cli.main([str(tmp_path / "a\nb\x1b[2J")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_closed_node_is_named_with_the_way_round(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "null").mkdir()
    monkeypatch.setattr(cli, "CLASS_DIRECTORY", str(tmp_path))

    def refuse(path: str) -> int:
        raise PermissionError(13, os.strerror(13), path)

    monkeypatch.setattr("inputid.sources.open_node", refuse)
    assert cli.main(["/dev/null"]) == 1
    assert capsys.readouterr().err == (
        f"inputid: /dev/null: Permission denied (its classes are readable from {tmp_path}/null)\n"
    )


def test_all_goes_through_the_class_directory_by_number(
    pad: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "class"
    for name in ("event10", "event9", "mice", "eventful"):
        (directory / name).mkdir(parents=True)
        (directory / name / "device").symlink_to(pad)
    monkeypatch.setattr(cli, "CLASS_DIRECTORY", str(directory))
    assert [Path(path).name for path in cli._every_path()] == ["event9", "event10"]
    assert cli.main(["--all"]) == 0
    assert capsys.readouterr().out.count("E: ID_INPUT_JOYSTICK=1\n") == 2


def test_all_falls_back_to_the_nodes_and_says_when_there_are_none(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "CLASS_DIRECTORY", str(tmp_path / "none"))
    monkeypatch.setattr(cli, "NODE_DIRECTORY", str(tmp_path))
    (tmp_path / "event2").touch()
    assert cli._every_path() == [str(tmp_path / "event2")]
    monkeypatch.setattr(cli, "NODE_DIRECTORY", str(tmp_path / "neither"))
    assert cli.main(["--all"]) == 1
    assert "can be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name a node, a directory, --all or --from FILE"),
        (["--systemd", "251", "x"], "the rules of systemd 251 are not known"),
        (["--systemd", "new", "x"], "invalid literal"),
        (["--words", "16", "x"], "invalid choice"),
    ],
)
def test_wrong_usage_is_status_2(arguments: list[str], complaint: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "inputid", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def test_the_module_is_the_command() -> None:
    done = run("--from", "-", stdin=PROC_64)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("E: ID_INPUT=1\n") == 2
    assert run("--version").stdout == f"inputid {__version__}\n"


def test_a_reader_that_has_seen_enough_is_no_crash(dump: Path) -> None:
    dump.write_text(PROC_64 * 2000)
    command = f"{sys.executable} -m inputid --from {dump} | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
