"""When a changed slice is published: a lost or returned link at once, everything else when quiet.

A flapping link or a controller that says its properties one by one must not flood the API server;
a pod that waits for its pad must not wait for calm.
"""

from __future__ import annotations

from collections.abc import Sequence

from draplugin import Device

QUIET = 1.5
LONGEST = 10.0


def urgent(old: Sequence[Device], new: Sequence[Device]) -> bool:
    """Whether a device that is in both has other taints now."""
    before = {device.name: device.taints for device in old}
    return any(before[device.name] != device.taints for device in new if device.name in before)


class Pace:
    """Holds back changes of the devices; times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._published: tuple[Device, ...] = ()
        self._wished: tuple[Device, ...] = ()
        self._first: float | None = None
        self._last = 0.0

    def offer(self, devices: Sequence[Device], now: float) -> tuple[Device, ...] | None:
        """Take the devices as they ought to be; returns them when they are to be published now."""
        devices = tuple(devices)
        if devices != self._wished:
            self._wished, self._last = devices, now
        if devices == self._published:
            self._first = None
            return None
        if self._first is None:
            self._first = now
        if now < self.due(now) and not urgent(self._published, devices):
            return None
        self._published, self._first = devices, None
        return devices

    def due(self, now: float) -> float:
        """When what is held back goes out; `now` when nothing is."""
        return now if self._first is None else min(self._last + QUIET, self._first + LONGEST)
