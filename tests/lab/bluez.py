"""The little of bluetoothd's D-Bus face that the lab's own tests need: find, pair, look.

Not the product's client on purpose: a test of the lab must not fail with the product.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Self

from dbus_fast import BusType, Message, MessageType, Variant
from dbus_fast.aio import MessageBus

_AGENT = "/lab/agent"


class BluezError(Exception):
    """bluetoothd refused a call; its error name and words."""


class Host:
    """bluetoothd as its users see it. An async context manager, which also is a pairing agent
    that agrees to everything."""

    def __init__(self, adapter: str = "hci0") -> None:
        self.adapter = f"/org/bluez/{adapter}"
        self._bus: MessageBus | None = None

    async def __aenter__(self) -> Self:
        self._bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
        try:
            self._bus.add_message_handler(self._agree)
            manager = "org.bluez.AgentManager1"
            await self.call(
                "/org/bluez", f"{manager}.RegisterAgent", "os", _AGENT, "NoInputNoOutput"
            )
            await self.call("/org/bluez", f"{manager}.RequestDefaultAgent", "o", _AGENT)
            await self.set(self.adapter, "org.bluez.Adapter1", "Powered", Variant("b", True))
        except BaseException:
            self._bus.disconnect()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._bus
        self._bus.disconnect()

    async def call(self, path: str, member: str, signature: str = "", *body: Any) -> list[Any]:
        """Call `interface.Method` of an object of bluetoothd's; BluezError when it refuses."""
        assert self._bus
        interface, _, method = member.rpartition(".")
        reply = await self._bus.call(
            Message("org.bluez", path, interface, method, signature=signature, body=list(body))
        )
        assert reply is not None
        if reply.message_type == MessageType.ERROR:
            raise BluezError(f"{member}: {reply.error_name}: {reply.body}")
        return list(reply.body)

    async def set(self, path: str, interface: str, name: str, value: Variant) -> None:
        """Set a property."""
        member = "org.freedesktop.DBus.Properties.Set"
        await self.call(path, member, "ssv", interface, name, value)

    async def device(self, address: str) -> dict[str, Any]:
        """Properties of a device and its battery; {} while bluetoothd does not know it."""
        (objects,) = await self.call("/", "org.freedesktop.DBus.ObjectManager.GetManagedObjects")
        found = objects.get(self.path(address), {})
        parts = (found.get(f"org.bluez.{name}", {}) for name in ("Battery1", "Device1"))
        return {name: value.value for part in parts for name, value in part.items()}

    def path(self, address: str) -> str:
        """The object path of a device."""
        return f"{self.adapter}/dev_{address.replace(':', '_')}"

    async def until(
        self, address: str, done: Callable[[dict[str, Any]], Any], what: str, seconds: float = 120
    ) -> dict[str, Any]:
        """Wait until a device's properties are as wished; returns them."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    found = await self.device(address)
                    if found and done(found):
                        return found
                    await asyncio.sleep(0.2)
        except TimeoutError:
            found = await self.device(address)
            raise AssertionError(f"{address}: no {what} in {seconds:.0f} s; {found}") from None

    async def find(self, address: str) -> None:
        """Scan until the device is known."""
        await self.call(self.adapter, "org.bluez.Adapter1.StartDiscovery")
        await self.until(address, lambda _: True, "sight of it")
        await self.call(self.adapter, "org.bluez.Adapter1.StopDiscovery")

    async def pair(self, address: str) -> dict[str, Any]:
        """Find it, pair and trust it; returns its properties once it is bonded and resolved."""
        await self.find(address)
        await self.call(self.path(address), "org.bluez.Device1.Pair")
        await self.set(self.path(address), "org.bluez.Device1", "Trusted", Variant("b", True))
        return await self.until(address, lambda it: it["Bonded"] and it["UUIDs"], "bond")

    def _agree(self, message: Message) -> Message | None:
        if message.path != _AGENT or message.message_type != MessageType.METHOD_CALL:
            return None
        return Message.new_method_return(message)
