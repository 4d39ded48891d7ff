"""Which minor each new mirror gets, given that the kernel always hands out the smallest free one.

Pure. A claim's container keeps the number it was given until the claim ends, so a number that is
held goes back to the very mirror it was given for, or to nobody: a placeholder device sits on it.
A wanted number is reached by filling the free ones below it for a moment.

Order of evdev minors (drivers/input/evdev.c, input_get_new_minor): 64..95, then 256..1023.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .model import Held

INPUT_MAJOR = 13
MINORS = (*range(64, 96), *range(256, 1024))
MOST_FILLED = 256  # free numbers a plan looks at; a held one behind them is given up


class Key(NamedTuple):
    """One mirror: the ``turn``-th of its device with this fingerprint, from 0."""

    address: str
    fingerprint: str
    turn: int = 0


@dataclass(frozen=True)
class Create:
    """Make this mirror next; ``minor`` is what the kernel is going to give it."""

    key: Key
    minor: int


@dataclass(frozen=True)
class Hold:
    """Make a placeholder that stays on ``minor``."""

    minor: int


@dataclass(frozen=True)
class Fill:
    """Make a device on ``minor`` that goes away when the plan is done."""

    minor: int


@dataclass(frozen=True)
class Release:
    """Destroy the placeholder on ``minor``."""

    minor: int


Step = Create | Hold | Fill | Release


def acceptable(key: Key, held: Iterable[Held]) -> tuple[int, ...]:
    """List the minors claims were given for this mirror, in the order they were stated.

    Of twins (one device, one fingerprint) the n-th stated number belongs to the n-th twin.
    """
    mine = [
        each.minor
        for each in held
        if each.major == INPUT_MAJOR
        and (each.address, each.fingerprint) == (key.address, key.fingerprint)
    ]
    return tuple(dict.fromkeys(mine))


def is_held_back(key: Key, minor: int, held: Iterable[Held]) -> bool:
    """Tell whether claims were given numbers for this mirror and its own is not among them."""
    given = acceptable(key, held)
    return bool(given) and minor not in given


def plan(
    used: frozenset[int],
    placeholders: frozenset[int],
    held: Sequence[Held],
    wanted: Sequence[Key],
) -> list[Step]:
    """Return the steps that make the ``wanted`` mirrors and leave every held free number taken.

    ``used`` are all minors in use that are no placeholder of ours; ``placeholders`` are ours.
    """
    reachable = [minor for minor in MINORS if minor not in used][:MOST_FILLED]
    guarded = {each.minor for each in held if each.major == INPUT_MAJOR} & set(reachable)
    targets = _targets(wanted, held, guarded)
    steps: list[Step] = [Release(minor) for minor in sorted(placeholders - guarded)]
    steps.extend(_walk(used, placeholders & guarded, guarded, targets, wanted))
    return steps


def _targets(wanted: Sequence[Key], held: Sequence[Held], free: set[int]) -> dict[int, Key]:
    """Give each mirror one of its own old numbers, where one is still free."""
    targets: dict[int, Key] = {}
    twins = {(key.address, key.fingerprint) for key in wanted if key.turn}
    for key in wanted:
        given = acceptable(key, held)
        if (key.address, key.fingerprint) in twins:
            given = given[key.turn : key.turn + 1]
        minor = next((each for each in given if each in free and each not in targets), None)
        if minor is not None:
            targets[minor] = key
    return targets


def _walk(
    used: frozenset[int],
    kept: frozenset[int],
    guarded: set[int],
    targets: dict[int, Key],
    wanted: Sequence[Key],
) -> Iterator[Step]:
    """Go through the minors in the kernel's order until everything has its place."""
    anywhere = [key for key in wanted if key not in targets.values()]
    ahead = set(targets) | (guarded - kept)
    for minor in MINORS:
        if not ahead and not anywhere:
            return
        if minor in used:
            continue
        ahead.discard(minor)
        if minor in targets:
            if minor in kept:
                yield Release(minor)
            yield Create(targets[minor], minor)
        elif minor in guarded:
            if minor not in kept:
                yield Hold(minor)
        elif anywhere:
            yield Create(anywhere.pop(0), minor)
        else:
            yield Fill(minor)
