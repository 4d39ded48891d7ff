"""A message bus inside the test's own process and loop, so that a fake clock can drive time-outs.

With a real daemon a fake clock runs ahead of the sockets. This one keeps what matters: unique
names, name ownership with NameOwnerChanged, delivery in order one loop turn later, NoReply for
calls whose service left, EOFError for calls in flight when a connection ends. Every message is kept
in `wire`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from dbus_fast import Message, MessageType

from bluezclient.bus import DAEMON, DAEMON_PATH, Handler


@dataclass(eq=False)
class LoopbackBus:
    """One connection; the part of `dbus_fast.aio.MessageBus` that `bluezclient.bus.Bus` names."""

    broker: LoopbackBroker
    unique_name: str | None
    handlers: list[Handler] = field(default_factory=list)
    pending: dict[int, asyncio.Future[Message | None]] = field(default_factory=dict)
    serial: int = 0

    def __post_init__(self) -> None:
        """Bind the end of the connection to the running loop."""
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def add_message_handler(self, handler: Handler) -> None:
        """Call `handler` with every message that arrives."""
        self.handlers.append(handler)

    def next_serial(self) -> int:
        """A serial not used on this connection before."""
        self.serial += 1
        return self.serial

    async def call(self, msg: Message) -> Message | None:
        """Send a call and wait for its reply."""
        future: asyncio.Future[Message | None] = asyncio.get_running_loop().create_future()
        msg.serial = msg.serial or self.next_serial()
        self.pending[msg.serial] = future
        try:
            self.send(msg)
            return await future
        finally:
            self.pending.pop(msg.serial, None)

    def send(self, msg: Message) -> None:
        """Hand a message to the broker."""
        if self.closed.done():
            raise OSError(9, "the bus is closed")
        msg.serial = msg.serial or self.next_serial()
        msg.sender = self.unique_name or ""
        self.broker.route(self, msg)

    def disconnect(self) -> None:
        """Close from this side."""
        self.broker.drop(self, None)

    async def wait_for_disconnect(self) -> None:
        """Return when closed from this side, raise EOFError when the bus went away."""
        await asyncio.shield(self.closed)

    def deliver(self, message: Message) -> None:
        """One message arrives: handlers first, in order, then the call that waits for it."""
        if self.closed.done():
            return
        for handler in list(self.handlers):
            answer = handler(message)
            if isinstance(answer, Message):
                self.send(answer)
            if answer:
                return
        if message.message_type in (MessageType.METHOD_RETURN, MessageType.ERROR):
            future = self.pending.get(message.reply_serial or 0)
            if future is not None and not future.done():
                future.set_result(message)
        elif message.message_type is MessageType.METHOD_CALL:
            self.send(_error(message, "UnknownMethod", f"no {message.member} here"))


class LoopbackBroker:
    """The daemon: routes, owns names, can die (`stop`) and come back (`start`)."""

    def __init__(self) -> None:
        self.wire: list[Message] = []
        self.running = True
        self._buses: dict[str, LoopbackBus] = {}
        self._names: dict[str, str] = {}
        self._awaited: dict[tuple[str, int], Message] = {}
        self._count = 0

    async def connect(self) -> LoopbackBus:
        """A new connection; raises ConnectionRefusedError while stopped."""
        if not self.running:
            raise ConnectionRefusedError(111, "nobody listens on this bus")
        self._count += 1
        bus = LoopbackBus(self, f":1.{self._count}")
        self._buses[f":1.{self._count}"] = bus
        return bus

    def stop(self) -> None:
        """The daemon dies: every connection ends with EOFError."""
        self.running = False
        for bus in list(self._buses.values()):
            self.drop(bus, EOFError())
        self._names.clear()

    def start(self) -> None:
        """The daemon is back, empty."""
        self.running = True

    def own(self, bus: LoopbackBus, name: str) -> None:
        """Give a well-known name to a connection."""
        self._change_owner(name, bus.unique_name or "")

    def release(self, name: str) -> None:
        """Take a well-known name away; calls its owner has not answered get NoReply."""
        owner = self._names.get(name, "")
        self._change_owner(name, "")
        self._fail_unanswered(owner)

    def drop(self, bus: LoopbackBus, error: Exception | None) -> None:
        """End one connection."""
        if bus.closed.done():
            return
        if error is None:
            bus.closed.set_result(None)
        else:
            bus.closed.set_exception(error)
            bus.closed.exception()
        for future in list(bus.pending.values()):
            if not future.done():
                future.set_exception(EOFError())
        name = bus.unique_name or ""
        self._buses.pop(name, None)
        for owned in [known for known, owner in self._names.items() if owner == name]:
            self._change_owner(owned, "")
        self._fail_unanswered(name)
        self._announce(name, name, "")

    def route(self, sender: LoopbackBus, message: Message) -> None:
        """Deliver one message, a loop turn later."""
        self.wire.append(message)
        if message.message_type is MessageType.SIGNAL:
            for bus in list(self._buses.values()):
                self._later(bus, message)
        elif message.message_type is MessageType.METHOD_CALL:
            self._route_call(sender, message)
        else:
            destination = message.destination or ""
            self._awaited.pop((destination, message.reply_serial or 0), None)
            self._later(self._buses.get(destination), message)

    def _route_call(self, sender: LoopbackBus, message: Message) -> None:
        if message.destination == DAEMON:
            self._later(sender, self._answer(message))
            return
        owner = self._names.get(message.destination or "", message.destination or "")
        target = self._buses.get(owner)
        if target is None:
            self._later(sender, _error(message, "ServiceUnknown", "nobody has that name"))
            return
        self._awaited[(sender.unique_name or "", message.serial)] = message
        message.destination = owner
        self._later(target, message)

    def _answer(self, message: Message) -> Message:
        if message.member == "GetNameOwner":
            owner = self._names.get(message.body[0])
            if owner is None:
                return _error(message, "NameHasNoOwner", "nobody has that name")
            return Message.new_method_return(message, "s", [owner])
        return Message.new_method_return(message)

    def _change_owner(self, name: str, owner: str) -> None:
        old = self._names.pop(name, "")
        if owner:
            self._names[name] = owner
        self._announce(name, old, owner)

    def _announce(self, name: str, old: str, new: str) -> None:
        signal = Message.new_signal(
            DAEMON_PATH, DAEMON, "NameOwnerChanged", "sss", [name, old, new]
        )
        signal.sender = DAEMON
        self.wire.append(signal)
        for bus in list(self._buses.values()):
            self._later(bus, signal)

    def _fail_unanswered(self, owner: str) -> None:
        for key, message in list(self._awaited.items()):
            if message.destination == owner:
                del self._awaited[key]
                reply = _error(message, "NoReply", "the service left without answering")
                self._later(self._buses.get(key[0]), reply)

    @staticmethod
    def _later(bus: LoopbackBus | None, message: Message) -> None:
        if bus is not None:
            asyncio.get_running_loop().call_soon(bus.deliver, message)


def _error(message: Message, name: str, text: str) -> Message:
    error = Message.new_error(message, f"org.freedesktop.DBus.Error.{name}", text)
    error.sender = DAEMON
    return error
