"""Where the plugin's sockets are, and taking one over without a moment of nobody listening.

A unix socket path holds 107 bytes (sun_path is 108 with its NUL). Driver names may be 63 long and
a pod's UID is 36, so names fall back to hashes, the ones the Go helper uses first so that mixed
versions find each other (kubernetes #139623, #141815, #142002).

grpc replaces a live socket at its path without a word, and the replaced server unlinks the
newcomer's on stopping. So a server binds a hidden name, which the kubelet's watcher ignores, and
is renamed into place once it serves; removal compares the inode first.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import os
import re
import secrets
import socket
import string
from dataclasses import dataclass
from pathlib import Path

LIMIT = 107
# With six digits behind it as long as `dra.sock`: a hidden name fits wherever the name does.
HIDDEN = ".d"
_ALPHABET = string.ascii_lowercase + string.digits
_driver = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*\Z")
_uuid = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


class SocketPathTooLong(ValueError):  # noqa: N818 - says what is wrong
    """No name fits below the directory; the text says by how many bytes."""


@dataclass(frozen=True, slots=True)
class Sockets:
    """The two sockets of a plugin: the kubelet finds `registration`, which names `dra`."""

    registration: Path
    dra: Path


def check_driver_name(driver: str) -> str:
    """The name itself; ValueError unless it is a lower-case DNS subdomain of at most 63 bytes."""
    if len(driver) > 63 or not _driver.match(driver):
        raise ValueError(f"driver name {driver!r} is not a lower-case DNS subdomain of <= 63 bytes")
    return driver


def socket_names(driver: str, plugins: Path, registry: Path, pod_uid: str | None = None) -> Sockets:
    """The sockets of a driver's instance: fixed names, or one pair for each pod.

    Pod names let two instances run side by side during a rolling update (kubelet 1.33+). Raises
    SocketPathTooLong when the directories leave no room.
    """
    check_driver_name(driver)
    if pod_uid is None:
        registrations, endpoints = [f"{driver}-reg.sock"], ["dra.sock"]
    else:
        short, both = _digest(pod_uid, 8), f"{driver}\0{pod_uid}"
        registrations = [
            f"{driver}-{pod_uid}-reg.sock",
            f"{driver}-{short}-reg.sock",
            f"dra-{_digest(both, 16)}-reg.sock",
        ]
        endpoints = [f"dra-{pod_uid}.sock", f"dra-{short}.sock", f"d-{short}.sock"]
    return Sockets(_first_fitting(registry, registrations), _first_fitting(plugins, endpoints))


def _digest(text: str, size: int) -> str:
    raw = hashlib.sha256(text.encode()).digest()[:size]
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _first_fitting(directory: Path, names: list[str]) -> Path:
    for name in names:
        if _fits(directory / name):
            return directory / name
    shortest = min(len(os.fsencode(directory / name)) for name in names)
    raise SocketPathTooLong(
        f"{directory / names[-1]} is {shortest - LIMIT} bytes too long for a unix socket "
        f"(limit {LIMIT}); use a shorter directory"
    )


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= LIMIT


def hidden_name(target: Path) -> Path:
    """A fresh name beside `target` that the kubelet's watcher ignores."""
    return target.with_name(HIDDEN + "".join(secrets.choice(_ALPHABET) for _ in range(6)))


@dataclass(frozen=True, slots=True)
class Placed:
    """A socket in its place, and the inode that makes it ours."""

    path: Path
    inode: int

    def remove(self) -> bool:
        """Unlink the path unless another instance has taken it over; whether it was ours."""
        with contextlib.suppress(FileNotFoundError):
            if self.path.lstat().st_ino == self.inode:
                self.path.unlink()
                return True
        return False


def place(hidden: Path, target: Path) -> Placed:
    """Move a serving socket to its name, over whatever socket is there."""
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a directory; remove it")
    inode = hidden.lstat().st_ino
    hidden.replace(target)
    return Placed(target, inode)


def sweep(driver: str, plugins: Path, registry: Path) -> list[Path]:
    """Remove sockets of earlier instances that nobody answers, and return them.

    After a kill -9 the kubelet would go on dialling them. A socket somebody listens on stays, be
    it ours or not.
    """
    # A hash is looked for only where a UID does not fit: it might be part of another's name.
    whole = _fits(registry / f"{driver}-{'0' * 36}-reg.sock")
    pod = _uuid if whole else rf"{_uuid}|[\w-]{{11}}"
    old_registration = re.compile(rf"{re.escape(driver)}-(({pod})-)?reg\.sock\Z")
    old_endpoint = re.compile(rf"(dra(-{_uuid}|-[\w-]{{11}})?|d-[\w-]{{11}})\.sock\Z")
    hidden = re.compile(rf"{re.escape(HIDDEN)}[a-z0-9]{{6}}\Z")
    removed = []
    for directory, old in ((registry, old_registration), (plugins, old_endpoint)):
        patterns = (old, hidden)
        for path in sorted(directory.iterdir()) if directory.is_dir() else ():
            if any(p.match(path.name) for p in patterns) and path.is_socket() and not answers(path):
                path.unlink(missing_ok=True)
                removed.append(path)
    return removed


def answers(path: Path) -> bool:
    """Whether somebody listens on the socket; anything but a clear refusal counts as yes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(os.fsencode(path))
        except OSError as error:
            return error.errno not in (errno.ECONNREFUSED, errno.ENOENT)
    return True
