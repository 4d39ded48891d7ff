"""A kubelet for tests: the calls, deadlines and habits of the real one, on real sockets.

What it does like the kubelet (pkg/kubelet/cm/dra and pkg/kubelet/pluginmanager of kubernetes
1.34 to 1.37): finds plugins by their socket files, ignores hidden ones; asks GetInfo with one
second of patience and backs off; takes the plugin's first service that it knows; dials the DRA
endpoint; prepares all claims of a pod in one call of at most 45 s; treats a UID that is missing or
was not asked for as an error; never prepares a prepared claim again until it is restarted, and
then does; wipes the node's slices at its start and 30 s after a plugin is gone; redials a health
stream after five seconds.

What it is not: it runs no containers and decides no policy. Times can be scaled for tests.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import grpc.aio

from ..model import ClaimRef
from ..wire import DRA_SERVICES, HEALTH_SERVICES, PLUGIN_TYPE, DeviceHealth
from .dialer import Answer, Dialer, Info, KubeletDevice

# Seconds to wait for what ought to come; only a failure ever takes as long.
PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Timings:
    """The kubelet's deadlines and waits in seconds; scale them with `scaled`."""

    poll: float = 0.02
    get_info: float = 1.0
    notify: float = 5.0
    call: float = 45.0
    retry_first: float = 0.5
    retry_most: float = 122.0
    wipe: float = 30.0
    health_redial: float = 5.0

    def scaled(self, factor: float) -> Timings:
        """The same with the long waits multiplied; polling and GetInfo stay."""
        return Timings(
            call=self.call * factor,
            retry_first=self.retry_first * factor,
            retry_most=self.retry_most * factor,
            wipe=self.wipe * factor,
            health_redial=self.health_redial * factor,
        )


Identity = tuple[int, int]


class PrepareFailed(Exception):  # noqa: N818 - the kubelet's word for it
    """What becomes the pod's event FailedPrepareDynamicResources."""


class UnprepareFailed(Exception):  # noqa: N818 - the kubelet's word for it
    """The pod stays Terminating for this."""


@dataclass(slots=True)
class Registered:
    """A plugin the kubelet knows."""

    info: Info
    service: str
    dialer: Dialer
    health: dict[tuple[str, str], DeviceHealth] = field(default_factory=dict)
    watcher: asyncio.Task[None] | None = None


class FakeKubelet:
    """A kubelet below `root`: `root/plugins` and `root/plugins_registry`.

    `supported` is what this kubelet understands; `wipe` is called where the real one deletes the
    node's slices of a driver (None = all drivers). `log` lists what happened, in words.
    """

    def __init__(
        self,
        root: Path,
        *,
        supported: Sequence[str] = tuple(DRA_SERVICES),
        health: bool = True,
        timings: Timings | None = None,
        wipe: Callable[[str | None], Awaitable[None]] | None = None,
    ) -> None:
        self.root = root
        self.plugins_dir = root / "plugins"
        self.registry_dir = root / "plugins_registry"
        self.timings = timings or Timings()
        self.log: list[str] = []
        self.supported = tuple(supported)
        self._health = health
        self._wipe = wipe
        self._known: dict[Path, Identity] = {}
        self._registering: dict[Path, asyncio.Task[None]] = {}
        self._registered: dict[str, dict[Path, Registered]] = {}
        self._wiping: dict[str, asyncio.Task[None]] = {}
        self._prepared: dict[str, tuple[KubeletDevice, ...]] = {}
        self._changed = asyncio.Condition()
        self._watch: asyncio.Task[None] | None = None
        self.plugins_dir.mkdir(parents=True, exist_ok=True)
        self.registry_dir.mkdir(parents=True, exist_ok=True)

    async def __aenter__(self) -> FakeKubelet:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Wipe the node's slices and look for plugins, as at the kubelet's start."""
        if self._wipe is not None:
            await self._wipe(None)
        self._watch = asyncio.get_running_loop().create_task(self._watch_registry())

    async def stop(self) -> None:
        """Go away without a word to the plugins; what was prepared is forgotten."""
        tasks = [self._watch, *self._registering.values(), *self._wiping.values()]
        known = [r for entries in self._registered.values() for r in entries.values()]
        await _end(*tasks, *(r.watcher for r in known))
        for registered in known:
            await registered.dialer.close()
        for memory in (self._known, self._registering, self._registered, self._wiping):
            memory.clear()
        self._prepared.clear()

    async def restart(self) -> None:
        """Stop and start: plugins are found again, claims will be prepared again."""
        await self.stop()
        self.log.append("restarted")
        await self.start()

    async def registered(
        self, driver: str, timeout: float = PATIENCE, *, after: Registered | None = None
    ) -> Registered:
        """The plugin, once it is registered; the most recent one where there are several.

        Whoever has just restarted a plugin says which registration was the last one, `after`: it
        stands until the kubelet has looked at the sockets again.
        """

        def newer() -> bool:
            return bool(self._registered.get(driver)) and self._plugin(driver) is not after

        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(newer)
        return self._plugin(driver)

    async def unregistered(self, driver: str, timeout: float = PATIENCE) -> None:
        """Return when the kubelet knows no plugin of the driver."""
        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(lambda: not self._registered.get(driver))

    def instances(self, driver: str) -> list[Info]:
        """All registered instances of the driver, oldest first."""
        return [entry.info for entry in self._registered.get(driver, {}).values()]

    async def prepare(self, driver: str, *claims: ClaimRef) -> dict[str, tuple[KubeletDevice, ...]]:
        """What starting a pod with these claims does; the devices of each claim by UID.

        Claims prepared since the kubelet's start are not sent again. Raises PrepareFailed with the
        kubelet's text.
        """
        todo = [claim for claim in claims if claim.uid not in self._prepared]
        if todo:
            plugin = self._plugin(driver, PrepareFailed)
            answers = await self._prepare_call(plugin, todo)
            self._take(todo, answers)
        return {claim.uid: self._prepared[claim.uid] for claim in claims}

    async def unprepare(self, driver: str, *claims: ClaimRef) -> None:
        """What the end of the last pod with these claims does."""
        plugin = self._plugin(driver, UnprepareFailed)
        try:
            errors = await plugin.dialer.unprepare(plugin.service, claims, self.timings.call)
        except grpc.aio.AioRpcError as error:
            raise UnprepareFailed(f"NodeUnprepareResources: {_text(error)}") from error
        names = {claim.uid: claim.name for claim in claims}
        for uid, text in errors.items():
            if uid not in names:
                raise UnprepareFailed(f"unexpected claim UID {uid} in the answer")
            if text:
                raise UnprepareFailed(
                    f"NodeUnprepareResources failed for ResourceClaim {names[uid]}: {text}"
                )
            self._prepared.pop(uid, None)
        if skipped := len(names) - len(errors):
            raise UnprepareFailed(f"NodeUnprepareResources skipped {skipped} ResourceClaims")

    async def _prepare_call(
        self, plugin: Registered, claims: Sequence[ClaimRef]
    ) -> dict[str, Answer]:
        try:
            return dict(await plugin.dialer.prepare(plugin.service, claims, self.timings.call))
        except grpc.aio.AioRpcError as error:
            raise PrepareFailed(f"NodePrepareResources: {_text(error)}") from error

    def _take(self, claims: Sequence[ClaimRef], answers: dict[str, Answer]) -> None:
        names = {claim.uid: claim.name for claim in claims}
        for uid, answer in answers.items():
            if uid not in names:
                raise PrepareFailed(f"unexpected claim UID {uid} in the answer")
            if answer.error:
                raise PrepareFailed(
                    f"NodePrepareResources failed for ResourceClaim {names[uid]}: {answer.error}"
                )
            self._prepared[uid] = answer.devices
        if skipped := len(names) - len(answers):
            raise PrepareFailed(f"NodePrepareResources skipped {skipped} ResourceClaims")

    def _plugin(self, driver: str, error: type[Exception] = LookupError) -> Registered:
        known = self._registered.get(driver)
        if not known:
            raise error(f"DRA driver {driver} is not registered")
        return next(reversed(known.values()))

    async def _watch_registry(self) -> None:
        while True:
            present = _sockets(self.registry_dir)
            for path in [p for p, identity in self._known.items() if present.get(p) != identity]:
                del self._known[path]
                await self._gone(path)
            for path, identity in present.items():
                if path not in self._known:
                    self._known[path] = identity
                    task = asyncio.get_running_loop().create_task(self._register(path))
                    self._registering[path] = task
            await asyncio.sleep(self.timings.poll)

    async def _register(self, path: Path) -> None:
        wait = self.timings.retry_first
        while True:
            try:
                await self._register_once(path)
            except (grpc.aio.AioRpcError, ValueError) as error:
                self.log.append(f"registration of {path.name} failed: {_text(error)}")
                await asyncio.sleep(wait)
                wait = min(wait * 2, self.timings.retry_most)
            else:
                return

    async def _register_once(self, path: Path) -> None:
        async with Dialer(path) as dialer:
            info = await dialer.get_info(self.timings.get_info)
            problem = self._problem(info)
            if problem:
                await dialer.notify(False, problem, self.timings.notify)
                raise ValueError(problem)
            await self._add(path, info)
            await dialer.notify(True, "", self.timings.notify)

    def _problem(self, info: Info) -> str:
        if info.type != PLUGIN_TYPE:
            return f"no handler registered for plugin type: {info.type} at socket {info.endpoint}"
        if not any(service in self.supported for service in info.services):
            return f"none of the services {', '.join(info.services)} is supported"
        if any(info.endpoint == other.endpoint for other in self.instances(info.name)):
            return f"endpoint {info.endpoint} is already registered"
        return ""

    async def _add(self, path: Path, info: Info) -> None:
        service = next(s for s in info.services if s in self.supported)
        registered = Registered(info, service, Dialer(info.endpoint))
        wiping = self._wiping.pop(info.name, None)
        await _end(wiping)
        self._registered.setdefault(info.name, {})[path] = registered
        if self._health:
            watch = self._watch_health(registered)
            registered.watcher = asyncio.get_running_loop().create_task(watch)
        self.log.append(f"registered {info.name} with {service}")
        async with self._changed:
            self._changed.notify_all()

    async def _gone(self, path: Path) -> None:
        await _end(self._registering.pop(path, None))
        for driver, entries in self._registered.items():
            registered = entries.pop(path, None)
            if registered is None:
                continue
            await _end(registered.watcher)
            await registered.dialer.close()
            self.log.append(f"unregistered {driver}")
            if not entries and self._wipe is not None:
                wiping = self._wipe_later(driver, self._wipe)
                self._wiping[driver] = asyncio.get_running_loop().create_task(wiping)
        async with self._changed:
            self._changed.notify_all()

    async def _wipe_later(self, driver: str, wipe: Callable[[str | None], Awaitable[None]]) -> None:
        await asyncio.sleep(self.timings.wipe)
        self.log.append(f"wiped slices of {driver}")
        await wipe(driver)

    async def _watch_health(self, registered: Registered) -> None:
        service = next((s for s in registered.info.services if s in HEALTH_SERVICES), None)
        service = service or HEALTH_SERVICES[-1]
        while True:
            try:
                async for report in registered.dialer.watch_health(service):
                    registered.health |= {(d.pool, d.device): d for d in report}
                    async with self._changed:
                        self._changed.notify_all()
                self.log.append("health stream ended")
            except grpc.aio.AioRpcError as error:
                self.log.append(f"health stream failed: {error.code().name}")
            registered.health.clear()
            await asyncio.sleep(self.timings.health_redial)

    async def healthy(
        self, driver: str, pool: str, device: str, timeout: float = PATIENCE
    ) -> DeviceHealth:
        """The device's health, once the kubelet was told of it."""
        plugin = self._plugin(driver)
        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(lambda: (pool, device) in plugin.health)
        return plugin.health[pool, device]


def _sockets(directory: Path) -> dict[Path, Identity]:
    found = {}
    for path in sorted(directory.iterdir()):
        with contextlib.suppress(FileNotFoundError):
            if not path.name.startswith(".") and path.is_socket():
                # An inode alone may be used again at once for the next instance's socket.
                found[path] = (path.lstat().st_ino, path.lstat().st_ctime_ns)
    return found


def _text(error: Exception) -> str:
    if isinstance(error, grpc.aio.AioRpcError):
        return f"{error.code().name}: {error.details()}"
    return str(error)


async def _end(*tasks: asyncio.Task[None] | None) -> None:
    running = [task for task in tasks if task is not None]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
