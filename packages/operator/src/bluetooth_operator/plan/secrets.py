"""Which bond Secrets to write: what is sealed on disk, with the snapshots of the device's nodes."""

from __future__ import annotations

from collections.abc import Iterator

from draplugin.kube import SECRETS

from ..actions import Apply
from ..bonds import secret_body
from ..world import Controller, World, controllers
from .devices import snapshots_of


def secrets(world: World) -> Iterator[Apply]:
    """Write what is new of each bond; a poorer disk never overwrites a stored bond.

    Only files that were handed in as sealed are looked at, and only while bluetoothd says that the
    device is bonded: after a failed restore the tree is there and the bond is not.
    """
    if world.kube is None:
        return
    for controller in controllers(world):
        known = world.kube.peripherals.get(controller.address.dashes)
        if known is not None and "deletionTimestamp" in known["metadata"]:
            continue
        yield from _store(world, controller)


def _store(world: World, controller: Controller) -> Iterator[Apply]:
    stored = controller.stored
    files = world.files.get((controller.adapter, controller.address)) if controller.bonded else None
    if files is None and stored is None:
        return
    snapshots = snapshots_of(world, controller)
    wanted = dict(files if files is not None else stored.files if stored else {})
    same_files = stored is not None and wanted == dict(stored.files)
    if stored is not None and same_files and snapshots == stored.snapshots and not stored.problem:
        return
    if files is None and stored is not None and stored.problem:
        return
    yield Apply(
        SECRETS,
        secret_body(world.namespace, controller.adapter, controller.address, wanted, snapshots),
    )
