"""Runs in the guest what the host asks for, over one virtio-serial port.

Standard library only and one file: it is copied into the guest at each boot, beside
whatever Python the root has. One JSON object a line in both directions.

    host -> guest   {"op": "run", "id", "argv", "env", "cwd", "pty"}
                    {"op": "stdin", "id", "data"}    data is base64; "" closes
                    {"op": "signal", "id", "signal"} to the program's whole session
                    {"op": "resize", "id", "rows", "columns"}
                    {"op": "poweroff"}
    guest -> host   {"event": "ready", ...facts} once, {"event": "alive"} every few seconds
                    {"event": "output", "id", "stream", "data"}
                    {"event": "exit", "id", "status"}; negative: the signal that ended it
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import platform
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from typing import Any, BinaryIO

PORT = "/dev/virtio-ports/lab.agent"
PORT_SECONDS = 60.0
ALIVE_SECONDS = 3.0
# A child that fled its session may keep a pipe open for ever; nobody waits longer for it.
DRAIN_SECONDS = 5.0


class Port:
    """The line to the host; writes of whole lines from any thread."""

    def __init__(self, path: str) -> None:
        # The port and udev's name for it may come after everything else on a busy host.
        end = time.monotonic() + PORT_SECONDS
        while not os.path.exists(path) and time.monotonic() < end:  # noqa: PTH110
            time.sleep(0.05)
        self._fd = os.open(path, os.O_RDWR)
        self._lock = threading.Lock()

    def send(self, **message: Any) -> None:
        data = json.dumps(message).encode() + b"\n"
        with self._lock:
            while data:
                data = data[os.write(self._fd, data) :]

    def lines(self) -> Any:
        """Messages from the host, for as long as the machine lives."""
        pending = b""
        while True:
            chunk = os.read(self._fd, 65536)
            if not chunk:  # nobody has the other end open at the moment
                time.sleep(0.1)
                continue
            *whole, pending = (pending + chunk).split(b"\n")
            for line in whole:
                yield json.loads(line)


class Program:
    """One program started for the host: its pipes, or its terminal."""

    def __init__(self, port: Port, message: dict[str, Any]) -> None:
        self._port = port
        self._id = message["id"]
        self._master: int | None = None
        self._process = self._start(message)
        readers = [
            threading.Thread(target=self._pump, args=(name, fd), daemon=True)
            for name, fd in self._outputs()
        ]
        for reader in readers:
            reader.start()
        threading.Thread(target=self._watch, args=(readers,), daemon=True).start()

    def _start(self, message: dict[str, Any]) -> subprocess.Popen[bytes]:
        streams: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        slave = -1
        if message.get("pty"):
            self._master, slave = pty.openpty()
            streams = dict.fromkeys(("stdin", "stdout", "stderr"), slave)

        def own_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        process = subprocess.Popen(
            message["argv"],
            env=message["env"],
            cwd=message["cwd"],
            start_new_session=True,
            preexec_fn=own_terminal if slave >= 0 else None,
            bufsize=0,
            **streams,
        )
        if slave >= 0:
            os.close(slave)
        return process

    def _outputs(self) -> list[tuple[str, int]]:
        if self._master is not None:
            return [("stdout", self._master)]
        streams = {"stdout": self._process.stdout, "stderr": self._process.stderr}
        return [(name, stream.fileno()) for name, stream in streams.items() if stream]

    def _pump(self, name: str, fd: int) -> None:
        while True:
            try:
                chunk = os.read(fd, 32768)
            except OSError:  # EIO: the last holder of the terminal is gone
                return
            if not chunk:
                return
            data = base64.b64encode(chunk).decode()
            self._port.send(event="output", id=self._id, stream=name, data=data)

    def _watch(self, readers: list[threading.Thread]) -> None:
        status = self._process.wait()
        self.signal(signal.SIGKILL)  # what it left running in its session
        end = time.monotonic() + DRAIN_SECONDS
        for reader in readers:
            reader.join(max(0.0, end - time.monotonic()))
        self._port.send(event="exit", id=self._id, status=status)

    def handle(self, message: dict[str, Any]) -> None:
        """Carry out a message that is for this program."""
        match message["op"]:
            case "stdin":
                self.feed(base64.b64decode(message["data"]))
            case "signal":
                self.signal(message["signal"])
            case "resize":
                self.resize(message["rows"], message["columns"])

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def feed(self, data: bytes) -> None:
        stdin: BinaryIO | None = self._process.stdin  # type: ignore[assignment]
        try:
            if self._master is not None:
                os.write(self._master, data or b"\x04")
            elif stdin and data:
                stdin.write(data)
            elif stdin:
                stdin.close()
        except OSError:  # it closed its end, or is gone; its status says the rest
            pass

    def resize(self, rows: int, columns: int) -> None:
        if self._master is not None:
            size = struct.pack("HHHH", rows, columns, 0, 0)
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)


def serve(port: Port) -> None:
    """Carry out the host's messages until it asks for the end."""
    programs: dict[int, Program] = {}
    for message in port.lines():
        if message["op"] == "poweroff":
            return
        if message["op"] == "run":
            try:
                programs[message["id"]] = Program(port, message)
            except OSError as error:
                complain(port, message, error)
        elif program := programs.get(message["id"]):
            program.handle(message)


def complain(port: Port, message: dict[str, Any], error: OSError) -> None:
    """Answer as a shell does when a program cannot be started."""
    text = f"{message['argv'][0]}: cannot be started: {error}\n".encode()
    data = base64.b64encode(text).decode()
    port.send(event="output", id=message["id"], stream="stderr", data=data)
    port.send(event="exit", id=message["id"], status=127)


def beat(port: Port) -> None:
    while True:
        time.sleep(ALIVE_SECONDS)
        port.send(event="alive")


def main() -> None:
    port = Port(PORT)
    port.send(
        event="ready",
        kernel=platform.release(),
        python=platform.python_version(),
        time=time.time(),
    )
    threading.Thread(target=beat, args=(port,), daemon=True).start()
    serve(port)


if __name__ == "__main__":
    main()
    sys.exit(0)
