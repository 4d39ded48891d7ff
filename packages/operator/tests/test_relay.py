"""What the relay is told, and what becomes of claims whose nodes were renumbered."""

from __future__ import annotations

from typing import Any

import pytest
from bluetooth_operator.actions import Renumber
from bluetooth_operator.parameters import AxisDemand, Parameters
from bluetooth_operator.plan import relay
from bluetooth_operator.plan.renumber import renumber
from bluezclient import Reason
from uinputrelay import Axis, Held

EV_KEY, EV_REL, EV_ABS = 1, 2, 3


def inputs(*names: str) -> Parameters:
    return Parameters(frozenset(names))


NARROWED: dict[str, tuple[list[Parameters], frozenset[int] | None]] = {
    "nobody asks for it": ([], frozenset()),
    "a claim that states nothing gets everything": ([Parameters()], None),
    "keys of a remote with a mouse": ([inputs("key")], frozenset({EV_KEY})),
    "a class the node has not": ([inputs("joystick")], frozenset()),
    "two claims get the union": (
        [inputs("key"), inputs("mouse")],
        frozenset({EV_KEY, EV_REL, EV_ABS}),
    ),
    "one claim for everything widens it for all": ([inputs("key"), Parameters()], None),
}


@pytest.mark.parametrize(("demands", "types"), NARROWED.values(), ids=NARROWED)
def test_a_node_is_narrowed_to_the_union_of_what_claims_ask(
    build: Any, demands: list[Parameters], types: Any
) -> None:
    node = build.mirror(build.remote_node)
    prepared = tuple(build.claim(f"c{n}", each, [node]) for n, each in enumerate(demands))
    world = build.world(device=build.pad(), relay=build.observed(node), prepared=prepared)
    ((peripheral),) = relay.wish(world).peripherals
    assert [each.types for each in peripheral.nodes] == [types]


def test_an_axis_gets_the_largest_fuzz_and_the_largest_flat_of_all_claims(build: Any) -> None:
    first = Parameters(None, {"ABS_RX": AxisDemand(4, None), "ABS_X": AxisDemand(1, 1)})
    second = Parameters(None, {"ABS_RX": AxisDemand(2, 8)})
    prepared = (build.claim("c1", first), build.claim("c2", second))
    world = build.world(device=build.pad(), prepared=prepared)
    (peripheral,) = relay.wish(world).peripherals
    assert dict(peripheral.axes) == {0: Axis(1, 1), 3: Axis(4, 8)}


def test_numbers_that_claims_were_given_are_held(build: Any) -> None:
    given = build.mirror(number=7)
    world = build.world(device=build.pad(), prepared=(build.claim(nodes=[given]),))
    assert relay.wish(world).held == (
        Held(13, 71, "A0:AB:51:33:B7:12", build.pad_node.fingerprint),
    )


def test_stored_nodes_are_wished_before_anything_connects(build: Any) -> None:
    stored = build.stored(build.pad_node, build.remote_node)
    world = build.world(relay=None, kube=build.kube(bonds=[stored]))
    (peripheral,) = relay.wish(world).peripherals
    assert [each.snapshot for each in peripheral.nodes] == [build.pad_node, build.remote_node]
    assert peripheral.adapter == "04:4A:69:66:92:27"


def test_a_node_found_since_is_wished_beside_the_stored_ones_and_equal_ones_are_counted(
    build: Any,
) -> None:
    nodes = [build.mirror(number=7), build.mirror(number=8), build.mirror(build.remote_node, 9)]
    world = build.world(
        device=build.pad(),
        relay=build.observed(*nodes),
        kube=build.kube(bonds=[build.stored(build.pad_node)]),
    )
    (peripheral,) = relay.wish(world).peripherals
    wished = [each.snapshot for each in peripheral.nodes]
    assert wished == [build.pad_node, build.pad_node, build.remote_node]


WAKES = {
    "awake": (None, 60, 0),
    "asleep for long enough": (Reason.ASLEEP, 10, 1_799_999_990),
    "asleep only just": (Reason.ASLEEP, 9, 0),
    "out of reach": (Reason.LINK_LOST, 60, 0),
    "switched off by itself": (Reason.DISCONNECTED_BY_DEVICE, 60, 0),
}


@pytest.mark.parametrize(("reason", "ago", "wake"), WAKES.values(), ids=WAKES)
def test_one_wake_press_is_owed_for_each_sleep_of_ten_seconds(
    build: Any, reason: Reason | None, ago: int, wake: int
) -> None:
    device = build.pad(connected=reason is None)
    world = build.world(device=device, reason=reason, since=build.now - ago)
    (peripheral,) = relay.wish(world).peripherals
    assert peripheral.wake == wake
    due = {("asleep only just"): build.now + 1}
    name = next(key for key, row in WAKES.items() if row == (reason, ago, wake))
    assert relay.next_instant(world) == due.get(name)


MOVES = {
    "the same": ([7], [7], False),
    "another number": ([9], [7], True),
    "one of two moved": ([7, 9], [7, 8], True),
    "one more than it was given": ([7], [7, 8], False),
    "nothing observed": ([7], [], False),
}


@pytest.mark.parametrize(("given", "now", "moved"), MOVES.values(), ids=MOVES)
def test_cdi_files_are_rewritten_for_claims_whose_nodes_moved(
    build: Any, given: list[int], now: list[int], moved: bool
) -> None:
    claim = build.claim(nodes=[build.mirror(number=n) for n in given])
    world = build.world(
        device=build.pad(),
        relay=build.observed(*(build.mirror(number=n) for n in now)),
        prepared=(claim,),
    )
    expected = [Renumber("c1", build.pad_address)] if moved else []
    assert list(renumber(world)) == expected
