"""Discovery on one adapter, tied to one bus connection.

A session belongs to the connection that started it and ends with it. A second StartDiscovery
answers InProgress, which means "on"; StopDiscovery without a session answers Failed, which means
"off"; a power cycle ends the session without an error. A filter is always set: without one
bluetoothd hides LE devices that are not flagged discoverable (BlueZ `src/adapter.c`,
`is_filter_match`).
"""

from __future__ import annotations

from contextlib import suppress

from dbus_fast import Variant

from bluezclient.bus import Connection
from bluezclient.errors import Busy, CallFailed, DeviceGone
from bluezclient.properties import ADAPTER


class Discovery:
    """One client's discovery session on one adapter."""

    def __init__(self, connection: Connection, adapter_path: str, transport: str = "auto") -> None:
        self._connection = connection
        self._path = adapter_path
        self._transport = transport

    async def start(self) -> None:
        """Set the filter and start; already started is fine. Raises `AdapterUnpowered`."""
        discovery_filter = {
            "Transport": Variant("s", self._transport),
            "DuplicateData": Variant("b", False),
        }
        await self._connection.call(
            self._path, ADAPTER, "SetDiscoveryFilter", "a{sv}", discovery_filter
        )
        with suppress(Busy):
            await self._connection.call(self._path, ADAPTER, "StartDiscovery")

    async def stop(self) -> None:
        """End our session; no session, or no adapter any more, is fine."""
        with suppress(CallFailed, Busy, DeviceGone):
            await self._connection.call(self._path, ADAPTER, "StopDiscovery")

    async def __aenter__(self) -> Discovery:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
