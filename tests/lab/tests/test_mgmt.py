"""The management socket's answer is told from the events around it."""

from __future__ import annotations

import pytest
from lab import mgmt

PACKETS = {
    "no radio": ("0100 ffff 0500 0300 00 0000", []),
    "two radios, out of order": ("0100 ffff 0900 0300 00 0200 0100 0000", [0, 1]),
    "a radio was added: a header alone": ("0400 0000 0000", None),
    "another command's end": ("0100 ffff 0500 0100 00 0100", None),
    "refused": ("0100 ffff 0500 0300 14 0000", None),
    "a setting changed": ("0600 0000 0400 d30a0000", None),
}


@pytest.mark.parametrize(("text", "expected"), PACKETS.values(), ids=PACKETS.keys())
def test_radios_are_taken_from_the_answer_alone(text: str, expected: list[int] | None) -> None:
    assert mgmt.indices(bytes.fromhex(text)) == expected
