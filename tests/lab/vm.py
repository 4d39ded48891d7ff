"""One booted guest: run programs inside, see their output live, learn how it died.

    with vm.boot() as machine:
        done = machine.run(["evtest", "/dev/input/event0"], timeout=60)

A program that fails is an ordinary answer. A guest that hangs, panics or is gone is
`GuestDiedError`, which carries the kernel's own words.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import itertools
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab import accel, console, cpio, results, root
from lab.say import say

REPOSITORY = Path(__file__).resolve().parents[2]
GUEST = Path(__file__).parent / "guest"
RESULTS = "/results"

BOOT_SECONDS = 240.0
# The agent beats every 3 s; a busy TCG guest has been seen to be late by half a minute.
SILENCE_SECONDS = 120.0
# From SIGTERM to SIGKILL for a program that is out of time.
GRACE_SECONDS = 10.0

PACKAGES = ("inputid", "bluezclient", "uinputrelay", "draplugin", "operator")
ENVIRONMENT = {
    "PATH": "/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "LAB_GUEST": "1",
    "LAB_RESULTS": RESULTS,
    "VIRTUAL_ENV": "/opt/venv",
    "PYTHONPATH": ":".join(
        [*(f"{REPOSITORY}/packages/{name}/src" for name in PACKAGES), f"{REPOSITORY}/tests"]
    ),
}


class GuestDiedError(Exception):
    """The guest hung, crashed or went away; `reason` in a few words, `excerpt` of its console."""

    def __init__(self, reason: str, excerpt: str, logs: Path) -> None:
        super().__init__(f"{reason}\n--- console ---\n{excerpt}\n--- logs: {logs} ---")
        self.reason = reason
        self.excerpt = excerpt
        self.logs = logs


@dataclass(frozen=True)
class Share:
    """A folder of the host inside the guest.

    mode: "ro" reads the host's folder; "rw" writes it; "scratch" reads it and keeps what is
    written in the guest's memory.
    """

    host: Path
    guest: str
    mode: str = "ro"


@dataclass(frozen=True)
class Done:
    """What a program left: status as a shell has it (128 + n for signal n), and its output."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str
    timed_out: bool = False

    def check(self) -> Done:
        """Itself, or an AssertionError with the output when the program failed."""
        if self.status or self.timed_out:
            late = " (out of time)" if self.timed_out else ""
            raise AssertionError(
                f"{' '.join(self.argv)} ended with {self.status}{late}\n{self.stdout}{self.stderr}"
            )
        return self


Sink = Callable[[str, bytes], None]


def quiet(_stream: str, _data: bytes) -> None:
    """Sink that shows nothing live; the output is in `Done` all the same."""


def live(stream: str, data: bytes) -> None:
    """Sink that passes output on to this program's own streams as it comes."""
    out = sys.stdout if stream == "stdout" else sys.stderr
    out.buffer.write(data)
    out.flush()


@dataclass(frozen=True)
class Options:
    """How to boot; the defaults are what the tests use."""

    root: str = "forky"
    memory: str = "4G"
    cpus: int = 2
    shares: tuple[Share, ...] = ()
    results: Path | None = None
    append: str = ""
    boot_seconds: float = BOOT_SECONDS
    silence_seconds: float = SILENCE_SECONDS


@contextlib.contextmanager
def boot(**options: Any) -> Iterator[Machine]:
    """A booted guest for the length of the block; fields of `Options` as keywords.

    The repository is at its own path inside, and what is written there stays in the guest;
    /results is `results` of the host (a new folder by default). Raises root.BuildError where
    the root cannot be built and GuestDiedError where it does not come up.
    """
    machine = Machine(Options(**options))
    try:
        machine.start()
        yield machine
    finally:
        machine.stop()


class Program:
    """A program running inside; ends by itself, by `signal`, or with the guest."""

    def __init__(self, machine: Machine, number: int, argv: Sequence[str], sink: Sink) -> None:
        self.argv = tuple(argv)
        self._machine = machine
        self._number = number
        self._sink = sink
        self._events: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._output: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._status: int | None = None

    def handle(self, event: dict[str, Any] | None) -> None:
        """Take an event of this program; None when the guest is gone."""
        if event and event["event"] == "output":
            data = base64.b64decode(event["data"])
            self._output[event["stream"]] += data
            self._sink(event["stream"], data)
        else:
            self._events.put(event)

    def signal(self, number: int) -> None:
        """Send a signal to everything the program started."""
        self._machine.send(op="signal", id=self._number, signal=int(number))

    def write(self, data: bytes) -> None:
        """Feed its standard input; empty data closes it."""
        text = base64.b64encode(data).decode()
        self._machine.send(op="stdin", id=self._number, data=text)

    def resize(self, rows: int, columns: int) -> None:
        """Tell the program's terminal how large it is."""
        self._machine.send(op="resize", id=self._number, rows=rows, columns=columns)

    def wait(self, timeout: float | None = None) -> Done:
        """Its end. Out of time it is ended (`Done.timed_out`); GuestDiedError if the guest was."""
        late = False
        for allowed, number in ((timeout, signal.SIGTERM), (GRACE_SECONDS, signal.SIGKILL)):
            if self._ended(allowed):
                return self._done(late)
            late = True
            self.signal(number)
        if self._ended(GRACE_SECONDS):
            return self._done(late)
        raise self._machine.died(f"{self.argv[0]} cannot be killed: the guest hangs")

    def _ended(self, seconds: float | None) -> bool:
        if self._status is None:
            with contextlib.suppress(queue.Empty):
                event = self._events.get(timeout=seconds)
                if event is None:
                    raise self._machine.died("the guest went away")
                self._status = event["status"]
        return self._status is not None

    def _done(self, late: bool) -> Done:
        assert self._status is not None
        status = self._status if self._status >= 0 else 128 - self._status
        out, err = (bytes(self._output[name]).decode(errors="replace") for name in self._output)
        return Done(self.argv, status, out, err, late)


@dataclass
class Machine:
    """A guest; use `boot()`."""

    options: Options
    logs: Path = field(init=False)
    results: Path = field(init=False)

    def __post_init__(self) -> None:
        self.results = results.folder(self.options.results).resolve()
        self.logs = self.results / "vm"
        self._programs: dict[int, Program] = {}
        self._numbers = itertools.count(1)
        self._ready = threading.Event()
        self._gone = threading.Event()
        self._reason = ""
        self._sending = threading.Lock()
        self.qemu: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        # Not TMPDIR, which in a test run is long: a unix socket's path ends at 107 bytes.
        self._work = Path(tempfile.mkdtemp(prefix="lab-vm-", dir="/tmp"))
        self.facts: dict[str, Any] = {}

    # -- the guest's life

    def start(self) -> None:
        """Boot, and return when programs can be run."""
        found = root.build(self.options.root)
        self.logs.mkdir(parents=True, exist_ok=True)
        initrd = self._work / "initrd"
        initrd.write_bytes(found.initramfs.read_bytes() + self._programs_archive(found))
        self._launch(found, accel.best(), initrd)
        self._connect()
        threading.Thread(target=self._listen, daemon=True).start()
        self._await_agent()
        self._mount_shares()
        say(f"the guest is up: Linux {self.facts['kernel']}, Python {self.facts['python']}")

    def stop(self) -> None:
        """Power off and keep the kernel's log; safe on a guest that never came up."""
        with contextlib.suppress(GuestDiedError, OSError):
            if self._ready.is_set() and not self._gone.is_set():
                dmesg = self.run(["dmesg"], sink=quiet, timeout=20)
                (self.logs / "dmesg.log").write_text(dmesg.stdout)
                self.send(op="poweroff")
        if self.qemu:
            try:
                self.qemu.wait(15 if self._ready.is_set() and not self._reason else 0)
            except subprocess.TimeoutExpired:
                self.qemu.kill()
                self.qemu.wait()
        if self._socket:
            self._socket.close()
        shutil.rmtree(self._work, ignore_errors=True)

    def died(self, reason: str) -> GuestDiedError:
        """The error that tells how this guest ended; the kernel's words win over ours."""
        text = self.console()
        trouble = console.trouble(text)
        reason = self._reason or reason
        if trouble:
            reason = f"{reason} (kernel trouble)"
        if self.qemu and self.qemu.poll() not in (None, 0):
            reason += f"; {(self.logs / 'qemu.log').read_text(errors='replace').strip()}"
        return GuestDiedError(reason, trouble or console.tail(text), self.logs)

    def console(self) -> str:
        """What the guest's console has shown so far."""
        log = self.logs / "console.log"
        return log.read_text(errors="replace") if log.exists() else ""

    # -- programs

    def begin(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        sink: Sink = live,
        pty: bool = False,
    ) -> Program:
        """Start a program and return at once."""
        if self._gone.is_set():
            raise self.died("the guest went away")
        number = next(self._numbers)
        program = Program(self, number, argv, sink)
        self._programs[number] = program
        self.send(
            op="run",
            id=number,
            argv=list(argv),
            env={**ENVIRONMENT, **(env or {})},
            cwd=cwd or str(REPOSITORY),
            pty=pty,
        )
        return program

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float | None = 600,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        sink: Sink = live,
    ) -> Done:
        """Run a program to its end or for `timeout` seconds, its output shown as it comes."""
        program = self.begin(argv, env=env, cwd=cwd, sink=sink)
        program.write(b"")
        return program.wait(timeout)

    def send(self, **message: Any) -> None:
        """Pass one message to the agent (guest/agent.py lists them)."""
        if not self._socket:
            raise self.died("the guest was not started")
        with self._sending:
            try:
                self._socket.sendall(json.dumps(message).encode() + b"\n")
            except OSError as error:
                raise self.died("the guest went away") from error

    # -- boot, in pieces

    def _launch(self, found: root.Root, accelerator: str, initrd: Path) -> None:
        """Start QEMU; a second time without KVM where that proves to be none."""
        say(f"booting {found.name} under {accelerator} (console: {self.logs}/console.log)")
        with (self.logs / "qemu.log").open("wb") as log:
            self.qemu = subprocess.Popen(
                self._command(found, accelerator, initrd),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_parent,
            )
        if accelerator == "kvm" and not self._speaks(self.qemu):
            say("KVM does not run the guest's kernel here")
            accel.kvm_failed.set()
            self.qemu.kill()
            self.qemu.wait()
            self._launch(found, "tcg", initrd)

    def _speaks(self, qemu: subprocess.Popen[bytes]) -> bool:
        """Wait for the first word on the console; False when none will come."""
        end = time.monotonic() + accel.FIRST_WORD_SECONDS
        log = self.logs / "qemu.log"
        while not self.console():
            stopped = qemu.poll() is not None or accel.STOPPED in log.read_text(errors="replace")
            if stopped or time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def _programs_archive(self, found: root.Root) -> bytes:
        files = {"init": cpio.file((GUEST / "init").read_bytes(), 0o755)}
        for name in ("boot.sh", "agent.py"):
            files[f"lab/{name}"] = cpio.file((GUEST / name).read_bytes(), 0o755)
        files["lab/modules"] = cpio.file("\n".join(found.recipe.modules).encode())
        return cpio.archive(files)

    def _shares(self) -> tuple[Share, ...]:
        repository = Share(REPOSITORY, str(REPOSITORY), "scratch")
        return (repository, Share(self.results, RESULTS, "rw"), *self.options.shares)

    def _command(self, found: root.Root, accelerator: str, initrd: Path) -> list[str]:
        """QEMU's command line; README.md says what each part is for."""
        append = (
            "console=ttyS0 loglevel=5 panic=-1 oops=panic mitigations=off audit=0 apparmor=0"
            f" random.trust_cpu=on tsc=reliable rdinit=/init {self.options.append}"
        )
        threads = ",thread=multi,tb-size=1024" if accelerator == "tcg" else ""
        command = [
            *("qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none"),
            *("-M", "q35,vmport=off,i8042=off", "-accel", accelerator + threads, "-no-reboot"),
            *("-cpu", "host" if accelerator == "kvm" else "max,la57=off"),
            *("-m", self.options.memory, "-smp", str(self.options.cpus), "-rtc", "base=utc"),
            *("-kernel", str(found.vmlinuz), "-initrd", str(initrd), "-append", append),
            *("-serial", f"file:{self.logs}/console.log"),
            *("-drive", f"file={found.image},format=raw,if=virtio,readonly=on,cache=unsafe"),
            *("-device", "virtio-rng-pci", "-device", "virtio-serial-pci"),
            *("-chardev", f"socket,id=agent,path={self._work}/agent,server=on,wait=off"),
            *("-device", "virtserialport,chardev=agent,name=lab.agent"),
            *("-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile="),
        ]
        for number, share in enumerate(self._shares()):
            command += _share_arguments(number, share)
        return command

    def _connect(self) -> None:
        """Open QEMU's end of the line to the agent, which appears a moment after its start."""
        assert self.qemu
        while self.qemu.poll() is None:
            line = socket.socket(socket.AF_UNIX)
            try:
                line.connect(f"{self._work}/agent")
            except OSError:
                line.close()
                time.sleep(0.02)
            else:
                self._socket = line
                return
        raise self.died("QEMU did not start")

    def _await_agent(self) -> None:
        end = time.monotonic() + self.options.boot_seconds
        while not self._ready.wait(0.2):
            if self._gone.is_set():
                raise self.died("the guest died while booting")
            if time.monotonic() > end:
                seconds = self.options.boot_seconds
                raise self.died(f"the guest was not up after {seconds:.0f} s")

    def _mount_shares(self) -> None:
        lines = ["set -e"]
        for number, share in enumerate(self._shares()):
            lines += _mount_lines(number, share)
        done = self.run(["sh", "-c", "\n".join(lines)], cwd="/", sink=quiet, timeout=60)
        if done.status:
            raise self.died(f"the shared folders cannot be mounted: {done.stderr}")

    # -- the line to the agent

    def _listen(self) -> None:
        """Thread: hand events to their programs; silence or a closed line ends the guest."""
        assert self._socket
        self._socket.settimeout(1.0)
        pending = b""
        silent = 0.0
        while not self._reason:
            try:
                chunk = self._socket.recv(1 << 20)
            except TimeoutError:
                # Counted and not timed: a host that was suspended heard nothing, and that
                # is no fault of the guest's.
                silent += 1.0
                self._notice_silence(silent)
                continue
            except OSError:
                break
            if not chunk:
                break
            silent = 0.0
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                self._dispatch(json.loads(line))
        self._end_programs()

    def _notice_silence(self, silent: float) -> None:
        if self._ready.is_set() and silent > self.options.silence_seconds:
            self._reason = f"the guest hangs: not a word from it for {silent:.0f} s"

    def _dispatch(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "ready":
                self.facts = event
                self._ready.set()
            case "output" | "exit":
                self._programs[event["id"]].handle(event)

    def _end_programs(self) -> None:
        if self.qemu and not self._reason:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.qemu.wait(10)  # its console is whole only then
        self._gone.set()
        for program in list(self._programs.values()):
            program.handle(None)


def _die_with_parent() -> None:
    """In QEMU's process: no guest outlives a host program that was killed (prctl(2))."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


_PR_SET_PDEATHSIG = 1


def _share_arguments(number: int, share: Share) -> list[str]:
    # Only root can give files the owners the guest asks for; others keep them as attributes.
    model = "none" if os.geteuid() == 0 else "mapped-xattr"
    readonly = "" if share.mode == "rw" else ",readonly=on"
    local = f"local,id=share{number},path={share.host},security_model={model},multidevs=remap"
    return [
        *("-fsdev", local + readonly),
        *("-device", f"virtio-9p-pci,fsdev=share{number},mount_tag=share{number}"),
    ]


def _mount_lines(number: int, share: Share) -> list[str]:
    """Shell lines that mount one share in the guest."""
    plain = "trans=virtio,version=9p2000.L,msize=512000"
    if share.mode == "rw":
        return [f"mkdir -p '{share.guest}'", _mount_9p(number, share.guest, plain)]
    # Nothing changes the host's side during a boot that a test could care about, and
    # without the cache each import asks the host again.
    read = f"{plain},ro,cache=loose"
    if share.mode == "ro":
        return [f"mkdir -p '{share.guest}'", _mount_9p(number, share.guest, read)]
    place = f"/run/lab/share{number}"
    layers = f"lowerdir={place}/lower,upperdir={place}/upper,workdir={place}/work"
    return [
        f"mkdir -p '{share.guest}' {place}/lower {place}/upper {place}/work",
        _mount_9p(number, f"{place}/lower", read),
        f"mount -t overlay -o {layers} none '{share.guest}'",
    ]


def _mount_9p(number: int, place: str, options: str) -> str:
    return f"mount -t 9p -o {options} share{number} '{place}'"
