"""A pairing window and the one procedure that ends honestly."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from bluezclient.address import Address
from bluezclient.model import Device


class Capability(StrEnum):
    """What the agent says it can show and read (`AgentManager1.RegisterAgent`)."""

    NO_INPUT_NO_OUTPUT = "NoInputNoOutput"
    DISPLAY_ONLY = "DisplayOnly"
    DISPLAY_YES_NO = "DisplayYesNo"
    KEYBOARD_ONLY = "KeyboardOnly"
    KEYBOARD_DISPLAY = "KeyboardDisplay"


class PromptKind(StrEnum):
    """What bluetoothd wants from the person in front of the device."""

    SHOW_PASSKEY = "ShowPasskey"
    SHOW_PIN = "ShowPin"
    CONFIRM = "Confirm"
    ENTER_PASSKEY = "EnterPasskey"
    ENTER_PIN = "EnterPin"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question of the agent about the chosen device.

    `code`: six digits (or the PIN) to show or compare, "" when it is to be entered. `entered`:
    how many digits have been typed on the device so far.
    """

    kind: PromptKind
    address: Address
    code: str = ""
    entered: int = 0


# The answer: True/None accepts, False refuses; a str or int is the PIN or passkey entered.
PromptHandler = Callable[[Prompt], Awaitable[bool | str | int | None]]


@dataclass(frozen=True, slots=True)
class Seen:
    """A device on the air in this window, not counting devices already bonded and silent.

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

    adapter: Address

    @property
    def seen(self) -> tuple[Seen, ...]:
        """What has been heard on the air since the window opened, first seen first."""
        raise NotImplementedError

    @property
    def prompt(self) -> Prompt | None:
        """The passkey or PIN to show now, None when there is none."""
        raise NotImplementedError

    async def pair(self, address: Address, *, deadline: float = 90.0) -> Device:
        """Pair with one device and no other; returns it bonded and trusted.

        Waits until the device is on the air; removes an old bond first; tries once more after
        `AuthenticationFailed`; an unreachable device is tried at each new advert until the deadline.
        The device returned has its identity address, which may not be the one asked for.

        Raises `DeviceUnknown` (never seen), `DeviceUnreachable`, `PairingTimedOut`,
        `PairingRejected`, `PairingCanceled`, `AuthenticationFailed`, `PinRequired`, `NotBonded`,
        `StaleKernelKey`, `AdapterUnpowered`, `AdapterMissing`, `Busy`, `OwnerLost`, `BusLost`.
        Nothing half-paired is left behind, also when the task is cancelled.
        """
        raise NotImplementedError
