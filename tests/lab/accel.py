"""What guests run under: KVM where it runs their kernel, else QEMU's own translation.

Having /dev/kvm proves little: nested in another machine it may open and then fail, hang, or run a
few instructions and then stop at one it does not know. So KVM is believed when a guest's kernel has
said its first word under it.
"""

from __future__ import annotations

import os
import threading

# Under TCG the whole boot takes 9 s on a quick machine. A KVM that needs longer than this for the
# first word is not worth having.
FIRST_WORD_SECONDS = 20
# In QEMU's log when it has stopped the guest for good (accel/kvm/kvm-all.c, seen in 7.2).
STOPPED = "KVM internal error"

# For this process's other guests: KVM did not run the first.
kvm_failed = threading.Event()


def best() -> str:
    """kvm where it may run a guest, else tcg (several times slower); LAB_ACCEL names one."""
    usable = os.access("/dev/kvm", os.R_OK | os.W_OK) and not kvm_failed.is_set()
    return os.environ.get("LAB_ACCEL") or ("kvm" if usable else "tcg")
