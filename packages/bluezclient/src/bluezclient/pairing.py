"""A pairing window and the one procedure that ends honestly.

The agent, the discovery session and a `Pair` in flight all die with the bus connection that made
them, so a window holds one connection from beginning to end, and makes a new one when the bus or
bluetoothd comes back. On the wire: Pairable, agent, discovery; StopDiscovery, Pair, (Bonded),
Trusted. `Bonded` is the truth of a pairing: it comes first, while `Paired` and the reply to `Pair`
wait for service discovery. `CancelPairing` is never called: with no pairing outstanding bluetoothd
would unpair the device in the kernel and keep its files (BlueZ 4423d63a9); `Disconnect` cancels as
well and is harmless.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bluezclient.address import Address
from bluezclient.agent import AGENT_PATH, Agent, Capability, Prompt, PromptHandler, PromptKind
from bluezclient.bus import Connection, end, open_connection
from bluezclient.classify import kind
from bluezclient.discovery import Discovery
from bluezclient.errors import (
    AdapterMissing,
    AdapterUnpowered,
    AuthenticationFailed,
    BluezError,
    BusLost,
    Busy,
    DeadlineExceeded,
    DeviceGone,
    DeviceUnknown,
    DeviceUnreachable,
    NotBonded,
    PairingCanceled,
    PairingTimedOut,
    PinRequired,
    StaleKernelKey,
    Unavailable,
)
from bluezclient.model import Adapter, Device, State
from bluezclient.properties import ADAPTER, AGENT_MANAGER, DEVICE

if TYPE_CHECKING:
    from bluezclient.client import Client

__all__ = [
    "Capability",
    "PairingWindow",
    "Prompt",
    "PromptHandler",
    "PromptKind",
    "Seen",
    "pairing_window",
]

log = logging.getLogger(__name__)

# Several pads pair more reliably once the scan has really stopped (bluest #44, 8BitDo, Xbox LE).
SETTLE = 0.5
# bluetoothd gives up a bonding after 120 s (src/adapter.c, BONDING_TIMEOUT) and always answers
# then.
PAIR_REPLY = 150.0
# Service discovery after the bond may take a while, though not long past the caller's deadline; the
# bond is good without it.
SERVICES = 30.0
# `Discovering` lags our StartDiscovery a little; only a lasting false means the session was killed.
RESTART_AFTER = 1.0
# How long a called-off pairing may take to say so.
DRAIN = 5.0


@dataclass(frozen=True, slots=True)
class Seen:
    """A device on the air in this window.

    `kind`: a word of `classify` (gamepad, keyboard, remote, ...) or "". `first_seen`: seconds since
    the epoch. `rssi`: dBm, the last heard.
    """

    address: Address
    name: str
    kind: str
    rssi: int | None
    first_seen: float


class PairingWindow:
    """An open window; made by `Client.pairing_window`."""

    def __init__(
        self,
        client: Client,
        adapter: Address,
        capability: Capability,
        on_prompt: PromptHandler | None,
        transport: str,
    ) -> None:
        self.adapter = adapter
        self._client = client
        self._capability = capability
        self._transport = transport
        self._agent = Agent(lambda: client.owner, self._device_being_paired, on_prompt)
        self._chosen: str | None = None
        self._seen: dict[str, Seen] = {}
        self._connection: Connection | None = None
        self._discovery: Discovery | None = None
        self._discovering = True
        self._scan_lock = asyncio.Lock()
        self._was_pairable: bool | None = None
        self._armed: tuple[str, str] | None = None
        self._wake = asyncio.Event()
        self._ready = asyncio.Event()
        self._failure: BluezError | None = None

    # -- what a caller reads -------------------------------------------------------------------

    @property
    def seen(self) -> tuple[Seen, ...]:
        """What has been heard on the air since the window opened, first seen first."""
        return tuple(self._seen.values())

    @property
    def prompt(self) -> Prompt | None:
        """The passkey or PIN to show now, None when there is none."""
        return self._agent.prompt

    @property
    def open(self) -> bool:
        """Whether the window is in force now; False while bluetoothd or the radio is away."""
        return self._ready.is_set()

    # -- holding the window open ---------------------------------------------------------------

    def _target(self, state: State) -> tuple[str, str] | None:
        """(bluetoothd's bus name, adapter path) to arm for; None when there is nothing."""
        adapter = state.adapter(self.adapter)
        owner = self._client.owner
        return (owner, adapter.path) if owner and adapter and adapter.powered else None

    def _observe(self, state: State) -> None:
        for device in state.devices_of(self.adapter):
            if device.rssi is not None or device.path in self._seen:
                self._note(device)
        adapter = state.adapter(self.adapter)
        unpairable = adapter is not None and not adapter.pairable
        interrupted = self._discovering and adapter is not None and not adapter.discovering
        if self._target(state) != self._armed:
            self._ready.clear()
            self._wake.set()
        elif unpairable:
            self._wake.set()
        elif interrupted:
            asyncio.get_running_loop().call_later(RESTART_AFTER, self._wake.set)

    def _note(self, device: Device) -> None:
        before = self._seen.get(device.path)
        self._seen[device.path] = Seen(
            address=device.address,
            name=device.name or device.alias,
            kind=kind(device.class_of_device, device.appearance, device.uuids),
            rssi=before.rssi if before and device.rssi is None else device.rssi,
            first_seen=before.first_seen if before else time.time(),
        )

    async def hold(self) -> None:
        """Arm, and arm again whenever bluetoothd, the radio or the bus comes back."""
        unsubscribe = self._client.subscribe(self._observe)
        try:
            while True:
                self._wake.clear()
                await self._try_to_arm()
                self._observe(self._client.state)
                await self._wake.wait()
        except Exception:
            log.exception("the pairing window on %s can no longer be held open", self.adapter)
            raise
        finally:
            unsubscribe()

    async def _try_to_arm(self) -> None:
        target = self._target(self._client.state)
        if target is None:
            self._armed = None
            self._ready.clear()
            return
        try:
            await self._arm(target)
            self._armed, self._failure = target, None
            self._ready.set()
        except BluezError as error:
            log.warning("the pairing window on %s is not in force: %s", self.adapter, error)
            self._failure = error
            self._armed = None
            await asyncio.sleep(RESTART_AFTER)

    async def _arm(self, target: tuple[str, str]) -> None:
        connection = await self._live_connection()
        path, fresh = target[1], self._armed != target
        if fresh:
            if self._was_pairable is None:
                self._was_pairable = self._adapter_now().pairable
            await self._register_agent(connection)
            self._discovery = Discovery(connection, path, self._transport)
        # Without Pairable an LE pairing keeps no keys; other clients and a timeout can clear it.
        if fresh or not self._adapter_now().pairable:
            await connection.set(path, ADAPTER, "Pairable", "b", True)
        if self._discovering and (fresh or not self._adapter_now().discovering):
            await self._scan(on=None)

    def _adapter_now(self) -> Adapter:
        return self._client.state.require_adapter(self.adapter)

    async def _scan(self, on: bool | None) -> None:
        """Turn our discovery on or off; None makes it what it was last told to be."""
        if self._discovery is None:
            raise BusLost("the window's bus connection is gone")
        async with self._scan_lock:
            self._discovering = on = self._discovering if on is None else on
            await (self._discovery.start() if on else self._discovery.stop())

    async def _live_connection(self) -> Connection:
        if self._connection is None or not self._connection.alive:
            client = self._client
            self._connection = await open_connection(client.connector, client.call_deadline)
            self._connection.on_end(self._bus_ended)
            self._agent.serve(self._connection)
            self._armed = None
        return self._connection

    def _bus_ended(self) -> None:
        self._ready.clear()
        self._agent.reset()
        self._armed = None
        self._wake.set()

    async def _register_agent(self, connection: Connection) -> None:
        try:
            await connection.call(
                "/org/bluez", AGENT_MANAGER, "RegisterAgent", "os", AGENT_PATH, self._capability
            )
        except BluezError as error:
            if error.name != "org.bluez.Error.AlreadyExists":
                raise
        await connection.call("/org/bluez", AGENT_MANAGER, "RequestDefaultAgent", "o", AGENT_PATH)

    async def close(self) -> None:
        """End discovery, put `Pairable` back, drop the agent with its connection."""
        self._agent.reset()
        connection, armed = self._connection, self._armed
        if connection is None:
            return
        if armed is not None and self._discovery is not None:
            if self._discovering:
                with suppress(BluezError):
                    await self._discovery.stop()
            if self._was_pairable is False:
                with suppress(BluezError):
                    await connection.set(armed[1], ADAPTER, "Pairable", "b", False)
            with suppress(BluezError):
                await connection.call(
                    "/org/bluez", AGENT_MANAGER, "UnregisterAgent", "o", AGENT_PATH
                )
        await connection.close()

    async def until_open(self, deadline: float) -> None:
        """Wait until the window is in force; raises what keeps it from being so."""
        try:
            async with asyncio.timeout(deadline):
                await self._ready.wait()
        except TimeoutError as error:
            _require_powered(self._client.require_available(), self.adapter)
            raise self._failure or DeadlineExceeded("the pairing window did not open") from error

    # -- pairing -------------------------------------------------------------------------------

    def _device_being_paired(self, path: str) -> Device | None:
        if self._chosen is None or path != self._chosen:
            return None
        return self._client.state.devices.get(path)

    async def pair(self, address: Address, *, deadline: float = 90.0) -> Device:
        """Pair with one device and no other; returns it bonded and trusted.

        Waits until the device is on the air; removes an old bond first; tries once more after
        `AuthenticationFailed`; an unreachable device is tried at each new advert until the
        deadline. The device returned has its identity address, which may not be the one asked for.
        Discovery stays off after a success, so that the new device can connect undisturbed; the
        next `pair` turns it on again.

        Raises `DeviceUnknown` (never seen), `DeviceUnreachable`, `PairingTimedOut`,
        `PairingRejected`, `PairingCanceled`, `AuthenticationFailed`, `PinRequired`, `NotBonded`,
        `StaleKernelKey`, `AdapterUnpowered`, `AdapterMissing`, `Busy`, `OwnerLost`, `BusLost`.
        Nothing half-paired is left behind, also when the task is cancelled.
        """
        if self._chosen is not None:
            raise Busy("this window is pairing another device")
        self._chosen = ""
        self._agent.pin_required = False
        try:
            return await self._attempts(address, _Deadline(deadline))
        finally:
            self._chosen = None
            self._agent.reset()

    async def _attempts(self, address: Address, deadline: _Deadline) -> Device:
        spent: set[type[BluezError]] = set()
        last: BluezError | None = None
        while True:
            device = await self._on_air(address, deadline, last)
            if device.bonded and last is None:
                # A `Pair` over a stale bond "succeeds" at once; remove it and find the device anew.
                await self._client.unpair(self.adapter, device)
                continue
            if device.bonded:
                # It has paired by itself since our last attempt; that is what was asked for.
                return await self._trust(device.path)
            try:
                return await self._attempt(device, deadline)
            except (DeviceUnreachable, DeviceGone) as error:
                last = error
            except PairingTimedOut as error:
                # The last of many unanswered calls: say that, not that the pairing took long.
                if isinstance(last, DeviceUnreachable):
                    raise last from error
                raise
            except (AuthenticationFailed, PairingCanceled, StaleKernelKey) as error:
                if type(error) in spent:
                    raise
                spent.add(type(error))
                last = error
            log.info("pairing %s: %s; looking for it again", address, last)

    async def _on_air(
        self, address: Address, deadline: _Deadline, last: BluezError | None
    ) -> Device:
        """The device once it is heard (or, if bonded, connected); restarts discovery if need be."""

        def heard(state: State) -> bool:
            _require_powered(state, self.adapter)
            device = state.device(address, self.adapter)
            return device is not None and (
                device.rssi is not None or (device.bonded and device.connected)
            )

        if last is not None:
            # The radio left or went off between two attempts: that is the news, not the device.
            _require_powered(self._client.require_available(), self.adapter)
        await self.until_open(deadline.left())
        if not self._discovering:
            await self._scan(on=True)
        try:
            state = await self._client.until(heard, deadline.left())
        except DeadlineExceeded as error:
            not_seen = DeviceUnknown(f"{address} was not heard; put it in pairing mode")
            raise last or not_seen from error
        return state.require_device(address, self.adapter)

    async def _attempt(self, device: Device, deadline: _Deadline) -> Device:
        connection = self._connection
        if connection is None:
            raise BusLost("the window's bus connection is gone")
        await self._scan(on=False)
        await asyncio.sleep(SETTLE)
        if device.path not in self._client.state.devices:
            raise DeviceGone(f"{device.address} vanished before it could be paired")
        self._chosen = device.path
        pair = asyncio.create_task(
            connection.call(device.path, DEVICE, "Pair", deadline=PAIR_REPLY),
            name=f"pair {device.address}",
        )
        try:
            try:
                await self._outcome(device, pair, deadline)
            except Unavailable:
                raise
            except BluezError:
                # The bond may have won the race against the failure; then it is no failure.
                if not await self._call_off(device.path, pair, connection):
                    raise
            await self._services(device.path, pair, deadline)
            return await self._trust(device.path)
        except asyncio.CancelledError:
            await asyncio.shield(self._abandon(device.path, pair, connection))
            raise
        finally:
            await end(pair)

    async def _outcome(
        self, device: Device, pair: asyncio.Task[list[object]], deadline: _Deadline
    ) -> None:
        """Return when bonded; raise what happened instead."""
        bonded = asyncio.create_task(self._client.until(_decided(device, self.adapter), PAIR_REPLY))
        try:
            await asyncio.wait({pair, bonded}, timeout=deadline.left(), return_when=_FIRST)
            if bonded.done() and _still_there(bonded.result(), device):
                return
            if bonded.done():
                # The object of a failed pairing may leave before the reply that says why.
                await asyncio.wait({pair}, timeout=DRAIN)
                if not pair.done() or pair.exception() is None:
                    raise DeviceGone(f"{device.address} vanished while it was being paired")
            if not pair.done():
                if await self._is_bonded(device.path):
                    return
                raise PairingTimedOut(f"{device.address} was not paired before the deadline")
            await self._judge_reply(device, pair)
        finally:
            await end(bonded)

    async def _judge_reply(self, device: Device, pair: asyncio.Task[list[object]]) -> None:
        """`Pair` has answered before `Bonded` was seen: look at `Bonded` before believing it."""
        error = pair.exception()
        if await self._is_bonded(device.path):
            return
        if error is None:
            raise NotBonded(f"{device.address} paired without keeping a key")
        if isinstance(error, BluezError):
            if error.name == "org.bluez.Error.AlreadyExists":
                raise StaleKernelKey(
                    f"the kernel holds a key of {device.address} that bluetoothd does not",
                    name=error.name,
                )
            if self._agent.pin_required:
                raise PinRequired(f"{device.address} wants a code", name=error.name) from error
        raise error

    async def _is_bonded(self, path: str) -> bool:
        """`Bonded` as bluetoothd has it now; False when the object is gone."""
        if self._connection is None:
            raise BusLost("the window's bus connection is gone")
        try:
            return bool(await self._connection.get(path, DEVICE, "Bonded"))
        except DeviceGone:
            return False

    async def _services(
        self, path: str, pair: asyncio.Task[list[object]], deadline: _Deadline
    ) -> None:
        """Let service discovery finish, which is when `Pair` answers; the bond is good without."""
        most = min(SERVICES, max(deadline.left(), DRAIN))
        resolved = asyncio.create_task(self._client.until(_services_known(path), most))
        try:
            await asyncio.wait({pair, resolved}, timeout=most, return_when=_FIRST)
        finally:
            await end(resolved)

    async def _trust(self, path: str) -> Device:
        """Trust what is bonded: never before that, and always before we return it."""
        if self._connection is None:
            raise BusLost("the window's bus connection is gone")
        await self._connection.set(path, DEVICE, "Trusted", "b", True)
        state = await self._client.until(_trusted(path), self._client.call_deadline)
        return state.devices[path]

    async def _call_off(
        self, path: str, pair: asyncio.Task[list[object]], connection: Connection
    ) -> bool:
        """True when bonded after all; else nothing half-paired is left: link, object, directory."""
        if await self._is_bonded(path):
            return True
        if not pair.done():
            with suppress(BluezError):
                await connection.call(path, DEVICE, "Disconnect")
            await asyncio.wait({pair}, timeout=DRAIN)
            if await self._is_bonded(path):
                return True
        device = self._client.state.devices.get(path)
        if device is not None:
            with suppress(BluezError):
                await connection.call(device.adapter, ADAPTER, "RemoveDevice", "o", path)
        return False

    async def _abandon(
        self, path: str, pair: asyncio.Task[list[object]], connection: Connection
    ) -> None:
        """The caller has left: a trusted bond or nothing, and no error for nobody."""
        with suppress(BluezError):
            if await self._call_off(path, pair, connection):
                await self._trust(path)


_FIRST = asyncio.FIRST_COMPLETED


class _Deadline:
    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._at = self._loop.time() + seconds

    def left(self) -> float:
        return max(0.0, self._at - self._loop.time())


def _require_powered(state: State, address: Address) -> None:
    if not state.require_adapter(address).powered:
        raise AdapterUnpowered(f"adapter {address} is off")


def _decided(device: Device, adapter: Address) -> Callable[[State], bool]:
    def decided(state: State) -> bool:
        found = state.adapter(adapter)
        if found is None or not found.powered:
            return True
        now = state.devices.get(device.path)
        return now is None or now.bonded

    return decided


def _still_there(state: State, device: Device) -> bool:
    """True when bonded, False when the object is gone; raises when the radio is to blame."""
    now = state.devices.get(device.path)
    if now is not None and now.bonded:
        return True
    adapter = state.adapters.get(device.adapter)
    if adapter is None:
        raise AdapterMissing(f"the adapter left while {device.address} was being paired")
    if not adapter.powered:
        raise AdapterUnpowered(
            f"the adapter was turned off while {device.address} was being paired"
        )
    return False


def _services_known(path: str) -> Callable[[State], bool]:
    def known(state: State) -> bool:
        device = state.devices.get(path)
        return device is None or (device.services_resolved and device.paired)

    return known


def _trusted(path: str) -> Callable[[State], bool]:
    def trusted(state: State) -> bool:
        device = state.devices.get(path)
        if device is None:
            raise DeviceGone("the device vanished right after it was bonded")
        return device.trusted

    return trusted


@asynccontextmanager
async def pairing_window(
    client: Client,
    adapter: Address,
    capability: Capability,
    on_prompt: PromptHandler | None,
    transport: str,
) -> AsyncIterator[PairingWindow]:
    """See `Client.pairing_window`."""
    _require_powered(client.require_available(), adapter)
    window = PairingWindow(client, adapter, capability, on_prompt, transport)
    holder = asyncio.create_task(window.hold(), name=f"pairing window on {adapter}")
    try:
        await window.until_open(2 * client.call_deadline)
        yield window
    finally:
        await end(holder)
        await asyncio.shield(window.close())
