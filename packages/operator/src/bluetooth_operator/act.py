"""How each action is done: idempotent, one call each; that it is needed was decided elsewhere."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import singledispatchmethod

from bluezclient import Client
from draplugin import Prepared
from draplugin.cdi import Store
from draplugin.kube import Api, NotFound

from .actions import Action, Apply, Bluez, Delete, Release, Renumber
from .prepared import ADDRESS, demand_of, device_nodes, record
from .world import World

_log = logging.getLogger(__name__)


class Actor:
    """Does actions with the operator's three hands: API server, bluetoothd and CDI files."""

    def __init__(self, api: Api, bluez: Client, store: Store, world: Callable[[], World]) -> None:
        self._api, self._bluez, self._store, self._world = api, bluez, store, world

    async def perform(self, action: Action) -> None:
        """Do one action; raises what the part that did it raises."""
        await self._do(action)
        _log.info("%s", _told(action))

    @singledispatchmethod
    def _do(self, action: Action) -> Awaitable[None]:
        raise TypeError(f"nobody knows how to do {action!r}")

    @_do.register
    async def _(self, action: Apply) -> None:
        body = dict(action.body)
        if action.status:
            await self._api.apply_status(action.resource, body)
        else:
            await self._api.apply(action.resource, body)

    @_do.register
    async def _(self, action: Delete) -> None:
        await self._api.delete(action.resource, action.name, action.namespace, uid=action.uid)

    @_do.register
    async def _(self, action: Release) -> None:
        patch = {"metadata": {"finalizers": list(action.finalizers)}}
        try:
            await self._api.patch(action.resource, action.name, patch)
        except NotFound:
            return

    @_do.register
    async def _(self, action: Bluez) -> None:
        bluez, adapter, device = self._bluez, action.adapter, action.device
        match action.verb, device, action.value:
            case "powered", None, bool(on):
                await bluez.set_powered(adapter, on)
            case "adapterAlias", None, str(alias):
                await bluez.set_adapter_alias(adapter, alias)
            case "trusted", device, bool(on) if device:
                await bluez.set_trusted(device, on, adapter=adapter)
            case "alias", device, str(alias) if device:
                await bluez.set_device_alias(device, alias, adapter=adapter)
            case "disconnect", device, None if device:
                await bluez.disconnect(device, adapter=adapter)
            case "unpair", device, None if device:
                await bluez.unpair(adapter, device)
            case _:
                raise TypeError(f"bluetoothd has no such verb: {action!r}")

    @_do.register
    async def _(self, action: Renumber) -> None:
        mirrors = self._world().mirrors(action.address)
        if not mirrors:
            return

        def change(device: Prepared) -> Prepared:
            if device.annotations.get(ADDRESS) != action.address.colons:
                return device
            return replace(
                device,
                device_nodes=device_nodes(mirrors),
                annotations=record(action.address, demand_of(device), mirrors),
            )

        await asyncio.to_thread(self._store.rewrite, action.uid, change)


def _told(action: Action) -> str:
    verbs = {Apply: "applied", Delete: "deleted", Release: "released", Renumber: "rewrote"}
    if isinstance(action, Bluez):
        value = "" if action.value is None else f" = {action.value}"
        return f"{action.target}{value}"
    return f"{verbs[type(action)]} {action.target}"
