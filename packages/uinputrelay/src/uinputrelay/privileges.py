"""What the serving process gives up at its start, for good.

A container that may open /dev/uinput and event nodes that appear later has to be privileged. The
process needs none of it: the nodes belong to its own user, so file permissions are enough.

Given up: every capability (permitted, effective, inheritable, bounding), and gaining any by exec
(no_new_privs). The calls act on the calling thread, so they are made before any other is started.
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

# include/uapi/linux/prctl.h and capability.h
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


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
