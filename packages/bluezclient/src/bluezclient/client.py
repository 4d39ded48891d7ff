"""The client: one live, typed picture of bluetoothd, and the few things one may ask of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from bluezclient.address import Address
from bluezclient.model import Adapter, Device, State
from bluezclient.pairing import Capability, PairingWindow, PromptHandler


class Client:
    """A connection to bluetoothd that survives bluetoothd and the bus.

    Get one from `Client.open`. All deadlines are seconds from now. Every call to bluetoothd ends
    within `call_deadline` (10 s by default) with a `BluezError`.
    """

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        bus_address: str | None = None,
        *,
        call_deadline: float = 10.0,
        keep_connectable: bool = True,
        storage_root: Path | None = None,
    ) -> AsyncIterator[Client]:
        """A running client; never fails for want of a bus or of bluetoothd, see `state`.

        `bus_address`: a D-Bus address such as `unix:path=/run/dbus/system_bus_socket`; None means the
        system bus (`DBUS_SYSTEM_BUS_ADDRESS` honoured). Returns when the first attempt is decided:
        `state.availability` is then anything but CONNECTING. `keep_connectable`: hold
        `Connectable=true` on every powered adapter, so bonded devices can come back.
        `storage_root` (usually /var/lib/bluetooth): lets a vanished device be told from a removed bond.
        """
        raise NotImplementedError
        yield

    @property
    def state(self) -> State:
        """The picture now; a new value at each change, never altered in place."""
        raise NotImplementedError

    def subscribe(self, callback: Callable[[State], None]) -> Callable[[], None]:
        """Call `callback(state)` after every change, in the loop; returns the function that ends it.

        Callbacks run after `state` is updated and must not block.
        """
        raise NotImplementedError

    def states(self) -> AsyncIterator[State]:
        """The current state, then the newest state after each change (changes in between merge)."""
        raise NotImplementedError

    async def until(
        self, predicate: Callable[[State], bool], deadline: float, *, through_loss: bool = False
    ) -> State:
        """Wait for a state, not for an event: returns the first state for which `predicate` holds.

        Raises `DeadlineExceeded`; and `OwnerLost`, `BusLost` or `PermissionDenied` at once when
        bluetoothd cannot be asked, unless `through_loss`, in which case the predicate also sees the
        unavailable states and the wait goes on.
        """
        raise NotImplementedError

    async def set_powered(self, adapter: Adapter | Address, powered: bool) -> None:
        """Turn the radio on or off. Raises `AdapterBlocked` under rfkill, `AdapterMissing`."""

    async def set_adapter_alias(self, adapter: Adapter | Address, alias: str) -> None:
        """Name the radio as others see it; "" restores the host's name."""

    async def set_connectable(self, adapter: Adapter | Address, connectable: bool) -> None:
        """Answer pages or not (BlueZ 5.79 and later)."""

    async def set_trusted(
        self, device: Device | Address, trusted: bool, *, adapter: Address | None = None
    ) -> None:
        """Let the device connect with no agent present. Never before it is bonded (see `Device`)."""

    async def set_device_alias(
        self, device: Device | Address, alias: str, *, adapter: Address | None = None
    ) -> None:
        """Name the device; "" restores the name it gives itself."""

    async def set_blocked(
        self, device: Device | Address, blocked: bool, *, adapter: Address | None = None
    ) -> None:
        """Refuse the device until unblocked; kept on disk with its bond."""

    async def disconnect(self, device: Device | Address, *, adapter: Address | None = None) -> None:
        """Ask bluetoothd to drop the link; the reason recorded is DISCONNECTED_BY_REQUEST."""

    async def connect(self, device: Device | Address, *, adapter: Address | None = None) -> None:
        """Connect to a device that waits for it; `DeviceInitiatesConnection` for one that does not."""

    async def unpair(self, adapter: Adapter | Address, device: Device | Address) -> None:
        """Remove the bond; returns when bluetoothd has dropped the object (already gone = done).

        Raises `AdapterMissing`, `AdapterUnpowered` (try again when it is powered).
        """

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
        if bluetoothd restarts in between, the window resumes by itself. `on_prompt` answers what the
        agent is asked (passkeys); without it everything but a plain confirmation is refused.
        """
        raise NotImplementedError
