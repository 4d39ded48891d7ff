"""When a changed slice goes out: at once for a taint, else when it has been quiet, and in the end."""

from __future__ import annotations

import pytest
from bluetooth_operator.pace import Pace
from draplugin import Device, Taint

AWAY = (Taint("bluetooth.liken.sh/disconnected", "NoExecute"),)


def pad(name: str = "pad", connected: bool = True) -> Device:
    taints = () if connected else AWAY
    return Device(name="a0", attributes={"name": name, "connected": connected}, taints=taints)


ROWS: dict[str, tuple[list[tuple[float, Device]], list[float]]] = {
    "the first devices wait for quiet": ([(0, pad()), (1, pad()), (1.5, pad())], [1.5]),
    "a lost link goes out at once": (
        [(0, pad()), (1.5, pad()), (5, pad(connected=False))],
        [1.5, 5],
    ),
    "a returned link goes out at once": (
        [(0, pad(connected=False)), (2, pad(connected=False)), (3, pad())],
        [2, 3],
    ),
    "each change starts the quiet again": (
        [(0, pad("a")), (1, pad("b")), (2, pad("c")), (3.5, pad("c"))],
        [3.5],
    ),
    "but not for longer than ten seconds": (
        [(float(n), pad(str(n))) for n in range(12)],
        [10],
    ),
    "what was changed back is not published": (
        [(0, pad()), (1.5, pad()), (2, pad("x")), (3, pad()), (9, pad())],
        [1.5],
    ),
}


@pytest.mark.parametrize(("offers", "published"), ROWS.values(), ids=ROWS)
def test_pace(offers: list[tuple[float, Device]], published: list[float]) -> None:
    pace = Pace()
    out = [at for at, device in offers if pace.offer([device], at) is not None]
    assert out == published


def test_what_is_held_back_has_a_due_time() -> None:
    pace = Pace()
    pace.offer([pad()], 100.0)
    assert pace.due(100.5) == 101.5
    assert pace.offer([pad()], 101.5) is not None
    assert pace.due(101.5) == 101.5
