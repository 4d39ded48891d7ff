"""Follows each device's link through sessions, so that its reason can be told at any time.

`Device1.Disconnected` precedes `Connected=false` (5.83, 53db78000), so a reason is held until the
link is really down and dropped when the device connects again. A reason from the management socket
may come on either side of the D-Bus signal. Records outlive bluetoothd; object paths do not, so
records are kept by (adapter address, device address). Time comes in as an argument.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from bluezclient.address import Address
from bluezclient.model import Adapter, Device, Link
from bluezclient.reasons import (
    FLAP_WINDOW,
    AdapterFate,
    Evidence,
    Reason,
    Session,
    Wire,
    disconnect_reason,
    is_flapping,
    is_sleeper,
)

Key = tuple[Address, Address]

REQUEST_WINDOW = 5.0
# A connected HID device is unplugged and waited for before its object goes.
REMOVAL_WINDOW = 30.0
BURST_WINDOW = 2.0
# On unplug and at a clean stop the devices' removals precede the adapter's (BlueZ 5.66, measured).
REMOVAL_JUDGEMENT = 2.0
KEY_MISSING_AFTER = 3


@dataclass(slots=True)
class _Record:
    evidence: Evidence
    device: Device
    since: float = 0.0
    reason: Reason = Reason.UNSPECIFIED
    told: Reason | None = None
    began: float = 0.0
    ended: float = float("-inf")
    held_wire: Wire | None = None
    was_bonded: bool = False
    vanished: float | None = None
    requested: float = float("-inf")
    removal_asked: float = float("-inf")
    auth_failures: int = 0
    sessions: deque[Session] = field(default_factory=lambda: deque(maxlen=16))


class LinkTracker:
    """One record per device ever seen bonded or connected.

    `directory_exists(adapter, device)` says whether the bond is still on disk, None when the disk
    cannot be seen.
    """

    def __init__(
        self, directory_exists: Callable[[Address, Address], bool | None] = lambda *_: None
    ) -> None:
        self._records: dict[Key, _Record] = {}
        self._paths: dict[str, Key] = {}
        self._directory_exists = directory_exists

    def disconnect_requested(self, key: Key, now: float) -> None:
        """We are about to ask bluetoothd to drop this link."""
        if key in self._records:
            self._records[key].requested = now

    def removal_requested(self, key: Key, now: float) -> None:
        """We are about to ask bluetoothd to remove this device."""
        if key in self._records:
            self._records[key].requested = now
            self._records[key].removal_asked = now

    def wire(self, key: Key, wire: Wire, now: float) -> None:
        """A reason was reported for this device, before or shortly after its link went down."""
        record = self._records.get(key)
        if record is None:
            return
        if record.evidence.connected:
            record.held_wire = wire
        elif record.evidence.wire is None and now - record.ended <= BURST_WINDOW:
            self._judge_end(key, record, wire, now)

    def wire_at(self, path: str, wire: Wire, now: float) -> None:
        """As `wire`, for the device now at an object path."""
        if path in self._paths:
            self.wire(self._paths[path], wire, now)

    def observe(
        self,
        available: bool,
        adapters: Mapping[str, Adapter],
        devices: Mapping[str, Device],
        now: float,
        wall: float,
    ) -> dict[Key, Link]:
        """The links after a change of the objects (or of nothing but the time)."""
        if not available:
            self._daemon_lost(now)
        else:
            self._rename(devices)
            for device in devices.values():
                self._present(device, now)
            self._absent({device.key for device in devices.values()}, now)
            self._fates(adapters.values(), now)
        return {
            key: self._link(record, available, now, wall)
            for key, record in sorted(self._records.items())
        }

    def next_check(self, now: float) -> float | None:
        """Seconds until time alone may change a link, None when it cannot."""
        instants = [
            record.vanished + REMOVAL_JUDGEMENT
            for record in self._records.values()
            if record.vanished is not None
        ]
        instants += [
            session.ended + FLAP_WINDOW + 0.001
            for record in self._records.values()
            for session in record.sessions
            if session.ended + FLAP_WINDOW >= now
        ]
        return max(0.0, min(instants) - now) if instants else None

    def _rename(self, devices: Mapping[str, Device]) -> None:
        for path, device in devices.items():
            old = self._paths.get(path)
            if old is not None and old != device.key and old in self._records:
                self._records[device.key] = self._records.pop(old)
        self._paths = {path: device.key for path, device in devices.items()}

    def _present(self, device: Device, now: float) -> None:
        record = self._records.get(device.key)
        if record is None:
            if not (device.known or device.connected):
                return
            evidence = Evidence(ever_connected=False)
            record = _Record(evidence=evidence, device=device)
            self._records[device.key] = record
        was_connected = record.evidence.connected
        record.device = device
        record.vanished = None
        if device.known:
            record.was_bonded = True
        removed = record.evidence.bond_removed or (record.was_bonded and not device.paired)
        record.evidence = replace(record.evidence, bond_removed=removed and not device.known)
        if device.connected and not was_connected:
            self._begin(record, now)
        elif was_connected and not device.connected:
            self._end(device.key, record, now)

    def _begin(self, record: _Record, now: float) -> None:
        record.began, record.held_wire = now, None
        record.evidence = Evidence(
            connected=True, ever_connected=True, bond_removed=record.evidence.bond_removed
        )

    def _end(self, key: Key, record: _Record, now: float) -> None:
        wire, record.held_wire = record.held_wire, None
        record.ended = now
        record.sessions.append(Session(record.began, now, wire))
        self._judge_end(key, record, wire, now)

    def _judge_end(self, key: Key, record: _Record, wire: Wire | None, now: float) -> None:
        record.auth_failures = record.auth_failures + 1 if wire is Wire.AUTHENTICATION else 0
        if record.sessions:
            record.sessions[-1] = replace(record.sessions[-1], wire=wire)
        record.evidence = replace(
            record.evidence,
            connected=False,
            wire=wire,
            requested=now - record.requested <= REQUEST_WINDOW,
            sleeper=is_sleeper(record.device),
        )
        if wire is Wire.TIMEOUT:
            self._mark_burst(key[0], now)

    def _mark_burst(self, adapter: Address, now: float) -> None:
        together = [
            record
            for (owner, _), record in self._records.items()
            if owner == adapter
            and record.evidence.wire is Wire.TIMEOUT
            and not record.evidence.connected
            and now - record.ended <= BURST_WINDOW
        ]
        if len(together) >= 2:
            for record in together:
                record.evidence = replace(record.evidence, burst=True)

    def _absent(self, present: set[Key], now: float) -> None:
        for key in [key for key in self._records if key not in present]:
            record = self._records[key]
            if record.evidence.connected:
                self._end(key, record, now)
            if record.evidence.bond_removed:
                continue
            if now - record.removal_asked <= REMOVAL_WINDOW:
                self._bond_gone(record)
            elif record.vanished is None:
                record.vanished = now

    def _bond_gone(self, record: _Record) -> None:
        record.vanished, record.was_bonded = None, False
        record.removal_asked = float("-inf")
        record.evidence = replace(record.evidence, bond_removed=True)

    def _fates(self, adapters: Iterable[Adapter], now: float) -> None:
        powered = {adapter.address: adapter.powered for adapter in adapters}
        for key, record in list(self._records.items()):
            fate = _fate(powered.get(key[0]))
            if fate is not AdapterFate.POWERED:
                record.vanished = None
                if self._ended_with_the_radio(record, now):
                    record.evidence = replace(record.evidence, adapter=fate)
            elif record.vanished is not None and now - record.vanished >= REMOVAL_JUDGEMENT:
                self._judge_removal(key, record)
            record.reason = _reason(record.evidence, fate)

    @staticmethod
    def _ended_with_the_radio(record: _Record, now: float) -> bool:
        # A kernel that powers its radio down ends the links itself, and tells either the radio's
        # word for that (Local) or, when its cleanup is first, the reason it gave the other end:
        # 0x15, which mgmt calls Remote (7.2 with 5.87, both seen with btmon). Or bluetoothd drops
        # them without a reason of the kernel's.
        evidence = record.evidence
        radios_own = evidence.wire in (None, Wire.UNKNOWN, Wire.REMOTE) or (
            evidence.wire is Wire.LOCAL and not evidence.requested
        )
        return radios_own and now - record.ended <= BURST_WINDOW

    def _judge_removal(self, key: Key, record: _Record) -> None:
        record.vanished = None
        if not record.was_bonded:
            del self._records[key]
        elif not self._directory_exists(*key):
            self._bond_gone(record)

    def _daemon_lost(self, now: float) -> None:
        for key, record in self._records.items():
            if record.evidence.connected:
                record.held_wire = None
                self._end(key, record, now)
            # A clean stop powers the adapters off first; that was the daemon's end, not the
            # radio's.
            radio_off = record.evidence.adapter is not AdapterFate.POWERED
            if radio_off and now - record.ended <= BURST_WINDOW:
                record.evidence = replace(record.evidence, adapter=AdapterFate.POWERED, wire=None)
            record.vanished = None
            record.reason = Reason.BLUETOOTH_UNAVAILABLE
        self._paths = {}

    @staticmethod
    def _link(record: _Record, available: bool, now: float, wall: float) -> Link:
        if record.told is not record.reason:
            record.told, record.since = record.reason, wall
        return Link(
            connected=record.reason is Reason.CONNECTED if available else None,
            reason=record.reason,
            since=record.since,
            flapping=is_flapping(record.sessions, now),
            key_missing=record.auth_failures >= KEY_MISSING_AFTER,
        )


def _fate(powered: bool | None) -> AdapterFate:
    if powered is None:
        return AdapterFate.REMOVED
    return AdapterFate.POWERED if powered else AdapterFate.OFF


def _reason(evidence: Evidence, fate: AdapterFate) -> Reason:
    """The reason now; the adapter's present trouble overrides what ended the link."""
    if fate is AdapterFate.POWERED:
        return disconnect_reason(evidence)
    return disconnect_reason(replace(evidence, adapter=fate))
