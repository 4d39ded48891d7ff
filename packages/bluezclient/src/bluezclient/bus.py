"""One connection to the message bus, with a deadline and a named error on every call.

dbus-fast (5.2) waits for ever for a reply, raises `EOFError` for calls in flight when the bus dies,
`OSError` for calls after that, and may return None when the bus was closed cleanly; a connection
that died stays dead and a new one must be built. All of that ends here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from dbus_fast import BusType, Message, MessageType, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.errors import AuthError, DBusError, InvalidAddressError
from dbus_fast.unpack import unpack_variants

from bluezclient.errors import (
    BluezError,
    BusLost,
    DeadlineExceeded,
    PermissionDenied,
    error_from_dbus,
)
from bluezclient.properties import PROPERTIES

BLUEZ = "org.bluez"
DAEMON = "org.freedesktop.DBus"
DAEMON_PATH = "/org/freedesktop/DBus"

Handler = Callable[[Message], Message | bool | None]


class Bus(Protocol):
    """The part of `dbus_fast.aio.MessageBus` used here; `bluezclient.testing` has another."""

    unique_name: str | None

    def add_message_handler(self, handler: Handler) -> None:
        """Call `handler` with every message that arrives."""

    def next_serial(self) -> int:
        """A serial for a message whose reply is to be recognised."""

    async def call(self, msg: Message) -> Message | None:
        """Send a method call and wait for its reply."""

    def send(self, msg: Message) -> Any:
        """Send without waiting."""

    def disconnect(self) -> None:
        """Close the connection."""

    async def wait_for_disconnect(self) -> None:
        """Return or raise when the connection has ended."""


Connector = Callable[[], Awaitable[Bus]]


def system_bus(address: str | None, deadline: float) -> Connector:
    """A function that makes a new connection to the bus at `address` (None: the system bus)."""

    async def connect() -> Bus:
        bus = MessageBus(address, BusType.SYSTEM, auth_timeout=deadline)
        async with asyncio.timeout(deadline):
            await bus.connect()
        return bus

    return connect


async def open_connection(connect: Connector, deadline: float) -> Connection:
    """A live connection; raises `BusLost` or `PermissionDenied`."""
    try:
        bus = await connect()
    except (AuthError, PermissionError) as error:
        raise PermissionDenied(f"the message bus refuses us: {error}") from error
    except (OSError, EOFError, TimeoutError, DBusError, InvalidAddressError) as error:
        raise BusLost(f"no message bus: {str(error) or type(error).__name__}") from error
    return Connection(bus, deadline)


class Connection:
    """A bus connection whose calls return plain values or raise `BluezError`."""

    def __init__(self, bus: Bus, deadline: float) -> None:
        self._bus = bus
        self._deadline = deadline
        self._at_end: list[Callable[[], None]] = []
        self._closed = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        with contextlib.suppress(Exception):
            await self._bus.wait_for_disconnect()
        for callback in self._at_end:
            callback()

    def on_end(self, callback: Callable[[], None]) -> None:
        """Call `callback()` when the connection has ended, one turn of the loop later at most."""
        self._at_end.append(callback)

    @property
    def unique_name(self) -> str:
        """Our own name on the bus."""
        return self._bus.unique_name or ""

    @property
    def alive(self) -> bool:
        """Whether the connection has not ended."""
        return not self._closed.done()

    async def ended(self) -> None:
        """Return when the connection has ended, for whatever reason."""
        await asyncio.wait({self._closed})

    def on_message(self, handler: Handler) -> None:
        """Call `handler` with every message, in order of arrival, before waiting calls resume."""
        self._bus.add_message_handler(handler)

    def next_serial(self) -> int:
        """A serial for a message whose reply `on_message` is to recognise."""
        return self._bus.next_serial()

    def send(self, message: Message) -> None:
        """Send a reply or a signal; a dead connection swallows it."""
        if self.alive:
            with contextlib.suppress(OSError, EOFError):
                sent = self._bus.send(message)
                if isinstance(sent, asyncio.Future):
                    sent.add_done_callback(_retrieve)

    async def call(
        self,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        *body: Any,
        destination: str = BLUEZ,
        deadline: float | None = None,
        serial: int = 0,
    ) -> list[Any]:
        """Call a method; its reply's body as plain values.

        Raises `DeadlineExceeded` after `deadline` seconds (the connection's own by default),
        `BusLost` when the connection ends, else the error the reply stands for.
        """
        message = Message(
            destination=destination,
            path=path,
            interface=interface,
            member=member,
            signature=signature,
            body=list(body),
            serial=serial,
        )
        limit = self._deadline if deadline is None else deadline
        reply = await self._reply(message, limit)
        if reply is None:
            raise BusLost("the message bus closed the connection")
        if reply.message_type is MessageType.ERROR:
            raise _error_of(reply)
        plain: list[Any] = unpack_variants(reply.body)
        return plain

    async def _reply(self, message: Message, limit: float) -> Message | None:
        if not self.alive:
            raise BusLost("the message bus closed the connection")
        try:
            async with asyncio.timeout(limit):
                return await self._bus.call(message)
        except TimeoutError as error:
            raise DeadlineExceeded(f"no answer to {message.member} in {limit:g} s") from error
        except (OSError, EOFError) as error:
            cause = str(error) or type(error).__name__
            raise BusLost(f"the message bus went away: {cause}") from error

    async def get(self, path: str, interface: str, name: str) -> Any:
        """A property's value."""
        return (await self.call(path, PROPERTIES, "Get", "ss", interface, name))[0]

    async def set(self, path: str, interface: str, name: str, signature: str, value: Any) -> None:
        """Set a property."""
        variant = Variant(signature, value)
        await self.call(path, PROPERTIES, "Set", "ssv", interface, name, variant)

    async def match(self, rule: str) -> None:
        """Ask the bus for the signals a match rule names."""
        await self.call(DAEMON_PATH, DAEMON, "AddMatch", "s", rule, destination=DAEMON)

    async def owner(self, name: str) -> str | None:
        """The unique name that owns a well-known name now, None when nobody does."""
        try:
            body = await self.call(
                DAEMON_PATH, DAEMON, "GetNameOwner", "s", name, destination=DAEMON
            )
        except BluezError as error:
            if error.name == "org.freedesktop.DBus.Error.NameHasNoOwner":
                return None
            raise
        return str(body[0])

    async def close(self) -> None:
        """Close the connection; all that bluetoothd tied to it (agent, discovery) ends."""
        self._bus.disconnect()
        await asyncio.wait({self._closed}, timeout=self._deadline)
        self._closed.cancel()


def _error_of(reply: Message) -> BluezError:
    text = reply.body[0] if reply.body and isinstance(reply.body[0], str) else ""
    return error_from_dbus(reply.error_name or "", text)


async def end(*tasks: asyncio.Future[Any]) -> None:
    """Call tasks off and wait for them; what they raise is nobody's any more."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        _retrieve(task)


def _retrieve(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
