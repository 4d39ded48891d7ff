"""Reads a guest's console for the reason of its death."""

from __future__ import annotations

import re

# What the kernel prints when it finds itself broken; from lib/bug.c, arch/x86/kernel/dumpstack.c,
# kernel/panic.c, kernel/hung_task.c, kernel/watchdog.c, mm/oom_kill.c and kernel/rcu/tree_stall.h.
_TROUBLE = re.compile(
    r"Kernel panic - not syncing"
    r"|BUG: (?!.*workqueue lockup)"
    r"|kernel BUG at"
    r"|Oops: "
    r"|general protection fault"
    r"|Out of memory: Killed process"
    r"|blocked for more than \d+ seconds"
    r"|rcu: INFO: .* detected stalls"
)
_BEFORE, _AFTER = 3, 25


def trouble(console: str) -> str:
    """The part of a console that shows the first trouble of the kernel; "" if there is none."""
    lines = console.splitlines()
    for number, line in enumerate(lines):
        if _TROUBLE.search(line):
            return "\n".join(lines[max(0, number - _BEFORE) : number + _AFTER])
    return ""


def tail(console: str, lines: int = 25) -> str:
    """The last lines of a console."""
    return "\n".join(console.splitlines()[-lines:])
