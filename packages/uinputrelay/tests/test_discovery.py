"""Which real node is whose: by HID uniq and phys, whoever wrote them in which letters."""

from __future__ import annotations

from dataclasses import replace

import pytest
from uinputrelay import PeripheralWish
from uinputrelay.discovery import RealNode, by_uniq

ADDRESS, ADAPTER = "A0:AB:51:33:B7:12", "04:4A:69:66:92:27"


def _node(uniq: str, phys: str) -> RealNode:
    return RealNode("key", "/dev/input/event3", 67, "Pad", uniq, phys, 5, settled=True)


RULES = {
    "the kernel's HIDP writes both in small letters": (
        ADAPTER, "a0:ab:51:33:b7:12", "04:4a:69:66:92:27", True,
    ),
    "in capitals": (ADAPTER, ADDRESS, ADAPTER, True),
    "a driver that adds to phys": (ADAPTER, ADDRESS, f"{ADAPTER}/input0", True),
    "another device": (ADAPTER, "A0:AB:51:33:B7:13", ADAPTER, False),
    "another adapter": (ADAPTER, ADDRESS, "04:4A:69:66:92:28", False),
    "any adapter": (None, ADDRESS, "04:4A:69:66:92:28", True),
    "a node without uniq, as every uinput device": (None, "", ADAPTER, False),
    "a longer uniq": (None, f"{ADDRESS}0", ADAPTER, False),
}  # fmt: skip


HID_RULES = {
    "hid-playstation leaves the node's own phys unset": (ADDRESS, "", ADDRESS, ADAPTER, True),
    "what the HID device says counts": (ADDRESS, ADAPTER, "A0:AB:51:33:B7:13", ADAPTER, False),
    "another adapter's HID device": (ADDRESS, "", ADDRESS, "04:4A:69:66:92:28", False),
}


@pytest.mark.parametrize(
    ("uniq", "phys", "hid_uniq", "hid_phys", "ours"), HID_RULES.values(), ids=HID_RULES
)
def test_the_hid_device_behind_a_node_decides(
    uniq: str, phys: str, hid_uniq: str, hid_phys: str, ours: bool
) -> None:
    node = replace(_node(uniq, phys), hid_uniq=hid_uniq, hid_phys=hid_phys)
    assert by_uniq(PeripheralWish(ADDRESS, ADAPTER), node) is ours


@pytest.mark.parametrize(("adapter", "uniq", "phys", "ours"), RULES.values(), ids=RULES)
def test_a_node_belongs_to_a_peripheral(
    adapter: str | None, uniq: str, phys: str, ours: bool
) -> None:
    assert by_uniq(PeripheralWish(ADDRESS, adapter), _node(uniq, phys)) is ours
