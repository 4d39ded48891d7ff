"""Each rule, at its edges, with the device that is its reason."""

from __future__ import annotations

import pytest

from inputid import CLASSES, Capabilities, classes, explain, rules

from .devices import DEVICES, bits

EV_KEY, EV_REL, EV_ABS, EV_SW = 1 << 1, 1 << 2, 1 << 3, 1 << 5


def device(
    key: str = "",
    abs: str = "",  # noqa: A002 - the kernel's name
    rel: str = "",
    props: str = "",
    ev: int | None = None,
    bustype: int = 3,
) -> Capabilities:
    """A device of these codes; what it announces follows from them unless stated."""
    announced = (EV_KEY if key else 0) | (EV_ABS if abs else 0) | (EV_REL if rel else 0)
    return Capabilities(
        ev=announced if ev is None else ev,
        key=bits(key),
        abs=bits(abs),
        rel=bits(rel),
        props=bits(props),
        bustype=bustype,
    )


def steps_of(name: str, capabilities: Capabilities, systemd: int = 253) -> tuple[str, ...]:
    """What the rule of that name did: +class and -class."""
    step = next(s for s in explain(capabilities, systemd) if s.rule.name == name)
    return (*(f"+{one}" for one in step.added), *(f"-{one}" for one in step.removed))


ACCELEROMETER = [
    ("says so, whatever else it has", device(props="6", key="110", rel="0-1"), "accelerometer"),
    ("three axes and no EV_KEY", device(abs="0-2"), "accelerometer"),
    (
        "three axes, key bits without EV_KEY",
        device(abs="0-2", key="130", ev=EV_ABS),
        "accelerometer",
    ),
    ("three axes, but keys are announced", device(abs="0-2", ev=EV_ABS | EV_KEY), ""),
    ("Z without Y is no three-axis sensor", device(abs="0 2"), ""),
    ("axis bits count although EV_ABS is not announced", device(abs="0-2", ev=0), "accelerometer"),
    ("keys are still looked at", device(props="6", key="1"), "accelerometer key"),
    ("so are switches", device(props="6", ev=EV_SW), "accelerometer switch"),
]

TOOLS = [
    # With ABS_X and ABS_Y the first that applies wins: pen, finger, mouse button, touch, joystick.
    ("a stylus button is a pen", device("14b 145 110 14a", "0-1"), "tablet"),
    ("a pen tool is a pen", device("140 145 110 14a", "0-1"), "tablet"),
    ("a finger without a pen", device("145 110 14a", "0-1"), "touchpad"),
    (
        "a finger on the screen itself is a touch",
        device("145 14a", "0-1", props="1"),
        "touchscreen",
    ),
    ("a finger on the screen itself, with buttons", device("145 110", "0-1", props="1"), "mouse"),
    ("any mouse button", device("11f", "0-1"), "mouse"),
    ("touch", device("14a", "0-1"), "touchscreen"),
    ("direct alone", device(abs="0-1", props="1", ev=EV_ABS | EV_KEY), "touchscreen"),
    ("two joystick buttons", device("120-121", "0-1"), "joystick"),
    ("nothing of these", device("100", "0-1"), ""),
    ("X alone counts as no position", device("145", "0"), ""),
]

JOYSTICK = [
    ("11f and 120", device("11f-121"), "mouse"),
    ("first two", device("120-121"), "joystick"),
    ("last two below the pen tools", device("13e-13f"), "joystick"),
    ("the pen tool is not one", device("13f 140"), ""),
    ("TRIGGER_HAPPY1 and 2", device("2c0-2c1"), "joystick"),
    ("TRIGGER_HAPPY39 and 40, the last included", device("2e6-2e7"), "joystick"),
    ("TRIGGER_HAPPY40 and one beyond", device("2e7-2e8"), ""),
    ("2bf is a key", device("2bf-2c0"), "key"),
    ("DPAD_UP and DOWN", device("220-221"), "joystick"),
    ("DPAD_LEFT and RIGHT, the last included", device("222-223"), "joystick"),
    ("one beyond DPAD_RIGHT", device("223-224"), ""),
    ("RX and RY", device(abs="3-4"), "joystick"),
    ("RX and Z: Z does not count", device(abs="2-3"), ""),
    ("HAT3Y and the one before", device(abs="16-17"), "joystick"),
    ("HAT3Y and PRESSURE: the end is excluded", device(abs="17-18"), ""),
    ("a button and an axis are two", device("120", "3"), "joystick"),
    ("the sixteenth mouse button voids buttons, not axes", device("11f-123", "3-4"), "joystick"),
]

MULTITOUCH = [
    ("positions and a finger", device("145", "35-36"), "touchpad"),
    ("positions and touch", device("14a", "35-36"), "touchscreen"),
    ("positions and a pen", device("140", "35-36"), "tablet"),
    ("slot alone is real multitouch", device("14a", "2f 35-36"), "touchscreen"),
    ("the axis below the slot alone too", device("14a", "2e 35-36"), "touchscreen"),
    ("both: it claims every axis", device("14a", "2e-2f 35-36"), ""),
    ("position X alone", device("14a", "35"), ""),
    ("may add to the single-touch verdict", device("110 14a", "0-1 35-36"), "mouse touchscreen"),
]

MOUSE = [
    ("button and motion", device("110", rel="0-1"), "mouse"),
    ("any of the sixteen buttons", device("11e", rel="0-1"), "mouse"),
    ("10f is not one", device("10f", rel="0-1"), ""),
    ("buttons without any position", device("110"), "mouse"),
    ("a button, X without Y", device("110", "0"), "mouse"),
    ("motion bits without EV_REL, with X and Y: absolute", device("110", "0-1"), "mouse"),
    ("no mouse beside a tablet", device("110 140", "0-1", "0-1"), "tablet"),
    ("no mouse beside a touchpad", device("110 145", "0-1", "0-1"), "touchpad"),
    ("no mouse beside a joystick", device("110 120-121", rel="0-1"), "joystick"),
    ("a mouse beside a touchscreen", device("110 14a", "35-36", "0-1"), "mouse touchscreen"),
    ("only motion is nothing", device(rel="0-1"), ""),
]

I2C = [
    (
        "on i2c a mouse is a stick too",
        device("110", rel="0-1", bustype=0x18),
        "pointingstick mouse",
    ),
    ("an absolute mouse is not", device("110", "0-1", bustype=0x18), "mouse"),
    ("SMBus is not i2c", device("110", rel="0-1", bustype=0x1D), "mouse"),
    ("a stick may be nothing else", device(props="5", rel="0-1"), "pointingstick"),
]

# 252, 253: which buttons make a pad.
PADS = [
    ("BTN_0 and a stylus", device("100 14b", "0-1"), "tablet tablet_pad", "tablet"),
    ("BTN_0, BTN_1 and a stylus", device("100-101 14b", "0-1"), *["tablet tablet_pad"] * 2),
    ("no pad where there is a pen", device("100-101 140 14b", "0-1"), "tablet", "tablet"),
    ("a pad is a tablet first", device("100-101 145", "0-1"), "touchpad", "touchpad"),
    ("two buttons and a wheel", device("100-101", rel="8"), "key", "tablet tablet_pad"),
    ("and a horizontal wheel", device("100-101", rel="6"), "key", "tablet tablet_pad"),
    ("one button and a wheel", device("100", rel="8"), "key", "key"),
    ("a stylus, a wheel, no position", device("100 14b", rel="8"), "key", "key"),
    ("the same with two", device("100-101 14b", rel="8"), "key", "tablet tablet_pad"),
    ("a stylus and a joystick", device("100 14b 120-121", rel="0-1 8"), "joystick", "joystick"),
    ("REL_DIAL is no wheel", device("100-101", rel="7"), "", ""),
    ("with motion it is a mouse", device("100-101 110", rel="0-1 8"), "mouse", "mouse"),
    ("with X motion alone", device("100-101 110", rel="0 8"), "mouse", "tablet tablet_pad"),
    ("with mouse buttons", device("100-110", rel="6 8"), "mouse", "tablet tablet_pad"),
    ("beside a joystick", device("100-101 120-121", rel="8"), "joystick", "tablet tablet_pad"),
    ("joystick with motion", device("100-101 120-121", rel="0-1 8"), "joystick", "key"),
]

FOUR, THREE = "1d 3a 45 6e", "3a 45 6e"
UNDETECTED = [
    ("three well-known keys are not enough", device(f"{THREE} 120-121"), "joystick key"),
    ("four are", device(f"{FOUR} 120-121"), "key"),
    ("four without EV_KEY are not", device(f"{FOUR} 120-121", "3", ev=EV_ABS), "joystick"),
    ("and it does not become a mouse", device(f"{FOUR} 110 120-121", rel="0-1"), "key"),
    ("one button", device("120"), ""),
    ("one axis", device(abs="3"), ""),
    ("one button among keys", device("71 121"), "key"),
]

KEYS = [
    ("KEY_RESERVED counts", device("0"), "key"),
    ("the last below the buttons", device("ff"), "key"),
    ("BTN_0 is no key", device("100"), ""),
    ("15f", device("15f"), ""),
    ("KEY_OK", device("160"), "key"),
    ("21f, before the direction pad", device("21f"), "key"),
    ("220", device("220"), ""),
    ("22f", device("22f"), ""),
    ("KEY_ALS_TOGGLE", device("230"), "key"),
    ("2bf, before TRIGGER_HAPPY", device("2bf"), "key"),
    ("2ff", device("2ff"), ""),
    ("keys without EV_KEY", device("1-1f", ev=0), ""),
    ("Esc to S", device("1-1f"), "key keyboard"),
    ("all but S", device("1-1e"), "key"),
    ("all but Esc", device("0 2-1f"), "key"),
]

REST = [
    ("a wheel alone", device(rel="8"), "key"),
    ("a horizontal wheel alone", device(rel="6"), "key"),
    ("a wheel without EV_REL", device(rel="8", ev=0), ""),
    ("a wheel and a class", device("1", rel="8"), "key"),
    ("a wheel and a stick", device(rel="8", props="5"), "pointingstick"),
    ("a switch", device(ev=EV_SW), "switch"),
    ("a wheel and a switch", device(rel="8", ev=EV_SW | EV_REL), "key switch"),
    ("nothing", device(), ""),
]

CASES = {
    "accelerometer": ACCELEROMETER,
    "tools": TOOLS,
    "joystick": JOYSTICK,
    "multitouch": MULTITOUCH,
    "mouse": MOUSE,
    "i2c": I2C,
    "undetected": UNDETECTED,
    "keys": KEYS,
    "rest": REST,
}


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        pytest.param(capabilities, expected, id=f"{table}: {says}")
        for table, rows in CASES.items()
        for says, capabilities, expected in rows
    ],
)
@pytest.mark.parametrize("systemd", [252, 253])
def test_a_rule_that_never_changed(capabilities: Capabilities, expected: str, systemd: int) -> None:
    assert " ".join(classes(capabilities, systemd)) == expected


@pytest.mark.parametrize(
    ("capabilities", "old", "new"), [pytest.param(*row[1:], id=str(row[0])) for row in PADS]
)
def test_a_pad_is_judged_anew_since_253(capabilities: Capabilities, old: str, new: str) -> None:
    assert " ".join(classes(capabilities, 252)) == old
    assert " ".join(classes(capabilities, 253)) == new
    assert classes(capabilities) == classes(capabilities, 262) == classes(capabilities, 253)


# Which device of the table shows each rule at work, and what the rule does there.
REASONS = {
    "accelerometer": ("DualShock 4 motion sensors", ("+accelerometer",)),
    "pointing-stick": ("TPPS/2 Elan TrackPoint", ("+pointingstick",)),
    "absolute": ("QEMU USB Tablet, an absolute mouse", ("+mouse (absolute)",)),
    "joystick-without-xy": (
        "Heusinkveld Sim Pedals Ultimate: no button at all",
        ("+joystick",),
    ),
    "multitouch": ("bcm5974 touchpad of a MacBook", ()),
    "tablet-pad": ("Wacom Intuos4 6x9, pad", ("+tablet_pad",)),
    "wheel-pad": (
        "XP-PEN Artist 22R Pro, pad: mouse buttons, wheels, no stylus (systemd PR 25866)",
        ("+tablet", "+tablet_pad"),
    ),
    "mouse": ("Logitech M570 trackball, with all sixteen buttons", ("+mouse",)),
    "i2c-mouse": (
        "DELL08AF:00 06CB:76AF Mouse: on i2c it can only be a stick",
        ("+pointingstick",),
    ),
    "keyboard-is-no-joystick": (
        "Microsoft Nano Transceiver: a keyboard that also claims a pad",
        ("-joystick",),
    ),
    "one-is-not-enough": (
        "Sony Vaio Keys, the Fn part of sony-laptop.c: one joystick button is none (issue 16711)",
        ("-joystick",),
    ),
    "pad-is-no-joystick": ("Logitech Extreme 3D", ()),
    "key": ("ACPI power button", ("+key",)),
    "keyboard": ("AT keyboard of a Thinkpad", ("+keyboard",)),
    "wheel-only": ("Rotary encoder on two pins, set up as a wheel", ("+key",)),
    "switch": ("ACPI lid switch", ("+switch",)),
}


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.name)
def test_a_rule_does_this_to_the_device_it_exists_for(rule: rules.Rule) -> None:
    name, changes = REASONS[rule.name]
    real = next(one for one in DEVICES if one.name == name)
    assert steps_of(rule.name, real.capabilities()) == changes


def test_the_pad_rule_takes_a_joystick_back() -> None:
    pad = device("100-101 120-121", rel="0-1 8")
    assert steps_of("pad-is-no-joystick", pad) == ("-joystick",)
    assert steps_of("pad-is-no-joystick", pad, 252) == ()


def test_multitouch_alone_makes_a_touchpad() -> None:
    assert steps_of("multitouch", device("145", "35-36")) == ("+touchpad",)


def test_classes_come_in_the_order_udev_emits_them() -> None:
    everything = Capabilities(
        ev=0xFFFFFFFF, key=bits("1-2ff"), rel=0xFFFF, abs=0x3FFFFF, props=0x20
    )
    found = classes(everything)
    assert found == tuple(name for name in CLASSES if name in found)
    assert found == ("pointingstick", "tablet", "key", "keyboard", "switch")


@pytest.mark.parametrize("systemd", [251, 0, -1])
def test_releases_whose_rules_are_unknown_are_refused(systemd: int) -> None:
    with pytest.raises(ValueError, match=f"systemd {systemd} are not known; oldest is 252"):
        classes(Capabilities(), systemd)


@pytest.mark.parametrize("systemd", [252, 253])
@pytest.mark.parametrize("real", DEVICES, ids=lambda real: real.name)
def test_an_explanation_adds_up_to_the_verdict(real, systemd: int) -> None:  # type: ignore[no-untyped-def]
    found: set[str] = set()
    for step in explain(real.capabilities(), systemd):
        found = (found | set(step.added)) - set(step.removed)
    found = {"mouse" if name.startswith("mouse") else name for name in found}
    assert found == set(real.expected(systemd))


def test_an_explanation_says_what_was_not_reached_and_what_was_seen() -> None:
    lines = [str(step) for step in explain(device(abs="0-2"))]
    assert lines[0].startswith("accelerometer: +accelerometer  (")
    assert lines[0].endswith("; prop_accelerometer=0 keys=0 abs_xyz=1)")
    assert lines[1].startswith("pointing-stick: not reached  (")
    assert lines[-1].startswith("switch: no change  (")


def test_rules_of_253_are_not_reached_by_252() -> None:
    reached = {step.rule.name: step.reached for step in explain(Capabilities(), 252)}
    assert not reached["wheel-pad"]
    assert not reached["pad-is-no-joystick"]
    assert reached["tablet-pad"]
