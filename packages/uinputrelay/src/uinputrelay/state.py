"""What a node holds down right now, and the events that turn one such state into another.

Pure. After a loss, a widened mask, a connect or an unplug the relay never guesses which events
are missing: it compares the mirror's own state with the wanted one and emits the difference.

Traps this file knows:
* Slots are synchronised whether a finger is on them or not. The kernel drops an ABS_MT_* value
  equal to the slot's last one, so a stale value in a free slot would surface with the next finger.
* The current slot is state too: raw events that follow rely on it.
* A changed tracking id is a lifted and a new finger, which needs two frames (as in libevdev).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from . import codes

Event = tuple[int, int, int]
REPORT: Event = (codes.EV_SYN, codes.SYN_REPORT, 0)
LIFTED = -1
UNKNOWN_SLOT = -1


@dataclass(frozen=True)
class State:
    """Keys and switches that are on, plain axes, the current slot, each slot's ABS_MT_* values.

    An UNKNOWN_SLOT is named before the next value; as a wish, it means any.
    ``contacts`` is empty for a device without slots; a slot whose ABS_MT_TRACKING_ID is -1 is free.
    """

    keys: frozenset[int] = frozenset()
    switches: frozenset[int] = frozenset()
    axes: Mapping[int, int] = field(default_factory=dict)
    slot: int = 0
    contacts: tuple[Mapping[int, int], ...] = ()


def at_rest(now: State, rests: Mapping[int, int]) -> State:
    """Return ``now`` with nothing held: what an unplugged device has to look like.

    Switches stay: a lid is not opened by losing its sensor.
    """
    return replace(
        now,
        keys=frozenset(),
        axes={code: rests.get(code, value) for code, value in now.axes.items()},
        contacts=tuple(_lifted(contact) for contact in now.contacts),
    )


def narrowed(wanted: State, idle: State, kinds: frozenset[int] | None) -> State:
    """Take the wanted event types from ``wanted`` and everything else from ``idle``."""
    if kinds is None:
        return wanted
    axes = wanted if codes.EV_ABS in kinds else idle
    return State(
        keys=wanted.keys if codes.EV_KEY in kinds else idle.keys,
        switches=wanted.switches if codes.EV_SW in kinds else idle.switches,
        axes=axes.axes,
        slot=axes.slot,
        contacts=axes.contacts,
    )


def difference(now: State, wanted: State) -> list[list[Event]]:
    """Return the frames that turn ``now`` into ``wanted``, each with SYN_REPORT; none if equal.

    The frames are for the kernel's own filter: a code the device does not have is dropped by it.
    """
    frames = []
    replaced = _replaced(now, wanted)
    if replaced:
        first = [event for slot in replaced for event in _lift(slot)]
        frames.append([*first, REPORT])
        now = replace(now, slot=replaced[-1], contacts=_with_lifted(now.contacts, replaced))
    events = [
        *_contact_events(now, wanted),
        *_bit_events(codes.EV_KEY, now.keys, wanted.keys),
        *_axis_events(now.axes, wanted.axes),
        *_bit_events(codes.EV_SW, now.switches, wanted.switches),
    ]
    if events:
        frames.append([*events, REPORT])
    return frames


def _lifted(contact: Mapping[int, int]) -> Mapping[int, int]:
    if codes.ABS_MT_TRACKING_ID not in contact:
        return contact
    return {**contact, codes.ABS_MT_TRACKING_ID: LIFTED}


def _with_lifted(
    contacts: tuple[Mapping[int, int], ...], slots: list[int]
) -> tuple[Mapping[int, int], ...]:
    return tuple(_lifted(each) if slot in slots else each for slot, each in enumerate(contacts))


def _lift(slot: int) -> Iterable[Event]:
    yield (codes.EV_ABS, codes.ABS_MT_SLOT, slot)
    yield (codes.EV_ABS, codes.ABS_MT_TRACKING_ID, LIFTED)


def _replaced(now: State, wanted: State) -> list[int]:
    """List the slots where one finger gave way to another."""
    pairs = enumerate(zip(now.contacts, wanted.contacts, strict=False))
    ids = ((slot, *(_tracking(each) for each in pair)) for slot, pair in pairs)
    return [
        slot for slot, before, after in ids if LIFTED not in (before, after) and before != after
    ]


def _tracking(contact: Mapping[int, int]) -> int:
    return contact.get(codes.ABS_MT_TRACKING_ID, LIFTED)


def _contact_events(now: State, wanted: State) -> Iterable[Event]:
    current = now.slot
    for slot, (before, after) in enumerate(zip(now.contacts, wanted.contacts, strict=False)):
        changed = {code: value for code, value in after.items() if before.get(code) != value}
        if changed and slot != current:
            yield (codes.EV_ABS, codes.ABS_MT_SLOT, slot)
            current = slot
        # The id goes first: position values of a slot nobody touches yet mean nothing to a reader.
        if codes.ABS_MT_TRACKING_ID in changed:
            yield (codes.EV_ABS, codes.ABS_MT_TRACKING_ID, changed.pop(codes.ABS_MT_TRACKING_ID))
        yield from ((codes.EV_ABS, code, changed[code]) for code in sorted(changed))
    if wanted.contacts and wanted.slot not in (current, UNKNOWN_SLOT):
        yield (codes.EV_ABS, codes.ABS_MT_SLOT, wanted.slot)


def _bit_events(kind: int, now: frozenset[int], wanted: frozenset[int]) -> Iterable[Event]:
    yield from ((kind, code, 0) for code in sorted(now - wanted))
    yield from ((kind, code, 1) for code in sorted(wanted - now))


def _axis_events(now: Mapping[int, int], wanted: Mapping[int, int]) -> Iterable[Event]:
    for code in sorted(now.keys() & wanted.keys()):
        if now[code] != wanted[code]:
            yield (codes.EV_ABS, code, wanted[code])
