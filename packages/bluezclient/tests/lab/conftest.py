"""A client on the real bluetoothd, and an ear on the bus beside it."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bluezclient import Adapter, Address, Client, Reason, State
from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus
from dbus_fast.unpack import unpack_variants

if TYPE_CHECKING:
    from lab.controllers import Keyboard
    from lab.radio import Air, Dongle

SYSTEM_BUS = "unix:path=/run/dbus/system_bus_socket"
STORAGE = Path("/var/lib/bluetooth")


# Older ones promise LE Extended Create Connection and never complete one, and tell the end that
# hangs up the reason that it gave to the other (5.66, emulator/btdev.c).
WHOLE_EMULATOR = (5, 87)


@pytest.fixture(scope="session")
def old_emulator() -> bool:
    """Whether btvirt is not whole."""
    told = subprocess.run(["btvirt", "--version"], capture_output=True, text=True, check=True)
    return tuple(int(part) for part in told.stdout.strip().split(".")) < WHOLE_EMULATOR


@pytest.fixture
def on_dongle(request: pytest.FixtureRequest, old_emulator: bool) -> bool:
    """Whether the radio is a `Dongle`, which promises less, and not btvirt's own."""
    parameters = getattr(request.node, "callspec", None)
    private = parameters is not None and "private" in parameters.params.values()
    return private or old_emulator


@pytest.fixture
def told_by_radio(old_emulator: bool) -> Callable[[Reason], Reason]:
    """What becomes of a reason when the radio has its say: who hung up, if it knows."""
    ours = {Reason.DISCONNECTED_BY_HOST, Reason.DISCONNECTED_BY_REQUEST} if old_emulator else set()
    return lambda reason: Reason.DISCONNECTED_BY_DEVICE if reason in ours else reason


@pytest.fixture
def radios(logs: Path, on_dongle: bool) -> Iterator[tuple[Air, Dongle | None]]:
    """An air of the test's own, and the radio on it where that is a dongle's."""
    from lab.controllers import nursery
    from lab.radio import Air, Dongle

    nursery.prepare()  # loads while the daemons start
    with Air(logs, radios=0 if on_dongle else 1) as air:
        if not on_dongle:
            yield air, None
            return
        with Dongle() as dongle:
            yield air, dongle


@pytest.fixture
def air(radios: tuple[Air, Dongle | None]) -> Air:
    """What lab.fixtures puts its controllers and bluetoothd on."""
    return radios[0]


@pytest.fixture
def dongle(radios: tuple[Air, Dongle | None]) -> Dongle | None:
    """The radio, where the air has none of its own."""
    return radios[1]


@pytest.fixture
async def client(bluetoothd: object) -> AsyncIterator[Client]:
    """A client that has seen its first adapter, powered."""
    async with Client.open(SYSTEM_BUS, storage_root=STORAGE, call_deadline=30) as client:
        await client.until(lambda state: bool(state.adapters), 60, through_loss=True)
        await client.set_powered(next(iter(client.state.adapters.values())), True)
        yield client


@pytest.fixture
def adapter(client: Client) -> Adapter:
    """The first adapter."""
    return next(iter(client.state.adapters.values()))


@pytest.fixture
async def private(logs: Path, air: object) -> AsyncIterator[Keyboard]:
    """An LE keyboard behind a resolvable private address."""
    from lab.controllers import Keyboard

    async with Keyboard(logs, private=True) as made:
        yield made


@contextmanager
def told(client: Client, adapter: Adapter, device: Address) -> Iterator[list[Reason]]:
    """Every reason that the client gives this link from now on, the present one first."""
    key = (adapter.address, device)
    reasons: list[Reason] = []

    def hear(state: State) -> None:
        link = state.links.get(key)
        if link is not None and reasons[-1:] != [link.reason]:
            reasons.append(link.reason)

    hear(client.state)
    unsubscribe: Callable[[], None] = client.subscribe(hear)
    try:
        yield reasons
    finally:
        unsubscribe()


class Wire:
    """Every message between others on the bus, in the order the bus delivered them."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def hear(self, message: Message) -> bool:
        """Keep a message; a monitor must never answer, so all count as handled."""
        self.messages.append(message)
        return True

    def words(self, path: str) -> list[str]:
        """What was asked of a device, of its adapter and agents, and what became of the device.

        Calls by their names, `Set` by its property, changes as `Property=value`.
        """
        adapter = path.rpartition("/")[0]
        words: list[str] = []
        for message in self.messages:
            if message.path in (path, adapter, "/org/bluez"):
                words += _words(message)
        return words


def _words(message: Message) -> list[str]:
    body = unpack_variants(message.body)
    if message.message_type is MessageType.METHOD_CALL:
        if message.member == "Set":
            return [f"Set {body[1]}={body[2]}"]
        quiet = ("Get", "GetAll", "GetManagedObjects", "SetDiscoveryFilter")
        return [] if message.member in quiet else [message.member or ""]
    if message.message_type is MessageType.SIGNAL and message.member == "PropertiesChanged":
        kept = ("Bonded", "Paired", "Trusted", "Pairable")
        return [f"{name}={value}" for name, value in body[1].items() if name in kept]
    return []


@pytest.fixture
async def wire(bluetoothd: object) -> AsyncIterator[Wire]:
    """A monitor of the system bus (`BecomeMonitor` of the D-Bus specification)."""
    bus = await MessageBus(SYSTEM_BUS).connect()
    heard = Wire()
    await bus.call(
        Message(
            destination="org.freedesktop.DBus",
            path="/org/freedesktop/DBus",
            interface="org.freedesktop.DBus.Monitoring",
            member="BecomeMonitor",
            signature="asu",
            body=[[], 0],
        )
    )
    bus.add_message_handler(heard.hear)
    yield heard
    bus.disconnect()
