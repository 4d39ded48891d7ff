"""Conditions and times in the forms of the Kubernetes API conventions; nothing is remembered.

`lastTransitionTime` is taken over from the object as it stands while the status is the same, so a
restarted operator writes the very bytes that are there already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from draplugin.kube import Object

# meta/v1 Condition: message is at most 32768 bytes; people read one line.
MESSAGE_LIMIT = 1024


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition; `status` None is Unknown. `reason` is CamelCase, `message` says what to do."""

    type: str
    status: bool | None
    reason: str
    message: str = ""


def rfc3339(seconds: float) -> str:
    """A wall-clock time as the API writes it: UTC, whole seconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text: object) -> float | None:
    """A time of the API in seconds since the epoch; None where it is none."""
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def render(conditions: Iterable[Condition], obj: Object, now: float) -> list[dict[str, Any]]:
    """The conditions as they belong into the object's status, sorted by nothing but the caller."""
    known = {each.get("type"): each for each in (obj.get("status") or {}).get("conditions") or ()}
    generation = obj["metadata"].get("generation", 0)
    return [_render(each, known.get(each.type), generation, now) for each in conditions]


def _render(
    condition: Condition, known: Mapping[str, Any] | None, generation: int, now: float
) -> dict[str, Any]:
    status = {True: "True", False: "False", None: "Unknown"}[condition.status]
    same = known is not None and known.get("status") == status
    return {
        "type": condition.type,
        "status": status,
        "reason": condition.reason,
        "message": condition.message[:MESSAGE_LIMIT],
        "observedGeneration": generation,
        "lastTransitionTime": known["lastTransitionTime"] if known and same else rfc3339(now),
    }


def current(obj: Object, type_: str) -> Mapping[str, Any] | None:
    """One condition of an object as it stands, or None."""
    listed = (obj.get("status") or {}).get("conditions") or ()
    return next((each for each in listed if each.get("type") == type_), None)


def is_true(obj: Object, type_: str) -> bool:
    """Whether an object has a condition with status True."""
    found = current(obj, type_)
    return found is not None and found.get("status") == "True"
