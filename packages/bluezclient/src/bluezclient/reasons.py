"""Why a device is not connected, decided from evidence by one pure function.

A press that finds no controller is normal for a pad that sleeps and alarming for one that does not,
and `Connected=false` alone cannot tell. Since BlueZ 5.83 (commit 53db78000) `Device1.Disconnected`
carries the HCI reason; the words below are the ones fit for a `Connected` condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bluezclient.model import Device


class Reason(StrEnum):
    """The reason of a `Connected` condition; only CONNECTED is status True."""

    CONNECTED = "Connected"
    NEVER_CONNECTED = "NeverConnected"
    ASLEEP = "Asleep"
    LINK_LOST = "LinkLost"
    DISCONNECTED_BY_DEVICE = "DisconnectedByDevice"
    DISCONNECTED_BY_REQUEST = "DisconnectedByRequest"
    DISCONNECTED_BY_HOST = "DisconnectedByHost"
    AUTHENTICATION_FAILED = "AuthenticationFailed"
    HOST_SUSPENDED = "HostSuspended"
    ADAPTER_POWERED_OFF = "AdapterPoweredOff"
    ADAPTER_REMOVED = "AdapterRemoved"
    BOND_REMOVED = "BondRemoved"
    UNSPECIFIED = "Unspecified"
    BLUETOOTH_UNAVAILABLE = "BluetoothUnavailable"


class Wire(StrEnum):
    """What the link's end was put down to, as `Device1.Disconnected` or mgmt 0x000C says it."""

    TIMEOUT = "org.bluez.Reason.Timeout"
    LOCAL = "org.bluez.Reason.Local"
    REMOTE = "org.bluez.Reason.Remote"
    AUTHENTICATION = "org.bluez.Reason.Authentication"
    SUSPEND = "org.bluez.Reason.Suspend"
    UNKNOWN = "org.bluez.Reason.Unknown"

    @classmethod
    def from_name(cls, name: str) -> Wire:
        """The member of a signal's first argument; a name of a later BlueZ reads as UNKNOWN."""
        return cls(name) if name in cls._value2member_map_ else cls.UNKNOWN

    @classmethod
    def from_mgmt(cls, code: int) -> Wire:
        """The member of the last byte of mgmt Device Disconnected (`doc/mgmt-api.txt`, 0x000C)."""
        return _MGMT_REASONS.get(code, cls.UNKNOWN)


_MGMT_REASONS = {
    1: Wire.TIMEOUT,
    2: Wire.LOCAL,
    3: Wire.REMOTE,
    4: Wire.AUTHENTICATION,
    5: Wire.SUSPEND,
}


class AdapterFate(StrEnum):
    """What became of the device's adapter around the end of the link."""

    POWERED = "powered"
    OFF = "off"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that is known about one device's link; the defaults describe a healthy radio.

    `wire` is None when no reason was reported (BlueZ up to 5.82, or no session at all).
    """

    connected: bool = False
    wire: Wire | None = None
    ever_connected: bool = True
    daemon_available: bool = True
    adapter: AdapterFate = AdapterFate.POWERED
    bond_removed: bool = False
    requested: bool = False
    sleeper: bool = False
    burst: bool = False


def disconnect_reason(evidence: Evidence) -> Reason:
    """The one reason the evidence supports.

    Precedence: daemon gone, adapter gone or off, bond removed, suspend, authentication, our own
    request, the wire's word. `requested` = we asked for the disconnect in the last 5 s; `burst` =
    at least two links of one adapter timed out within 2 s (the radio's trouble, not a device's).
    """
    for applies, reason in _overriding(evidence):
        if applies:
            return reason
    match evidence.wire:
        case Wire.TIMEOUT:
            asleep = evidence.sleeper and not evidence.burst
            return Reason.ASLEEP if asleep else Reason.LINK_LOST
        case Wire.REMOTE:
            return Reason.DISCONNECTED_BY_DEVICE
        case Wire.LOCAL:
            return Reason.DISCONNECTED_BY_HOST
        case _:
            return Reason.UNSPECIFIED


def _overriding(evidence: Evidence) -> tuple[tuple[bool, Reason], ...]:
    wire = evidence.wire
    return (
        (not evidence.daemon_available, Reason.BLUETOOTH_UNAVAILABLE),
        (evidence.adapter is AdapterFate.REMOVED, Reason.ADAPTER_REMOVED),
        (evidence.adapter is AdapterFate.OFF, Reason.ADAPTER_POWERED_OFF),
        (evidence.connected, Reason.CONNECTED),
        (evidence.bond_removed, Reason.BOND_REMOVED),
        (wire is Wire.SUSPEND, Reason.HOST_SUSPENDED),
        (wire is Wire.AUTHENTICATION, Reason.AUTHENTICATION_FAILED),
        (wire is Wire.LOCAL and evidence.requested, Reason.DISCONNECTED_BY_REQUEST),
        (wire is None and not evidence.ever_connected, Reason.NEVER_CONNECTED),
    )


# A sleeping controller often says goodbye (Remote) instead of falling silent (Timeout), so both
# are what a healthy controller does.
_BENIGN = frozenset(
    {
        Reason.CONNECTED,
        Reason.NEVER_CONNECTED,
        Reason.ASLEEP,
        Reason.DISCONNECTED_BY_DEVICE,
        Reason.DISCONNECTED_BY_REQUEST,
        Reason.HOST_SUSPENDED,
    }
)


def is_benign(reason: Reason) -> bool:
    """Whether the reason is everyday life (asleep, switched off, asked for), no alarm."""
    return reason in _BENIGN


_HOG = "00001812-0000-1000-8000-00805f9b34fb"
_HIDP = "00001124-0000-1000-8000-00805f9b34fb"
_AUDIO = frozenset(
    f"0000{short}-0000-1000-8000-00805f9b34fb" for short in ("110b", "110a", "111e", "1108")
)


def is_sleeper(device: Device) -> bool:
    """Whether the device is of the kind that drops its link to save power and comes back by itself.

    True for HID devices (by service, class of device or appearance); never for audio devices.
    """
    if device.uuids & _AUDIO:
        return False
    appearance = device.appearance or 0
    return (
        _HOG in device.uuids
        or (_HIDP in device.uuids and device.reconnect_mode in ("device", "any"))
        or ((device.class_of_device or 0) >> 8 & 0x1F) == 5
        or 0x03C0 <= appearance <= 0x03CA
        or appearance == 0x0180
    )


@dataclass(frozen=True, slots=True)
class Session:
    """One stretch of being connected; times in seconds of any one monotonic clock."""

    began: float
    ended: float
    wire: Wire | None = None


FLAP_SESSIONS, FLAP_LENGTH, FLAP_WINDOW = 3, 10.0, 60.0


def is_flapping(sessions: Sequence[Session], now: float) -> bool:
    """Whether at least 3 sessions shorter than 10 s ended in the last 60 s.

    Sessions ended by the host's suspend do not count: a resume is no flap (bluez #919).
    """
    short = [
        session
        for session in sessions
        if session.ended - session.began < FLAP_LENGTH
        and now - session.ended <= FLAP_WINDOW
        and session.wire is not Wire.SUSPEND
    ]
    return len(short) >= FLAP_SESSIONS
