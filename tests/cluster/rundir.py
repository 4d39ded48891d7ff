"""A folder for one running control plane that never outlives it for long.

The folder is locked while its owner lives. The kernel drops the lock with the owner, so whoever
starts the next control plane can tell a stale folder from a used one and removes it.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "bluetooth-cluster-"
_LOCK = "lock"
# sun_path of unix(7) holds 108 bytes; the longest socket name here is 16.
_LONGEST_FOLDER = 90


@dataclass(frozen=True)
class Account:
    """Who the components run as."""

    uid: int
    gid: int


def unprivileged() -> Account | None:
    """The account to give up root for, or None when there is no root to give up."""
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody")
    return Account(nobody.pw_uid, nobody.pw_gid)


class RunDirectory:
    """A fresh private folder; ``remove`` it, or leave it for the next start to sweep."""

    def __init__(self, account: Account | None) -> None:
        self._account = account
        # The lock is held before the folder has a name that a sweep looks at.
        draft = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
        self._lock = os.open(draft / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = draft.parent / draft.name.removeprefix(".")
        draft.rename(self.path)
        if len(os.fsencode(self.path)) > _LONGEST_FOLDER:
            self.remove()
            raise OSError(f"{self.path} is too long a path for a unix socket; set TMPDIR")

    def give(self) -> None:
        """Hand everything in the folder to the account the components run as."""
        if self._account is None:
            return
        for path in (self.path, *self.path.rglob("*")):
            os.chown(path, self._account.uid, self._account.gid, follow_symlinks=False)

    def release(self) -> None:
        """Unlock, and leave the folder to be read until the next start sweeps it."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def remove(self) -> None:
        """Delete the folder and all in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.release()


def sweep(account: Account | None) -> list[Path]:
    """Remove the folders whose owners are gone; the folders removed."""
    mine = {os.geteuid()} | ({account.uid} if account else set())
    removed = []
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if _is_stale(folder, mine):
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
    return removed


def _is_stale(folder: Path, owners: set[int]) -> bool:
    try:
        if folder.lstat().st_uid not in owners:
            return False
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
