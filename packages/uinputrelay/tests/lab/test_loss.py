"""A relay that was too slow: nothing torn reaches a reader, and the end is the device's own state."""

from __future__ import annotations

import random
from itertools import groupby

import pytest
from uinputrelay import kernel

from .devices import (
    BTN_SOUTH,
    KEY_A,
    SYN,
    Bench,
    Event,
    Plug,
    Read,
    at,
    gamepad,
    keyboard_and_mouse,
    keyed,
    touchpad,
    wish,
)

pytestmark = pytest.mark.lab


def _frames(events: list[Event]) -> list[list[Event]]:
    groups = groupby(events, key=lambda event: event == SYN)
    return [list(group) for is_end, group in groups if not is_end]


def test_after_an_overflow_the_mirror_equals_the_device_and_the_loss_is_counted(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(wish(gamepad()))
    source = plug(gamepad())
    (node,) = bench.connected()
    device, mirror = read(source.path), read(node.path or "")
    for n in range(2000):
        source.frame(at(0, n % 256), at(1, n % 256), keyed(BTN_SOUTH, n % 2))
    source.frame(at(3, 9), keyed(BTN_SOUTH, 1))
    bench.pump()
    assert mirror.state() == device.state()
    assert bench.nodes()[0].losses == 1
    source.frame(keyed(BTN_SOUTH, 0))
    bench.pump()
    assert mirror.state() == device.state()


def test_no_frame_is_torn_whatever_the_relay_missed(bench: Bench, plug: Plug, read: Read) -> None:
    """Both sticks move together in every frame: a frame that leaves them apart was torn."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    bench.apply(wish(gamepad()))
    source = plug(gamepad())
    (node,) = bench.connected()
    mirror = read(node.path or "")
    position = {0: 128, 1: 128, 3: 128, 4: 128}
    value = 0
    for _ in range(150):
        for _ in range(chance.choice((1, 3, 15, 17, 40))):
            value = (value + chance.randrange(1, 200)) % 256
            source.frame(*(at(code, value) for code in position))
        bench.engine.step(0)
        for frame in _frames(mirror.events()):
            position.update({code: moved for _, code, moved in frame})
            assert len(set(position.values())) == 1, frame
    bench.pump()
    mirror.events()
    assert bench.nodes()[0].losses > 0
    assert {mirror.state()[1][code] for code in position} == {value}


def test_contacts_survive_a_loss(bench: Bench, plug: Plug, read: Read) -> None:
    bench.apply(wish(touchpad()))
    source = plug(touchpad())
    (node,) = bench.connected()
    reader = read(node.path or "")
    source.frame(at(0x2F, 1), at(0x39, 5), at(0x35, 100), at(0x36, 100), keyed(330, 1))
    bench.pump()
    reader.events()
    for n in range(2000):
        source.frame(at(0x2F, 1), at(0x35, n % 1000), at(0x2F, 3), at(0x39, n), at(0x36, n % 900))
    source.frame(at(0x2F, 1), at(0x39, -1))
    source.frame(at(0x2F, 2), at(0x39, 9), at(0x35, 55))
    bench.pump()
    assert bench.nodes()[0].losses >= 1
    device = read(source.path)
    for code in (0x35, 0x36, 0x39):
        assert kernel.slots(reader.fd, code, 5) == kernel.slots(device.fd, code, 5)
    assert kernel.slots(reader.fd, 0x39, 5) == (-1, -1, 9, 1999, -1)
    reader.events()
    source.frame(at(0x35, 56))
    bench.pump()
    assert reader.events() == [at(0x2F, 2), at(0x35, 56), SYN]


def test_repeats_of_a_held_key_pass_once(bench: Bench, plug: Plug, read: Read) -> None:
    """The kernel repeats on the device; a mirror with EV_REP would repeat the repeats."""
    remote = keyboard_and_mouse(repeats=True)
    bench.apply(wish(remote))
    source = plug(remote)
    (node,) = bench.connected()
    device, mirror = read(source.path), read(node.path or "")
    source.frame(keyed(KEY_A, 1))
    sent: list[Event] = []
    seen: list[Event] = []
    while sent.count(keyed(KEY_A, 2)) <= 10:
        bench.engine.step(0.05)
        sent, seen = sent + device.events(), seen + mirror.events()
    source.frame(keyed(KEY_A, 0))
    bench.pump()
    sent, seen = sent + device.events(), seen + mirror.events()
    repeats = [event for event in sent if event == keyed(KEY_A, 2)]
    assert len(repeats) > 10
    assert [event for event in seen if event[0] == 1] == [event for event in sent if event[0] == 1]
