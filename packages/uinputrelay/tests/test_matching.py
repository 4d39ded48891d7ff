"""Which mirror a returning node belongs to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from uinputrelay import Snapshot
from uinputrelay.discovery import RealNode
from uinputrelay.matching import assign, keys
from uinputrelay.numbers import Key

PAD = Snapshot("Pad", 5, 1, 2, 3, types={0: (), 1: (304,)})
TOUCH = replace(PAD, name="Pad Touchpad")
NEWER = replace(PAD, version=4)
A = "A0:AB:51:33:B7:12"


def _real(order: int, shot: Snapshot | None, name: str = "Pad") -> tuple[RealNode, Snapshot | None]:
    name = shot.name if shot else name
    node = RealNode(f"input{order}", f"/dev/input/event{order}", order, name, A, "", order, True)
    return node, shot


def _key(shot: Snapshot, turn: int = 0) -> Key:
    return Key(A, shot.fingerprint, turn)


RULES: dict[
    str, tuple[list[tuple[RealNode, Snapshot | None]], dict[str, Key], list[tuple[int, Key]]]
] = {
    "each node to the mirror of its fingerprint": (
        [_real(1, TOUCH), _real(2, PAD)], {}, [(1, _key(TOUCH)), (2, _key(PAD))],
    ),
    "twins in their order": ([_real(1, PAD), _real(2, PAD)], {}, [(1, _key(PAD)), (2, _key(PAD, 1))]),
    "the twin that stays keeps its mirror while the first is away": (
        [_real(2, PAD)], {"input1": _key(PAD), "input2": _key(PAD, 1)}, [(2, _key(PAD, 1))],
    ),
    "the one that returns gets the free mirror": (
        [_real(2, PAD), _real(3, PAD)],
        {"input1": _key(PAD), "input2": _key(PAD, 1)},
        [(2, _key(PAD, 1)), (3, _key(PAD))],
    ),
    "behind a namesake that cannot be read yet: it waits": (
        [_real(1, None), _real(2, PAD), _real(3, TOUCH)], {}, [(3, _key(TOUCH))],
    ),
    "behind another node that cannot be read yet: it does not": (
        [_real(1, None, "Pad Touchpad"), _real(2, PAD)], {}, [(2, _key(PAD))],
    ),
    "a changed node is another one": ([_real(1, NEWER)], {}, [(1, _key(NEWER))]),
}  # fmt: skip


@pytest.mark.parametrize(("found", "attached", "expected"), RULES.values(), ids=RULES)
def test_assign(
    found: list[tuple[RealNode, Snapshot | None]],
    attached: dict[str, Key],
    expected: list[tuple[int, Key]],
) -> None:
    assert [(real.order, key) for key, real, _ in assign(A, found, attached)] == expected


def test_snapshots_of_one_fingerprint_are_told_apart_by_their_order() -> None:
    assert keys(A, ["f", "g", "f"]) == [Key(A, "f"), Key(A, "g"), Key(A, "f", 1)]
