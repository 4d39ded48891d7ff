"""Any sequence of plugging, pressing, wishing and dying, against a model in a few words.

The model: a mirror holds exactly the keys its device holds and somebody wants; it keeps its number
for as long as the relay lives and it is wished, and gets it back after a restart where claims were
given it; no mirror of one pad ever has a number that a claim of the other was given.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from uinputrelay import Held, NodeWish, PeripheralWish, codes, kernel

from .devices import ADDRESS, BTN_EAST, BTN_SOUTH, OTHER, Bench, Reader, Source, gamepad, keyed

pytestmark = pytest.mark.lab
PAD = gamepad()
ADDRESSES = st.sampled_from([ADDRESS, OTHER])
BUTTONS = st.sampled_from([BTN_SOUTH, BTN_EAST])
TYPES = st.sampled_from(
    [None, frozenset({codes.EV_KEY}), frozenset({codes.EV_ABS}), frozenset[int]()]
)


class Machine(RuleBasedStateMachine):
    """Two pads of one kind and one relay."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: dict[str, Source] = {}
        self.pressed: dict[str, set[int]] = {}
        self.types: dict[str, frozenset[int] | None] = {}
        self.numbers: dict[str, int] = {}
        self.held: dict[str, Held] = {}

    @initialize()
    def start(self) -> None:
        self.bench = Bench()

    @rule(address=ADDRESSES, types=TYPES)
    def wish(self, address: str, types: frozenset[int] | None) -> None:
        self.types[address] = types
        self._apply()

    @rule(address=ADDRESSES)
    def unwish(self, address: str) -> None:
        self.types.pop(address, None)
        self._apply()

    @rule()
    def wish_the_same_again(self) -> None:
        self._apply()

    @rule(address=ADDRESSES)
    def prepare(self, address: str) -> None:
        """A claim is given the number the mirror has now."""
        if address in self.types:
            minor = self._minor(address)
            self.held[address] = Held(13, minor, address, PAD.fingerprint)
            self._apply()

    @rule(address=ADDRESSES)
    def unprepare(self, address: str) -> None:
        self.held.pop(address, None)
        self._apply()

    @rule(address=ADDRESSES)
    def plug(self, address: str) -> None:
        if address not in self.sources:
            self.sources[address] = Source(PAD, address)
            self.pressed[address] = set()

    @rule(address=ADDRESSES)
    def unplug(self, address: str) -> None:
        if address in self.sources:
            self.sources.pop(address).unplug()
            self.pressed.pop(address)

    @rule(address=ADDRESSES, button=BUTTONS, down=st.booleans())
    def press(self, address: str, button: int, down: bool) -> None:
        if address in self.sources:
            self.sources[address].frame(keyed(button, int(down)))
            (self.pressed[address].add if down else self.pressed[address].discard)(button)

    @rule(address=ADDRESSES)
    def storm(self, address: str) -> None:
        """More than the relay's queue takes while nobody looks."""
        if address in self.sources:
            for n in range(60):
                self.sources[address].frame(keyed(BTN_SOUTH, n % 2), keyed(BTN_EAST, n % 2))
            self.pressed[address] = {BTN_SOUTH, BTN_EAST}

    @rule()
    def die(self) -> None:
        self.bench.restart()
        self.numbers.clear()
        self._apply()

    @rule()
    def step(self) -> None:
        self.bench.engine.step(0)

    def _apply(self) -> None:
        wished = [
            PeripheralWish(address, None, (NodeWish(PAD, types),))
            for address, types in self.types.items()
        ]
        self.bench.apply(*wished, held=self.held.values())
        self.numbers = {a: n for a, n in self.numbers.items() if a in self.types}
        for address in self.types:
            assert self.numbers.setdefault(address, self._minor(address)) == self._minor(address)

    def _minor(self, address: str) -> int:
        (node,) = self.bench.nodes(address)
        assert node.error == ""
        return node.minor or 0

    @invariant()
    def no_pad_has_a_number_the_others_claim_was_given(self) -> None:
        for address, number in self.numbers.items():
            others = [held.minor for a, held in self.held.items() if a != address]
            assert number not in others

    @invariant()
    def a_mirror_has_the_number_its_claim_was_given(self) -> None:
        for address, number in self.numbers.items():
            if address in self.held:
                assert number == self.held[address].minor

    @invariant()
    def a_mirror_holds_what_its_device_holds_and_somebody_wants(self) -> None:
        self.bench.until(lambda _: self._all_noticed(), "every device noticed")
        self.bench.pump()
        for address, types in self.types.items():
            (node,) = self.bench.nodes(address)
            wanted = types is None or codes.EV_KEY in types
            expected = self.pressed.get(address, set()) if wanted else set()
            if node.held_back:
                expected = set()
            reader = Reader(node.path or "")
            assert kernel.keys(reader.fd) == expected
            reader.close()

    def _all_noticed(self) -> bool:
        return all(
            node.real == (self.sources[address].path if address in self.sources else None)
            for address in self.types
            for node in self.bench.nodes(address)
        )

    def teardown(self) -> None:
        for source in self.sources.values():
            source.unplug()
        if hasattr(self, "bench"):
            self.bench.close()


@pytest.mark.timeout(600)
def test_any_sequence_keeps_the_model() -> None:
    Machine.TestCase.settings = settings(
        max_examples=5,
        stateful_step_count=20,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    Machine.TestCase().runTest()
