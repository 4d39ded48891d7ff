"""One class for each decision a caller has to take; the D-Bus name and text stay readable.

`reason` is a CamelCase word fit for a condition. Unknown errors are `CallFailed`, never lost.
Names: BlueZ `src/error.c`, `src/error.h`, and `src/device.c` `bonding_request_reply` (5.87).
"""

# Each class is named for the decision it asks for, which reads better without "Error".
# ruff: noqa: N818

from __future__ import annotations

from typing import ClassVar


class BluezError(Exception):
    """Base of everything this package raises on purpose.

    `name` is the D-Bus error name ("" when the error did not come over D-Bus), `text` its message.
    """

    reason: ClassVar[str] = "BluetoothError"

    def __init__(self, text: str = "", *, name: str = "") -> None:
        super().__init__(text or name or self.reason)
        self.name = name
        self.text = text


class Unavailable(BluezError):
    """bluetoothd cannot be asked right now; wait for `state.available` and try again."""

    reason = "BluetoothUnavailable"


class OwnerLost(Unavailable):
    """Nobody owns `org.bluez` (bluetoothd is not running, or went away during the wait)."""


class BusLost(Unavailable):
    """The message bus itself is gone or was never there."""


class PermissionDenied(Unavailable):
    """The bus or its policy refuses us: run as root or ship a D-Bus policy file."""

    reason = "PermissionDenied"


class DeadlineExceeded(BluezError):
    """The awaited state or reply did not come in time; nothing is known to have failed."""

    reason = "DeadlineExceeded"


class AdapterMissing(BluezError):
    """No adapter with that address is present."""

    reason = "AdapterMissing"


class AdapterUnpowered(BluezError):
    """The adapter is present but off; power it, then try again."""

    reason = "AdapterPoweredOff"


class AdapterBlocked(BluezError):
    """rfkill holds the radio off; `rfkill unblock bluetooth` on the host."""

    reason = "AdapterBlocked"


class DeviceUnknown(BluezError):
    """bluetoothd knows no device of that address (never seen, or already forgotten)."""

    reason = "DeviceUnknown"


class DeviceAmbiguous(BluezError):
    """Two adapters know a device of that address; name the adapter too."""

    reason = "DeviceAmbiguous"


class DeviceGone(BluezError):
    """The device object vanished while we were working with it."""

    reason = "DeviceGone"


class DeviceUnreachable(BluezError):
    """The device did not answer; press its button and try again. Benign."""

    reason = "DeviceUnreachable"


class PairingTimedOut(BluezError):
    """The pairing did not finish before its deadline, or the device stopped answering in it."""

    reason = "PairingTimedOut"


class PairingRejected(BluezError):
    """The device, or our agent, said no."""

    reason = "PairingRejected"


class PairingCanceled(BluezError):
    """The pairing was called off, or the device left in the middle of it."""

    reason = "PairingCanceled"


class AuthenticationFailed(BluezError):
    """The keys or the passkey did not agree; put the device in pairing mode again."""

    reason = "AuthenticationFailed"


class PinRequired(BluezError):
    """The device wants a PIN or passkey and the window's capability cannot give one."""

    reason = "PinRequired"


class NotBonded(BluezError):
    """Pairing "succeeded" but no key was kept; the device would be lost at the next disconnect."""

    reason = "NotBonded"


class StaleKernelKey(BluezError):
    """The kernel still holds a key bluetoothd has forgotten; removed and tried again, in vain."""

    reason = "StaleKernelKey"


class Busy(BluezError):
    """Another operation on the same object is running (ours or another client's)."""

    reason = "Busy"


class DeviceInitiatesConnection(BluezError):
    """The device reconnects by itself; a Connect from here would race it (bluez #1765)."""

    reason = "DeviceInitiatesConnection"


class CallFailed(BluezError):
    """bluetoothd refused in a way with no decision of its own; see `name` and `text`."""

    reason = "CallFailed"


_BY_NAME: dict[str, type[BluezError]] = {
    "org.bluez.Error.ConnectionAttemptFailed": DeviceUnreachable,
    "org.bluez.Error.AuthenticationTimeout": PairingTimedOut,
    "org.bluez.Error.AuthenticationRejected": PairingRejected,
    "org.bluez.Error.AuthenticationCanceled": PairingCanceled,
    "org.bluez.Error.AuthenticationFailed": AuthenticationFailed,
    "org.bluez.Error.Rejected": PairingRejected,
    "org.bluez.Error.Canceled": PairingCanceled,
    "org.bluez.Error.InProgress": Busy,
    "org.bluez.Error.Busy": Busy,
    "org.bluez.Error.NotReady": AdapterUnpowered,
    "org.bluez.Error.Blocked": AdapterBlocked,
    "org.bluez.Error.NoSuchAdapter": AdapterMissing,
    "org.bluez.Error.DoesNotExist": DeviceUnknown,
    "org.freedesktop.DBus.Error.UnknownObject": DeviceGone,
    "org.freedesktop.DBus.Error.ServiceUnknown": OwnerLost,
    "org.freedesktop.DBus.Error.NameHasNoOwner": OwnerLost,
    "org.freedesktop.DBus.Error.NoReply": OwnerLost,
    "org.freedesktop.DBus.Error.Disconnected": BusLost,
    "org.freedesktop.DBus.Error.AccessDenied": PermissionDenied,
}

# `Connect()` answers `Failed` with one of BlueZ's stable words (src/error.h). The spellings for the
# two bearers differ (`aborted-by-remote`, `abort-by-remote`), so whole words are matched.
_FAILED_TEXTS: dict[str, type[BluezError]] = {
    **dict.fromkeys(
        (
            "br-connection-page-timeout",
            "br-connection-timeout",
            "br-connection-create-socket",
            "br-connection-refused",
            "br-connection-aborted-by-remote",
            "le-connection-create-socket",
            "le-connection-refused",
            "le-connection-abort-by-remote",
            "Host is down",
            "Page Timeout",
        ),
        DeviceUnreachable,
    ),
    **dict.fromkeys(
        ("br-connection-busy", "le-connection-busy", "Operation already in progress"), Busy
    ),
    **dict.fromkeys(
        ("br-connection-key-missing", "le-connection-key-missing"), AuthenticationFailed
    ),
    **dict.fromkeys(
        ("br-connection-adapter-not-powered", "le-connection-adapter-not-powered"),
        AdapterUnpowered,
    ),
    **dict.fromkeys(
        (
            "br-connection-canceled",
            "br-connection-aborted-by-local",
            "le-connection-abort-by-local",
        ),
        PairingCanceled,
    ),
}


def error_from_dbus(name: str, text: str) -> BluezError:
    """The error a D-Bus error reply stands for; what is unknown comes back as `CallFailed`."""
    kind = _BY_NAME.get(name)
    if kind is None and name == "org.bluez.Error.Failed":
        kind = _FAILED_TEXTS.get(text)
    return (kind or CallFailed)(text, name=name)
