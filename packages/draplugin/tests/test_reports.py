"""What is counted and what is told: metrics, and events about refused claims."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from draplugin import PrometheusRecorder, cdi
from draplugin.testing import FakeKubelet, PrepareFailed
from prometheus_client import CollectorRegistry

from .builders import DRIVER, claim_object, claim_path, ref
from .driver import Fortune, make
from .scripted import ScriptedServer, answer
from .waiting import until

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def told(server: ScriptedServer, count: int) -> bool:
    return len(server.asked("POST", EVENTS)) == count


def sample(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(f"draplugin_{name}", {"driver": DRIVER, **labels})


def test_series_exist_with_zero_before_anything_happened() -> None:
    registry = CollectorRegistry()
    PrometheusRecorder(DRIVER, registry)
    for operation in ("prepare", "unprepare"):
        for result in ("ok", "error"):
            found = sample(registry, "claim_requests_total", operation=operation, result=result)
            assert found == 0
        assert sample(registry, "claim_duration_seconds_count", operation=operation) == 0
    assert sample(registry, "registered") == 0


async def test_claims_and_registration_are_counted(
    driver: Fortune, store: cdi.Store, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    registry = CollectorRegistry()
    recorder = PrometheusRecorder(DRIVER, registry)
    server.shows(claim_path(ref(1)), claim_object(ref(1)))
    async with make(driver, store, server.api(), kubelet, recorder=recorder):
        await kubelet.registered(DRIVER)
        await until(lambda: sample(registry, "registered") == 1)
        await kubelet.prepare(DRIVER, ref(1))
        with pytest.raises(PrepareFailed):
            await kubelet.prepare(DRIVER, ref(2))
        await kubelet.unprepare(DRIVER, ref(1))
    counts = {
        (operation, result): sample(
            registry, "claim_requests_total", operation=operation, result=result
        )
        for operation in ("prepare", "unprepare")
        for result in ("ok", "error")
    }
    assert counts == {
        ("prepare", "ok"): 1,
        ("prepare", "error"): 1,
        ("unprepare", "ok"): 1,
        ("unprepare", "error"): 0,
    }
    assert sample(registry, "registered") == 0


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda r: r.published(5, 2), {"published_devices": 5, "published_slices": 2}),
        (lambda r: r.dropped(3), {"dropped_items": 3}),
    ],
)
def test_slices_are_gauged(call: Any, expected: dict[str, float]) -> None:
    registry = CollectorRegistry()
    call(PrometheusRecorder(DRIVER, registry))
    assert {name: sample(registry, name) for name in expected} == expected


def test_failed_writes_are_counted_by_cause() -> None:
    registry = CollectorRegistry()
    recorder = PrometheusRecorder(DRIVER, registry)
    recorder.publish_failed("Forbidden")
    recorder.publish_failed("Forbidden")
    assert sample(registry, "publish_failures_total", cause="Forbidden") == 2


def test_without_metrics_their_library_is_not_loaded() -> None:
    code = "import sys, draplugin; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_a_refused_claim_gets_one_event_however_often_the_kubelet_asks(
    driver: Fortune, store: cdi.Store, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    server.shows(claim_path(ref()), claim_object(ref()))
    server.on("POST", EVENTS, answer({}, 201))
    driver.refuse = "inputs: accepted: joystick, key"
    async with make(driver, store, server.api(), kubelet, events=True):
        await kubelet.registered(DRIVER)
        for _ in range(5):
            with pytest.raises(PrepareFailed):
                await kubelet.prepare(DRIVER, ref())
        await until(lambda: server.asked("POST", EVENTS))
        await asyncio.sleep(0)
    (request,) = server.asked("POST", EVENTS)
    body = server.bodies[server.requests.index(request)]
    assert (body["reason"], body["note"]) == ("ClaimPrepareFailed", driver.refuse)
    assert body["regarding"]["uid"] == ref().uid
    assert body["regarding"]["kind"] == "ResourceClaim"


async def test_another_reason_is_another_event(
    driver: Fortune, store: cdi.Store, kubelet: FakeKubelet, server: ScriptedServer
) -> None:
    server.shows(claim_path(ref()), claim_object(ref()))
    server.on("POST", EVENTS, answer({}, 201))
    async with make(driver, store, server.api(), kubelet, events=True):
        await kubelet.registered(DRIVER)
        for count, text in enumerate(("one", "two"), 1):
            driver.refuse = text
            with pytest.raises(PrepareFailed):
                await kubelet.prepare(DRIVER, ref())
            await until(partial(told, server, count))
