"""The property lines: ID_INPUT, the classes, the size, and what an override may change."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from inputid import CLASSES, Capabilities, classes_in, event_types, properties
from inputid.codes import EV_ABS, EV_KEY, EV_MSC, EV_REL, EV_SW

TOUCHPAD = Capabilities(
    ev=0b1011, key=1 << 0x145, abs=0b11, x=(1472, 5498, 69), y=(1408, 4560, 100)
)


def test_the_order_is_that_of_udev() -> None:
    assert list(properties(TOUCHPAD).items()) == [
        ("ID_INPUT", "1"),
        ("ID_INPUT_TOUCHPAD", "1"),
        ("ID_INPUT_WIDTH_MM", "58"),
        ("ID_INPUT_HEIGHT_MM", "31"),
    ]


def test_a_device_without_any_class_is_still_an_input_device() -> None:
    assert properties(Capabilities()) == {"ID_INPUT": "1"}


SIZES = [
    ("a size", (0, 1022, 12), (0, 487, 12), ("85", "40")),
    ("rounded down", (0, 19, 10), (0, 10, 10), ("1", "1")),
    ("less than a millimetre", (0, 1, 2), (0, 9, 10), ("0", "0")),
    ("below zero towards zero, as in C", (0, -19, 10), (5, 4, 2), ("-1", "0")),
    ("a span beyond an int wraps", (-(1 << 31), (1 << 31) - 1, 1), (0, 1, 1), ("-1", "1")),
    ("one axis without resolution", (0, 100, 10), (0, 100, 0), None),
    ("a resolution below zero", (0, 100, -10), (0, 100, 10), None),
    ("one axis that could not be asked", (0, 100, 10), None, None),
    ("none asked", None, None, None),
]


@pytest.mark.parametrize(("x", "y", "size"), [row[1:] for row in SIZES], ids=[r[0] for r in SIZES])
def test_a_size_is_computed_as_udev_does(
    x: tuple[int, int, int] | None, y: tuple[int, int, int] | None, size: tuple[str, str] | None
) -> None:
    found = properties(Capabilities(ev=1, x=x, y=y))
    names = ("ID_INPUT_WIDTH_MM", "ID_INPUT_HEIGHT_MM")
    assert tuple(found.get(name) for name in names) == (size or (None, None))


def test_any_class_has_a_size_even_a_sensor() -> None:
    sensor = Capabilities(ev=0b1001, abs=0b111, x=(-32768, 32767, 8192), y=(-32768, 32767, 8192))
    assert properties(sensor)["ID_INPUT_WIDTH_MM"] == "7"


def test_an_override_sets_and_removes() -> None:
    def no_stick(capabilities: Capabilities, found: Mapping[str, str]) -> Mapping[str, str | None]:
        assert capabilities.bustype == 0x18
        assert found["ID_INPUT_POINTINGSTICK"] == "1"
        return {"ID_INPUT_POINTINGSTICK": "0", "ID_INPUT_MOUSE": None, "ID_INPUT_TABLET": "1"}

    mouse = Capabilities(ev=0b111, key=1 << 0x110, rel=0b11, bustype=0x18)
    found = properties(mouse, override=no_stick)
    assert found == {"ID_INPUT": "1", "ID_INPUT_POINTINGSTICK": "0", "ID_INPUT_TABLET": "1"}
    assert classes_in(found) == ("tablet",)


def test_an_override_cannot_reach_the_verdict_it_was_shown() -> None:
    def spoil(_: Capabilities, found: Mapping[str, str]) -> Mapping[str, str | None]:
        found.clear()  # type: ignore[attr-defined]
        return {}

    assert properties(TOUCHPAD, override=spoil) == properties(TOUCHPAD)


def test_removing_what_is_not_there_changes_nothing() -> None:
    assert properties(TOUCHPAD, override=lambda *_: {"ID_INPUT_KEY": None}) == properties(TOUCHPAD)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"ID_INPUT_KEYBOARD": "1", "ID_INPUT_KEY": "1"}, ("key", "keyboard")),
        ({"ID_INPUT_JOYSTICK": "0", "ID_INPUT_KEY": ""}, ()),
        ({"ID_INPUT_TRACKBALL": "1", "ID_INPUT": "1"}, ()),
    ],
)
def test_classes_are_read_from_properties(found: dict[str, str], expected: tuple[str, ...]) -> None:
    assert classes_in(found) == expected


EVENT_TYPES = {
    "accelerometer": {EV_ABS, EV_MSC},
    "pointingstick": {EV_KEY, EV_REL},
    "mouse": {EV_KEY, EV_REL, EV_ABS},
    "touchpad": {EV_KEY, EV_ABS, EV_MSC},
    "touchscreen": {EV_KEY, EV_ABS},
    "joystick": {EV_KEY, EV_ABS},
    "tablet": {EV_KEY, EV_ABS, EV_REL, EV_MSC},
    "tablet_pad": {EV_KEY, EV_ABS, EV_REL},
    "key": {EV_KEY},
    "keyboard": {EV_KEY},
    "switch": {EV_SW},
}


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_says_what_its_readers_read(name: str) -> None:
    assert event_types(name) == EVENT_TYPES[name]


WHEEL_ONLY = [
    ("a wheel alone", Capabilities(ev=0b100, rel=1 << 8), {EV_REL}),
    (
        "a wheel beside other buttons",
        Capabilities(ev=0b110, rel=1 << 8, key=1 << 0x100),
        {EV_KEY, EV_REL},
    ),
    ("a keyboard with a wheel", Capabilities(ev=0b110, rel=1 << 8, key=1 << 30), {EV_KEY}),
    ("an air mouse", Capabilities(ev=0b110, rel=0x103, key=1 << 30 | 1 << 0x110), {EV_KEY}),
]


@pytest.mark.parametrize(
    ("capabilities", "expected"), [row[1:] for row in WHEEL_ONLY], ids=[r[0] for r in WHEEL_ONLY]
)
def test_a_key_node_that_is_one_for_its_wheel_is_read_for_its_wheel(
    capabilities: Capabilities, expected: set[int]
) -> None:
    assert event_types("key", capabilities) == expected


def test_an_unknown_class_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown input class 'gamepad'; known: accelerometer, "):
        event_types("gamepad")
