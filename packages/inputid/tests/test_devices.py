"""Every real device of the table gets the classes and the size that udev gives it."""

from __future__ import annotations

import pytest

from inputid import Capabilities, classes, properties

from .devices import DEVICES, Real

each_device = pytest.mark.parametrize("real", DEVICES, ids=lambda real: real.name)


@each_device
@pytest.mark.parametrize("systemd", [252, 253])
def test_a_real_device_has_the_classes_udev_gives_it(real: Real, systemd: int) -> None:
    assert classes(real.capabilities(), systemd) == real.expected(systemd)


@each_device
def test_a_real_device_has_the_size_udev_gives_it(real: Real) -> None:
    found = properties(real.capabilities())
    size = tuple(
        int(found[name]) for name in ("ID_INPUT_WIDTH_MM", "ID_INPUT_HEIGHT_MM") if name in found
    )
    assert size == (real.size or ())


@each_device
def test_a_real_device_survives_being_stored(real: Real) -> None:
    capabilities = real.capabilities()
    assert Capabilities.from_json(capabilities.to_json()) == capabilities


def test_the_table_is_large_and_names_no_device_twice() -> None:
    names = [real.name for real in DEVICES]
    assert len(names) >= 60
    assert len(set(names)) == len(names)


def test_the_table_has_a_device_of_every_class() -> None:
    seen = {name for real in DEVICES for name in real.classes.split()}
    assert seen == {
        *("accelerometer", "pointingstick", "mouse", "touchpad", "touchscreen", "joystick"),
        *("tablet", "tablet_pad", "key", "keyboard", "switch"),
    }
