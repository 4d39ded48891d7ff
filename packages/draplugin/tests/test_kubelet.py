"""The kubelet for tests does what the real one does: deadlines, retries, errors and wipes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from draplugin import ClaimRef, DeviceHealth
from draplugin.testing import FakeKubelet, PrepareFailed, Timings, UnprepareFailed
from draplugin.wire import (
    DRA_SERVICES,
    PrepareAnswer,
    PreparedDevice,
    SocketServer,
    dra_service,
    health_service,
    registration_service,
)

from .builders import DRIVER, NODE, ref
from .waiting import until

QUICK = Timings(retry_first=0.05, retry_most=0.1, wipe=0.2, health_redial=0.05)


class Scripted:
    """A plugin's other end, which answers what the test says."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.services: Sequence[str] = tuple(DRA_SERVICES)
        self.asked = 0
        self.slow = 0
        self.told: list[tuple[bool, str]] = []
        self.answers: Mapping[str, PrepareAnswer] = {}
        self.errors: Mapping[str, str] = {}
        self.prepared: list[str] = []
        self.gate: asyncio.Event | None = None
        self.reports: list[Sequence[DeviceHealth]] = []
        self.streams = 0

    def info(self) -> tuple[str, Path, Sequence[str]]:
        self.asked += 1
        if self.asked <= self.slow:
            raise RuntimeError("not yet")
        return DRIVER, self.root / "dra.sock", self.services

    def notified(self, registered: bool, error: str) -> None:
        self.told.append((registered, error))

    async def prepare_claims(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        self.prepared += [claim.name for claim in refs]
        if self.gate is not None:
            await self.gate.wait()
        return self.answers

    async def unprepare_claims(self, refs: Sequence[ClaimRef]) -> Mapping[str, str]:
        return self.errors

    async def health(self) -> AsyncIterator[Sequence[DeviceHealth]]:
        self.streams += 1
        for report in self.reports:
            yield report

    @asynccontextmanager
    async def serving(self, name: str = f"{DRIVER}-reg.sock") -> AsyncIterator[None]:
        registry = self.root / "plugins_registry"
        registry.mkdir(exist_ok=True)
        dra = SocketServer(
            [
                *(dra_service(service, self) for service in DRA_SERVICES),
                health_service("v1alpha1.DRAResourceHealth", self.health),
            ]
        )
        registration = SocketServer([registration_service(self)])
        await dra.start(self.root / "dra.sock")
        await registration.start(registry / name)
        try:
            yield
        finally:
            await registration.stop(0)
            await dra.stop(0)


@pytest.fixture
def scripted(kubelet_root: Path) -> Scripted:
    return Scripted(kubelet_root)


async def test_a_plugin_that_does_not_answer_is_asked_again_with_patience(
    scripted: Scripted, kubelet_root: Path
) -> None:
    scripted.slow = 3
    async with FakeKubelet(kubelet_root, timings=QUICK) as kubelet, scripted.serving():
        await kubelet.registered(DRIVER)
        await until(lambda: scripted.told)
    failures = [line for line in kubelet.log if "failed" in line and "registration" in line]
    assert (scripted.asked, len(failures)) == (4, 3)
    assert scripted.told == [(True, "")]


async def test_get_info_has_one_second(kubelet_root: Path) -> None:
    assert Timings().get_info == 1.0
    assert Timings().scaled(0.01).get_info == 1.0
    registry = kubelet_root / "plugins_registry"
    registry.mkdir()
    timings = Timings(get_info=0.1, retry_first=60)
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(registry / "mute-reg.sock"))
        mute.listen()
        async with FakeKubelet(kubelet_root, timings=timings) as kubelet:
            await until(lambda: kubelet.log)
    assert kubelet.log[0].startswith("registration of mute-reg.sock failed: DEADLINE_EXCEEDED")


async def test_a_restarted_plugin_is_not_taken_for_the_one_before(
    scripted: Scripted, kubelet_root: Path
) -> None:
    async with FakeKubelet(kubelet_root, timings=QUICK) as kubelet:
        async with scripted.serving():
            first = await kubelet.registered(DRIVER)
        async with scripted.serving():
            assert await kubelet.registered(DRIVER, after=first) is not first


async def test_hidden_sockets_are_not_looked_at(scripted: Scripted, kubelet_root: Path) -> None:
    async with (
        FakeKubelet(kubelet_root, timings=QUICK) as kubelet,
        scripted.serving(".hidden-reg.sock"),
    ):
        await asyncio.sleep(QUICK.poll * 5)
        assert (kubelet.log, scripted.asked) == ([], 0)


@pytest.mark.parametrize(
    ("offered", "understood", "taken"),
    [
        (["v1.DRAPlugin", "v1beta1.DRAPlugin"], ["v1.DRAPlugin", "v1beta1.DRAPlugin"], "v1"),
        (["v1beta1.DRAPlugin", "v1.DRAPlugin"], ["v1.DRAPlugin", "v1beta1.DRAPlugin"], "v1beta1"),
        (["v9.DRAPlugin", "v1.DRAPlugin", "v1beta1.DRAPlugin"], ["v1beta1.DRAPlugin"], "v1beta1"),
    ],
)
async def test_the_first_service_of_the_plugins_list_that_is_understood_is_taken(
    scripted: Scripted, kubelet_root: Path, offered: list[str], understood: list[str], taken: str
) -> None:
    scripted.services = offered
    async with (
        FakeKubelet(kubelet_root, supported=understood, timings=QUICK) as kubelet,
        scripted.serving(),
    ):
        assert (await kubelet.registered(DRIVER)).service == f"{taken}.DRAPlugin"


async def test_a_second_socket_for_one_endpoint_is_refused(
    scripted: Scripted, kubelet_root: Path
) -> None:
    second = Scripted(kubelet_root)
    async with FakeKubelet(kubelet_root, timings=QUICK) as kubelet, scripted.serving():
        await kubelet.registered(DRIVER)
        server = SocketServer([registration_service(second)])
        await server.start(kubelet.registry_dir / f"{DRIVER}-second-reg.sock")
        await until(lambda: second.told)
        await server.stop(0)
    assert second.told[0] == (False, f"endpoint {kubelet_root / 'dra.sock'} is already registered")


GOOD = PrepareAnswer((PreparedDevice(("cookie",), NODE, "cookie-1", ("a/b=c",)),))


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ({}, "NodePrepareResources skipped 1 ResourceClaims"),
        ({ref(2).uid: GOOD}, f"unexpected claim UID {ref(2).uid} in the answer"),
        (
            {ref().uid: PrepareAnswer(error="stale")},
            "NodePrepareResources failed for ResourceClaim claim-1: stale",
        ),
    ],
    ids=["missing UID", "unknown UID", "an error"],
)
async def test_a_wrong_prepare_answer_is_the_pods_event(
    scripted: Scripted, kubelet_root: Path, answers: Any, text: str
) -> None:
    scripted.answers = answers
    async with FakeKubelet(kubelet_root, timings=QUICK) as kubelet, scripted.serving():
        await kubelet.registered(DRIVER)
        with pytest.raises(PrepareFailed) as failure:
            await kubelet.prepare(DRIVER, ref())
    assert str(failure.value) == text


@pytest.mark.parametrize(
    ("errors", "text"),
    [
        ({}, "NodeUnprepareResources skipped 1 ResourceClaims"),
        ({ref(2).uid: ""}, f"unexpected claim UID {ref(2).uid} in the answer"),
        ({ref().uid: "stuck"}, "NodeUnprepareResources failed for ResourceClaim claim-1: stuck"),
    ],
    ids=["missing UID", "unknown UID", "an error"],
)
async def test_a_wrong_unprepare_answer_keeps_the_pod(
    scripted: Scripted, kubelet_root: Path, errors: Any, text: str
) -> None:
    scripted.errors = errors
    async with FakeKubelet(kubelet_root, timings=QUICK) as kubelet, scripted.serving():
        await kubelet.registered(DRIVER)
        with pytest.raises(UnprepareFailed) as failure:
            await kubelet.unprepare(DRIVER, ref())
    assert str(failure.value) == text


async def test_a_call_is_given_up_at_its_deadline(scripted: Scripted, kubelet_root: Path) -> None:
    assert Timings().call == 45.0
    scripted.gate = asyncio.Event()
    async with (
        FakeKubelet(kubelet_root, timings=replace(QUICK, call=0.3)) as kubelet,
        scripted.serving(),
    ):
        await kubelet.registered(DRIVER)
        with pytest.raises(PrepareFailed, match="NodePrepareResources: DEADLINE_EXCEEDED"):
            await kubelet.prepare(DRIVER, ref())


async def test_a_prepared_claim_is_asked_for_again_only_after_a_restart(
    scripted: Scripted, kubelet_root: Path
) -> None:
    scripted.answers = {ref().uid: GOOD}
    async with FakeKubelet(kubelet_root) as kubelet, scripted.serving():
        await kubelet.registered(DRIVER)
        for _ in range(3):
            await kubelet.prepare(DRIVER, ref())
        assert scripted.prepared == ["claim-1"]
        await kubelet.restart()
        await kubelet.registered(DRIVER)
        await kubelet.prepare(DRIVER, ref())
    assert scripted.prepared == ["claim-1", "claim-1"]


async def test_slices_are_wiped_at_its_start_and_a_while_after_a_plugin_is_gone(
    scripted: Scripted, kubelet_root: Path
) -> None:
    wiped: list[str | None] = []

    async def wipe(driver: str | None) -> None:
        wiped.append(driver)

    assert Timings().wipe == 30.0
    async with FakeKubelet(kubelet_root, timings=QUICK, wipe=wipe) as kubelet:
        assert wiped == [None]
        async with scripted.serving():
            await kubelet.registered(DRIVER)
        await until(lambda: wiped == [None, DRIVER])


async def test_a_plugin_that_is_back_in_time_keeps_its_slices(
    scripted: Scripted, kubelet_root: Path
) -> None:
    wiped: list[str | None] = []

    async def wipe(driver: str | None) -> None:
        wiped.append(driver)

    # The real one's patience: far more than a slow machine needs to be back.
    async with FakeKubelet(kubelet_root, timings=Timings(), wipe=wipe) as kubelet:
        for _ in range(2):
            async with scripted.serving():
                await kubelet.registered(DRIVER)
                await until(lambda: not kubelet._wiping)
            await kubelet.unregistered(DRIVER)
    assert wiped == [None]


async def test_a_health_stream_that_ends_is_dialled_again_and_its_states_are_forgotten(
    scripted: Scripted, kubelet_root: Path
) -> None:
    assert Timings().health_redial == 5.0
    scripted.reports = [[DeviceHealth(NODE, "cookie-1", True)]]
    async with FakeKubelet(kubelet_root, timings=QUICK) as kubelet, scripted.serving():
        registered = await kubelet.registered(DRIVER)
        await until(lambda: scripted.streams >= 3)
        await until(lambda: "health stream ended" in kubelet.log and not registered.health)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda kubelet: kubelet.prepare(DRIVER, ref()), id="prepare"),
        pytest.param(lambda kubelet: kubelet.unprepare(DRIVER, ref()), id="unprepare"),
    ],
)
async def test_a_driver_nobody_knows_is_named(
    kubelet_root: Path, call: Callable[[FakeKubelet], Any]
) -> None:
    async with FakeKubelet(kubelet_root) as kubelet:
        with pytest.raises((PrepareFailed, UnprepareFailed), match=f"{DRIVER} is not registered"):
            await call(kubelet)
