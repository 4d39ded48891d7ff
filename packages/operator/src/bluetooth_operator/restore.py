"""Puts the stored bonds of this node's radios on disk, before bluetoothd reads them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence

from bluezclient import Address
from bluezclient.storage import Bond, kernel_adapters, restore
from draplugin.kube import SECRETS, Api

from . import names
from .bonds import StoredBond, read_secret
from .config import Config

_log = logging.getLogger(__name__)

ADDRESS_DEADLINE = 30.0
ASK_EVERY = 0.2


async def addresses(deadline: float = ADDRESS_DEADLINE) -> Sequence[Address]:
    """The radios' addresses from the kernel; a zero one is waited for, it is not known yet."""
    loop = asyncio.get_running_loop()
    end = loop.time() + deadline
    while True:
        adapters = kernel_adapters()
        known = [each.address for each in adapters if each.address is not None]
        if adapters and len(known) == len(adapters):
            return known
        if loop.time() > end:
            _log.warning("of %d radios %d have told their address", len(adapters), len(known))
            return known
        await asyncio.sleep(ASK_EVERY)


async def run(config: Config) -> int:
    """Restore every bond of every radio here; the exit status, 0 also where there is nothing."""
    async with await Api.connect(config.kubeconfig, manager=names.FIELD_MANAGER) as api:
        for adapter in await addresses():
            selector = f"{names.ADAPTER_LABEL}={adapter.dashes}"
            secrets = await api.list(SECRETS, config.namespace, label_selector=selector)
            stored = [each for each in map(read_secret, secrets) if each is not None]
            _report(adapter, config, stored)
    return 0


def _report(adapter: Address, config: Config, stored: Iterable[StoredBond]) -> None:
    bonds = [Bond(adapter, each.device, each.files) for each in stored if "info" in each.files]
    report = restore(config.bluetooth, adapter, bonds)
    for address, why in report.refused.items():
        _log.error("the bond of %s is not restored: %s", address, why)
    _log.info(
        "radio %s: %d bonds restored, %d kept as they are on disk, %d refused",
        adapter,
        len(report.written),
        len(report.kept),
        len(report.refused),
    )
