"""Real nodes of a real kernel: what the library and the command say of them, and when they cannot."""

from __future__ import annotations

import errno
import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inputid import Capabilities, NotAnInputDeviceError, cli, properties

from .uinput import Device, representable

pytestmark = pytest.mark.lab

TOUCHPAD = representable(
    Capabilities(
        ev=0b1011,
        key=1 << 0x110 | 1 << 0x145 | 1 << 0x14A,
        abs=0b11,
        bustype=0x18,
        vendor=0x6CB,
        x=(0, 3097, 31),
        y=(0, 2119, 32),
    )
)
TOUCHPAD_LINES = [
    *("E: ID_INPUT=1", "E: ID_INPUT_TOUCHPAD=1"),
    *("E: ID_INPUT_WIDTH_MM=99", "E: ID_INPUT_HEIGHT_MM=66"),
]


@pytest.fixture
def touchpad() -> Iterator[Device]:
    device = Device(TOUCHPAD)
    yield device
    device.close()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "inputid", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@contextmanager
def without_rights() -> Iterator[None]:
    """Be nobody for a while: the kernel takes root's rights to files away with its effective id."""
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def lines_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.startswith("E: ")]


def test_every_way_to_a_device_gives_the_same_capabilities(touchpad: Device) -> None:
    event = Path("/sys/class/input") / touchpad.sysfs.name
    assert Capabilities.from_sysfs(touchpad.sysfs) == TOUCHPAD
    assert Capabilities.from_sysfs(event) == TOUCHPAD
    assert Capabilities.from_node(touchpad.node) == TOUCHPAD
    # Only an event directory has a node to ask for the size; so it is in udev.
    parent = Capabilities.from_sysfs(touchpad.sysfs.parent)
    assert parent == TOUCHPAD.replace(x=None, y=None)
    assert Capabilities.from_sysfs(touchpad.sysfs.parent, node=touchpad.node) == TOUCHPAD


def test_asking_consumes_no_event(touchpad: Device) -> None:
    fd = os.open(touchpad.node, os.O_RDONLY | os.O_NONBLOCK)
    try:
        pressed = struct.pack("qqHHi", 0, 0, 1, 0x110, 1) + struct.pack("qqHHi", 0, 0, 0, 0, 0)
        os.write(touchpad.fileno(), pressed)
        assert Capabilities.from_fd(fd) == TOUCHPAD
        events = os.read(fd, 24 * 8)
        assert [event[2:] for event in struct.iter_unpack("qqHHi", events)] == [
            (1, 0x110, 1),
            (0, 0, 0),
        ]
    finally:
        os.close(fd)


def test_a_device_that_was_unplugged_says_so_and_not_that_it_is_none() -> None:
    device = Device(TOUCHPAD)
    fd = os.open(device.node, os.O_RDONLY | os.O_NONBLOCK)
    device.close()
    try:
        with pytest.raises(OSError, match=os.strerror(errno.ENODEV)):
            Capabilities.from_fd(fd)
    finally:
        os.close(fd)


def test_the_command_names_node_and_directory_alike(touchpad: Device) -> None:
    by_node, by_sysfs = run(str(touchpad.node)), run(str(touchpad.sysfs))
    assert by_node.stdout.splitlines()[:2] == [f"N: input/{touchpad.node.name}", "# vector"]
    devpath = str(touchpad.sysfs).removeprefix("/sys")
    assert by_sysfs.stdout.splitlines()[:2] == [f"P: {devpath}", f"N: input/{touchpad.node.name}"]
    assert lines_of(by_node) == lines_of(by_sysfs) == TOUCHPAD_LINES
    assert (by_node.returncode, by_node.stderr) == (0, "")


def test_the_lines_are_those_of_udevadm_info(touchpad: Device) -> None:
    node = str(touchpad.node)
    subprocess.run(["udevadm", "trigger", "--settle", node], check=True)
    query = subprocess.run(["udevadm", "info", node], capture_output=True, text=True, check=True)
    theirs = {line for line in query.stdout.splitlines() if line.startswith("E: ID_INPUT")}
    # The hardware database (70-touchpad.hwdb) adds this to every touchpad; it is not the builtin's.
    theirs -= {f"E: ID_INPUT_TOUCHPAD_INTEGRATION={where}" for where in ("internal", "external")}
    assert theirs == set(TOUCHPAD_LINES)


def test_all_tells_of_every_event_node(touchpad: Device) -> None:
    done = run("--all", "--json")
    nodes = {json.loads(line)["node"] for line in done.stdout.splitlines()}
    assert nodes == {f"/dev/input/{path.name}" for path in Path("/sys/class/input").glob("event*")}
    assert str(touchpad.node) in nodes
    assert done.returncode == 0


def test_without_rights_a_node_is_refused_and_its_directory_still_tells(
    touchpad: Device, capsys: pytest.CaptureFixture[str]
) -> None:
    touchpad.node.chmod(0o600)
    directory = f"/sys/class/input/{touchpad.node.name}"
    with without_rights():
        assert cli.main([str(touchpad.node)]) == 1
    refused = capsys.readouterr()
    assert refused.out == ""
    assert refused.err == (
        f"inputid: {touchpad.node}: Permission denied (its classes are readable from {directory})\n"
    )
    with without_rights():
        assert cli.main([directory]) == 1
    told = capsys.readouterr()
    assert [line for line in told.out.splitlines() if line[:3] == "E: "] == TOUCHPAD_LINES[:2]
    assert told.err == f"inputid: {touchpad.node}: Permission denied: the size is not known\n"


def test_a_node_of_another_number_under_the_same_name_is_not_asked(touchpad: Device) -> None:
    # A container's own /dev may have another device under this name; its size is not this one's.
    other = Device(TOUCHPAD.replace(x=(0, 10, 1), y=(0, 10, 1)))
    try:
        script = (
            f"mount --bind {other.node} {touchpad.node}"
            f" && exec {sys.executable} -m inputid {touchpad.sysfs}"
        )
        command = ["unshare", "--mount", "sh", "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert lines_of(done) == TOUCHPAD_LINES[:2]
    finally:
        other.close()


def test_the_older_nodes_of_a_device_are_known_by_their_directory() -> None:
    subprocess.run(["modprobe", "joydev"], check=True)
    pad = Device(representable(Capabilities(ev=0b1011, key=0x7CDB << 304, abs=0x3003F)))
    try:
        (joystick,) = pad.sysfs.parent.glob("js*")
        done = run(f"/dev/input/{joystick.name}")
        assert lines_of(done) == ["E: ID_INPUT=1", "E: ID_INPUT_JOYSTICK=1"]
        with pytest.raises(NotAnInputDeviceError):
            Capabilities.from_node(Path("/dev/input") / joystick.name)
    finally:
        pad.close()


def test_the_dump_of_this_kernel_tells_the_same_classes(touchpad: Device) -> None:
    done = run("--from", "/proc/bus/input/devices", "--json")
    told = {form["node"]: form for form in map(json.loads, done.stdout.splitlines())}
    expected = properties(TOUCHPAD.replace(x=None, y=None))
    assert told[str(touchpad.node)]["properties"] == expected
