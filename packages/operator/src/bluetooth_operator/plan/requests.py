"""The life of a PairingRequest: Pending, Open, then Paired, Expired or Failed, then gone.

A request chooses a device only by name; an open window without one pairs nothing. The phase is
carried by the object itself: an Open request found at start gets its window back until
`windowClosesAt`, and the condition Pairing, written before bluetoothd is asked to pair, tells a
bond made for this request from one that was there before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bluezclient import Adapter, Address, AddressError
from draplugin.kube import Object

from ..actions import Action, Apply, Delete, WindowWish
from ..conditions import Condition, is_true, render, rfc3339, seconds
from ..resources import PAIRINGREQUESTS
from ..world import WindowState, World

MOST_SEEN = 16
NAME_LIMIT = 248  # the longest name in the Bluetooth Core specification, vol. 3 part C 3.2.2
WINDOW_SECONDS = 180
TTL_SECONDS = 86400
# bluezclient.DeviceUnknown: the pairing waited for the device until its deadline, in vain.
NEVER_HEARD = "DeviceUnknown"
FINISHED = ("Paired", "Expired", "Failed")


def requests(world: World) -> Iterator[Action]:
    """The next step of every request that this operator serves."""
    for request in _ordered(world):
        phase = _phase(request)
        if phase in FINISHED:
            yield from _collect(world, request)
        elif "deletionTimestamp" not in request["metadata"] and _serves(world, request):
            yield from _step(world, request)


def windows(world: World) -> Iterator[WindowWish]:
    """The windows that ought to be open now: one for each radio, the oldest request's."""
    for request in _ordered(world):
        closes = seconds((request.get("status") or {}).get("windowClosesAt"))
        adapter = _adapter_of(request)
        if _phase(request) != "Open" or closes is None or adapter is None:
            continue
        if adapter not in world.present():
            continue
        running = world.windows.get(request["metadata"]["uid"], WindowState())
        over = closes <= world.now and running.pairing is None
        if over or "deletionTimestamp" in request["metadata"]:
            continue
        device = _device(request) if is_true(request, "Pairing") else None
        yield WindowWish(request["metadata"]["uid"], adapter, closes, device)


def next_instant(world: World) -> float | None:
    """When time alone will change a request: a window's end, or a finished request's."""
    instants = []
    for request in _ordered(world):
        status = request.get("status") or {}
        if _phase(request) == "Open":
            instants.append(seconds(status.get("windowClosesAt")))
        elif _phase(request) in FINISHED:
            instants.append(_collected_at(request))
    return min((each for each in instants if each is not None), default=None)


def _ordered(world: World) -> list[Object]:
    objects = world.kube.requests.values() if world.kube else ()
    return sorted(
        objects,
        key=lambda each: (
            str(each["metadata"].get("creationTimestamp", "")),
            str(each["metadata"].get("uid", "")),
        ),
    )


def _phase(request: Object) -> str:
    return str((request.get("status") or {}).get("phase") or "Pending")


def _adapter_of(request: Object) -> Address | None:
    try:
        return Address(str((request.get("spec") or {}).get("adapter", "")))
    except AddressError:
        return None


def _device(request: Object) -> Address | None:
    text = (request.get("spec") or {}).get("device") or ""
    try:
        return Address(text) if text else None
    except AddressError:
        return None


def _serves(world: World, request: Object) -> bool:
    adapter = _adapter_of(request)
    if adapter in world.held():
        return True
    known = world.kube.adapters.get(adapter.dashes) if world.kube and adapter else None
    return known is None and world.serves_unheld


def _collected_at(request: Object) -> float | None:
    finished = seconds((request.get("status") or {}).get("finishedAt"))
    ttl = (request.get("spec") or {}).get("ttlSecondsAfterFinished", TTL_SECONDS)
    return None if finished is None else finished + ttl


def _collect(world: World, request: Object) -> Iterator[Action]:
    due = _collected_at(request)
    if due is None or due > world.now or not _serves(world, request):
        return
    metadata = request["metadata"]
    yield Delete(PAIRINGREQUESTS, metadata["name"], metadata["namespace"], metadata.get("uid"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """What a request's status is to say; `extra` fields replace those that are there."""

    phase: str
    reason: str
    message: str
    pairing: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


def _step(world: World, request: Object) -> Iterator[Action]:
    adapter = _adapter_of(request)
    present = world.present().get(adapter) if adapter else None
    verdict = _trouble(world, request, present) or _open_or_pair(world, request)
    yield from _say(world, request, verdict)


def _trouble(world: World, request: Object, present: Adapter | None) -> _Verdict | None:
    """Why a window cannot be open now, before anything else is asked."""
    closes = seconds((request.get("status") or {}).get("windowClosesAt"))
    if closes is not None and closes <= world.now:
        return None
    phase = _phase(request)
    if present is None:
        reason, message = _absent(world, request)
        return _Verdict(phase=phase, reason=reason, message=message)
    if not present.powered:
        reason = "AdapterBlocked" if present.blocked else "AdapterPoweredOff"
        return _Verdict(phase=phase, reason=reason, message="the radio is off")
    if closes is None and (other := _window_taken(world, request)):
        return _Verdict(
            phase=phase, reason="AdapterBusy", message=f"waiting for the window of {other} to close"
        )
    return None


def _absent(world: World, request: Object) -> tuple[str, str]:
    named = (request.get("spec") or {}).get("adapter", "")
    if not world.bluez.available and _adapter_of(request) in world.held():
        return "BluetoothUnavailable", world.bluez.detail
    known = ", ".join(sorted(world.kube.adapters)) if world.kube else ""
    if _adapter_of(request) in world.held():
        return "AdapterRemoved", f"radio {named} is not plugged in"
    advice = f"known adapters: {known}" if known else "no node has a radio yet"
    message = f"no adapter {named!r} in this cluster; {advice} (kubectl get adapters)"
    return "AdapterUnknown", message


def _window_taken(world: World, request: Object) -> str | None:
    """The request that holds the radio's one window: one radio has one pairing mode."""
    for other in _ordered(world):
        metadata = other["metadata"]
        same = _adapter_of(other) == _adapter_of(request)
        if same and _phase(other) == "Open" and metadata["uid"] != request["metadata"]["uid"]:
            return f"{metadata['namespace']}/{metadata['name']}"
    return None


def _open_or_pair(world: World, request: Object) -> _Verdict:
    status, spec = request.get("status") or {}, request.get("spec") or {}
    closes = seconds(status.get("windowClosesAt"))
    if closes is None:
        closes = world.now + spec.get("windowSeconds", WINDOW_SECONDS)
        return _Verdict(
            phase="Open",
            reason="WindowOpen",
            message="hold the device's pairing buttons, then approve its address:"
            " set spec.device to one of status.seen",
            extra={"windowClosesAt": rfc3339(closes)},
        )
    window = world.windows.get(request["metadata"]["uid"], WindowState())
    seen = _seen(request, window)
    extra: dict[str, Any] = {"seen": seen}
    if window.prompt is not None and window.prompt.code:
        extra["passkey"] = window.prompt.code
    paired = window.paired or _paired_before(world, request)
    if paired is not None:
        return _finished(
            world, "Paired", "Paired", f"{paired} is paired", {**extra, "peripheral": paired.dashes}
        )
    if window.failure is not None and window.failure[0] == NEVER_HEARD:
        return _finished(world, "Expired", *_expired(request, seen), extra)
    if window.failure is not None:
        return _finished(world, "Failed", *window.failure, extra)
    if closes <= world.now and window.pairing is None:
        return _finished(world, "Expired", *_expired(request, seen), extra)
    return _waiting(request, window, extra)


def _paired_before(world: World, request: Object) -> Address | None:
    """The device that an earlier life of this operator paired for this very request."""
    device, adapter = _device(request), _adapter_of(request)
    if device is None or adapter is None or not is_true(request, "Pairing"):
        return None
    running = world.windows.get(request["metadata"]["uid"])
    known = world.device(adapter, device)
    fresh = running is not None and running.pairing is not None
    return device if known is not None and known.bonded and not fresh else None


def _finished(
    world: World, phase: str, reason: str, message: str, extra: Mapping[str, Any]
) -> _Verdict:
    return _Verdict(
        phase=phase,
        reason=reason,
        message=message,
        extra={**extra, "finishedAt": rfc3339(world.now)},
    )


def _expired(request: Object, seen: list[dict[str, Any]]) -> tuple[str, str]:
    device = _device(request)
    heard = ", ".join(each["address"] for each in seen) or "nothing"
    if device is None:
        return "NotApproved", f"the window closed and no device was chosen; seen: {heard}"
    if device.colons not in {each["address"] for each in seen}:
        return "DeviceNeverSeen", (
            f"{device} was never heard while the window was open; seen: {heard}."
            " Hold its pairing buttons until its light blinks fast, and ask again"
        )
    return "WindowClosed", f"the window closed before {device} was paired; ask again"


def _waiting(request: Object, window: WindowState, extra: Mapping[str, Any]) -> _Verdict:
    device = _device(request)
    if device is None:
        return _Verdict(
            phase="Open",
            reason="WindowOpen",
            message="approve a device by setting spec.device to one of status.seen",
            extra=extra,
        )
    if device.colons in {each["address"] for each in extra["seen"]} or window.pairing:
        reason, message = "Pairing", f"pairing {device}"
    else:
        reason, message = (
            "DeviceNotSeen",
            (f"{device} has not been heard in this window yet; hold its pairing buttons"),
        )
    return _Verdict(phase="Open", reason=reason, message=message, pairing=True, extra=extra)


def _seen(request: Object, window: WindowState) -> list[dict[str, Any]]:
    """What was heard, first heard first; what an earlier life of this operator heard stays."""
    listed = {each["address"]: each for each in (request.get("status") or {}).get("seen") or ()}
    for each in window.seen:
        entry = {
            "address": each.address.colons,
            "name": each.name[:NAME_LIMIT],
            "firstSeen": rfc3339(each.first_seen),
            "kind": each.kind,
        }
        old = listed.get(each.address.colons, {})
        listed[each.address.colons] = {
            **{key: value for key, value in entry.items() if value},
            **({"firstSeen": old["firstSeen"]} if "firstSeen" in old else {}),
        }
    return list(listed.values())[:MOST_SEEN]


def _say(world: World, request: Object, verdict: _Verdict) -> Iterator[Action]:
    metadata, old = request["metadata"], request.get("status") or {}
    open_ = verdict.phase == "Open" and verdict.reason in ("WindowOpen", "Pairing", "DeviceNotSeen")
    conditions = [
        Condition("Open", open_, verdict.reason, verdict.message),
        Condition("Pairing", verdict.pairing, "Chosen" if verdict.pairing else verdict.reason),
        Condition("Complete", verdict.phase == "Paired", verdict.reason, verdict.message),
    ]
    kept = ("windowClosesAt", "seen", "peripheral", "finishedAt")
    status: dict[str, Any] = {
        **{key: old[key] for key in kept if key in old},
        **verdict.extra,
        "phase": verdict.phase,
        "message": verdict.message,
        "observedGeneration": metadata.get("generation", 0),
        "conditions": render(conditions, request, world.now),
    }
    status = {key: value for key, value in status.items() if value not in (None, "", [])}
    if status != old:
        where = {"name": metadata["name"], "namespace": metadata["namespace"]}
        yield Apply(PAIRINGREQUESTS, {"metadata": where, "status": status}, status=True)
