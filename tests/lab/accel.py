"""Whether this machine's KVM really runs a guest.

Having /dev/kvm proves little: nested in another machine it may open and then fail or hang.
So a guest of a few instructions is run, and believed if it comes back with its answer.
"""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from pathlib import Path

# mov al,0x10; out 0xf4,al; hlt -- a boot sector that leaves through isa-debug-exit, which
# makes QEMU's status (0x10 << 1) | 1.
_SECTOR = (b"\xb0\x10\xe6\xf4\xf4").ljust(510, b"\0") + b"\x55\xaa"
_ANSWER = (0x10 << 1) | 1
# TCG answers in 0.3 s. A KVM that was seen to need ten for these few instructions is not
# worth having.
_PATIENCE_SECONDS = 3

_DEVICES = (
    *("-nodefaults", "-display", "none", "-no-reboot", "-m", "16"),
    *("-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"),
)


@functools.cache
def works(accelerator: str) -> bool:
    """True if a guest under that accelerator (kvm, tcg) runs to its end."""
    if accelerator == "kvm" and not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    with tempfile.TemporaryDirectory() as folder:
        disk = Path(folder, "sector")
        disk.write_bytes(_SECTOR)
        command = ["qemu-system-x86_64", "-M", f"pc,accel={accelerator}", *_DEVICES]
        try:
            done = subprocess.run(
                [*command, "-drive", f"file={disk},format=raw,if=ide"],
                capture_output=True,
                timeout=_PATIENCE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == _ANSWER


def best() -> str:
    """kvm where it works, else tcg (QEMU's own translation, several times slower)."""
    return os.environ.get("LAB_ACCEL") or ("kvm" if works("kvm") else "tcg")
