"""What the command line takes and refuses, before any device is touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from uinputrelay import Axis, codes
from uinputrelay.cli import _parser, main


def test_types_and_axes_are_named_as_in_the_kernels_header() -> None:
    words = (
        "mirror /dev/input/event3 --types EV_KEY,EV_ABS --axis ABS_RX:fuzz=4 --axis ABS_RY:flat=8"
    )
    options = _parser().parse_args(words.split())
    assert options.types == {codes.EV_KEY, codes.EV_ABS}
    assert options.axis == [(codes.ABS_RX, Axis(fuzz=4)), (codes.ABS_RY, Axis(flat=8))]


REFUSED = {
    "a type that does not exist": ("--types EV_KEYS", "EV_"),
    "a key as a type": ("--types KEY_A", "EV_"),
    "an axis that does not exist": ("--axis ABS_Q:fuzz=1", "ABS_"),
    "a negative fuzz": ("--axis ABS_X:fuzz=-1", "fuzz=4"),
    "no setting": ("--axis ABS_X", "fuzz=4"),
    "another field": ("--axis ABS_X:minimum=1", "fuzz=4"),
    "the number of slots": ("--axis ABS_MT_SLOT:fuzz=1", "ABS_MT_SLOT"),
}


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED)
def test_refused(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["mirror", "/dev/input/event3", *words.split()])
    assert left.value.code == 2
    assert said in capsys.readouterr().err


def test_a_node_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mirror", "/dev/input/event4711"]) == 1
    assert "/dev/input/event4711" in capsys.readouterr().err


def test_a_stored_snapshot_that_is_garbled_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = tmp_path / "snapshot.json"
    stored.write_text("{}")
    assert main(["mirror", "--from", str(stored)]) == 1
    assert "snapshot: id is missing" in capsys.readouterr().err


def test_mirror_needs_something_to_mirror(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mirror"]) == 2
    assert "--from" in capsys.readouterr().err
