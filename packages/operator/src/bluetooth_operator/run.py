"""Puts the operator together and keeps it running until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

from bluezclient import Address, Client
from draplugin import ClaimRef, Plugin, Prepared, PreparedClaim
from draplugin.cdi import Store
from draplugin.kube import Api
from draplugin.slices import SlicePublisher
from uinputrelay.client import Client as Relay

from . import names
from .act import Actor
from .config import Config
from .executor import Executor
from .files import BondFiles
from .handler import ControllerHandler
from .lease import Lease
from .loop import Loop
from .observe import Objects, Sources
from .windows import Windows
from .world import World

_log = logging.getLogger(__name__)


class NoticedStore(Store):
    """The CDI store, which says when a claim was prepared or released: the demand has changed."""

    def __init__(self, config: Config, changed: Callable[[], None]) -> None:
        super().__init__(config.cdi, names.CDI_KIND)
        self._changed = changed

    def write(self, claim: ClaimRef, devices: Sequence[Prepared]) -> PreparedClaim:
        """Write as the store does, then tell."""
        prepared = super().write(claim, devices)
        self._changed()
        return prepared

    def finish_release(self, uid: str) -> None:
        """Forget as the store does, then tell."""
        super().finish_release(uid)
        self._changed()


class _Bell:
    """A kick that may be rung before there is a loop to kick, and from the store's threads."""

    def __init__(self) -> None:
        self._event_loop = asyncio.get_running_loop()
        self.kick: Callable[[], None] | None = None

    def __call__(self, *_: object) -> None:
        self._event_loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        if self.kick is not None:
            self.kick()


async def run(config: Config) -> None:
    """Run the operator; returns only when cancelled. Everything it made stays in place then."""
    bell = _Bell()
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(
            await Api.connect(config.kubeconfig, manager=names.FIELD_MANAGER)
        )
        bluez = await stack.enter_async_context(
            Client.open(config.bus, storage_root=config.bluetooth)
        )
        relay = await stack.enter_async_context(Relay(str(config.relay)))
        publisher = await stack.enter_async_context(SlicePublisher(api, names.DRIVER, config.node))
        sources = _sources(config, api, bluez, relay, publisher, bell)
        executor = Executor(
            Actor(api, bluez, sources.store, lambda: sources.world(time.time())).perform, bell
        )
        loop = Loop(sources, executor)
        bell.kick = loop.kick
        stack.push_async_callback(executor.stop)
        stack.push_async_callback(sources.windows.stop)
        stack.push_async_callback(sources.files.stop)
        stack.callback(bluez.subscribe(bell))
        for reflector in sources.objects.each():
            reflector.subscribe(bell)
            await stack.enter_async_context(reflector)
        await _together(config, api, sources, loop, bell)


def _sources(
    config: Config, api: Api, bluez: Client, relay: Relay, publisher: SlicePublisher, bell: _Bell
) -> Sources:
    def bonded(adapter: Address, device: Address) -> bool:
        known = bluez.state.device(device, adapter)
        return known is not None and known.bonded

    return Sources(
        config=config,
        bluez=bluez,
        relay=relay,
        objects=Objects.of(api, config.namespace),
        files=BondFiles(config.bluetooth, bonded, bell),
        store=NoticedStore(config, bell),
        windows=Windows(bluez, bell),
        publisher=publisher,
        lease=Lease(api, config.namespace, config.pod_uid or config.node, bell),
    )


async def _together(config: Config, api: Api, sources: Sources, loop: Loop, bell: _Bell) -> None:
    def world() -> World:
        return sources.world(time.time())

    async with (
        Plugin(
            names.DRIVER,
            config.node,
            ControllerHandler(world),
            api,
            cdi=sources.store,
            plugins_dir=config.plugins,
            registry_dir=config.registry,
            pod_uid=config.pod_uid,
        ),
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(loop.run(), name="loop")
        tasks.create_task(sources.lease.run(), name="lease")
        tasks.create_task(_follow(sources.relay, bell), name="relay")


async def _follow(relay: Relay, bell: _Bell) -> None:
    """Kick whenever the relay says something new, or falls silent."""
    async for _ in relay:
        bell()
