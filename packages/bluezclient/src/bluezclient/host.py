"""What bluetoothd needs of its host for controllers to be of use, and safe to have.

bluetoothd starts without a word on a host where no controller will ever have an event node, or
where any stranger gets one; neither shows on D-Bus. Rules: BlueZ `profiles/input/input.conf` and
`manager.c` (5.87), CVE-2023-45866.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bluezclient.storage.keyfile import KeyFileError, parse

UHID, INPUT_CONF = Path("/dev/uhid"), Path("/etc/bluetooth/input.conf")
# GLib's booleans; bluetoothd takes anything else for an error.
_TRUE, _FALSE = ("true", "1"), ("false", "0")
_BONDED_ONLY_BY_DEFAULT = (5, 71)


@dataclass(frozen=True, slots=True)
class HostProblem:
    """One thing to mend on the host; `reason` is a CamelCase word, `text` says what to do."""

    reason: str
    text: str


def host_problems(
    bluez: tuple[int, int] | None, *, uhid: Path = UHID, input_conf: Path = INPUT_CONF
) -> tuple[HostProblem, ...]:
    """What is wrong with the host of a bluetoothd of that release (`Adapter.bluez_version`).

    `NoUserspaceHID`: without /dev/uhid controllers pair and connect and have no event node (bluez
    #606). `StrangersGetIn`: ClassicBondedOnly is off, so any device in range may type
    (CVE-2023-45866); it is on by default from 5.71, and a release that is not known counts as an
    older one. `InputConfUnreadable`: bluetoothd goes by its defaults. A file that is not there is
    no problem in itself.
    """
    return (*_uhid(uhid), *_input_conf(input_conf, bluez or (0, 0)))


def _uhid(path: Path) -> Iterator[HostProblem]:
    try:
        there = stat.S_ISCHR(path.stat().st_mode)
    except OSError:
        there = False
    if not there:
        text = f"{path} is not there: load the module uhid, and give it to bluetoothd's container"
        yield HostProblem("NoUserspaceHID", text)


def _input_conf(path: Path, bluez: tuple[int, int]) -> Iterator[HostProblem]:
    try:
        general = parse(path.read_bytes()).get("General", {})
    except FileNotFoundError:
        general = {}
    except (OSError, KeyFileError) as error:
        yield HostProblem("InputConfUnreadable", f"{path}: {error}")
        general = {}
    told = general.get("ClassicBondedOnly")
    if told in _TRUE or (told is None and bluez >= _BONDED_ONLY_BY_DEFAULT):
        return
    state = "is off" if told in (None, *_FALSE) else "is neither true nor false"
    text = f"ClassicBondedOnly {state} in {path}, so devices that were never paired may type"
    yield HostProblem("StrangersGetIn", f"{text}: set it to true and restart bluetoothd")
