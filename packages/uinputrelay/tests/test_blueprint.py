"""What uinput is asked for: the snapshot, less what a mirror must not have or cannot have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from uinputrelay import AbsInfo, Snapshot
from uinputrelay.mirror import Mirror, blueprint

PAD = Snapshot(
    "Pad", 5, 0x054C, 0x0CE6, 0x8100, props=(6,),
    types={0: (), 1: (304,), 3: (0,), 4: (4,), 0x11: (0,), 0x14: (), 0x15: (80,)},
    absinfo={0: AbsInfo(200, 0, 255, 4, 15, 9)},
)  # fmt: skip


def test_the_mirror_has_the_same_identity_and_bits_but_force_feedback_and_repeat() -> None:
    plan = blueprint(PAD)
    assert (plan.name, plan.ids, plan.props) == (b"Pad", (5, 0x054C, 0x0CE6, 0x8100), (6,))
    assert plan.types == {1: (304,), 3: (0,), 4: (4,), 0x11: (0,)}
    assert plan.differences == ()


def test_the_mirror_has_no_fuzz_and_starts_at_rest() -> None:
    assert blueprint(replace(PAD, props=())).absinfo == {0: AbsInfo(128, 0, 255, 0, 15, 9)}


def test_key_unknown_is_declared_exactly_beside_a_keyboard_key() -> None:
    keyed = replace(PAD, types={1: (30, 304)})
    assert blueprint(keyed).types[1] == (30, 240, 304)
    assert 240 not in blueprint(PAD).types[1]
    assert 240 not in keyed.codes(1)
    sensor = replace(PAD, types={3: (0,)})
    assert 1 not in blueprint(sensor).types


def test_what_turns_radios_off_is_left_out_and_said() -> None:
    """The kernel has heard it from the real node (net/rfkill/input.c)."""
    keyboard = replace(PAD, types={1: (30, 237, 238, 239, 246, 247), 5: (0, 3)})
    plan = blueprint(keyboard)
    assert plan.types == {1: (30, 240), 5: (0,)}
    assert plan.differences == (
        "code 0xed of event type 0x1: the kernel turns radios off by it",
        "code 0xee of event type 0x1: the kernel turns radios off by it",
        "code 0xef of event type 0x1: the kernel turns radios off by it",
        "code 0xf6 of event type 0x1: the kernel turns radios off by it",
        "code 0xf7 of event type 0x1: the kernel turns radios off by it",
        "code 0x3 of event type 0x5: the kernel turns radios off by it",
    )


def test_what_the_kernel_refuses_is_brought_close_and_said() -> None:
    odd = Snapshot(
        "x" * 90, 5, 1, 1, 1,
        types={3: (0, 1, 0x2F)},
        absinfo={0: AbsInfo(0, 9, 1), 1: AbsInfo(0, 0, 10, 0, 20), 0x2F: AbsInfo(3, 0, 255)},
    )  # fmt: skip
    plan = blueprint(odd)
    assert plan.name == b"x" * 80
    assert plan.absinfo[0][1:3] == (1, 9)
    assert plan.absinfo[1].flat == 10
    assert plan.absinfo[0x2F] == AbsInfo(0, 0, 99)
    assert plan.differences == (
        "axis 0x0: range 9..1 is turned round",
        "axis 0x1: flat 20 is cut to the range 10",
        "axis 0x2f: 256 slots, uinput has 100 at most",
        "name: 90 bytes, cut to the 80 uinput keeps",
    )


def test_slots_up_to_less_than_none_are_one() -> None:
    odd = Snapshot("x", 5, 1, 1, 1, types={3: (0x2F,)}, absinfo={0x2F: AbsInfo(0, -9, -5)})
    plan = blueprint(odd)
    assert plan.absinfo[0x2F] == AbsInfo(0, -9, 0)
    assert plan.differences == ("axis 0x2f: slots up to -5, one stands for them",)


def test_a_nameless_device_gets_a_question_mark() -> None:
    plan = blueprint(replace(PAD, name=""))
    assert plan.name == b"?"
    assert len(plan.differences) == 1


def test_a_range_wider_than_an_int_may_have_any_flat() -> None:
    """The kernel looks at flat only where maximum minus minimum does not overflow."""
    wide = AbsInfo(0, -(1 << 31), (1 << 31) - 1, 0, 100)
    assert blueprint(replace(PAD, absinfo={0: wide})).absinfo[0].flat == 100


def test_without_uinput_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="modprobe uinput"):
        Mirror(blueprint(PAD), "test/0", str(tmp_path / "uinput"))
