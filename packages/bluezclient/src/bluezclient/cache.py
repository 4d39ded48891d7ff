"""The objects of one life of bluetoothd, kept current by its signals. Pure: messages in, values
out.

Interfaces may be announced in parts (Battery1 later than Device1) and are merged; invalidated
properties are dropped; `Bonded` never announces false (BlueZ `device_remove_bonding`), so a device
whose `Paired` turned false is named for a re-read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from bluezclient.model import Adapter, Device, decode_device, decode_objects
from bluezclient.properties import ADAPTER, DEVICE

Interfaces = dict[str, dict[str, Any]]
T = TypeVar("T")


class ObjectCache:
    """bluetoothd's objects, raw and decoded; decoded mappings are replaced, never altered."""

    def __init__(self, objects: Mapping[str, Interfaces]) -> None:
        self._objects: dict[str, Interfaces] = {path: dict(held) for path, held in objects.items()}
        self.adapters: Mapping[str, Adapter]
        self.devices: Mapping[str, Device]
        self.adapters, self.devices = decode_objects(self._objects)

    def interfaces_added(self, path: str, interfaces: Mapping[str, Mapping[str, Any]]) -> None:
        """Merge new interfaces, or new properties of known ones."""
        held = self._objects.setdefault(path, {})
        for name, properties in interfaces.items():
            held[name] = {**held.get(name, {}), **properties}
        self._decode(path, interfaces)

    def interfaces_removed(self, path: str, interfaces: Iterable[str]) -> None:
        """Forget interfaces; an adapter takes its devices along, whatever order they leave in."""
        interfaces = list(interfaces)
        held = self._objects.get(path, {})
        for name in interfaces:
            held.pop(name, None)
        if not held:
            self._objects.pop(path, None)
        if ADAPTER in interfaces:
            for child in [other for other in self._objects if other.startswith(path + "/")]:
                del self._objects[child]
        self._decode(path, interfaces)

    def properties_changed(
        self, path: str, interface: str, changed: Mapping[str, Any], invalidated: Iterable[str]
    ) -> bool:
        """Apply a change; True when the device's `Bonded` has to be read again.

        A change of an object that was never announced is dropped.
        """
        held = self._objects.get(path, {}).get(interface)
        if held is None:
            return False
        held.update(changed)
        for name in invalidated:
            held.pop(name, None)
        self._decode(path, (interface,))
        unpaired = interface == DEVICE and changed.get("Paired") is False
        return unpaired and held.get("Bonded") is True

    def _decode(self, path: str, interfaces: Iterable[str]) -> None:
        if ADAPTER in interfaces:
            # Its address is in each of its devices, and its end is the end of them.
            self.adapters, self.devices = decode_objects(self._objects)
            return
        held = self._objects.get(path, {})
        device = decode_device(path, held, self.adapters) if DEVICE in held else None
        self.devices = _with(self.devices, path, device)


def _with(mapping: Mapping[str, T], path: str, value: T | None) -> Mapping[str, T]:
    if mapping.get(path) == value:
        return mapping
    changed = {key: held for key, held in mapping.items() if key != path}
    if value is not None:
        changed[path] = value
    return dict(sorted(changed.items()))
