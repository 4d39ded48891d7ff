"""What a process can no longer do once it gave up its privileges; asked of a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys

PROGRAM = """
import ctypes
from pathlib import Path
from uinputrelay import privileges
privileges.open_many()
status, limits = Path("/proc/self/status"), Path("/proc/self/limits")
privileges.give_up()
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))  # PR_GET_DUMPABLE
print(status.read_text(), limits.read_text(), sep="\\n")
"""


def test_nothing_is_left_but_the_files_of_its_user() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True)
    dumpable, *lines = done.stdout.decode().splitlines()
    said = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(said[name], 16) == 0, name
    assert (said["NoNewPrivs"], dumpable) == ("1", "0")


def test_as_many_files_may_be_open_as_the_hard_limit_says() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = next(n for n in done.stdout.decode().splitlines() if n.startswith("Max open files"))
    assert files.split()[3:5] == [str(hard), str(hard)]
