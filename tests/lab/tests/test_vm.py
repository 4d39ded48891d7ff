"""What the host says of a guest: its programs' ends, and its own end when that comes first.

The guest here is a stand-in that speaks the agent's protocol from a script; test_real_vm.py
has the real one.
"""

from __future__ import annotations

import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lab import accel, root, vm
from lab.recipe import RECIPES

# In place of QEMU: connects the agent's socket to a script of its own.
STAND_IN = """
import base64, json, socket, sys, time
server = socket.socket(socket.AF_UNIX); server.bind(sys.argv[1]); server.listen()
line, _ = server.accept()
console = open(sys.argv[2], "a", buffering=1)
def send(**message): line.sendall(json.dumps(message).encode() + b"\\n")
def text(data): return base64.b64encode(data).decode()
messages = (json.loads(raw) for raw in line.makefile("r"))
runs = (message for message in messages if message["op"] == "run")
def finish():
    for message in messages:
        if message["op"] == "poweroff": sys.exit()
        if message["op"] == "run": send(event="exit", id=message["id"], status=0)
send(event="ready", kernel="7.2", python="3.14", time=0)
send(event="exit", id=next(runs)["id"], status=0)  # the shared folders
SCRIPT
"""


@contextmanager
def guest(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    script: str,
    under_kvm: str | None = None,
    **options: Any,
) -> Iterator[vm.Machine]:
    program = folder / "stand-in.py"
    program.write_text(STAND_IN.replace("SCRIPT", textwrap.dedent(script)))
    (folder / "initramfs").write_bytes(b"")
    found = root.Root("forky", RECIPES["forky"], folder)
    monkeypatch.setattr(root, "build", lambda _name: found)
    monkeypatch.setattr(accel, "best", lambda: "tcg" if under_kvm is None else "kvm")
    monkeypatch.setattr(accel, "kvm_failed", threading.Event())

    def command(machine: vm.Machine, _: object, accelerator: str, *__: object) -> list[str]:
        if accelerator == "kvm":
            return ["sh", "-c", under_kvm or "exit 1"]
        return [
            sys.executable,
            str(program),
            f"{machine._work}/agent",
            f"{machine.logs}/console.log",
        ]

    monkeypatch.setattr(vm.Machine, "_command", command)
    with vm.boot(results=folder / "results", **options) as machine:
        yield machine


@pytest.mark.parametrize(
    "qemu",
    [
        "exit 1",
        "echo 'KVM internal error. Suberror: 1' >&2; exec sleep 600",
        pytest.param("exec sleep 600", id="not a word"),
    ],
)
def test_where_kvm_runs_no_kernel_the_guest_is_booted_without_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, qemu: str
) -> None:
    monkeypatch.setattr(accel, "FIRST_WORD_SECONDS", 0.5)
    with guest(monkeypatch, tmp_path, "finish()", under_kvm=qemu) as machine:
        assert machine.run(["program"]).status == 0
        assert accel.kvm_failed.is_set()


def test_a_program_gives_its_status_and_both_outputs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = """
        run = next(runs)
        send(event="output", id=run["id"], stream="stdout", data=text(b"seen "))
        send(event="output", id=run["id"], stream="stderr", data=text(b"complaint"))
        send(event="output", id=run["id"], stream="stdout", data=text(b"live"))
        send(event="exit", id=run["id"], status=7)
        finish()
    """
    seen: list[tuple[str, bytes]] = []
    with guest(monkeypatch, tmp_path, script) as machine:
        done = machine.run(["program"], sink=lambda *chunk: seen.append(chunk))
    assert (done.status, done.stdout, done.stderr) == (7, "seen live", "complaint")
    assert seen == [("stdout", b"seen "), ("stderr", b"complaint"), ("stdout", b"live")]
    with pytest.raises(AssertionError, match="program ended with 7\nseen livecomplaint"):
        done.check()


def test_a_program_ended_by_a_signal_has_the_status_a_shell_gives_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = """
        send(event="exit", id=next(runs)["id"], status=-11)
        finish()
    """
    with guest(monkeypatch, tmp_path, script) as machine:
        assert machine.run(["program"]).status == 128 + 11


def test_a_program_out_of_time_is_ended_and_said_to_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = """
        number = next(runs)["id"]
        ends = (message for message in messages if message["op"] == "signal")
        send(event="exit", id=number, status=-next(ends)["signal"])
        finish()
    """
    with guest(monkeypatch, tmp_path, script) as machine:
        done = machine.run(["sleep", "1000"], timeout=0.1)
    assert (done.timed_out, done.status) == (True, 128 + 15)


def test_a_panic_is_told_in_the_kernels_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = """
        next(runs)
        console.write("[ 9.0] Kernel panic - not syncing: Fatal exception\\n")
    """
    with (
        pytest.raises(vm.GuestDiedError, match="Fatal exception") as caught,
        guest(monkeypatch, tmp_path, script) as machine,
    ):
        machine.run(["program"])
    assert caught.value.reason.startswith("the guest went away (kernel trouble)")
    assert caught.value.logs == tmp_path / "results/vm"


def test_a_guest_that_falls_silent_hangs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = """
        next(runs)
        console.write("the last line\\n")
        time.sleep(60)
    """
    with (
        pytest.raises(vm.GuestDiedError, match="the guest hangs: not a word") as caught,
        guest(monkeypatch, tmp_path, script, silence_seconds=0.1) as machine,
    ):
        machine.run(["program"])
    assert caught.value.excerpt == "the last line"


def test_a_guest_that_never_comes_up_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        sys.modules[__name__], "STAND_IN", STAND_IN.split("def finish")[0] + "SCRIPT"
    )
    script = """
        console.write("stuck here\\n")
        time.sleep(60)
    """
    with (
        pytest.raises(vm.GuestDiedError, match="was not up after 1 s") as caught,
        guest(monkeypatch, tmp_path, script, boot_seconds=1),
    ):
        pytest.fail("there is no guest to run anything in")
    assert caught.value.excerpt == "stuck here"


def test_qemu_that_does_not_start_is_told_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        sys.modules[__name__], "STAND_IN", "raise SystemExit('qemu: no such machine')#SCRIPT"
    )
    with (
        pytest.raises(vm.GuestDiedError, match="QEMU did not start; qemu: no such machine"),
        guest(monkeypatch, tmp_path, ""),
    ):
        pytest.fail("there is no guest to run anything in")
