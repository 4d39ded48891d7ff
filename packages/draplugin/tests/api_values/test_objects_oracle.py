"""Verdicts on objects against a real API server of Kubernetes 1.37: accepted or not, and every path.

Nothing is created: each object is sent as a dry run. Status is left out, because a server drops it
from a creation unread.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from draplugin.api import VERSIONS, dumps, loads, merge, read, validate, write

from . import generate
from .generate import Case
from .rows import ROWS, Row
from .server import Answer, Server

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]
_SEED = 20_260_802
_COUNT = 400
_VERSIONS = ("v1", "v1beta2", "v1beta1")
Said = tuple[bool, frozenset[tuple[str, str]]]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of its own: the run's does not serve the beta versions."""
    from cluster import oracles

    with oracles.start_new() as running, Server(running.kubeconfig) as connected:
        yield connected


def ours(obj: dict[str, Any], server: tuple[int, int]) -> Said:
    """What draplugin.api says, as coarse as a server is about fields it does not know."""
    verdict = validate(obj, server)
    causes = {(cause.field, cause.reason) for cause in verdict.causes}
    if any(reason == "WrongType" for _, reason in causes):
        causes = {("", "WrongType")}
    elif any(reason == "UnknownField" for _, reason in causes):
        causes = {cause for cause in causes if cause[1] == "UnknownField"}
    return verdict.accepted, frozenset(causes)


def theirs(answer: Answer) -> Said:
    return answer.accepted, answer.causes


def differing(
    cases: list[Case], server: Server, version: tuple[int, int]
) -> list[tuple[Case, Said, Said]]:
    """The cases of which the two say different things, shrunk."""
    found = []
    for case in cases:
        pair = ours(case.object(), version), theirs(server.create(case.object()))
        if pair[0] != pair[1]:
            smaller = differing(case.smaller(), server, version)
            found.append(smaller[0] if smaller else (case, *pair))
    return found


@pytest.mark.parametrize("row", [row for row in ROWS if row.server == (1, 37)])
def test_every_row_is_what_the_server_says(server: Server, row: Row) -> None:
    assert server.create(row.object()).causes == frozenset(row.causes)


def test_generated_objects_get_the_same_verdict_and_paths(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = int(os.environ.get("DRAPLUGIN_SEED", _SEED))
    with capsys.disabled():
        print(f"\n{_COUNT} objects in {', '.join(_VERSIONS)} from seed {seed}")
    cases = generate.cases(seed, _VERSIONS, _COUNT)
    assert differing(cases, server, (1, 37)) == [], f"seed {seed}"


def _stored(obj: dict[str, Any]) -> dict[str, Any]:
    """What is left of an object when the server's own additions are taken away."""
    kept = ("name", "labels", "annotations", "finalizers", "ownerReferences")
    metadata = {name: value for name, value in obj["metadata"].items() if name in kept}
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "metadata": metadata,
        "spec": obj["spec"],
    }


@pytest.mark.parametrize("version", _VERSIONS)
def test_a_round_trip_through_the_server_changes_nothing(server: Server, version: str) -> None:
    for case in generate.cases(_SEED + 1, (version,), 60):
        good = Case(case.seed, case.kind, version, ())
        sent = write(read(good.object()), version).object
        answer = server.create(sent, dumps(sent))
        assert answer.accepted, (good, answer)
        back = read(_stored(answer.object))
        assert back == read(sent)
        assert read(write(back, version).object) == back


def test_parameters_come_back_as_they_were_sent(server: Server) -> None:
    raw = '{"z":1.0,"a":1e3,"a":2,"big":12345678901234567890,"text":"<&>"}'
    text = f"""{{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {{"name": "x"}},
        "spec": {{"config": [{{"opaque": {{"driver": "x.example", "parameters": {raw}}}}}]}}}}"""
    obj = loads(text)
    assert dumps(obj["spec"]["config"][0]["opaque"]["parameters"]) == raw
    assert server.create(obj, dumps(obj)).accepted


def test_merges_are_those_of_the_server(server: Server) -> None:
    name = "draplugin-merge-test"
    path = f"/apis/resource.k8s.io/v1/deviceclasses/{name}"
    block = {"opaque": {"driver": "a.example", "parameters": {"a": 1, "b": 2}}}
    base = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name, "labels": {"keep": "x", "go": "y"}},
        "spec": {"selectors": [{"cel": {"expression": "true"}}], "config": [block, block]},
    }
    patch = {
        "metadata": {"labels": {"go": None, "new": "z"}},
        "spec": {"config": [{"opaque": {"driver": "b.example", "parameters": {"c": 3}}}]},
    }
    server.call("POST", "/apis/resource.k8s.io/v1/deviceclasses", json.dumps(base))
    try:
        kind = "application/strategic-merge-patch+json"
        status, merged = server.call("PATCH", path, json.dumps(patch), kind)
        assert status == 200, merged
        assert _stored(merged) == merge(base, patch)
    finally:
        server.call("DELETE", path)


def test_every_version_of_this_server_is_known(server: Server) -> None:
    _, group = server.call("GET", "/apis/resource.k8s.io")
    served = {item["version"] for item in group["versions"]}
    assert set(_VERSIONS) <= served
    assert served & {"v1", "v1beta1", "v1beta2", "v1alpha3"} <= set(VERSIONS)
