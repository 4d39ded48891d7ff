"""Device numbers: a held one goes back to its own mirror or to nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uinputrelay import Held
from uinputrelay.numbers import (
    MINORS,
    Create,
    Fill,
    Hold,
    Key,
    Release,
    Step,
    acceptable,
    is_held_back,
    plan,
)

A, B = Key("A", "f"), Key("B", "f")
TWIN = Key("A", "f", 1)


def _held(key: Key, *minors: int) -> list[Held]:
    return [Held(13, minor, key.address, key.fingerprint) for minor in minors]


RULES: dict[str, tuple[set[int], set[int], list[Held], list[Key], list[Step]]] = {
    "nothing held: the smallest free numbers": (
        {64}, set(), [], [A, B], [Create(A, 65), Create(B, 66)],
    ),
    "both get their own back, whatever the order": (
        set(), set(), _held(A, 65) + _held(B, 64), [A, B], [Create(B, 64), Create(A, 65)],
    ),
    "the gap below an old number is filled for a moment": (
        set(), set(), _held(A, 66), [A], [Fill(64), Fill(65), Create(A, 66)],
    ),
    "an unheld mirror goes into the gap": (
        set(), set(), _held(A, 65), [A, B], [Create(B, 64), Create(A, 65)],
    ),
    "another peripheral's number is never taken": (
        set(), set(), _held(B, 64), [A], [Hold(64), Create(A, 65)],
    ),
    "a number taken by somebody else: any other": (
        {64}, set(), _held(A, 64), [A], [Create(A, 65)],
    ),
    "a placeholder gives way to the mirror it was kept for": (
        set(), {64, 65}, _held(A, 65) + _held(B, 64), [A], [Release(65), Create(A, 65)],
    ),
    "a placeholder goes when the claim has gone": (set(), {64}, [], [], [Release(64)]),
    "a placeholder stays while the claim lasts": (set(), {64}, _held(A, 64), [], []),
    "held and free, no mirror wanted: a placeholder": (
        {64}, set(), _held(A, 66), [], [Fill(65), Hold(66)],
    ),
    "two numbers for one mirror: the first that is free": (
        {64}, set(), _held(A, 64, 65), [A], [Create(A, 65)],
    ),
    "twins keep their order": (
        set(), set(), _held(A, 65, 64), [A, TWIN], [Create(TWIN, 64), Create(A, 65)],
    ),
    "past the legacy minors": (set(range(64, 96)), set(), [], [A], [Create(A, 256)]),
    "another major is none of ours": (set(), set(), [Held(81, 64, "B", "f")], [A], [Create(A, 64)]),
}  # fmt: skip


@pytest.mark.parametrize(("used", "ours", "held", "wanted", "steps"), RULES.values(), ids=RULES)
def test_plan(
    used: set[int], ours: set[int], held: list[Held], wanted: list[Key], steps: list[Step]
) -> None:
    assert plan(frozenset(used), frozenset(ours), held, wanted) == steps


def test_a_number_far_behind_is_given_up_instead_of_making_hundreds_of_devices() -> None:
    assert plan(frozenset(), frozenset(), _held(A, 1000), []) == []
    assert plan(frozenset(), frozenset(), _held(A, 1000), [A]) == [Create(A, 64)]


@pytest.mark.parametrize(
    ("minor", "held", "back"),
    [
        (64, [], False),
        (64, _held(A, 64), False),
        (65, _held(A, 64), True),
        (65, _held(A, 64, 65), False),
        (65, _held(B, 64), False),
    ],
)
def test_events_wait_until_the_claims_know_the_number(
    minor: int, held: list[Held], back: bool
) -> None:
    assert is_held_back(A, minor, held) is back


MINOR = st.integers(64, 72)
KEYS = st.sampled_from([A, B, Key("A", "g"), Key("C", "f")])


@given(
    st.frozensets(MINOR),
    st.frozensets(MINOR),
    st.lists(st.tuples(MINOR, KEYS), max_size=6),
    st.lists(KEYS, unique=True),
)
def test_whatever_is_held_a_plan_is_followable_and_keeps_the_rule(
    used: frozenset[int],
    ours: frozenset[int],
    given_: list[tuple[int, Key]],
    wanted: list[Key],
) -> None:
    ours -= used
    held = [Held(13, minor, key.address, key.fingerprint) for minor, key in given_]
    taken, created, placed = set(used | ours), {}, set(ours)
    for step in plan(used, ours, held, wanted):
        if isinstance(step, Release):
            taken.remove(step.minor)
            placed.remove(step.minor)
            continue
        assert step.minor == next(m for m in MINORS if m not in taken)
        taken.add(step.minor)
        if isinstance(step, Create):
            created[step.key] = step.minor
        elif isinstance(step, Hold):
            placed.add(step.minor)
    assert created.keys() == set(wanted)
    for key, minor in created.items():
        others = {each.minor for each in held} - set(acceptable(key, held))
        assert minor not in others
    free = {each.minor for each in held} - used - set(created.values())
    assert free == placed
