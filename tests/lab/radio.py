"""The radio side of the guest: an air, the system bus, and the real bluetoothd on top.

Each part is a context manager, logs to the folder it is given, and can be stopped, killed
and started again, since that is what tests are about::

    with Bus(logs), Air(logs) as air, Bluetoothd(logs) as daemon:
        daemon.kill()
        daemon.start()
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Self

from lab import mgmt
from lab.daemon import POLL_SECONDS, Daemon, DaemonError

BUS_SOCKET = Path("/run/dbus/system_bus_socket")
AIR_SOCKET = Path("/tmp/bt-server-bredrle")
BONDS = Path("/var/lib/bluetooth")
# btvirt numbers the radios it makes from here (bluez, emulator/btdev.c).
FIRST_RADIO = "00:AA:01:00:00:00"
# libexec since BlueZ 5.64 in Debian, lib before.
_BLUETOOTHD = ("/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd")


class _Part:
    """What is a context manager by start and stop."""

    daemon: Daemon

    def start(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        """End it in order; an error if it had died by itself."""
        self.daemon.stop()

    def kill(self) -> None:
        """End it as SIGKILL does."""
        self.daemon.kill()

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.daemon.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Bus(_Part):
    """The system bus. One for a guest is enough; bluetoothd cannot outlive it."""

    def __init__(self, logs: Path) -> None:
        self.daemon = Daemon("dbus", ["dbus-daemon", "--system", "--nofork", "--nopidfile"], logs)

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        BUS_SOCKET.parent.mkdir(parents=True, exist_ok=True)
        BUS_SOCKET.unlink(missing_ok=True)
        self.daemon.launch()
        self.daemon.wait_until(lambda: _listens(BUS_SOCKET), "connection to it")


class Air(_Part):
    """btvirt: virtual radios for the kernel, and a socket for peers of theirs.

    radios: how many the kernel gets, hci0 first; none where `Dongle`s are. Stopping it unplugs
    them all, and ends every emulated controller. With LAB_BTMON=1 in the environment btmon logs
    the traffic.
    """

    def __init__(self, logs: Path, radios: int = 1) -> None:
        self.radios = radios
        # -s: the sockets for peers; -lN: N radios for the kernel.
        kernels = [f"-l{radios}"] if radios else []
        self.daemon = Daemon("btvirt", ["btvirt", "-s", *kernels], logs)
        self._monitor = Daemon("btmon", ["stdbuf", "-oL", "btmon", "-t"], logs)

    def stop(self) -> None:
        """Unplug the radios."""
        if self._monitor.running:
            self._monitor.stop()
        super().stop()

    def start(self) -> None:
        """Start it and wait for its socket and until the kernel has set its radios up."""
        if os.environ.get("LAB_BTMON") and not self._monitor.running:
            self._monitor.launch()
        for attempt in range(_AIR_ATTEMPTS):
            for old in AIR_SOCKET.parent.glob("bt-server-*"):
                old.unlink()
            self.daemon.launch(_without_free())
            self.daemon.wait_until(AIR_SOCKET.is_socket, "socket for peers")
            try:
                self.daemon.wait_until(self._set_up, "radio that the kernel has set up", 15)
            except DaemonError:
                if attempt == _AIR_ATTEMPTS - 1 or not self.daemon.running:
                    raise
                self.daemon.kill()
            else:
                return

    def _set_up(self) -> bool:
        return len(mgmt.radios()) >= self.radios


_KEEPER = Path("/run/lab-without-free.so")


def _without_free() -> dict[str, str]:
    """The environment of a program that gives no memory back; empty where none can be compiled.

    btvirt uses a timer after freeing it when an inquiry is canceled in the turn of its main loop
    in which the timer fires (bluez 5.87, emulator/btdev.c, cmd_inquiry_cancel and inquiry_callback,
    every 100 ms): on a busy machine one pairing in five ended it with SIGSEGV. What it would free
    during a test is nothing.
    """
    if not _KEEPER.exists():
        if shutil.which("gcc") is None:
            return {}
        new = _KEEPER.with_suffix(".new")
        command = ["gcc", "-shared", "-fPIC", "-fno-builtin", "-x", "c", "-o", str(new), "-"]
        subprocess.run(command, input=b"void free(void *p) { (void)p; }\n", check=True, timeout=120)
        new.rename(_KEEPER)
    return {"LD_PRELOAD": str(_KEEPER)}


# The kernel gives a new radio two seconds for its first answer (HCI_CMD_TIMEOUT) and then
# leaves it alone for good; an emulated machine on a busy host may need longer.
_AIR_ATTEMPTS = 6


# Bytes of a packet's head by its type, and where in it the length of the rest is (Core, Vol 4
# Part A 2: command, data, voice, event, isochronous data).
_HEADS = {1: (3, 2, 1), 2: (4, 2, 2), 3: (3, 2, 1), 4: (2, 1, 1), 5: (4, 2, 2)}
_VENDOR, _CREATE_PRIMARY = 0xFF, 0x00
_PLUG_SECONDS = 15


class Dongle:
    """A radio that can be pulled and put back, under whatever index the kernel gives it then.

    A radio of btvirt's own has its address from its index. This one is the kernel's by /dev/vhci,
    and its other end is a peer's place on the air, which is kept while it is pulled: it comes back
    with the address it had. It leaves private addresses to the kernel: btvirt resolves them, and
    then connects to none that it has resolved (0x3e, Connection Failed to be Established; bluez
    5.87, emulator/btdev.c). A context manager; plugged in from the beginning.
    """

    def __init__(self) -> None:
        self._air = socket.socket(socket.AF_UNIX)
        self._vhci: int | None = None
        self._lock = threading.Lock()
        self._ended = False
        self._left = b""
        self._pump = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._air.connect(str(AIR_SOCKET))
        self._pump.start()
        self.plug()
        return self

    def __exit__(self, *_: object) -> None:
        self.pull()
        self._ended = True
        self._pump.join()
        self._air.close()

    def plug(self) -> int:
        """Put it in and wait until the kernel has set it up; its index, 1 for hci1."""
        for _ in range(_AIR_ATTEMPTS):
            index = self._create()
            end = time.monotonic() + _PLUG_SECONDS
            while time.monotonic() < end:
                if index in mgmt.radios():
                    return index
                time.sleep(POLL_SECONDS)
            self.pull()
        raise DaemonError("the kernel does not set the dongle up")

    def pull(self) -> None:
        """Pull it out; its links end with it."""
        with self._lock:
            if self._vhci is not None:
                os.close(self._vhci)
                self._vhci = None

    def _create(self) -> int:
        vhci = os.open("/dev/vhci", os.O_RDWR | os.O_NONBLOCK)
        os.write(vhci, bytes([_VENDOR, _CREATE_PRIMARY]))
        select.select([vhci], [], [], _PLUG_SECONDS)
        answer = os.read(vhci, 260)
        assert answer[0] == _VENDOR, answer
        with self._lock:
            self._vhci = vhci
        return int.from_bytes(answer[2:4], "little")

    def _run(self) -> None:
        """Thread: carry packets both ways; while it is pulled, what the air says is lost."""
        while not self._ended:
            with self._lock:
                vhci = self._vhci
            watched = [self._air.fileno(), *([] if vhci is None else [vhci])]
            ready, _, _ = select.select(watched, [], [], 0.1)
            with self._lock, contextlib.suppress(OSError):
                if self._air.fileno() in ready:
                    self._from_air(self._air.recv(65536))
                if vhci is not None and vhci == self._vhci and vhci in ready:
                    self._air.sendall(os.read(vhci, 65536))

    def _from_air(self, data: bytes) -> None:
        self._left += data
        while packet := first_packet(self._left):
            self._left = self._left[len(packet) :]
            if self._vhci is not None:
                os.write(self._vhci, without_privacy(packet))


def first_packet(stream: bytes) -> bytes:
    """The first whole HCI packet of a stream (H4), empty if there is none yet."""
    if not stream:
        return b""
    head, place, width = _HEADS[stream[0]]
    if len(stream) < 1 + head:
        return b""
    size = int.from_bytes(stream[1 + place : 1 + place + width], "little")
    whole = 1 + head + (size & 0x3FFF if stream[0] == 5 else size)
    return stream[:whole] if len(stream) >= whole else b""


# The answer to LE Read Local Supported Features, from its type to its status (Core, Vol 4 Part E
# 7.8.3), and the feature LL Privacy in the first byte after it (Vol 6 Part B 4.6).
_FEATURES, _LL_PRIVACY = re.compile(rb"\x04\x0e\x0c.\x03\x20\x00", re.DOTALL), 1 << 6


def without_privacy(packet: bytes) -> bytes:
    """The same packet of a radio that leaves the resolving of private addresses to its host."""
    told = _FEATURES.match(packet)
    if told is None:
        return packet
    at = told.end()
    return packet[:at] + bytes([packet[at] & ~_LL_PRIVACY]) + packet[at + 1 :]


class Bluetoothd(_Part):
    """The real bluetoothd, with debug output in its log.

    config: text of its main.conf; the default is what Debian ships.
    """

    def __init__(self, logs: Path, config: str | None = None, adapters: int = 1) -> None:
        program = next(path for path in _BLUETOOTHD if os.access(path, os.X_OK))
        argv = [program, "-n", "-d"]
        if config is not None:
            path = logs / "main.conf"
            path.write_text(config)
            argv += ["-f", str(path)]
        self.adapters = adapters
        self.daemon = Daemon("bluetoothd", argv, logs)

    def start(self) -> None:
        """Start it and wait until its adapters are on the bus."""
        self.daemon.launch()
        self.daemon.wait_until(
            lambda: _managed().count('"org.bluez.Adapter1"') >= self.adapters, "adapter on the bus"
        )

    def forget(self) -> None:
        """Remove every bond; the daemon must not be running."""
        assert not self.daemon.running, "a running bluetoothd would write its bonds again"
        for path in BONDS.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _managed() -> str:
    """What org.bluez has on the bus, as dbus-send prints it; "" while it is not there."""
    service, manager = "org.bluez", "org.freedesktop.DBus.ObjectManager.GetManagedObjects"
    # A plain call would have the bus start its own bluetoothd by activation.
    owner = ["org.freedesktop.DBus", "/", "org.freedesktop.DBus.NameHasOwner"]
    if "true" not in _dbus_send(*owner, f"string:{service}"):
        return ""
    return _dbus_send(service, "/", manager)


def _dbus_send(destination: str, path: str, method: str, *arguments: str) -> str:
    command = ["dbus-send", "--system", "--print-reply", f"--dest={destination}", path, method]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=60, check=False
    ).stdout


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
