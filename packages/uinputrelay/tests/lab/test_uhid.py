"""Real HID drivers over uhid: found by address and adapter, mirrored node by node."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import inputid
import pytest
from uinputrelay import Observed, PeripheralWish, Snapshot
from uinputrelay.discovery import by_uniq

from .devices import ADDRESS, OTHER, SYN, Bench, Read, keyed, wish
from .uhid import ADAPTER, Hid, dualsense, keyboard

BELONGS = by_uniq
pytestmark = pytest.mark.lab
Emulate = Callable[[Hid], Hid]
# By the last word of the node's name, as hid-playstation names its three.
CLASSES = {"Controller": {"joystick"}, "Sensors": {"accelerometer"}, "Touchpad": {"touchpad"}}


@pytest.fixture
def emulate() -> Iterator[Emulate]:
    made: list[Hid] = []

    def keep(device: Hid) -> Hid:
        made.append(device)
        return device

    yield keep
    for device in made:
        device.unplug()


def _three(bench: Bench) -> dict[str, Snapshot]:
    bench.until(lambda _: len(bench.nodes()) == 3, "three nodes of a DualSense")
    bench.connected()
    return {node.path or "": node.snapshot for node in bench.nodes()}


def _udev_classes(path: str) -> set[str]:
    """What udev says of a node, in inputid's words."""
    subprocess.run(["udevadm", "settle"], check=True)
    query = ["udevadm", "info", "--query=property", path]
    said = subprocess.run(query, check=True, capture_output=True, text=True).stdout
    return set(inputid.classes_in(dict(line.split("=", 1) for line in said.splitlines())))


def _guid(path: str) -> str:
    """SDL's joystick GUID of a node: bus, CRC-16 of the name, vendor, product, version."""
    folder = Path("/sys/class/input", Path(path).name, "device")
    numbers = [
        int((folder / "id" / name).read_text(), 16)
        for name in ("bustype", "vendor", "product", "version")
    ]
    name = (folder / "name").read_bytes().rstrip(b"\n")
    words = [numbers[0], _crc16(name), numbers[1], 0, numbers[2], 0, numbers[3], 0]
    return b"".join(word.to_bytes(2, "little") for word in words).hex()


def _crc16(data: bytes) -> int:
    """CRC-16/ARC, as SDL_crc16."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return crc


def test_the_guid_rule_is_the_known_one() -> None:
    assert _crc16(b"123456789") == 0xBB3D


def test_a_dualsense_gets_three_mirrors_of_the_same_classes_and_guids(
    bench: Bench, emulate: Emulate
) -> None:
    pad = emulate(dualsense(ADDRESS))
    bench.apply(PeripheralWish(ADDRESS, ADAPTER))
    mirrors = _three(bench)
    real = pad.nodes
    for path, shot in mirrors.items():
        source = real[shot.name]
        classes = CLASSES[shot.name.rsplit(" ", 1)[-1]]
        assert set(inputid.classes(shot.capabilities)) == classes
        assert _udev_classes(source) == classes
        assert _udev_classes(path) == classes
        assert _guid(path) == _guid(source)


def test_a_dualsense_delivers_buttons_while_its_sensors_stay_unread(
    bench: Bench, emulate: Emulate, read: Read
) -> None:
    pad = emulate(dualsense(ADDRESS))
    bench.apply(PeripheralWish(ADDRESS, ADAPTER))
    shots = list(_three(bench).values())
    unread = wish(*shots, types=frozenset())
    nodes = tuple(
        node if "Motion" in node.snapshot.name else type(node)(node.snapshot, None)
        for node in unread.nodes
    )
    pad.report(accel=(0.0, 0.0, 0.0))
    bench.apply(PeripheralWish(ADDRESS, ADAPTER, nodes))
    buttons = next(
        n for n in bench.nodes() if "joystick" in inputid.classes(n.snapshot.capabilities)
    )
    reader = read(buttons.path or "")
    bench.pump()
    reader.events()
    seen = []
    for value in (1, 0):
        pad.report(buttons={2: bool(value)}, accel=(1.0, 2.0, 3.0))
        seen += bench.collect(reader, lambda events: bool(_keys(events)))
    assert _keys(seen) == [keyed(304, 1), keyed(304, 0)]
    sensors = next(n for n in bench.nodes() if "Motion" in n.snapshot.name)
    assert (sensors.connected, sensors.wakeups, sensors.events) == (True, 0, 0)


def _keys(events: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    return [event for event in events if event[0] == 1]


def test_a_dualsense_returns_to_its_three_mirrors(bench: Bench, emulate: Emulate) -> None:
    pad = emulate(dualsense(ADDRESS))
    bench.apply(PeripheralWish(ADDRESS, ADAPTER))
    before = _three(bench)
    bench.apply(wish(*before.values()))
    for _ in range(3):
        pad.unplug()
        bench.gone()
        pad = emulate(dualsense(ADDRESS))
        assert _three(bench) == before


def test_nodes_of_another_address_or_adapter_are_never_taken(
    bench: Bench, emulate: Emulate
) -> None:
    emulate(keyboard(OTHER))
    emulate(keyboard(ADDRESS, "00:11:22:33:44:55"))
    bench.apply(PeripheralWish(ADDRESS, ADAPTER))
    bench.pump()
    assert bench.nodes() == []
    ours = emulate(keyboard(ADDRESS))
    bench.until(lambda observed: _count(observed) > 0, "the keyboard of this adapter")
    (node,) = bench.connected()
    assert [node.real] == list(ours.nodes.values())


def _count(observed: Observed) -> int:
    return sum(len(each.nodes) for each in observed.peripherals)


def test_a_keyboard_over_uhid_moves_its_keys(bench: Bench, emulate: Emulate, read: Read) -> None:
    device = emulate(keyboard(ADDRESS))
    bench.apply(PeripheralWish(ADDRESS))
    bench.until(lambda observed: _count(observed) == 1)
    bench.connected()
    bench.apply(wish(bench.nodes()[0].snapshot))
    reader = read(bench.nodes()[0].path or "")
    device.raw(bytes([0, 0, 4]))
    device.raw(bytes(3))
    bench.until(lambda _: bench.nodes()[0].frames >= 2, "two frames")
    seen = [event for event in reader.events() if event[0] != 4]
    assert seen == [keyed(30, 1), SYN, keyed(30, 0), SYN]
