"""bluetoothd imitated: its objects, its order of signals, its errors, and its bad days on request.

What is imitated was read in BlueZ 5.87 (`src/adapter.c`, `src/device.c`) or measured on 5.66:
`Bonded` before `Paired` before the reply to `Pair`; `Bonded` never announced as false; devices
removed before their adapter at unplug; Pairable switched by the default agent; CancelPairing
without a pairing unpairs silently. Real bluetoothd is what the lab is for; this is for logic,
faults and time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

from bluezclient.address import Address
from bluezclient.bus import BLUEZ, DAEMON, DAEMON_PATH, Bus
from bluezclient.properties import (
    ADAPTER,
    AGENT,
    AGENT_MANAGER,
    DEVICE,
    OBJECT_MANAGER,
    PROPERTIES,
    TABLES,
)

_SIGNATURES = {(name, prop.name): prop for name, table in TABLES.items() for prop in table}


@dataclass(slots=True)
class Peer:
    """A device on the air, and how it behaves when it is paired.

    Times are seconds after `Pair`: `link_after`, then `bond_after`, then `services_after`.
    `outcomes` is consumed one per `Pair`: "" succeeds, "silent" never answers, "vanish" removes the
    object, "non-bonding" pairs without a key, else a D-Bus error name after `org.bluez.Error.`
    (Page Timeout is "ConnectionAttemptFailed"). When it runs out, pairing succeeds. `asks`: agent
    methods called before bonding, as (member, signature, arguments after the device). `identity`:
    the address the device turns out to have once bonded (an LE device that advertised with a
    private address).
    """

    address: Address
    name: str = "Wireless Controller"
    class_of_device: int | None = 0x002508
    appearance: int | None = None
    address_type: str = "public"
    uuids: tuple[str, ...] = ("00001124-0000-1000-8000-00805f9b34fb",)
    rssi: int = -50
    heard_after: float = 1.0
    link_after: float = 0.5
    bond_after: float = 0.5
    services_after: float = 2.0
    outcomes: list[str] = field(default_factory=list)
    asks: list[tuple[str, str, tuple[Any, ...]]] = field(default_factory=list)
    identity: Address | None = None
    on_air: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """A method call bluetoothd received; `arguments` are plain, property writes are "Set".

    `at`: when, on the loop's clock.
    """

    path: str
    member: str
    arguments: tuple[Any, ...] = ()
    at: float = field(default=0.0, compare=False)

    def __str__(self) -> str:
        name = self.path.rpartition("/")[2]
        return f"{name}.{self.member}({', '.join(map(str, self.arguments))})"


class _Failure(Exception):  # noqa: N818
    def __init__(self, name: str, text: str = "") -> None:
        super().__init__(text)
        self.name = name if "." in name else f"org.bluez.Error.{name}"
        self.text = text


class FakeBluez:
    """One life of bluetoothd on a bus; `move_to` another connection for the next life.

    `calls` lists what was received, in order; `before_call(member)` runs before each is answered.
    Faults: `crash`, `stop`, `unplug`, `power`, `vanish`, `fail_next`, `hang_next`, `hold_signals`,
    `abort_pairing`.
    """

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.calls: list[Call] = []
        self.objects: dict[str, dict[str, dict[str, Any]]] = {}
        self.peers: list[Peer] = []
        self._agents: dict[str, tuple[str, str]] = {}
        self._default_agent: str | None = None
        self._discoverers: dict[str, set[str]] = {}
        self._pairing: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures: dict[str, list[_Failure | None]] = {}
        self._held: list[Message] | None = None
        self.kernel_keys: set[Address] = set()
        self.before_call: Callable[[str], None] = lambda _: None
        bus.add_message_handler(self._receive)

    @classmethod
    @asynccontextmanager
    async def on_bus(cls, address: str) -> AsyncIterator[FakeBluez]:
        """A fake that owns org.bluez on a real bus, such as `private_bus`'s."""
        bus = await MessageBus(address).connect()
        fake = cls(bus)
        rule = f"type='signal',sender='{DAEMON}',member='NameOwnerChanged'"
        for member, signature, body in (
            ("AddMatch", "s", [rule]),
            ("RequestName", "su", [BLUEZ, 4]),
        ):
            await bus.call(
                Message(DAEMON, DAEMON_PATH, DAEMON, member, signature=signature, body=body)
            )
        try:
            yield fake
        finally:
            fake.crash()
            bus.disconnect()
            await bus.wait_for_disconnect()  # type: ignore[no-untyped-call]

    # -- objects -------------------------------------------------------------------------------

    def add_adapter(
        self, address: Address, index: int = 0, *, powered: bool = True, **properties: Any
    ) -> str:
        """Announce an adapter as hci<index>; its object path."""
        path = f"/org/bluez/hci{index}"
        defaults = {
            "Address": address.colons,
            "AddressType": "public",
            "Name": "host",
            "Alias": "host",
            "Class": 0,
            "Powered": powered,
            "PowerState": "on" if powered else "off",
            "Discoverable": False,
            "DiscoverableTimeout": 180,
            "Pairable": False,
            "PairableTimeout": 0,
            "Connectable": True,
            "Discovering": False,
            "UUIDs": [],
            "Roles": ["central", "peripheral"],
        }
        self.announce(path, {ADAPTER: {**defaults, **properties}})
        return path

    def add_device(self, adapter: str, address: Address, **properties: Any) -> str:
        """Announce a device; its object path. `properties` are D-Bus names; bonded by default."""
        path = f"{adapter}/{address.bluez}"
        defaults = {
            "Address": address.colons,
            "AddressType": "public",
            "Adapter": adapter,
            "Alias": address.dashes.upper(),
            "UUIDs": [],
            "Paired": True,
            "Bonded": True,
            "Trusted": True,
            "Blocked": False,
            "LegacyPairing": False,
            "CablePairing": False,
            "Connected": False,
            "ServicesResolved": False,
        }
        self.announce(path, {DEVICE: {**defaults, **properties}})
        return path

    def announce(self, path: str, interfaces: dict[str, dict[str, Any]]) -> None:
        """Add interfaces to an object and send InterfacesAdded from `/`, as bluetoothd does."""
        held = self.objects.setdefault(path, {})
        for name, properties in interfaces.items():
            held[name] = dict(properties)
        body = [path, {name: _variants(name, held[name]) for name in interfaces}]
        self._signal("/", OBJECT_MANAGER, "InterfacesAdded", "oa{sa{sv}}", body)

    def withdraw(self, path: str, interfaces: list[str] | None = None) -> None:
        """Remove interfaces (all of them by default) and send InterfacesRemoved."""
        held = self.objects.get(path, {})
        names = [name for name in (interfaces or list(held)) if held.pop(name, None) is not None]
        if not held:
            self.objects.pop(path, None)
        if names:
            self._signal("/", OBJECT_MANAGER, "InterfacesRemoved", "oas", [path, names])

    def change(
        self, path: str, interface: str, invalidated: tuple[str, ...] = (), **changed: Any
    ) -> None:
        """Change properties and send PropertiesChanged, but none for `Bonded` turning false."""
        held = self.objects.get(path, {}).get(interface)
        if held is None:
            return
        held.update(changed)
        for name in invalidated:
            held.pop(name, None)
        told = {
            name: value
            for name, value in changed.items()
            if not (name == "Bonded" and value is False)
        }
        if told or invalidated:
            body = [interface, _variants(interface, told), list(invalidated)]
            self._signal(path, PROPERTIES, "PropertiesChanged", "sa{sv}as", body)

    def connect_device(self, path: str) -> None:
        """The device's link comes up."""
        self.change(path, DEVICE, Connected=True, ServicesResolved=True)

    def disconnect_device(self, path: str, reason: str | None = "Remote") -> None:
        """The link goes down; `reason` follows org.bluez.Reason., None for BlueZ <= 5.82."""
        self.change(path, DEVICE, ServicesResolved=False)
        if reason is not None:
            body = [f"org.bluez.Reason.{reason}", f"Connection ended: {reason}"]
            self._signal(path, DEVICE, "Disconnected", "ss", body)
        self.change(path, DEVICE, Connected=False)

    # -- bad days ------------------------------------------------------------------------------

    def fail_next(self, member: str, name: str, text: str = "") -> None:
        """Answer the next call of `member` (or "Set <Property>") with this error."""
        self._failures.setdefault(member, []).append(_Failure(name, text))

    def hang_next(self, member: str) -> None:
        """Never answer the next call of `member` (or "Set <Property>")."""
        self._failures.setdefault(member, []).append(None)

    def hold_signals(self) -> None:
        """Keep signals back until `release_signals`; replies still go out, so signals are late."""
        self._held = []

    def release_signals(self, merge: bool = False) -> None:
        """Send what was held; `merge` folds each object's PropertiesChanged into the last."""
        held, self._held = self._held or [], None
        for message in _merged(held) if merge else held:
            self.bus.send(message)

    def vanish(self, path: str) -> None:
        """A device object disappears, as a temporary one does 30 s after it was last heard."""
        self.withdraw(path)

    def unplug(self, adapter: str) -> None:
        """The adapter is pulled: its devices leave first, then Powered=false, then the adapter."""
        for path in [p for p in self.objects if p.startswith(adapter + "/")]:
            self.withdraw(path)
        self.change(adapter, ADAPTER, Powered=False)
        self.withdraw(adapter)

    def power(self, adapter: str, on: bool, reason: str | None = "Local") -> None:
        """The radio goes on or off; off ends links and, silently, discovery sessions.

        `reason` as in `disconnect_device`: Local and Remote are the kernel's (7.2), Unknown
        bluetoothd's own.
        """
        if not on:
            for path, held in list(self.objects.items()):
                if path.startswith(adapter + "/") and held.get(DEVICE, {}).get("Connected"):
                    self.disconnect_device(path, reason)
            self._discoverers.pop(adapter, None)
            self.change(adapter, ADAPTER, Powered=False, PowerState="off", Discovering=False)
        else:
            self.change(adapter, ADAPTER, Powered=True, PowerState="on")

    def abort_pairing(self, path: str, name: str) -> None:
        """End a pairing in flight with an error of bluetoothd's, whatever has been bonded."""
        self._cancel(path, name)

    def stop(self, reason: str | None = "Local") -> None:
        """SIGTERM: adapters off (`reason`), every object removed, then (the caller) the name."""
        for adapter in [p for p, held in self.objects.items() if ADAPTER in held]:
            self.power(adapter, on=False, reason=reason)
            for path in [p for p in self.objects if p.startswith(adapter + "/")]:
                self.withdraw(path)
            self.withdraw(adapter)
        self.crash()

    def crash(self) -> None:
        """SIGKILL: nothing is said; the caller takes the name away (`LoopbackBroker.release`)."""
        for task in list(self._tasks):
            task.cancel()
        self.objects.clear()
        self._agents.clear()
        self._default_agent = None
        self._discoverers.clear()
        self._pairing.clear()

    def move_to(self, bus: Bus) -> None:
        """The next life of bluetoothd, on a new connection (the caller gives it the name)."""
        self.bus = bus
        bus.add_message_handler(self._receive)

    # -- the agent ---------------------------------------------------------------------------------

    @property
    def default_agent(self) -> str | None:
        """The bus name of the client whose agent is asked about device-initiated pairings."""
        return self._default_agent

    async def ask(self, path: str, member: str, signature: str = "", *arguments: Any) -> str:
        """Ask the default agent about a device; its error's name, "" when it accepts."""
        sender = self._default_agent
        if sender is None:
            return "org.bluez.Error.AgentNotAvailable"
        reply = await self.bus.call(
            Message(
                destination=sender,
                path=self._agents[sender][0],
                interface=AGENT,
                member=member,
                signature="o" + signature,
                body=[path, *arguments],
            )
        )
        refused = reply is None or reply.message_type is MessageType.ERROR
        return (reply and reply.error_name) or "NoReply" if refused else ""

    # -- messages ------------------------------------------------------------------------------

    def _receive(self, message: Message) -> bool:
        if message.message_type is MessageType.SIGNAL:
            gone = message.member == "NameOwnerChanged" and message.sender == DAEMON
            if gone and not message.body[2] and message.body[0].startswith(":"):
                self._client_left(message.body[0])
            return False
        if message.message_type is not MessageType.METHOD_CALL:
            return False
        if message.path is None or not message.path.startswith("/"):
            return False
        self._handle(message)
        return True

    def _handle(self, message: Message) -> None:
        plain = tuple(v.value if isinstance(v, Variant) else v for v in message.body)
        member = message.member or ""
        now = asyncio.get_running_loop().time()
        self.calls.append(Call(message.path or "", member, plain, now))
        self.before_call(member)
        label = f"Set {plain[1]}" if member == "Set" and len(plain) == 3 else member
        try:
            if self._failures.get(label):
                failure = self._failures[label].pop(0)
                if failure is None:
                    return
                raise failure
            method = self._METHODS.get((message.interface or "", member))
            if method is None:
                raise _Failure("org.freedesktop.DBus.Error.UnknownMethod", f"no {member}")
            answer = method(self, message)
        except _Failure as failure:
            self.bus.send(Message.new_error(message, failure.name, failure.text))
            return
        if answer is not None:
            signature, body = answer
            self.bus.send(Message.new_method_return(message, signature, body))

    def _signal(self, path: str, interface: str, member: str, signature: str, body: Any) -> None:
        message = Message.new_signal(path, interface, member, signature, body)
        if self._held is not None:
            self._held.append(message)
        else:
            self.bus.send(message)

    def _spawn(self, coroutine: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _client_left(self, sender: str) -> None:
        for adapter, clients in list(self._discoverers.items()):
            if sender in clients:
                clients.discard(sender)
                self._discovery_ended(adapter)
        self._remove_agent(sender)

    def _held_by(self, path: str, interface: str) -> dict[str, Any]:
        held = self.objects.get(path, {}).get(interface)
        if held is None:
            raise _Failure("org.freedesktop.DBus.Error.UnknownObject", f"no {interface} at {path}")
        return held

    # -- methods -------------------------------------------------------------------------------

    def _get_managed_objects(self, _: Message) -> Any:
        objects = {
            path: {name: _variants(name, properties) for name, properties in held.items()}
            for path, held in self.objects.items()
        }
        return "a{oa{sa{sv}}}", [objects]

    def _get(self, message: Message) -> Any:
        interface, name = message.body
        held = self._held_by(message.path or "", interface)
        if name not in held:
            raise _Failure("org.freedesktop.DBus.Error.InvalidArgs", f"no property {name}")
        return "v", [_variant(interface, name, held[name])]

    def _set(self, message: Message) -> Any:
        interface, name, variant = message.body
        path = message.path or ""
        held = self._held_by(path, interface)
        prop = _SIGNATURES.get((interface, name))
        if prop is None or not prop.writable:
            raise _Failure("org.freedesktop.DBus.Error.PropertyReadOnly", name)
        if variant.signature != prop.signature:
            raise _Failure("InvalidArguments", "Invalid arguments in method call")
        if (interface, name) == (ADAPTER, "Powered"):
            if held.get("PowerState") == "off-blocked":
                raise _Failure("Blocked", "Blocked through rfkill")
            self.power(path, variant.value)
        elif (interface, name) == (ADAPTER, "Discoverable") and variant.value is False:
            self.change(path, ADAPTER, Discoverable=False, Connectable=False)
        else:
            self.change(path, interface, **{name: variant.value})
        return "", []

    def _register_agent(self, message: Message) -> Any:
        sender = message.sender or ""
        if sender in self._agents:
            raise _Failure("AlreadyExists", "Already Exists")
        self._agents[sender] = (message.body[0], message.body[1])
        if self._default_agent is None:
            self._make_default(sender)
        return "", []

    def _request_default_agent(self, message: Message) -> Any:
        if message.sender not in self._agents:
            raise _Failure("DoesNotExist", "Does Not Exist")
        self._make_default(message.sender or "")
        return "", []

    def _unregister_agent(self, message: Message) -> Any:
        if message.sender not in self._agents:
            raise _Failure("DoesNotExist", "Does Not Exist")
        self._remove_agent(message.sender or "")
        return "", []

    def _make_default(self, sender: str) -> None:
        self._default_agent = sender
        self._pairable(True)

    def _remove_agent(self, sender: str) -> None:
        if self._agents.pop(sender, None) and self._default_agent == sender:
            self._default_agent = next(iter(self._agents), None)
            if self._default_agent is None:
                self._pairable(False)

    def _pairable(self, on: bool) -> None:
        for path, held in list(self.objects.items()):
            if ADAPTER in held and held[ADAPTER].get("Pairable") is not on:
                self.change(path, ADAPTER, Pairable=on)

    def _set_discovery_filter(self, message: Message) -> Any:
        self._held_by(message.path or "", ADAPTER)
        return "", []

    def _start_discovery(self, message: Message) -> Any:
        path = message.path or ""
        if not self._held_by(path, ADAPTER)["Powered"]:
            raise _Failure("NotReady", "Resource Not Ready")
        clients = self._discoverers.setdefault(path, set())
        if message.sender in clients:
            raise _Failure("InProgress", "Operation already in progress")
        clients.add(message.sender or "")
        if len(clients) == 1:
            self.change(path, ADAPTER, Discovering=True)
            for peer in self.peers:
                self._spawn(self._hear(path, peer))
        return "", []

    def _stop_discovery(self, message: Message) -> Any:
        path = message.path or ""
        clients = self._discoverers.get(path, set())
        if message.sender not in clients:
            raise _Failure("Failed", "No discovery started")
        clients.discard(message.sender or "")
        self._discovery_ended(path)
        return "", []

    def _discovery_ended(self, adapter: str) -> None:
        if self._discoverers.get(adapter):
            return
        self.change(adapter, ADAPTER, Discovering=False)
        for path, held in list(self.objects.items()):
            if path.startswith(adapter + "/") and "RSSI" in held.get(DEVICE, {}):
                self.change(path, DEVICE, ("RSSI",))

    async def _hear(self, adapter: str, peer: Peer) -> None:
        while True:
            await asyncio.sleep(peer.heard_after)
            if not self._discoverers.get(adapter):
                return
            if peer.on_air:
                self._heard(adapter, peer)

    def _heard(self, adapter: str, peer: Peer) -> None:
        path = f"{adapter}/{peer.address.bluez}"
        device = self.objects.get(path, {}).get(DEVICE)
        if device is not None:
            # Told again only for a change of 8 dBm and more, so in practice once a discovery.
            if device.get("RSSI") != peer.rssi:
                self.change(path, DEVICE, RSSI=peer.rssi)
            return
        optional = {"Class": peer.class_of_device, "Appearance": peer.appearance}
        self.add_device(
            adapter,
            peer.address,
            AddressType=peer.address_type,
            Name=peer.name,
            Alias=peer.name,
            UUIDs=list(peer.uuids),
            RSSI=peer.rssi,
            Paired=False,
            Bonded=False,
            Trusted=False,
            **{name: value for name, value in optional.items() if value is not None},
        )

    def _remove_device(self, message: Message) -> Any:
        path = message.body[0]
        if DEVICE not in self.objects.get(path, {}):
            raise _Failure("DoesNotExist", "Does Not Exist")
        if not self._held_by(message.path or "", ADAPTER)["Powered"]:
            raise _Failure("NotReady", "Resource Not Ready")
        device = self.objects[path][DEVICE]
        self.kernel_keys.discard(Address(device["Address"]))
        if device["Connected"]:
            self.disconnect_device(path, "Local")
        self._cancel(path, "AuthenticationCanceled")
        self.bus.send(Message.new_method_return(message))
        self.withdraw(path)
        return None

    def _pair(self, message: Message) -> Any:
        path = message.path or ""
        device = self._held_by(path, DEVICE)
        if device["Bonded"] or Address(device["Address"]) in self.kernel_keys:
            raise _Failure("AlreadyExists", "Already Exists")
        if path in self._pairing:
            raise _Failure("InProgress", "In Progress")
        peer = next((p for p in self.peers if p.address.colons == device["Address"]), None)
        self._pairing[path] = self._spawn(self._bond(message, path, peer))
        return None

    async def _bond(self, message: Message, path: str, peer: Peer | None) -> None:
        try:
            signature, body = await self._bond_steps(path, peer)
            self.bus.send(Message.new_method_return(message, signature, body))
        except _Failure as failure:
            self.bus.send(Message.new_error(message, failure.name, failure.text))
        except asyncio.CancelledError as canceled:
            name = str(canceled.args[0]) if canceled.args else "AuthenticationCanceled"
            error = f"org.bluez.Error.{name}"
            self.bus.send(Message.new_error(message, error, "Authentication Canceled"))
            raise
        finally:
            self._pairing.pop(path, None)

    async def _bond_steps(self, path: str, peer: Peer | None) -> tuple[str, list[Any]]:
        outcome = peer.outcomes.pop(0) if peer and peer.outcomes else ""
        if peer is None or not peer.on_air or outcome == "ConnectionAttemptFailed":
            await asyncio.sleep(5.0)
            self.withdraw(path)
            raise _Failure("ConnectionAttemptFailed", "Page Timeout")
        await asyncio.sleep(peer.link_after)
        self.change(path, DEVICE, Connected=True)
        if outcome == "silent":
            await asyncio.Event().wait()
        if outcome == "vanish":
            self.withdraw(path)
            raise _Failure("AuthenticationCanceled", "Authentication Canceled")
        for member, signature, arguments in peer.asks:
            await self._ask_agent(path, member, signature, arguments)
        await asyncio.sleep(peer.bond_after)
        if outcome not in ("", "non-bonding"):
            self.disconnect_device(path, "Remote")
            raise _Failure(outcome, outcome)
        pairable = self.objects[path.rpartition("/")[0]][ADAPTER]["Pairable"]
        bonded = outcome != "non-bonding" and pairable
        if peer.identity is not None:
            self.change(path, DEVICE, Address=peer.identity.colons)
        if bonded:
            self.change(path, DEVICE, Bonded=True)
        await asyncio.sleep(peer.services_after)
        self.change(path, DEVICE, Paired=True, ServicesResolved=True)
        return "", []

    async def _ask_agent(
        self, path: str, member: str, signature: str, arguments: tuple[Any, ...]
    ) -> None:
        if await self.ask(path, member, signature, *arguments):
            raise _Failure("AuthenticationRejected", "Authentication Rejected")

    def _cancel(self, path: str, name: str) -> bool:
        task = self._pairing.get(path)
        return task is not None and task.cancel(name)

    def _device_disconnect(self, message: Message) -> Any:
        path = message.path or ""
        device = self._held_by(path, DEVICE)
        canceled = self._cancel(path, "AuthenticationCanceled")
        if not device["Connected"] and not canceled:
            raise _Failure("NotConnected", "Not Connected")
        self.disconnect_device(path, "Local")
        return "", []

    def _cancel_pairing(self, message: Message) -> Any:
        path = message.path or ""
        device = self._held_by(path, DEVICE)
        if self._cancel(path, "AuthenticationCanceled"):
            return "", []
        self.kernel_keys.discard(Address(device["Address"]))
        raise _Failure("DoesNotExist", "Does Not Exist")

    def _device_connect(self, message: Message) -> Any:
        self._held_by(message.path or "", DEVICE)
        self.connect_device(message.path or "")
        return "", []

    _METHODS: ClassVar[dict[tuple[str, str], Callable[[FakeBluez, Message], Any]]] = {
        (OBJECT_MANAGER, "GetManagedObjects"): _get_managed_objects,
        (PROPERTIES, "Get"): _get,
        (PROPERTIES, "Set"): _set,
        (AGENT_MANAGER, "RegisterAgent"): _register_agent,
        (AGENT_MANAGER, "RequestDefaultAgent"): _request_default_agent,
        (AGENT_MANAGER, "UnregisterAgent"): _unregister_agent,
        (ADAPTER, "SetDiscoveryFilter"): _set_discovery_filter,
        (ADAPTER, "StartDiscovery"): _start_discovery,
        (ADAPTER, "StopDiscovery"): _stop_discovery,
        (ADAPTER, "RemoveDevice"): _remove_device,
        (DEVICE, "Pair"): _pair,
        (DEVICE, "CancelPairing"): _cancel_pairing,
        (DEVICE, "Connect"): _device_connect,
        (DEVICE, "Disconnect"): _device_disconnect,
    }


def _variant(interface: str, name: str, value: Any) -> Variant:
    if isinstance(value, Variant):
        return value
    prop = _SIGNATURES.get((interface, name))
    if prop is None:
        raise KeyError(f"{interface}.{name} is not in the property table; pass a Variant")
    return Variant(prop.signature, value)


def _variants(interface: str, properties: dict[str, Any]) -> dict[str, Variant]:
    return {name: _variant(interface, name, value) for name, value in properties.items()}


def _merged(messages: list[Message]) -> list[Message]:
    """Fold the PropertiesChanged of one object and interface into its last one, order kept."""
    merged: list[Message] = []
    for message in messages:
        twin = next(
            (
                other
                for other in merged
                if message.member == other.member == "PropertiesChanged"
                and (other.path, other.body[0]) == (message.path, message.body[0])
            ),
            None,
        )
        if twin is not None:
            merged.remove(twin)
            gone = [*twin.body[2], *message.body[2]]
            message.body = [message.body[0], {**twin.body[1], **message.body[1]}, gone]
        merged.append(message)
    return merged
