"""What the engine does when one node fails: the others are served, and it is tried again."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator

import pytest
from uinputrelay import Snapshot, Wish
from uinputrelay.discovery import RealNode
from uinputrelay.engine import Engine, pause_after
from uinputrelay.node import Node
from uinputrelay.numbers import Key


class Pipe:
    """A pipe in a real node's place, always with something to read."""

    def __init__(self) -> None:
        self.fd, self._in = os.pipe()
        os.write(self._in, b"x")

    def close(self) -> None:
        os.close(self.fd)
        os.close(self._in)


class Moves:
    """A pump that does what it is told to."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self.moved = 0
        self.stopped = False
        self.behind = False

    def move(self) -> bool:
        self.moved += 1
        self._act()
        return True

    def stop(self) -> None:
        self.stopped = True


def _node(name: str, pump: Moves) -> Node:
    made = Node(Key("AA", name), Snapshot(name, 5, 1, 2, 3), 0)
    made.real = RealNode(name, f"/dev/input/{name}", 64, name, "", "", 1, settled=True)
    made.source = Pipe()  # type: ignore[assignment]
    made.pump = pump  # type: ignore[assignment]
    return made


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine(clock=lambda: 0.0)  # nothing is tried again meanwhile
    made.step(0)
    yield made
    for node in made._nodes.values():
        if node.source is not None:
            node.source.close()
    made._nodes.clear()
    made.close()


def _refuse() -> None:
    raise OSError(errno.EMFILE, "Too many open files")


def test_a_node_that_cannot_be_moved_keeps_no_other_waiting(engine: Engine) -> None:
    bad, good = Moves(_refuse), Moves(lambda: None)
    nodes = [_node("bad", bad), _node("good", good)]
    engine._nodes.update({node.key: node for node in nodes})
    engine._sync_polls()
    for _ in range(3):
        engine.step(0)
    assert (bad.moved, bad.stopped, good.moved) == (1, True, 3)
    assert nodes[0].source is None
    assert nodes[0].error == "/dev/input/bad: [Errno 24] Too many open files"
    assert nodes[1].error == ""


def test_a_fault_of_the_engines_own_is_not_hidden(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_handlers", {engine._bell: _refuse})
    os.eventfd_write(engine._bell, 1)
    with pytest.raises(OSError, match="Too many open files"):
        engine.step(0)


@pytest.mark.parametrize(
    ("waited", "pace", "behind", "pause"),
    [
        (0.0000, 0.002, False, 0.002),
        (0.0009, 0.002, False, 0.002),
        (0.0010, 0.002, False, 0.0),
        (60.000, 0.002, False, 0.0),
        (0.0000, 0.002, True, 0.0),
        (0.0000, 0.000, False, 0.0),
    ],
    ids=[
        "events came at once",
        "events came within half the pace",
        "events are rarer than that",
        "nothing happened for long",
        "more is queued than one batch",
        "no pace is wished",
    ],
)
def test_the_relay_pauses_only_where_events_come_fast_and_it_keeps_up(
    waited: float, pace: float, behind: bool, pause: float
) -> None:
    assert pause_after(waited, pace, behind=behind) == pause


def test_a_node_is_behind_once_for_each_time_it_was(engine: Engine) -> None:
    pump = Moves(lambda: None)
    node = _node("fast", pump)
    engine._nodes[node.key] = node
    pump.behind = True
    assert (engine._is_behind(), engine._is_behind()) == (True, False)


def test_what_is_due_after_a_wish_is_not_put_off_by_the_idle_time_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, asked = [0.0], []

    class Poll:
        def poll(self, timeout: float, _: int) -> list[tuple[int, int]]:
            asked.append(timeout)
            return []

    engine = Engine(clock=lambda: now[0])
    engine.step(0)
    now[0] = 30.0
    engine.apply(Wish())
    engine._soon(0.5)
    with monkeypatch.context() as patched:
        patched.setattr(engine, "_epoll", Poll())
        engine.step(60)
    engine.close()
    assert asked == [0.5]
