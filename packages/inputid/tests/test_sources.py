"""Capabilities read from directories and descriptors: the real ones and copies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inputid import Capabilities, NotAnInputDeviceError, classes
from inputid.sources import NATIVE_WORD_BITS


def copied(tmp_path: Path, **attributes: str) -> Path:
    """A directory as somebody copied it from /sys; ``key_`` stands for ``capabilities/key``."""
    directory = tmp_path / "input3"
    for name, text in attributes.items():
        kind = "id" if name in ("bustype", "vendor", "product", "version") else "capabilities"
        place = {"properties": Path("properties"), "uevent": Path("uevent"), "name": Path("name")}
        file = directory / place.get(name, Path(kind) / name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return directory


def test_a_copied_directory_is_read(tmp_path: Path) -> None:
    directory = copied(
        tmp_path,
        ev="b\n",
        key="7cdb000000000000 0 0 0 0\n",
        abs="3003f\n",
        properties="0\n",
        bustype="0003\n",
        vendor="045e\n",
    )
    pad = Capabilities.from_sysfs(directory)
    assert pad == Capabilities(ev=0xB, key=0x7CDB << 304, abs=0x3003F, bustype=3, vendor=0x45E)
    assert classes(pad) == ("joystick",)


def test_a_copied_event_directory_is_read_by_its_device_or_its_parent(tmp_path: Path) -> None:
    directory = copied(tmp_path, ev="3\n", key="10000000000000 0\n")
    below = directory / "event7"
    below.mkdir()
    alone = tmp_path / "event9"
    alone.mkdir()
    (alone / "device").symlink_to(directory)
    assert Capabilities.from_sysfs(below) == Capabilities.from_sysfs(alone)
    assert classes(Capabilities.from_sysfs(below)) == ("key",)


def test_a_copy_never_asks_this_machines_node(tmp_path: Path) -> None:
    directory = copied(tmp_path, ev="b\n", abs="3\n")
    below = directory / "event0"
    below.mkdir()
    (below / "uevent").write_text("DEVNAME=null\n")
    (below / "dev").write_text("1:3\n")
    assert Capabilities.from_sysfs(below).x is None


def test_a_missing_attribute_is_empty(tmp_path: Path) -> None:
    assert Capabilities.from_sysfs(copied(tmp_path, ev="")) == Capabilities()


def test_an_attribute_that_is_a_directory_is_empty(tmp_path: Path) -> None:
    directory = copied(tmp_path, ev="3\n")
    (directory / "capabilities" / "key").mkdir()
    assert Capabilities.from_sysfs(directory) == Capabilities(ev=3)


def test_bytes_that_are_no_text_are_empty(tmp_path: Path) -> None:
    directory = copied(tmp_path, ev="3\n")
    (directory / "capabilities" / "key").write_bytes(b"\xff\xfe\x80")
    assert Capabilities.from_sysfs(directory) == Capabilities(ev=3)


WORDS = [
    # A power button of a 32-bit machine and a webcam of a 64-bit one print the same bitmap.
    ("the modalias of the one", "MODALIAS=input:b0019v0000p0001e0000-e0,1,k74,ramlsfw\n", 116),
    ("the modalias of the other", "MODALIAS=input:b0003v04F2pB604e0027-e0,1,kD4,ramlsfw\n", 212),
    ("a modalias without keys", "MODALIAS=input:b0003v04F2pB604e0027-e0,1,kramlsfw\n", 212),
    ("no modalias", "PRODUCT=19/0/1/0\n", 212),
]


@pytest.mark.parametrize(("uevent", "code"), [row[1:] for row in WORDS], ids=[r[0] for r in WORDS])
def test_the_word_of_a_copy_is_told_by_its_modalias(tmp_path: Path, uevent: str, code: int) -> None:
    directory = copied(tmp_path, ev="3\n", key="100000 0 0 0\n", uevent=uevent)
    assert Capabilities.from_sysfs(directory).key == 1 << code


def test_the_word_of_a_copy_can_be_stated(tmp_path: Path) -> None:
    directory = copied(tmp_path, ev="3\n", key="100000 0 0 0\n")
    assert Capabilities.from_sysfs(directory, word_bits=32).key == 1 << 116
    assert Capabilities.from_sysfs(directory, word_bits=64).key == 1 << 212


def test_the_native_word_is_that_of_this_process() -> None:
    assert NATIVE_WORD_BITS in (32, 64)


def test_a_directory_without_capabilities_is_no_input_device(tmp_path: Path) -> None:
    with pytest.raises(NotAnInputDeviceError, match="capabilities/ev"):
        Capabilities.from_sysfs(tmp_path)


def test_a_path_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Capabilities.from_sysfs(tmp_path / "input3")
    with pytest.raises(FileNotFoundError):
        Capabilities.from_node(tmp_path / "event3")


def test_other_devices_and_files_are_no_evdev_nodes(tmp_path: Path) -> None:
    with pytest.raises(NotAnInputDeviceError, match="not an evdev node"):
        Capabilities.from_node("/dev/null")
    (tmp_path / "event3").touch()
    with pytest.raises(NotAnInputDeviceError, match="not a device node"):
        Capabilities.from_node(tmp_path / "event3")


def test_a_pipe_is_no_evdev_node() -> None:
    reader, writer = os.pipe()
    try:
        with pytest.raises(NotAnInputDeviceError):
            Capabilities.from_fd(reader)
    finally:
        os.close(reader)
        os.close(writer)


def test_a_closed_descriptor_is_an_error_of_its_own() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    os.close(writer)
    with pytest.raises(OSError, match="descriptor"):
        Capabilities.from_fd(reader)
