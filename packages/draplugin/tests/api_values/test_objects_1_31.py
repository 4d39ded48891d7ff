"""Verdicts on v1alpha3 objects, suitableNodes among them, against a real API server of 1.31.14.

Built and run by `nox -s oracles` alone: `pytest -m oracles`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from draplugin.api import dumps, read, write

from . import generate
from .generate import Case
from .rows import ROWS, Row
from .server import Server
from .test_objects_oracle import _stored, differing

pytestmark = [pytest.mark.oracles, pytest.mark.timeout(1800)]
_SEED = 20_260_803
_COUNT = 400


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """An API server of 1.31; building it takes some minutes, once."""
    from cluster import oracles

    with oracles.start_old() as running, Server(running.kubeconfig) as connected:
        yield connected


@pytest.mark.parametrize("row", [row for row in ROWS if row.server == (1, 31)])
def test_every_row_is_what_the_server_says(server: Server, row: Row) -> None:
    assert server.create(row.object()).causes == frozenset(row.causes)


def test_generated_objects_get_the_same_verdict_and_paths(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = int(os.environ.get("DRAPLUGIN_SEED", _SEED))
    with capsys.disabled():
        print(f"\n{_COUNT} objects in v1alpha3 from seed {seed}")
    cases = generate.cases(seed, ("v1alpha3",), _COUNT)
    assert differing(cases, server, (1, 31)) == [], f"seed {seed}"


def test_a_round_trip_through_the_server_changes_nothing(server: Server) -> None:
    for case in generate.cases(_SEED + 1, ("v1alpha3",), 60):
        good = Case(case.seed, case.kind, "v1alpha3", ())
        sent = write(read(good.object()), "v1alpha3").object
        answer = server.create(sent, dumps(sent))
        assert answer.accepted, (good, answer)
        back = read(_stored(answer.object))
        assert back == read(sent)
