"""From one held state to another: exactly the events that differ, in whole frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uinputrelay import codes
from uinputrelay.state import Event, State, at_rest, difference, narrowed

SYN = (0, 0, 0)
SLOT, X, ID = 0x2F, 0x35, 0x39


def _key(code: int, value: int) -> Event:
    return (1, code, value)


def _abs(code: int, value: int) -> Event:
    return (3, code, value)


def _finger(tracking: int, x: int = 0) -> dict[int, int]:
    return {X: x, ID: tracking}


FREE = _finger(-1)
RULES: dict[str, tuple[State, State, list[list[Event]]]] = {
    "nothing differs": (State(frozenset({30})), State(frozenset({30})), []),
    "a key is let go, another pressed": (
        State(frozenset({30, 31})),
        State(frozenset({31, 32})),
        [[_key(30, 0), _key(32, 1), SYN]],
    ),
    "axes and a switch": (
        State(axes={0: 1, 1: 2}),
        State(axes={0: 1, 1: 5}, switches=frozenset({0})),
        [[_abs(1, 5), (5, 0, 1), SYN]],
    ),
    "an axis the mirror does not have": (State(axes={0: 1}), State(axes={0: 1, 9: 4}), []),
    "a finger down in the second slot": (
        State(contacts=(FREE, FREE)),
        State(contacts=(FREE, _finger(7, 300)), slot=1),
        [[_abs(SLOT, 1), _abs(ID, 7), _abs(X, 300), SYN]],
    ),
    "the current slot alone": (
        State(contacts=(FREE, FREE), slot=1),
        State(contacts=(FREE, FREE), slot=0),
        [[_abs(SLOT, 0), SYN]],
    ),
    "an unknown slot is named even if nothing else differs": (
        State(contacts=(FREE, FREE), slot=-1),
        State(contacts=(FREE, FREE), slot=1),
        [[_abs(SLOT, 1), SYN]],
    ),
    "from an unknown slot to rest": (
        State(contacts=(_finger(7), FREE), slot=-1),
        State(contacts=(FREE, FREE), slot=-1),
        [[_abs(SLOT, 0), _abs(ID, -1), SYN]],
    ),
    "a finger up, the slot stays": (
        State(contacts=(_finger(7, 300), FREE)),
        State(contacts=(_finger(-1, 300), FREE)),
        [[_abs(ID, -1), SYN]],
    ),
    "one finger gave way to another: two frames": (
        State(contacts=(_finger(7, 300), FREE)),
        State(contacts=(_finger(8, 400), FREE)),
        [[_abs(SLOT, 0), _abs(ID, -1), SYN], [_abs(ID, 8), _abs(X, 400), SYN]],
    ),
    "a stale value in a free slot": (
        State(contacts=(_finger(-1, 300), FREE)),
        State(contacts=(_finger(-1, 0), FREE)),
        [[_abs(X, 0), SYN]],
    ),
}


@pytest.mark.parametrize(("now", "wanted", "frames"), RULES.values(), ids=RULES)
def test_difference_of(now: State, wanted: State, frames: list[list[Event]]) -> None:
    assert difference(now, wanted) == frames


def test_at_rest_nothing_is_held_but_switches() -> None:
    held = State(
        frozenset({304}), frozenset({0}), {0: 255, 1: 7}, 1, (_finger(3, 10), _finger(-1, 20))
    )
    assert at_rest(held, {0: 128}) == State(
        frozenset(), frozenset({0}), {0: 128, 1: 7}, 1, (_finger(-1, 10), _finger(-1, 20))
    )


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (None, State(frozenset({1}), frozenset({2}), {0: 3})),
        (frozenset({codes.EV_KEY}), State(frozenset({1}), frozenset(), {0: 0})),
        (frozenset({codes.EV_ABS}), State(frozenset(), frozenset(), {0: 3})),
        (frozenset(), State(axes={0: 0})),
    ],
)
def test_only_wanted_types_come_from_the_device(
    kinds: frozenset[int] | None, expected: State
) -> None:
    device = State(frozenset({1}), frozenset({2}), {0: 3})
    assert narrowed(device, State(axes={0: 0}), kinds) == expected


CONTACTS = st.builds(_finger, st.integers(-1, 3), st.integers(0, 2))


@st.composite
def states(draw: st.DrawFn) -> State:
    """Any state of one device with two axes and three slots."""
    return State(
        draw(st.frozensets(st.integers(1, 4))),
        draw(st.frozensets(st.integers(0, 1))),
        {0: draw(st.integers(0, 3)), 1: draw(st.integers(0, 3))},
        draw(st.integers(0, 2)),
        (draw(CONTACTS), draw(CONTACTS), draw(CONTACTS)),
    )


class _Kernel:
    """What input_event does to a device's state, in few words."""

    def __init__(self, state: State) -> None:
        self.bits = {1: set(state.keys), 5: set(state.switches)}
        self.axes = dict(state.axes)
        self.slot = state.slot
        self.contacts = [dict(each) for each in state.contacts]

    def take(self, kind: int, code: int, value: int) -> None:
        if kind in self.bits:
            (self.bits[kind].add if value else self.bits[kind].discard)(code)
        elif code == SLOT:
            self.slot = value
        elif code > SLOT:
            self.contacts[self.slot][code] = value
        elif kind == codes.EV_ABS:
            self.axes[code] = value

    @property
    def state(self) -> State:
        bits = frozenset(self.bits[1]), frozenset(self.bits[5])
        return State(*bits, self.axes, self.slot, tuple(self.contacts))


@given(states(), states())
def test_the_difference_always_leads_there_and_never_says_what_is_so_already(
    now: State, wanted: State
) -> None:
    device = _Kernel(now)
    for frame in difference(now, wanted):
        assert frame[-1] == SYN
        assert len(frame) > 1
        for event in frame[:-1]:
            device.take(*event)
    assert device.state == wanted
    assert difference(wanted, wanted) == []


@given(states(), states())
def test_no_finger_becomes_another_without_being_lifted(now: State, wanted: State) -> None:
    device = _Kernel(now)
    for frame in difference(now, wanted):
        before = [each[ID] for each in device.contacts]
        for event in frame[:-1]:
            device.take(*event)
        for was, now_is in zip(before, (each[ID] for each in device.contacts), strict=True):
            assert was == now_is or -1 in (was, now_is)
