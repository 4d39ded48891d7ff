"""The client: one live, typed picture of bluetoothd, and the few things one may ask of it.

Order of every start (BlueZ flushes pending changes before each reply, so the reply to
GetManagedObjects is a consistent cut): subscribe, learn the owner of `org.bluez`, ask for all
objects, drop every signal that came before that reply, then believe only signals sent by that
owner.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbus_fast import Message, MessageType
from dbus_fast.unpack import unpack_variants

from bluezclient import mgmt
from bluezclient.address import Address
from bluezclient.bus import (
    BLUEZ,
    DAEMON,
    DAEMON_PATH,
    Connection,
    Connector,
    end,
    open_connection,
    system_bus,
)
from bluezclient.cache import ObjectCache
from bluezclient.discovery import Discovery
from bluezclient.errors import (
    AdapterUnpowered,
    BluezError,
    BusLost,
    Busy,
    CallFailed,
    DeadlineExceeded,
    DeviceInitiatesConnection,
    DeviceUnknown,
    NotBonded,
    OwnerLost,
    PermissionDenied,
    Unavailable,
)
from bluezclient.links import LinkTracker
from bluezclient.model import Adapter, Availability, Device, State
from bluezclient.pairing import Capability, PairingWindow, PromptHandler, pairing_window
from bluezclient.properties import ADAPTER, DEVICE, OBJECT_MANAGER, PROPERTIES
from bluezclient.reasons import Wire

log = logging.getLogger(__name__)

_MATCHES = (
    f"type='signal',sender='{DAEMON}',member='NameOwnerChanged',arg0='{BLUEZ}'",
    f"type='signal',sender='{BLUEZ}'",
)
_LOST: dict[Availability, type[Unavailable]] = {
    Availability.CONNECTING: BusLost,
    Availability.BUS_LOST: BusLost,
    Availability.NO_OWNER: OwnerLost,
    Availability.PERMISSION_DENIED: PermissionDenied,
}
_RETRY_FIRST, _RETRY_MOST = 0.25, 5.0
_POWER_PAUSE = 1.0


@dataclass(eq=False, slots=True)
class _Wait:
    predicate: Callable[[State], bool]
    through_loss: bool
    future: asyncio.Future[State]

    def consider(self, state: State) -> None:
        """Settle the future if this state decides the wait."""
        if self.future.done():
            return
        if not (state.available or self.through_loss):
            self.future.set_exception(_LOST[state.availability](state.detail))
            return
        try:
            if self.predicate(state):
                self.future.set_result(state)
        except Exception as error:
            self.future.set_exception(error)


class Client:
    """A connection to bluetoothd that survives bluetoothd and the bus.

    Get one from `Client.open`. All deadlines are seconds from now. Every call to bluetoothd ends
    within `call_deadline` (10 s by default) with a `BluezError`.
    """

    def __init__(
        self, connect: Connector, call_deadline: float, keep_connectable: bool, links: LinkTracker
    ) -> None:
        self.connector = connect
        self.call_deadline = call_deadline
        self._keep_connectable = keep_connectable
        self._unconnectable: set[Address] = set()
        self._asserting: set[Address] = set()
        self._links = links
        self._state = State()
        self._decided = asyncio.Event()
        self._subscribers: list[Callable[[State], None]] = []
        self._waits: set[_Wait] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._recheck: asyncio.TimerHandle | None = None
        self._connection: Connection | None = None
        self._owner: str | None = None
        self._snapshot_serial = 0
        self._cache: ObjectCache | None = None

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        bus_address: str | None = None,
        *,
        call_deadline: float = 10.0,
        keep_connectable: bool = True,
        storage_root: Path | None = None,
        kernel_reasons: bool = True,
        connect: Connector | None = None,
    ) -> AsyncIterator[Client]:
        """A running client; never fails for want of a bus or of bluetoothd, see `state`.

        `bus_address`: a D-Bus address such as `unix:path=/run/dbus/system_bus_socket`; None means
        the system bus (`DBUS_SYSTEM_BUS_ADDRESS` honoured). Returns when the first attempt is
        decided: `state.availability` is then anything but CONNECTING. `keep_connectable`: hold
        `Connectable=true` on every powered adapter, so bonded devices can come back (it is false
        again after any client's `Discoverable=false`; BlueZ `src/adapter.c`). `storage_root`
        (usually /var/lib/bluetooth): lets a vanished device be told from a removed bond.
        `kernel_reasons`: also listen to the kernel for why links end, which BlueZ before 5.83 does
        not tell; without the right to do so this is left out. `connect`: makes the bus connections
        instead of `bus_address`; for tests.
        """
        links = LinkTracker(_directory_check(storage_root))
        connector = connect or system_bus(bus_address, call_deadline)
        client = cls(connector, call_deadline, keep_connectable, links)
        supervisor = asyncio.create_task(client._supervise(), name="bluezclient")
        try:
            with client._kernel_reasons() if kernel_reasons else nullcontext():
                await client._decided.wait()
                yield client
        finally:
            await end(supervisor)
            await client._shut()

    @contextmanager
    def _kernel_reasons(self) -> Iterator[None]:
        with ExitStack() as stack:
            try:
                stack.enter_context(mgmt.following(self._link_ended))
            except BluezError as error:
                log.debug("no reasons from the kernel: %s", error)
            yield

    def _link_ended(self, end: mgmt.LinkEnd) -> None:
        name = f"hci{end.index}"
        for adapter in self._state.adapters.values():
            if adapter.path.endswith("/" + name):
                self._links.wire((adapter.address, end.device), end.wire, self._now())
                self._publish()

    # -- the picture ---------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The picture now; a new value at each change, never altered in place."""
        return self._state

    def require_available(self) -> State:
        """`state`, if bluetoothd can be asked; else raises `OwnerLost`, `BusLost`, ..."""
        self._connected()
        return self._state

    @property
    def owner(self) -> str | None:
        """The unique bus name of the bluetoothd behind `state`; another one after a restart."""
        return self._owner if self._state.available else None

    def subscribe(self, callback: Callable[[State], None]) -> Callable[[], None]:
        """Call `callback(state)` after every change, in the loop; returns the function that ends
        it.

        Callbacks run after `state` is updated and must not block.
        """
        self._subscribers.append(callback)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._subscribers.remove(callback)

        return unsubscribe

    async def states(self) -> AsyncIterator[State]:
        """The current state, then the newest state after each change (changes in between merge)."""
        changed = asyncio.Event()
        unsubscribe = self.subscribe(lambda _: changed.set())
        try:
            while True:
                changed.clear()
                yield self._state
                await changed.wait()
        finally:
            unsubscribe()

    async def until(
        self, predicate: Callable[[State], bool], deadline: float, *, through_loss: bool = False
    ) -> State:
        """Wait for a state, not for an event: returns the first state for which `predicate` holds.

        Raises `DeadlineExceeded`; and `OwnerLost`, `BusLost` or `PermissionDenied` at once when
        bluetoothd cannot be asked, unless `through_loss`, in which case the predicate also sees the
        unavailable states and the wait goes on.
        """
        wait = _Wait(predicate, through_loss, asyncio.get_running_loop().create_future())
        wait.consider(self._state)
        self._waits.add(wait)
        try:
            async with asyncio.timeout(deadline):
                return await wait.future
        except TimeoutError as error:
            if wait.future.done() and not wait.future.cancelled():
                return wait.future.result()  # decided in the very turn of the loop that ended it
            raise DeadlineExceeded(f"not reached within {deadline:g} s") from error
        finally:
            self._waits.discard(wait)

    async def rejected_restores(
        self, adapter: Adapter | Address, restored: Iterable[Address], *, deadline: float = 10.0
    ) -> frozenset[Address]:
        """Which bonds that were put back before bluetoothd's start it has not taken up.

        `restored`: the devices, `RestoreReport.written` and `kept`. Waits at most `deadline` for
        the adapter and as long again for its devices; empty when all are bonded. bluetoothd does
        not say why it leaves a bond out: its keys are on its list of leaked ones, or its release
        reads them otherwise (5.71 to 5.79). What is named here must not replace what is stored.
        Raises `DeadlineExceeded` when the adapter does not appear, also for want of bluetoothd.
        """
        address = adapter.address if isinstance(adapter, Adapter) else adapter
        wanted = frozenset(restored)
        await self.until(
            lambda state: state.adapter(address) is not None, deadline, through_loss=True
        )
        with suppress(DeadlineExceeded):
            await self.until(lambda state: not state.rejected(address, wanted), deadline)
        return self.require_available().rejected(address, wanted)

    # -- what may be asked ---------------------------------------------------------------------

    async def set_powered(self, adapter: Adapter | Address, powered: bool) -> None:
        """Turn the radio on or off; returns when it is.

        Raises `AdapterBlocked` under rfkill, `AdapterMissing`, `DeadlineExceeded`.
        """
        address, _ = self._adapter(adapter)

        def reached(state: State) -> bool:
            return state.require_adapter(address).powered is powered

        try:
            async with asyncio.timeout(self.call_deadline):
                while not reached(self.require_available()):
                    await self._try_to_power(address, powered)
                    with suppress(DeadlineExceeded):
                        await self.until(reached, _POWER_PAUSE)
        except TimeoutError as error:
            raise DeadlineExceeded(f"adapter {address} did not change its power") from error

    async def _try_to_power(self, address: Address, powered: bool) -> None:
        # While bluetoothd changes the power itself (AutoEnable, right after its start) it answers
        # Busy; what it does then may well be what was wanted.
        with suppress(Busy):
            path = self._adapter(address)[1]
            await self._connected().set(path, ADAPTER, "Powered", "b", powered)

    async def set_adapter_alias(self, adapter: Adapter | Address, alias: str) -> None:
        """Name the radio as others see it; "" restores the host's name."""
        await self._connected().set(self._adapter(adapter)[1], ADAPTER, "Alias", "s", alias)

    async def set_connectable(self, adapter: Adapter | Address, connectable: bool) -> None:
        """Answer pages or not (BlueZ 5.79 and later); False also ends the holding of true."""
        address, path = self._adapter(adapter)
        if connectable:
            self._unconnectable.discard(address)
        else:
            self._unconnectable.add(address)
        await self._connected().set(path, ADAPTER, "Connectable", "b", connectable)

    async def set_trusted(
        self, device: Device | Address, trusted: bool, *, adapter: Address | None = None
    ) -> None:
        """Let the device connect with no agent present.

        Not before it is bonded: a trusted, unbonded pad reconnects for ever and never pairs
        (omarchy #7879); that raises `NotBonded` here.
        """
        found = self._device(device, adapter)
        if trusted and not found.known:
            raise NotBonded(f"{found.address} is not bonded, so it is not to be trusted")
        await self._connected().set(found.path, DEVICE, "Trusted", "b", trusted)

    async def set_device_alias(
        self, device: Device | Address, alias: str, *, adapter: Address | None = None
    ) -> None:
        """Name the device; "" restores the name it gives itself."""
        path = self._device(device, adapter).path
        await self._connected().set(path, DEVICE, "Alias", "s", alias)

    async def set_blocked(
        self, device: Device | Address, blocked: bool, *, adapter: Address | None = None
    ) -> None:
        """Refuse the device until unblocked; kept on disk with its bond."""
        path = self._device(device, adapter).path
        await self._connected().set(path, DEVICE, "Blocked", "b", blocked)

    async def disconnect(self, device: Device | Address, *, adapter: Address | None = None) -> None:
        """Ask bluetoothd to drop the link; the reason recorded is DISCONNECTED_BY_REQUEST."""
        found = self._device(device, adapter)
        self._links.disconnect_requested(found.key, self._now())
        await self._connected().call(found.path, DEVICE, "Disconnect")

    async def connect(self, device: Device | Address, *, adapter: Address | None = None) -> None:
        """Connect to a device that waits for it.

        Raises `DeviceInitiatesConnection` for a BR/EDR HID device that reconnects by itself: the
        two connections would race ("Operation already in progress", bluez #1765).
        """
        found = self._device(device, adapter)
        if found.reconnect_mode in ("device", "none"):
            raise DeviceInitiatesConnection(f"{found.address} connects by itself; press its button")
        await self._connected().call(found.path, DEVICE, "Connect", deadline=60.0)

    async def unpair(self, adapter: Adapter | Address, device: Device | Address) -> None:
        """Remove the bond; returns when bluetoothd has dropped the object (already gone = done).

        Raises `AdapterMissing`, `AdapterUnpowered` (try again when it is powered). A connected
        device is disconnected by bluetoothd as part of it.
        """
        address, adapter_path = self._adapter(adapter)
        device_address = device.address if isinstance(device, Device) else device
        found = self._state.device(device_address, address)
        if found is None:
            return
        if not self._state.adapters[adapter_path].powered:
            raise AdapterUnpowered(f"adapter {address} is off")
        await self._remove(found)

    async def _remove(self, device: Device) -> None:
        self._links.removal_requested(device.key, self._now())
        connection = self._connected()
        # The reply may leave before the files are deleted, so the object's end is the barrier; the
        # wait starts first because discovery may bring the same path back at once.
        gone = asyncio.create_task(
            self._until_gone(device.path), name=f"{device.address} to be removed"
        )
        try:
            with suppress(DeviceUnknown):
                await connection.call(device.adapter, ADAPTER, "RemoveDevice", "o", device.path)
            await gone
        finally:
            await end(gone)

    async def _until_gone(self, path: str) -> None:
        await self.until(lambda state: path not in state.devices, 2 * self.call_deadline)

    @asynccontextmanager
    async def discovering(
        self, adapter: Adapter | Address, *, transport: str = "auto"
    ) -> AsyncIterator[None]:
        """Discovery for as long as the block runs, on a connection of its own.

        What is heard is in `state`: devices with an `rssi`. `transport`: auto, bredr or le. Ends
        with bluetoothd or the radio's power; a pairing window is what resumes. Raises
        `AdapterMissing`, `AdapterUnpowered`, `Unavailable`.
        """
        path = self._adapter(adapter)[1]
        connection = await open_connection(self.connector, self.call_deadline)
        try:
            async with Discovery(connection, path, transport):
                yield
        finally:
            await connection.close()

    def pairing_window(
        self,
        adapter: Adapter | Address,
        capability: Capability | str = Capability.NO_INPUT_NO_OUTPUT,
        *,
        on_prompt: PromptHandler | None = None,
        transport: str = "auto",
    ) -> AbstractAsyncContextManager[PairingWindow]:
        """Discovery, `Pairable` and an agent, held on one bus connection for the whole window.

        The adapter must be present (`AdapterMissing`) and powered (`AdapterUnpowered`) to open it;
        if bluetoothd restarts in between, the window resumes by itself. `on_prompt` answers what
        the agent is asked (passkeys); without it everything but a plain confirmation is refused.
        `transport`: auto, bredr or le.
        """
        address = adapter.address if isinstance(adapter, Adapter) else adapter
        return pairing_window(self, address, Capability(capability), on_prompt, transport)

    # -- helpers for this package --------------------------------------------------------------

    def _adapter(self, adapter: Adapter | Address) -> tuple[Address, str]:
        self._connected()
        address = adapter.address if isinstance(adapter, Adapter) else adapter
        return address, self._state.require_adapter(address).path

    def _device(self, device: Device | Address, adapter: Address | None = None) -> Device:
        self._connected()
        if isinstance(device, Device):
            return self._state.require_device(device.address, device.adapter_address)
        return self._state.require_device(device, adapter)

    def _connected(self) -> Connection:
        if self._connection is None or not self._state.available:
            raise _LOST.get(self._state.availability, BusLost)(self._state.detail)
        return self._connection

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    # -- the life of the connection ------------------------------------------------------------

    async def _supervise(self) -> None:
        pause = _RETRY_FIRST
        while True:
            try:
                await self._session()
                pause = _RETRY_FIRST
            except PermissionDenied as error:
                self._lose(Availability.PERMISSION_DENIED, str(error))
            except BluezError as error:
                self._lose(Availability.BUS_LOST, str(error))
            except Exception as error:  # a broken bus must not end the supervision of it
                log.exception("the bus connection failed in an unforeseen way")
                self._lose(Availability.BUS_LOST, f"{type(error).__name__}: {error}")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _RETRY_MOST)

    async def _session(self) -> None:
        connection = await open_connection(self.connector, self.call_deadline)
        connection.on_end(self._bus_ended)
        self._connection = connection
        try:
            connection.on_message(self._receive)
            for rule in _MATCHES:
                await connection.match(rule)
            self._new_owner(await connection.owner(BLUEZ))
            await connection.ended()
        finally:
            self._connection, self._owner, self._cache = None, None, None
            await connection.close()

    def _bus_ended(self) -> None:
        self._owner = None
        self._lose(Availability.BUS_LOST, "the message bus closed the connection")

    def _new_owner(self, owner: str | None) -> None:
        if owner is not None and owner == self._owner:
            return
        replaced = self._owner is not None and self._cache is not None
        self._owner, self._cache, self._snapshot_serial = owner, None, 0
        if replaced and owner is not None:
            # The name may pass from one to the next in one signal: nothing of the old one holds.
            self._lose(Availability.NO_OWNER, "another bluetoothd has taken over")
        if owner is None:
            self._lose(Availability.NO_OWNER, "bluetoothd is not running (nobody owns org.bluez)")
        else:
            self._spawn(self._snapshot(owner))

    async def _snapshot(self, owner: str) -> None:
        connection = self._connection
        while connection is not None and connection.alive and self._owner == owner:
            self._snapshot_serial = connection.next_serial()
            try:
                await connection.call(
                    "/", OBJECT_MANAGER, "GetManagedObjects", serial=self._snapshot_serial
                )
                if self._cache is not None or self._owner != owner:
                    return
                raise CallFailed("its list of objects is none")
            except PermissionDenied as error:
                self._lose(Availability.PERMISSION_DENIED, str(error))
            except BluezError as error:
                log.warning("bluetoothd did not list its objects: %s", error)
                self._lose(Availability.NO_OWNER, f"bluetoothd does not answer: {error}")
            await asyncio.sleep(_RETRY_MOST)

    async def _shut(self) -> None:
        if self._recheck is not None:
            self._recheck.cancel()
        if self._tasks:
            await end(*self._tasks)
        self._lose(Availability.BUS_LOST, "the client was closed")

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- messages ------------------------------------------------------------------------------

    def _receive(self, message: Message) -> None:
        """Take one message; called in order of arrival, before any waiting call resumes."""
        if message.message_type is MessageType.METHOD_RETURN:
            asked = self._snapshot_serial and message.reply_serial == self._snapshot_serial
            if asked and message.signature == "a{oa{sa{sv}}}":
                self._snapshot_serial = 0
                self._cache = ObjectCache(unpack_variants(message.body)[0])
                self._publish()
        elif message.message_type is MessageType.SIGNAL:
            if message.sender == DAEMON and message.path == DAEMON_PATH:
                self._name_owner_changed(message)
            elif message.sender == self._owner and self._cache is not None:
                self._signal(message, self._cache)

    def _name_owner_changed(self, message: Message) -> None:
        if message.member == "NameOwnerChanged" and message.body[0] == BLUEZ:
            self._new_owner(message.body[2] or None)

    def _signal(self, message: Message, cache: ObjectCache) -> None:
        body, path = unpack_variants(message.body), message.path or ""
        match (message.interface, message.member, message.signature):
            case (_, "InterfacesAdded", "oa{sa{sv}}") if message.interface == OBJECT_MANAGER:
                cache.interfaces_added(body[0], body[1])
            case (_, "InterfacesRemoved", "oas") if message.interface == OBJECT_MANAGER:
                cache.interfaces_removed(body[0], body[1])
            case (_, "PropertiesChanged", "sa{sv}as") if message.interface == PROPERTIES:
                if cache.properties_changed(path, body[0], body[1], body[2]):
                    self._spawn(self._reread_bonded(path, cache))
            case (_, "Disconnected", "ss") if message.interface == DEVICE:
                self._links.wire_at(path, Wire.from_name(body[0]), self._now())
                return
            case _:
                return
        self._publish()

    async def _reread_bonded(self, path: str, cache: ObjectCache) -> None:
        with suppress(BluezError):
            bonded = await self._connected().get(path, DEVICE, "Bonded")
            if cache is self._cache and isinstance(bonded, bool):
                cache.properties_changed(path, DEVICE, {"Bonded": bonded}, ())
                self._publish()

    # -- the state -----------------------------------------------------------------------------

    def _lose(self, availability: Availability, detail: str) -> None:
        self._cache = None
        self._replace(State(availability=availability, detail=detail, links=self._observe()))

    def _publish(self) -> None:
        if self._cache is not None:
            self._replace(
                State(
                    availability=Availability.AVAILABLE,
                    adapters=self._cache.adapters,
                    devices=self._cache.devices,
                    links=self._observe(),
                )
            )

    def _observe(self) -> Any:
        adapters = self._cache.adapters if self._cache else {}
        devices = self._cache.devices if self._cache else {}
        return self._links.observe(
            self._cache is not None, adapters, devices, self._now(), time.time()
        )

    def _replace(self, state: State) -> None:
        self._schedule_recheck()
        self._decided.set()
        if state == self._state:
            return
        self._state = state
        for wait in list(self._waits):
            wait.consider(state)
        for callback in list(self._subscribers):
            try:
                callback(state)
            except Exception:
                log.exception("a subscriber failed")
        self._assert_connectable(state)

    def _schedule_recheck(self) -> None:
        if self._recheck is not None:
            self._recheck.cancel()
        delay = self._links.next_check(self._now()) if self._cache is not None else None
        loop = asyncio.get_running_loop()
        self._recheck = None if delay is None else loop.call_later(delay, self._publish)

    def _assert_connectable(self, state: State) -> None:
        if not self._keep_connectable:
            return
        for adapter in state.adapters.values():
            held = adapter.address not in self._unconnectable | self._asserting
            if adapter.powered and adapter.connectable is False and held:
                self._asserting.add(adapter.address)
                self._spawn(self._make_connectable(adapter))

    async def _make_connectable(self, adapter: Adapter) -> None:
        try:
            with suppress(BluezError):
                await self._connected().set(adapter.path, ADAPTER, "Connectable", "b", True)
        finally:
            self._asserting.discard(adapter.address)


def _directory_check(root: Path | None) -> Callable[[Address, Address], bool | None]:
    def exists(adapter: Address, device: Address) -> bool | None:
        if root is None:
            return None
        names = (adapter.colons, f"static-{adapter.colons}")
        return any((root / name / device.colons / "info").exists() for name in names)

    return exists
