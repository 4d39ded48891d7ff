"""Which real nodes there are, and which is whose: by HID uniq and phys, in any letters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from uinputrelay import PeripheralWish
from uinputrelay.discovery import Discovery, RealNode, by_uniq, used_minors

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


class Inputs:
    """/sys/class/input in a folder, and udev's word on what is in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes: dict[str, RealNode | None] = {}
        self.asked: list[str] = []

    def plug(self, name: str, order: int, *, phys: str = "", settled: bool = True) -> None:
        """Give a name to a node of its own ``inputN``."""
        self.unplug(name)
        (self.folder / name).symlink_to(f"../../devices/virtual/input/input{order}/{name}")
        node = RealNode(f"input{order}", f"/dev/input/{name}", 64, "Pad", "", phys, order, settled)
        self.nodes[name] = node

    def unplug(self, name: str) -> None:
        """Take it away, if it is there."""
        (self.folder / name).unlink(missing_ok=True)

    def look(self, name: str) -> RealNode | None:
        """Answer in udev's place."""
        self.asked.append(name)
        return self.nodes[name]


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    return Inputs(tmp_path)


@pytest.fixture
def discovery(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> Iterator[Discovery]:
    made = Discovery("relay/", inputs.folder)
    monkeypatch.setattr(made, "_look", inputs.look)
    yield made
    made.close()


def test_nodes_are_listed_as_they_were_registered_without_our_own_and_other_kinds(
    discovery: Discovery, inputs: Inputs
) -> None:
    inputs.plug("event7", 3)
    inputs.plug("event2", 11)
    inputs.plug("event3", 12, phys="relay/AA/0")
    inputs.plug("js0", 4)
    assert [node.path for node in discovery.scan()] == ["/dev/input/event7", "/dev/input/event2"]
    assert "js0" not in inputs.asked


def test_udev_is_asked_about_a_node_once(discovery: Discovery, inputs: Inputs) -> None:
    """Looking at everything again, every minute and at every arrival, keeps events waiting."""
    inputs.plug("event2", 11)
    inputs.plug("event3", 12, phys="relay/AA/0")
    first = discovery.scan()
    inputs.plug("event4", 13)
    assert [node.order for node in discovery.scan()] == [11, 13]
    assert discovery.scan()[:1] == first
    assert sorted(inputs.asked) == ["event2", "event3", "event4"]


def test_a_node_is_asked_about_until_udevs_rules_have_run(
    discovery: Discovery, inputs: Inputs
) -> None:
    inputs.plug("event2", 11, settled=False)
    assert [node.settled for node in discovery.scan()] == [False]
    inputs.plug("event2", 11)
    assert [node.settled for node in discovery.scan()] == [True]


def test_another_node_under_the_same_name_is_another_node(
    discovery: Discovery, inputs: Inputs
) -> None:
    inputs.plug("event2", 11)
    before = discovery.scan()
    inputs.plug("event2", 12)
    after = discovery.scan()
    assert ([node.order for node in before], [node.order for node in after]) == ([11], [12])
    inputs.unplug("event2")
    assert discovery.scan() == []


def test_a_node_that_udev_cannot_tell_of_is_asked_about_again(
    discovery: Discovery, inputs: Inputs
) -> None:
    inputs.plug("event2", 11)
    node, inputs.nodes["event2"] = inputs.nodes["event2"], None
    assert discovery.scan() == []
    inputs.nodes["event2"] = node
    assert discovery.scan() == [node]


def test_where_the_kernel_has_no_input_there_is_no_node(tmp_path: Path) -> None:
    nowhere = Discovery("relay/", tmp_path / "input")
    assert nowhere.scan() == []
    nowhere.close()


def test_every_minor_of_the_input_major_counts_as_taken(tmp_path: Path) -> None:
    for name in ("13:0", "13:64", "13:256", "10:223", "113:65", "1:13"):
        (tmp_path / name).touch()
    assert used_minors(tmp_path) == {0, 64, 256}
