"""The kubelet plugin: two sockets, a registration, and a clean way in and out.

Order matters. The DRA socket serves before the registration socket appears, because the kubelet
dials the one as soon as it sees the other. On the way out the registration socket goes first, then
running work ends, then the DRA socket goes. Slices and CDI files stay: pods that run must not
notice, and the next instance carries on from them. Not being registered is no reason to exit; the
kubelet may be down for an hour, and it comes to us when it is back.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from . import cdi
from .claimservice import ClaimService
from .health import HealthFeed, HealthHandler
from .kube import RESOURCECLAIMS, Api
from .metrics import NoRecorder, Recorder
from .model import Claim, ClaimRef, Handler, Prepared
from .orphans import OrphanCollector
from .site import PLUGINS, REGISTRY, Site
from .sockets import check_driver_name, socket_names, sweep
from .status import StatusWriter
from .wire import (
    DRA_SERVICES,
    HEALTH_SERVICES,
    SocketServer,
    dra_service,
    health_service,
    registration_service,
)

_log = logging.getLogger(__name__)
EVENT_EVERY = 300.0


@dataclass(frozen=True, slots=True)
class Registration:
    """Where the plugin stands with the kubelet.

    `waiting`: the sockets are there, the kubelet has not said anything yet. `refused`: it said why
    not, in `error`. `since` is Unix time.
    """

    state: Literal["stopped", "waiting", "registered", "refused"] = "stopped"
    error: str = ""
    since: float = 0.0


class Plugin:
    """A DRA driver's kubelet plugin on one node.

    `handler` does the driver's work, `api` reads claims, `cdi` records what is prepared.
    `plugins_dir` and `registry_dir` are the kubelet's, and must be the same path inside and
    outside of the driver's container. With `pod_uid` the sockets are named for the pod, so that
    two instances may overlap during a rolling update (kubelet 1.33+); the DaemonSet then sets
    `maxSurge: 1`. Metrics go to `recorder`; events about refused claims are sent unless
    `events=False`.
    """

    def __init__(
        self,
        driver: str,
        node: str,
        handler: Handler,
        api: Api,
        *,
        cdi: cdi.Store,
        plugins_dir: Path | str = PLUGINS,
        registry_dir: Path | str = REGISTRY,
        pod_uid: str | None = None,
        recorder: Recorder | None = None,
        events: bool = True,
        collect_orphans: bool = True,
    ) -> None:
        self.driver = check_driver_name(driver)
        self.node = node
        self.cdi = cdi
        self._directory = Path(plugins_dir).absolute() / driver
        self._registry = Path(registry_dir).absolute()
        self._sockets = socket_names(driver, self._directory, self._registry, pod_uid)
        self._api = api
        self._recorder = recorder or NoRecorder()
        self._events = events
        self._status = StatusWriter(api, driver)
        self._collect_orphans = collect_orphans
        self._registration = Registration()
        self._health = HealthFeed(handler if isinstance(handler, HealthHandler) else None)
        self._told: OrderedDict[str, tuple[float, str]] = OrderedDict()
        self._background: set[asyncio.Task[object]] = set()
        self._servers: tuple[SocketServer, SocketServer] | None = None
        self._handler = handler
        self._claims = self._new_claims()

    @classmethod
    def at(
        cls,
        site: Site,
        driver: str,
        handler: Handler,
        store: cdi.Store,
        *,
        recorder: Recorder | None = None,
        events: bool = True,
    ) -> Plugin:
        """The plugin of a driver that runs at `site`."""
        return cls(
            driver,
            site.node,
            handler,
            site.api,
            cdi=store,
            plugins_dir=site.plugins_dir,
            registry_dir=site.registry_dir,
            pod_uid=site.pod_uid,
            recorder=recorder,
            events=events,
        )

    @property
    def registration(self) -> Registration:
        """What the kubelet said last."""
        return self._registration

    @property
    def services(self) -> tuple[str, ...]:
        """What is offered to the kubelet, best first."""
        return (*DRA_SERVICES, *(HEALTH_SERVICES if self._health.offered else ()))

    @property
    def listening(self) -> bool:
        """Whether both sockets are in place and ours: what a liveness probe asks."""
        return self._servers is not None and all(server.in_place for server in self._servers)

    async def start(self) -> None:
        """Serve both sockets and return; registration follows when the kubelet comes.

        Raises OSError when the kubelet's directories cannot be used.
        """
        if self._servers is not None:
            raise RuntimeError("the plugin is already started")
        await asyncio.to_thread(self._prepare_directories)
        self._claims = self._new_claims()
        self._health.start()
        dra = SocketServer(
            [
                *(dra_service(name, self._claims) for name in DRA_SERVICES),
                *(health_service(name, self._health.stream) for name in HEALTH_SERVICES),
            ]
        )
        registration = SocketServer([registration_service(self)])
        self._servers = (dra, registration)
        self._set(Registration("waiting", since=time.time()))
        try:
            await dra.start(self._sockets.dra)
            await registration.start(self._sockets.registration)
        except BaseException:
            await self.stop(0)
            raise
        if self._collect_orphans:
            self._spawn(self._orphans().run(), "orphans")

    async def stop(self, grace: float = 10.0) -> None:
        """Leave: unregister, let running calls end within `grace` seconds, close the sockets.

        ResourceSlices and CDI files stay in place.
        """
        servers, self._servers = self._servers, None
        if servers is None:
            return
        dra, registration = servers
        try:
            await registration.stop(0)
            for task in tuple(self._background):
                task.cancel()
            await asyncio.gather(*self._background, return_exceptions=True)
            await self._claims.stop(grace)
            await self._health.stop()
            await dra.stop(1.0)
        finally:
            # Also when stopping itself is cut short: the kubelet would go on dialling.
            dra.unlist()
        self._set(Registration("stopped", since=time.time()))

    async def __aenter__(self) -> Plugin:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    def info(self) -> tuple[str, Path, Sequence[str]]:
        """What the kubelet is told at registration."""
        return self.driver, self._sockets.dra, self.services

    def notified(self, registered: bool, error: str) -> None:
        """Take the kubelet's verdict."""
        if registered:
            _log.info("%s is registered with the kubelet", self.driver)
            self._set(Registration("registered", since=time.time()))
        else:
            _log.error("the kubelet refuses %s: %s", self.driver, error)
            self._set(Registration("refused", error, time.time()))

    def _set(self, registration: Registration) -> None:
        self._registration = registration
        self._recorder.registered(registration.state == "registered")

    def _new_claims(self) -> ClaimService:
        return ClaimService(
            self.driver,
            self._handler,
            self._api,
            self.cdi,
            recorder=self._recorder,
            refused=self._refused,
            prepared=self._prepared,
        )

    def _prepared(self, claim: Claim, devices: Sequence[Prepared]) -> None:
        if any(device.status is not None for device in devices):
            self._spawn(self._status.write(claim, devices), "status")

    def _orphans(self) -> OrphanCollector:
        return OrphanCollector(
            self._api,
            held=lambda: [claim.ref for claim in self.cdi.held()],
            busy=self._claims.busy,
            release=self._claims.release,
        )

    def _prepare_directories(self) -> None:
        self._directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        if not self._registry.is_dir():
            raise FileNotFoundError(
                f"{self._registry} does not exist: is this the kubelet's plugins_registry?"
            )
        for path in sweep(self.driver, self._directory, self._registry):
            _log.info("removed the socket of an earlier instance: %s", path)

    def _refused(self, claim: Claim | ClaimRef, text: str) -> None:
        """Tell the claim's owner, once per text and five minutes: the kubelet asks every few s."""
        now = asyncio.get_running_loop().time()
        at, last = self._told.get(claim.uid, (0.0, ""))
        if not self._events or (last == text and now - at < EVENT_EVERY):
            return
        self._told[claim.uid] = (now, text)
        while len(self._told) > 256:
            self._told.popitem(last=False)
        regarding = {
            "apiVersion": RESOURCECLAIMS.api_version,
            "kind": RESOURCECLAIMS.kind,
            "namespace": claim.namespace,
            "name": claim.name,
            "uid": claim.uid,
        }
        event = self._api.event(
            regarding,
            reason="ClaimPrepareFailed",
            note=text,
            action="Prepare",
            instance=f"{self.driver}/{self.node}"[:128],
        )
        self._spawn(event, "event")

    def _spawn(self, work: Coroutine[Any, Any, object], name: str) -> None:
        task: asyncio.Task[object] = asyncio.get_running_loop().create_task(work, name=name)
        self._background.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("%s failed: %r", task.get_name(), error, exc_info=error)
