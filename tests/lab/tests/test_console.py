"""A kernel's own words about its trouble are found in its console."""

from __future__ import annotations

import pytest
from lab import console

QUIET = """\
[    1.197895] mtrr: your CPUs had inconsistent fixed MTRR settings
[   12.345678] hid-generic 0005:1209:0001.0001: input,hidraw0: BLUETOOTH HID v1.00 Keyboard
[   13.000000] systemd-udevd[88]: Using default interface naming scheme
"""

TROUBLE = {
    "a null pointer": "[ 22.1] BUG: kernel NULL pointer dereference, address: 0000000000000008",
    "an oops": "[ 22.2] Oops: 0000 [#1] SMP PTI",
    "a panic": "[ 22.3] Kernel panic - not syncing: Fatal exception",
    "an assertion": "[ 22.4] kernel BUG at mm/slub.c:4321!",
    "a protection fault": "[ 22.5] Oops: general protection fault, probably for non-canonical",
    "no memory": "[ 22.6] Out of memory: Killed process 812 (containerd) total-vm:1234kB",
    "a hung task": "[242.7] INFO: task bluetoothd:311 blocked for more than 120 seconds.",
    "a stalled cpu": "[ 62.8] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "a soft lockup": "[ 62.9] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [python3:9]",
}


@pytest.mark.parametrize("line", TROUBLE.values(), ids=TROUBLE.keys())
def test_trouble_is_found_with_what_is_around_it(line: str) -> None:
    found = console.trouble(f"{QUIET}{line}\n[ 23.0] Call Trace:\n[ 23.1]  hci_rx_work\n")
    assert line in found
    assert "hci_rx_work" in found
    assert "systemd-udevd" in found


@pytest.mark.parametrize("text", ["", QUIET], ids=["empty", "quiet"])
def test_a_console_without_trouble_has_none(text: str) -> None:
    assert console.trouble(text) == ""


def test_the_first_trouble_counts_since_the_others_follow_from_it() -> None:
    text = f"{TROUBLE['an oops']}\n" + "filler\n" * 100 + f"{TROUBLE['a panic']}\n"
    assert "Fatal exception" not in console.trouble(text)


def test_the_tail_is_the_last_lines() -> None:
    assert console.tail("a\nb\nc\n", 2) == "b\nc"
