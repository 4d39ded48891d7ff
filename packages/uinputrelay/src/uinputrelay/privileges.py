"""What the serving process gives up at its start, for good.

A container that may open /dev/uinput and event nodes that appear later has to be privileged. The
process needs none of it: the nodes belong to its own user, so file permissions are enough.

Given up: every capability (permitted, effective, inheritable, bounding), gaining any by exec
(no_new_privs), and being looked into by other processes of its user (no core dump, no ptrace: what
is typed passes through here). The calls act on the calling thread, so they are made before any
other is started.

Kept, and why:

* the user: event nodes and /dev/uinput are root's, and every mirror needs /dev/uinput opened anew.
* all system calls: without capabilities, what is left to root is the files it owns. Seccomp sees
  no file names; Landlock does, but binds its rules to /dev/input as it is now, and the kernel
  removes that folder with its last node and makes another (drivers/base/devtmpfs.c, delete_path).
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from pathlib import Path

# include/uapi/linux/prctl.h and capability.h
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = Path("/proc/sys/kernel/cap_last_cap")


def give_up() -> None:
    """Drop every capability and the way to get one. Raises OSError where the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0:
        for capability in range(int(_LAST_CAPABILITY.read_text()) + 1):
            # EPERM without CAP_SETPCAP: the container's own bounding set is the smaller one then.
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = struct.pack("@Ii", _CAPABILITY_VERSION_3, 0)
    _check(libc.capset(header, bytes(24)), "capset")
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS")
    _check(libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "PR_SET_DUMPABLE")


def open_many() -> None:
    """Allow as many open files as may be had: each mirror, real node and placeholder is one.

    The usual soft limit of 1024 is for programs that use select(2).
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
