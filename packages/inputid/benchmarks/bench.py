"""How long an import and one verdict take; printed, never asserted: `python benchmarks/bench.py`.

The import is compared with starting Python at all, a verdict with reading one attribute of sysfs,
so that the figures say something on a slow machine too.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from statistics import median

from inputid import Capabilities, classes, explain, properties

PAD = Capabilities.from_mapping(
    {"ev": "b", "key": "7cdb000000000000 0 0 0 0", "abs": "3003f", "id": [5, 0x54C, 0xCE6, 0x8100]}
)
KEYBOARD = Capabilities.from_mapping({"ev": "120013", "key": "fffffffffffffffe", "msc": "10"})
TOUCHPAD = Capabilities.from_mapping(
    {
        "ev": "b",
        "key": "e420 10000 0 0 0 0",
        "abs": "660800011000003",
        "props": "5",
        "x": [0, 3097, 31],
        "y": [0, 2119, 32],
    }
)
DEVICES = {"pad": PAD, "keyboard": KEYBOARD, "touchpad": TOUCHPAD}


def microseconds(call: Callable[[], object]) -> float:
    """The best of five rounds, per call."""
    number, _ = timeit.Timer(call).autorange()
    return min(timeit.repeat(call, number=number, repeat=5)) / number * 1e6


def start_milliseconds(statement: str) -> float:
    """The median wall time of ten interpreters that run one statement."""
    command = [sys.executable, "-I", "-c", statement]

    def start() -> float:
        return timeit.timeit(lambda: subprocess.run(command, check=True), number=1)

    return median(start() for _ in range(10)) * 1000


def imports() -> None:
    bare = start_milliseconds("pass")
    print(f"start of Python            {bare:8.1f} ms")
    for name in ("inputid", "inputid.cli", "dataclasses"):
        took = start_milliseconds(f"import {name}")
        print(f"and import {name:<15} {took - bare:+8.1f} ms  ({took / bare:.2f} of a bare start)")


def verdicts() -> None:
    with tempfile.TemporaryDirectory() as folder:
        attribute = Path(folder) / "key"
        attribute.write_text("7cdb000000000000 0 0 0 0\n")
        unit = microseconds(lambda: attribute.read_bytes())
    print(f"reading one attribute      {unit:8.1f} us")
    for title, call in (("classes", classes), ("properties", properties), ("explain", explain)):
        for name, device in DEVICES.items():
            took = microseconds(lambda call=call, device=device: call(device))  # type: ignore[misc]
            print(f"{title:<11} of a {name:<9} {took:10.1f} us  ({took / unit:.2f} of a read)")
    text = TOUCHPAD.to_json()
    took = microseconds(lambda: Capabilities.from_json(text))
    print(f"from_json                  {took:8.1f} us  ({took / unit:.2f} of a read)")


if __name__ == "__main__":
    imports()
    verdicts()
