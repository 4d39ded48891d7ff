"""The lab's random devices reach every rule, and a difference is cut down to what matters."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from inputid import CLASSES, Capabilities, classes, explain, rules

from .lab.uinput import representable
from .lab.vectors import random_capabilities, shrink

SEED, COUNT = 20_260, 600
VECTORS = [representable(random_capabilities(rng)) for rng in [Random(SEED)] for _ in range(COUNT)]


@pytest.mark.parametrize("systemd", [252, 253])
def test_random_devices_have_every_class_often(systemd: int) -> None:
    print(f"seed {SEED}")
    seen = Counter(name for vector in VECTORS for name in classes(vector, systemd))
    assert set(seen) == set(CLASSES)
    assert min(seen.values()) >= COUNT // 50


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.name)
def test_random_devices_make_every_rule_act(rule: rules.Rule) -> None:
    steps = [step for vector in VECTORS for step in explain(vector) if step.rule is rule]
    assert sum(1 for step in steps if step.added or step.removed) >= 3


def test_random_devices_differ_between_the_two_generations() -> None:
    assert (
        sum(1 for vector in VECTORS if classes(vector, 252) != classes(vector, 253)) >= COUNT // 50
    )


def test_a_seed_repeats_its_devices() -> None:
    first, again = (random_capabilities(Random(7)) for _ in range(2))
    assert first == again


def test_what_a_kernel_registers_stays_as_it_is() -> None:
    assert all(representable(vector) == vector for vector in VECTORS)


REPRESENTABLE = [
    ("EV_SYN is always announced", Capabilities(), Capabilities(ev=1)),
    ("KEY_RESERVED never", Capabilities(ev=3, key=3), Capabilities(ev=3, key=2)),
    ("codes go with their type", Capabilities(ev=1, key=2, abs=3), Capabilities(ev=1)),
    ("force feedback is left out", Capabilities(ev=1 << 0x15 | 1), Capabilities(ev=1)),
    (
        "an axis not set up reads as zeros",
        Capabilities(ev=9, abs=1, x=(0, 9, 1), y=(0, 9, 1)),
        Capabilities(ev=9, abs=1, x=(0, 9, 1), y=(0, 0, 0)),
    ),
]


@pytest.mark.parametrize(
    ("wanted", "made"), [row[1:] for row in REPRESENTABLE], ids=[row[0] for row in REPRESENTABLE]
)
def test_a_vector_becomes_the_nearest_device(wanted: Capabilities, made: Capabilities) -> None:
    assert representable(wanted) == made


def test_a_difference_is_cut_down_to_the_bits_that_make_it() -> None:
    fault = Capabilities(key=1 << 0x120 | 1 << 0x121, abs=1)
    crowd = Capabilities(ev=0b101011, key=0xFFFFF << 0x110, abs=0x3003F, vendor=7, x=(0, 1, 2))
    tried = []

    def differs(value: Capabilities) -> bool:
        tried.append(value)
        return value.key & fault.key == fault.key and bool(value.abs & 1)

    assert shrink(crowd, differs) == fault
    assert len(tried) == len(set(tried))
