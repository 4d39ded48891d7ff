"""Where an axis rests: what the device reported wherever that can be believed, else its meaning."""

from __future__ import annotations

import pytest
from uinputrelay import AbsInfo, Snapshot
from uinputrelay.rest import rests

X, Y, Z, RX, RY, RZ, RUDDER, GAS, BRAKE, HAT0X, PRESSURE = 0, 1, 2, 3, 4, 5, 7, 9, 10, 16, 24
U8, U10, U16, S16 = (0, 255), (0, 1023), (0, 65535), (-32768, 32767)


def _pad(**axes: tuple[int, tuple[int, int]]) -> Snapshot:
    """A gamepad whose axes are given as NAME=(reported value, range)."""
    info = {globals()[name]: AbsInfo(value, *limits) for name, (value, limits) in axes.items()}
    return Snapshot("Pad", 5, 1, 1, 1, types={0: (), 1: (304, 305), 3: tuple(info)}, absinfo=info)


# A pad, and the rest of each of its axes. First the device it stands for.
PADS = {
    "DualSense: the triggers rest at 0, the sticks a little off the middle": (
        _pad(X=(129, U8), Y=(126, U8), Z=(0, U8), RX=(128, U8), RY=(127, U8), RZ=(0, U8)),
        {X: 129, Y: 126, Z: 0, RX: 128, RY: 127, RZ: 0},
    ),
    "DualSense before its first report": (
        _pad(X=(0, U8), Y=(0, U8), Z=(0, U8), RX=(0, U8), RY=(0, U8), RZ=(0, U8)),
        {X: 128, Y: 128, Z: 0, RX: 128, RY: 128, RZ: 0},
    ),
    "a pad whose right stick is Z and RZ (8BitDo, Switch clones)": (
        _pad(
            X=(128, U8),
            Y=(128, U8),
            Z=(128, U8),
            RZ=(127, U8),
            GAS=(0, U8),
            BRAKE=(0, U8),
        ),
        {X: 128, Y: 128, Z: 128, RZ: 127, GAS: 0, BRAKE: 0},
    ),
    "the same before its first report": (
        _pad(X=(0, U8), Y=(0, U8), Z=(0, U8), RZ=(0, U8), GAS=(0, U8), BRAKE=(0, U8)),
        {X: 128, Y: 128, Z: 128, RZ: 128, GAS: 0, BRAKE: 0},
    ),
    "Xbox: signed sticks, triggers of ten bits": (
        _pad(
            X=(-300, S16),
            Y=(0, S16),
            RX=(0, S16),
            RY=(12, S16),
            Z=(0, U10),
            RZ=(0, U10),
        ),
        {X: -300, Y: 0, RX: 0, RY: 12, Z: 0, RZ: 0},
    ),
    "connected with the left stick held over": (
        _pad(X=(255, U8), Y=(127, U8), RX=(128, U8), RY=(128, U8)),
        {X: 128, Y: 127, RX: 128, RY: 128},
    ),
    "connected with a trigger half pressed": (
        _pad(X=(128, U8), Y=(128, U8), RX=(128, U8), RY=(128, U8), Z=(60, U8), RZ=(0, U8)),
        {X: 128, Y: 128, RX: 128, RY: 128, Z: 0, RZ: 0},
    ),
    "pedals wired the other way round": (
        _pad(X=(128, U8), Y=(128, U8), GAS=(65535, U16), BRAKE=(65535, U16)),
        {X: 128, Y: 128, GAS: 65535, BRAKE: 65535},
    ),
    "a rudder centres": (
        _pad(X=(0, U8), Y=(0, U8), RUDDER=(0, U8)),
        {X: 128, Y: 128, RUDDER: 128},
    ),
    "a hat centres, held or not": (
        _pad(X=(128, U8), Y=(128, U8), HAT0X=(1, (-1, 1))),
        {X: 128, Y: 128, HAT0X: 0},
    ),
}


@pytest.mark.parametrize(("shot", "expected"), PADS.values(), ids=PADS)
def test_the_axes_of_a_pad_rest(shot: Snapshot, expected: dict[int, int]) -> None:
    assert rests(shot) == expected


def test_a_sensor_rests_where_gravity_left_it() -> None:
    axes = {X: AbsInfo(12, *S16), Y: AbsInfo(8192, *S16), Z: AbsInfo(-40, *S16)}
    sensor = Snapshot("Motion", 5, 1, 1, 1, props=(6,), types={0: (), 3: tuple(axes)}, absinfo=axes)
    assert rests(sensor) == {X: 12, Y: 8192, Z: -40}


def test_a_finger_leaves_its_position_and_its_pressure_goes() -> None:
    axes = {
        X: AbsInfo(700, 0, 1919), Y: AbsInfo(300, 0, 1079), PRESSURE: AbsInfo(40, 0, 255),
        0x2F: AbsInfo(0, 0, 1), 0x35: AbsInfo(0, 0, 1919), 0x36: AbsInfo(0, 0, 1079),
    }  # fmt: skip
    types = {0: (), 1: (272, 325, 330), 3: tuple(axes)}
    pad = Snapshot("Touchpad", 5, 1, 1, 1, props=(0,), types=types, absinfo=axes)
    assert rests(pad) == {PRESSURE: 0}
