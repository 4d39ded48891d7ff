"""udev's input rules, one small function each, in udev's order.

Facts are taken from systemd's src/udev/udev-builtin-input_id.c, releases 252.39 and 257.13; later
releases behave like 257. A rule reads the facts and adds or takes away labels; the order matters,
since some rules look at what earlier ones found. The same table answers ``classes`` and
``explain``.
"""

from __future__ import annotations

from .codes import (
    ABS_MT_POSITION_X,
    ABS_MT_POSITION_Y,
    ABS_MT_SLOT,
    ABS_PRESSURE,
    ABS_RESERVED,
    ABS_RX,
    ABS_X,
    ABS_Y,
    ABS_Z,
    BTN_0,
    BTN_1,
    BTN_DIGI,
    BTN_DPAD_RIGHT,
    BTN_DPAD_UP,
    BTN_JOYSTICK,
    BTN_MISC,
    BTN_MOUSE,
    BTN_STYLUS,
    BTN_TOOL_FINGER,
    BTN_TOOL_PEN,
    BTN_TOUCH,
    BTN_TRIGGER_HAPPY1,
    BTN_TRIGGER_HAPPY40,
    BUS_I2C,
    EV_KEY,
    EV_REL,
    EV_SW,
    INPUT_PROP_ACCELEROMETER,
    INPUT_PROP_DIRECT,
    INPUT_PROP_POINTING_STICK,
    KEY_ALS_TOGGLE,
    KEY_BRIGHTNESSDOWN,
    KEY_CALC,
    KEY_CAPSLOCK,
    KEY_ESC,
    KEY_FILE,
    KEY_INSERT,
    KEY_LEFTCTRL,
    KEY_MAIL,
    KEY_MUTE,
    KEY_NUMLOCK,
    KEY_OK,
    KEY_PLAYPAUSE,
    KEY_S,
    REL_HWHEEL,
    REL_WHEEL,
    REL_X,
    REL_Y,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .capabilities import Capabilities

# In the order udev emits them.
CLASSES = (
    "accelerometer",
    "pointingstick",
    "mouse",
    "touchpad",
    "touchscreen",
    "joystick",
    "tablet",
    "tablet_pad",
    "key",
    "keyboard",
    "switch",
)

# A mouse because of absolute axes. udev emits the same property for it but keeps it apart: the rule
# for i2c does not apply to it.
_ABS_MOUSE = "mouse (absolute)"

OLDEST = 252
NEWEST_CHANGE = 253


def _span(first: int, last: int) -> int:
    """Mask of the bits first..last, both included."""
    return (1 << last + 1) - (1 << first)


def _mask(*codes: int) -> int:
    return sum(1 << code for code in codes)


# Buttons that speak for a joystick: first, last, a device that has them.
JOYSTICK_BUTTON_RANGES = (
    (BTN_JOYSTICK, BTN_DIGI - 1, "Logitech Extreme 3D (046d:c215)"),
    (BTN_TRIGGER_HAPPY1, BTN_TRIGGER_HAPPY40, "paddles of xpadneo: Xbox One S (045e:028e)"),
    (BTN_DPAD_UP, BTN_DPAD_RIGHT, "DualShock 3 (054c:0268), its direction pad"),
)
# Axes that speak for a joystick. ABS_X, ABS_Y and ABS_Z do not: tablets and screens have them too.
JOYSTICK_AXIS_RANGES = (
    (ABS_RX, ABS_PRESSURE - 1, "Heusinkveld Sim Pedals Ultimate (30b7:1003): no button at all"),
)
# A mouse with more than 16 buttons runs over into the joystick's range; its 16th gives it away.
LAST_MOUSE_BUTTON = (BTN_JOYSTICK - 1, "Plantronics Savi headset (047f:ac01): 100 to 13a")
MOUSE_BUTTON_RANGE = (BTN_MOUSE, BTN_JOYSTICK - 1, "Logitech M570 (046d:1028): all sixteen")

# KEY_* codes above the button block: first, last, a device that has nothing below it.
HIGH_KEY_RANGES = (
    (KEY_OK, BTN_DPAD_UP - 1, "GL.iNet GL-AR150's reset button, KEY_RESTART"),
    (KEY_ALS_TOGGLE, BTN_TRIGGER_HAPPY1 - 1, "Wacom Cintiq Pro pads: KEY_CONTROLPANEL and more"),
)
LOW_KEYS = _span(0, BTN_MISC - 1)
# Esc, the digits, q to s: whoever has all of them is a whole keyboard. KEY_RESERVED may be unset.
KEYBOARD_KEYS = _span(KEY_ESC, KEY_S)

# Keys no joystick has. Four of them say "keyboard" although the HID descriptor also claims an axis.
# Since systemd 251 (PR 23016), because keyboards turned up as game pads.
WELL_KNOWN_KEYS = (
    (KEY_LEFTCTRL, "AT keyboards (0001:0001)"),
    (KEY_CAPSLOCK, "Razer BlackWidow 2013 (1532:011b)"),
    (KEY_NUMLOCK, "Yubikey II (1050:0010)"),
    (KEY_INSERT, "Steam Deck's keyboard (28de:1205)"),
    (KEY_MUTE, "ITE8708 infrared receiver (1283:0000)"),
    (KEY_CALC, "Microsoft Nano Transceiver v2.0 (045e:0745)"),
    (KEY_FILE, "Logitech K400 Plus (046d:404d)"),
    (KEY_MAIL, "Microsoft Surface Type Cover (045e:07dc)"),
    (KEY_PLAYPAUSE, "Stadia Controller (18d1:9400): one alone is not enough"),
    (KEY_BRIGHTNESSDOWN, "ACPI video bus (0000:0006)"),
)
WELL_KNOWN_ENOUGH = 4

_JOYSTICK_BUTTONS = sum(_span(first, last) for first, last, _ in JOYSTICK_BUTTON_RANGES)
_JOYSTICK_AXES = sum(_span(first, last) for first, last, _ in JOYSTICK_AXIS_RANGES)
_HIGH_KEYS = sum(_span(first, last) for first, last, _ in HIGH_KEY_RANGES)
_MOUSE_BUTTONS = _span(MOUSE_BUTTON_RANGE[0], MOUSE_BUTTON_RANGE[1])
_WELL_KNOWN = _mask(*(code for code, _ in WELL_KNOWN_KEYS))

_ABS_XY = _mask(ABS_X, ABS_Y)
_ABS_MT = _mask(ABS_MT_POSITION_X, ABS_MT_POSITION_Y)
_ABS_EVERYTHING = _mask(ABS_RESERVED, ABS_MT_SLOT)
_REL_XY = _mask(REL_X, REL_Y)
_WHEELS = _mask(REL_WHEEL, REL_HWHEEL)
_STYLUS_OR_PEN = _mask(BTN_STYLUS, BTN_TOOL_PEN)


def has_keys(capabilities: Capabilities) -> bool:
    """Tell whether a device announces keys and has a KEY_* code among them; buttons are none."""
    announced = capabilities.ev >> EV_KEY & 1
    return bool(announced and capabilities.key & (LOW_KEYS | _HIGH_KEYS))


class Facts:
    """What the rules read, worked out once from the bitmaps.

    ``abs``, ``key``, ``rel`` and ``props`` count whether or not ``ev`` announces them; only
    ``keys``, ``rel_xy``, ``wheel`` and ``switches`` ask ``ev``.
    """

    __slots__ = (
        "abs_xy",
        "abs_xyz",
        "axes",
        "buttons",
        "direct",
        "finger",
        "full_keyboard",
        "i2c",
        "keyboard_keys",
        "keys",
        "mouse_button",
        "mt",
        "pad_buttons",
        "pen",
        "prop_accelerometer",
        "prop_stick",
        "rel_xy",
        "switches",
        "systemd",
        "touch",
        "well_known",
        "wheel",
    )

    def __init__(self, capabilities: Capabilities, systemd: int) -> None:
        """Work the facts out; ``systemd`` decides what counts as a tablet pad's buttons."""
        self.systemd = systemd
        self._look_at_buttons(capabilities.key, capabilities.ev)
        self.keyboard_keys = has_keys(capabilities)
        self._look_at_axes(capabilities.abs, capabilities.rel, capabilities.ev)
        props = capabilities.props
        self.direct = bool(props >> INPUT_PROP_DIRECT & 1)
        self.prop_stick = bool(props >> INPUT_PROP_POINTING_STICK & 1)
        self.prop_accelerometer = bool(props >> INPUT_PROP_ACCELEROMETER & 1)
        self.switches = bool(capabilities.ev >> EV_SW & 1)
        self.i2c = capabilities.bustype == BUS_I2C

    def _look_at_buttons(self, key: int, ev: int) -> None:
        only_pen = bool(key >> BTN_TOOL_PEN & 1)
        self.keys = bool(ev >> EV_KEY & 1)
        self.pen = bool(key & _STYLUS_OR_PEN)
        self.finger = bool(key >> BTN_TOOL_FINGER & 1) and not only_pen
        self.touch = bool(key >> BTN_TOUCH & 1)
        self.mouse_button = bool(key & _MOUSE_BUTTONS)
        # One pad button is no pad: systemd 253 (PR 25866) asks for two, but no longer for a stylus.
        second = BTN_STYLUS if self.systemd < NEWEST_CHANGE else BTN_1
        self.pad_buttons = bool(key >> BTN_0 & key >> second & 1) and not only_pen
        overrun = key >> LAST_MOUSE_BUTTON[0] & 1
        self.buttons = 0 if overrun else (key & _JOYSTICK_BUTTONS).bit_count()
        self.well_known = (key & _WELL_KNOWN).bit_count()
        self.full_keyboard = self.keys and key & KEYBOARD_KEYS == KEYBOARD_KEYS

    def _look_at_axes(self, axes: int, rel: int, ev: int) -> None:
        relative = bool(ev >> EV_REL & 1)
        self.rel_xy = relative and rel & _REL_XY == _REL_XY
        self.wheel = relative and bool(rel & _WHEELS)
        self.abs_xy = axes & _ABS_XY == _ABS_XY
        self.abs_xyz = self.abs_xy and bool(axes >> ABS_Z & 1)
        # PlayStation 3 pads of old kernels claim nearly every axis there is (054c:0268); nothing
        # that has the reserved axis below ABS_MT_SLOT really is multitouch.
        self.mt = axes & _ABS_MT == _ABS_MT and axes & _ABS_EVERYTHING != _ABS_EVERYTHING
        self.axes = (axes & _JOYSTICK_AXES).bit_count()


def _accelerometer(f: Facts, found: set[str]) -> None:
    if f.prop_accelerometer or (not f.keys and f.abs_xyz):
        found.add("accelerometer")


def _pointing_stick(f: Facts, found: set[str]) -> None:
    if f.prop_stick:
        found.add("pointingstick")


def _absolute(f: Facts, found: set[str]) -> None:
    if not f.abs_xy:
        return
    if f.pen:
        found.add("tablet")
    elif f.finger and not f.direct:
        found.add("touchpad")
    elif f.mouse_button:
        found.add(_ABS_MOUSE)
    elif f.touch or f.direct:
        found.add("touchscreen")
    elif f.buttons + f.axes:
        found.add("joystick")


def _joystick_without_xy(f: Facts, found: set[str]) -> None:
    if not f.abs_xy and f.buttons + f.axes:
        found.add("joystick")


def _multitouch(f: Facts, found: set[str]) -> None:
    if not f.mt:
        return
    if f.pen:
        found.add("tablet")
    elif f.finger and not f.direct:
        found.add("touchpad")
    elif f.touch or f.direct:
        found.add("touchscreen")


def _tablet_pad(f: Facts, found: set[str]) -> None:
    if f.pad_buttons and "tablet" in found:
        found.add("tablet_pad")


def _wheel_pad(f: Facts, found: set[str]) -> None:
    if f.systemd >= NEWEST_CHANGE and f.pad_buttons and f.wheel and not f.rel_xy:
        found.update(("tablet", "tablet_pad"))


def _mouse(f: Facts, found: set[str]) -> None:
    # Looked at before a joystick is taken back: a keyboard that was one does not become a mouse.
    other = not found.isdisjoint(("tablet", "touchpad", "joystick"))
    if not other and f.mouse_button and (f.rel_xy or not f.abs_xy):
        found.add("mouse")


def _i2c_mouse(f: Facts, found: set[str]) -> None:
    if f.i2c and "mouse" in found:
        found.add("pointingstick")


def _keyboard_is_no_joystick(f: Facts, found: set[str]) -> None:
    if f.keys and f.well_known >= WELL_KNOWN_ENOUGH:
        found.discard("joystick")


def _one_is_not_enough(f: Facts, found: set[str]) -> None:
    if f.buttons + f.axes < 2:
        found.discard("joystick")


def _pad_is_no_joystick(f: Facts, found: set[str]) -> None:
    if f.systemd >= NEWEST_CHANGE and f.wheel and f.pad_buttons:
        found.discard("joystick")


def _key(f: Facts, found: set[str]) -> None:
    if f.keyboard_keys:
        found.add("key")


def _keyboard(f: Facts, found: set[str]) -> None:
    if f.full_keyboard:
        found.add("keyboard")


def _wheel_only(f: Facts, found: set[str]) -> None:
    if f.wheel and not found:
        found.add("key")


def _switch(f: Facts, found: set[str]) -> None:
    if f.switches:
        found.add("switch")


class Rule:
    """One rule: what it says, the facts it reads, the real device it exists for."""

    __slots__ = ("apply", "device", "name", "pointer", "reads", "says", "since")

    def __init__(
        self,
        apply: Callable[[Facts, set[str]], None],
        says: str,
        reads: tuple[str, ...],
        device: str,
        *,
        pointer: bool = True,
        since: int = OLDEST,
    ) -> None:
        """Describe a rule; ``pointer`` ones are not reached by an accelerometer."""
        self.apply = apply
        self.name = apply.__name__.strip("_").replace("_", "-")
        self.says = says
        self.reads = reads
        self.device = device
        self.pointer = pointer
        self.since = since


RULES = (
    Rule(
        _accelerometer,
        "says so itself, or has X, Y and Z and no keys; then it is no other pointer",
        ("prop_accelerometer", "keys", "abs_xyz"),
        "DualShock 4 motion sensors (054c:09cc)",
        pointer=False,
    ),
    Rule(
        _pointing_stick,
        "says so itself",
        ("prop_stick",),
        "TPPS/2 Elan TrackPoint (0002:000a)",
    ),
    Rule(
        _absolute,
        "with X and Y the tool decides: pen, finger, mouse button, touch, else joystick",
        ("abs_xy", "pen", "finger", "direct", "mouse_button", "touch", "buttons", "axes"),
        "QEMU USB Tablet (0627:0001), a mouse; Xbox 360 pad (045e:028e), a joystick",
    ),
    Rule(
        _joystick_without_xy,
        "without X or Y any joystick button or axis will do",
        ("abs_xy", "buttons", "axes"),
        "Heusinkveld Sim Pedals Ultimate (30b7:1003)",
    ),
    Rule(
        _multitouch,
        "multitouch positions are judged again, by tool",
        ("mt", "pen", "finger", "direct", "touch"),
        "PlayStation 3 pad of old kernels (054c:0268), kept out: it claims every axis",
    ),
    Rule(
        _tablet_pad,
        "a tablet with pad buttons",
        ("pad_buttons",),
        "Wacom Intuos4 6x9 Pad (056a:00b9)",
    ),
    Rule(
        _wheel_pad,
        "pad buttons and a wheel, but no pointer motion",
        ("pad_buttons", "wheel", "rel_xy"),
        "XP-PEN Artist 22R Pro pad (28bd:091b), which was a mouse",
        since=253,
    ),
    Rule(
        _mouse,
        "mouse buttons with motion, or without any X and Y, and nothing better",
        ("mouse_button", "rel_xy", "abs_xy"),
        "Logitech M570 trackball (046d:1028)",
    ),
    Rule(
        _i2c_mouse,
        "there is no mouse on an i2c bus",
        ("i2c",),
        "DELL08AF:00 06CB:76AF Mouse (06cb:76af)",
    ),
    Rule(
        _keyboard_is_no_joystick,
        "four well-known keys make it a keyboard, whatever else it claims",
        ("keys", "well_known"),
        "Microsoft Nano Transceiver v2.0 (045e:0745)",
    ),
    Rule(
        _one_is_not_enough,
        "one single joystick button or axis is none",
        ("buttons", "axes"),
        "Sony Vaio Keys (systemd issue 16711): BTN_THUMB among keys",
    ),
    Rule(
        _pad_is_no_joystick,
        "a wheel and pad buttons are a tablet's pad",
        ("wheel", "pad_buttons"),
        "pads with numbered buttons and a dial, which PR 25866 names",
        since=253,
    ),
    Rule(
        _key,
        "has any KEY_* code",
        ("keys", "keyboard_keys"),
        "ACPI power button (0000:0001)",
        pointer=False,
    ),
    Rule(
        _keyboard,
        "has all keys from Esc to S",
        ("full_keyboard",),
        "AT Translated Set 2 keyboard (0001:0001)",
        pointer=False,
    ),
    Rule(
        _wheel_only,
        "nothing so far, but a wheel",
        ("wheel",),
        "a rotary encoder on two pins, set up as a wheel",
        pointer=False,
    ),
    Rule(
        _switch,
        "has switches",
        ("switches",),
        "ACPI lid switch (0000:0005)",
        pointer=False,
    ),
)


def check_version(systemd: int) -> None:
    """Raise ValueError for releases whose rules are not known here."""
    if systemd < OLDEST:
        raise ValueError(f"the rules of systemd {systemd} are not known; oldest is {OLDEST}")


def _ordered(found: set[str]) -> tuple[str, ...]:
    """Labels in the order udev emits them."""
    if _ABS_MOUSE in found:
        found = {*found, "mouse"}
    return tuple(name for name in CLASSES if name in found)


def classes(capabilities: Capabilities, systemd: int = NEWEST_CHANGE) -> tuple[str, ...]:
    """Return the classes udev's input_id gives, in its order; the names are members of CLASSES.

    ``systemd`` is the release to follow: 252, or 253 for it and everything newer. Raises ValueError
    below 252.
    """
    check_version(systemd)
    facts = Facts(capabilities, systemd)
    found: set[str] = set()
    for rule in RULES:
        if not (rule.pointer and "accelerometer" in found):
            rule.apply(facts, found)
    return _ordered(found)


class Step:
    """What one rule did to one device."""

    __slots__ = ("added", "facts", "reached", "removed", "rule")

    def __init__(
        self,
        rule: Rule,
        reached: bool,
        added: tuple[str, ...],
        removed: tuple[str, ...],
        facts: Facts,
    ) -> None:
        """Keep the rule, what changed, and the facts it read as (name, value) pairs."""
        self.rule = rule
        self.reached = reached
        self.added = added
        self.removed = removed
        self.facts = tuple((name, int(getattr(facts, name))) for name in rule.reads)

    def __str__(self) -> str:
        changes = [f"+{name}" for name in self.added] + [f"-{name}" for name in self.removed]
        outcome = " ".join(changes) or ("no change" if self.reached else "not reached")
        seen = " ".join(f"{name}={value}" for name, value in self.facts)
        return f"{self.rule.name}: {outcome}  ({self.rule.says}; {seen})"


def explain(capabilities: Capabilities, systemd: int = NEWEST_CHANGE) -> tuple[Step, ...]:
    """Return one Step per rule, in order: what it read and what it changed.

    ``str(step)`` is one line for people. Same errors as ``classes``, and the same rules.
    """
    check_version(systemd)
    facts = Facts(capabilities, systemd)
    found: set[str] = set()
    steps = []
    for rule in RULES:
        before = frozenset(found)
        reached = systemd >= rule.since and not (rule.pointer and "accelerometer" in found)
        if reached:
            rule.apply(facts, found)
        added, removed = tuple(sorted(found - before)), tuple(sorted(before - found))
        steps.append(Step(rule, reached, added, removed, facts))
    return tuple(steps)
