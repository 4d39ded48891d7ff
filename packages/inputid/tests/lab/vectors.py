"""Random capabilities that crowd the rules' edges, and the smallest one that still shows a fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from inputid import Capabilities, bitmap

# Both sides of each end of each range a rule looks at.
JOYSTICK_EDGES = (
    0x11F,
    0x120,
    0x121,
    0x13E,
    0x13F,
    0x220,
    0x221,
    0x223,
    0x2C0,
    0x2C1,
    0x2E6,
    0x2E7,
)
JOYSTICK_MISSES = (0x21F, 0x224, 0x2BF, 0x2E8)
MOUSE_EDGES = (0x10F, 0x110, 0x111, 0x11E, 0x11F)
TOOLS = (0x140, 0x144, 0x145, 0x146, 0x14A, 0x14B, 0x14C)
# What touches: nothing, a finger, a screen, a pen.
TOOL_SETS = ((), (), (), (0x145,), (0x145, 0x14A), (0x14A,), (0x140, 0x14A), (0x14B,))
PAD_BUTTONS = (0x100, 0x101, 0x102)
# Pads of the older rule: a button and a stylus together.
STYLUS_PADS = ((), (), (), (), (), (), (0x100, 0x14B), (0x100, 0x101, 0x14B))
KEY_EDGES = (0, 1, 31, 32, 63, 64, 0xFF, 0x15F, 0x160, 0x21F, 0x22F, 0x230, 0x2BF, 0x2FF)
WELL_KNOWN = (29, 58, 69, 110, 113, 140, 144, 155, 164, 224)
AXIS_EDGES = (3, 4, 5, 0x10, 0x16, 0x17, 0x18, 0x19, 0x28)
MULTITOUCH = (0x2E, 0x2F, 0x35, 0x36)
WHEELS = (6, 7, 8)
BUSES = (3, 5, 0x11, 0x17, 0x18, 0x19, 0x1D)
EVENT_TYPES = {"key": 1, "rel": 2, "abs": 3}


def _some(rng: Random, codes: Sequence[int], counts: Sequence[int]) -> list[int]:
    return rng.sample(codes, min(rng.choice(counts), len(codes)))


def _each(rng: Random, codes: Sequence[int], chance: float) -> list[int]:
    return [code for code in codes if rng.random() < chance]


def _typing(rng: Random) -> list[int]:
    """Keys: none, a whole keyboard or nearly, and counts around the four well-known ones."""
    block = list(range(1, 32))
    if rng.random() < 0.5:
        block.remove(rng.choice((1, 16, 31)))
    return rng.choice(
        (
            list,
            lambda: _some(rng, KEY_EDGES, (1, 1, 2)),
            lambda: _some(rng, WELL_KNOWN, (3, 4, 4, 5)),
            lambda: block + _some(rng, WELL_KNOWN, (0, 2, 3)),
        )
    )()


def _keys(rng: Random) -> list[int]:
    return [
        *_some(rng, JOYSTICK_EDGES, (0, 0, 1, 1, 2, 3)),
        *_some(rng, JOYSTICK_MISSES, (0, 0, 0, 1)),
        *_some(rng, MOUSE_EDGES, (0, 0, 1, 2)),
        *rng.choice(TOOL_SETS),
        *_each(rng, TOOLS, rng.choice((0, 0, 0.2))),
        *_each(rng, PAD_BUTTONS, rng.choice((0, 0.4, 0.9))),
        *rng.choice(STYLUS_PADS),
        *(_typing(rng) if rng.random() < 0.6 else []),
    ]


def _axes(rng: Random) -> list[int]:
    return [
        *rng.choice(([], [], [0, 1], [0, 1], [0, 1, 2], [0], [1, 2], [0, 2])),
        *_some(rng, AXIS_EDGES, (0, 0, 1, 1, 2)),
        *_each(rng, MULTITOUCH, rng.choice((0, 0, 0.5, 0.9))),
    ]


def _axis(rng: Random) -> tuple[int, int, int]:
    low = rng.choice((0, 0, -32768, -1, 400, rng.randrange(-(10**9), 10**9)))
    high = low + rng.choice((0, 1, 99, 1022, 65535, rng.randrange(10**9)))
    return low, high, rng.choice((0, 0, -1, 1, 12, 8192, rng.randrange(1, 10**6)))


def random_capabilities(rng: Random) -> Capabilities:
    """One vector; ``ev`` usually fits the bitmaps, and sometimes does not."""
    key, axes = _keys(rng), _axes(rng)
    relative = _each(rng, (0, 1), rng.choice((0, 0.9))) + _each(rng, WHEELS, rng.choice((0, 0.4)))
    filled = {"key": key, "rel": relative, "abs": axes}
    kinds = [EVENT_TYPES[name] for name, codes in filled.items() if codes]
    return Capabilities(
        ev=bitmap.from_codes([0, *_each(rng, kinds, 0.95), *_each(rng, (1, 2, 3, 4, 5), 0.1)]),
        **{name: bitmap.from_codes(codes) for name, codes in filled.items()},
        props=bitmap.from_codes(_each(rng, range(8), rng.choice((0, 0, 0.15)))),
        bustype=rng.choice(BUSES),
        vendor=rng.randrange(1 << 16),
        product=rng.randrange(1 << 16),
        x=_axis(rng),
        y=_axis(rng),
    )


def _smaller(value: Capabilities) -> list[Capabilities]:
    """Every vector that has one thing less."""
    steps = [
        value.replace(**{name: getattr(value, name) & ~(1 << code)})
        for name in bitmap.NAMES
        for code in bitmap.codes_of(getattr(value, name))
    ]
    steps += [value.replace(**{name: None}) for name in "xy" if getattr(value, name)]
    ids = ("bustype", "vendor", "product", "version")
    return steps + [value.replace(**{name: 0}) for name in ids if getattr(value, name)]


def shrink(value: Capabilities, differs: Callable[[Capabilities], bool]) -> Capabilities:
    """Take away whatever can go while ``differs`` still holds, until nothing more can."""
    for step in _smaller(value):
        if differs(step):
            return shrink(step, differs)
    return value
