"""The API's limits on a device, checked before anything is sent.

One bad value makes the API server refuse the whole slice, and with it every device of the node
(kubernetes-sigs/dranet #198, #300, #313 are three fixes of one such case). So a bad value costs
the least thing that holds it, in this order: the attribute, the taint, the device; each loss is
reported. Nothing is guessed into shape: a value is kept as it is or dropped. Numbers are those of
k8s.io/api resource/v1 types.go and k8s.io/kubernetes pkg/apis/resource/validation at v1.37.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..model import Device, Semver, Taint

MAX_ATTRIBUTES_AND_CAPACITIES = 32
MAX_ID = 32
MAX_DOMAIN = 63
MAX_VALUE_BYTES = 64
MAX_TAINTS = 16

_identifier = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_label = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
_subdomain = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_label_name = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")
_semver = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?\Z",
    re.ASCII,
)
_quantity = re.compile(
    r"[+-]?(\d+|\d+\.\d*|\.\d+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,2})?\Z", re.ASCII
)
_time = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)\Z", re.ASCII)
EFFECTS = ("NoSchedule", "NoExecute", "None")


@dataclass(frozen=True, slots=True)
class Drop:
    """Something that was wished and is not published: of which device, what, and why."""

    device: str
    what: str
    why: str

    def __str__(self) -> str:
        return f"device {self.device}: {self.what}: {self.why}"


def sanitize(devices: Iterable[Device], driver: str) -> tuple[tuple[Device, ...], tuple[Drop, ...]]:
    """The devices with everything unacceptable taken out, and what was taken out (pure)."""
    drops: list[Drop] = []
    kept: dict[str, Device] = {}
    for device in devices:
        problem = _name_problem(device.name) or ("listed twice" if device.name in kept else "")
        if problem:
            drops.append(Drop(str(device.name), "device", problem))
        else:
            kept[device.name] = _sanitize_device(device, driver, drops)
    return tuple(kept.values()), tuple(drops)


def _sanitize_device(device: Device, driver: str, drops: list[Drop]) -> Device:
    attributes, capacity = _names(device, driver, drops)
    return replace(
        device,
        attributes=attributes,
        capacity=capacity,
        taints=tuple(_taints(device, drops)),
    )


def _names(device: Device, driver: str, drops: list[Drop]) -> tuple[dict[str, Any], dict[str, str]]:
    attributes: dict[str, Any] = {}
    capacity: dict[str, str] = {}
    room = MAX_ATTRIBUTES_AND_CAPACITIES
    for what, name, value in _entries(device):
        target = attributes if what == "attribute" else capacity
        bare = _bare(name, driver)
        problem = _entry_problem(what, bare, value)
        if not problem and bare in target:
            problem = f"the same {what} as {bare}"
        if not problem and room == 0:
            problem = f"more than {MAX_ATTRIBUTES_AND_CAPACITIES} attributes and capacities"
        if problem:
            drops.append(Drop(device.name, f"{what} {name}", problem))
        else:
            target[bare] = value
            room -= 1
    return attributes, capacity


def _entries(device: Device) -> Iterator[tuple[str, str, Any]]:
    for name, value in device.attributes.items():
        yield "attribute", name, value
    for name, quantity in device.capacity.items():
        yield "capacity", name, quantity


def _bare(name: Any, driver: str) -> Any:
    # The driver's own domain is what an unqualified name means; both forms together are ambiguous
    # (kubernetes #142218 is about to refuse the long form).
    return name.removeprefix(f"{driver}/") if isinstance(name, str) else name


def _entry_problem(what: str, name: Any, value: Any) -> str:
    problem = qualified_name_problem(name)
    if problem:
        return problem
    return attribute_problem(value) if what == "attribute" else quantity_problem(value)


def qualified_name_problem(name: Any) -> str:
    """Why this cannot name an attribute or capacity; empty when it can."""
    if not isinstance(name, str):
        return f"a name is text, not {type(name).__name__}"
    domain, slash, identifier = name.rpartition("/")
    if slash and (len(domain) > MAX_DOMAIN or not _subdomain.match(domain)):
        return f"{domain!r} is not a lower-case DNS subdomain of at most {MAX_DOMAIN} bytes"
    if len(identifier) > MAX_ID or not _identifier.match(identifier):
        return f"{identifier!r} is not a C identifier of at most {MAX_ID} bytes"
    return ""


def attribute_problem(value: Any) -> str:
    """Why this cannot be an attribute's value; empty when it can."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, int):
        return "" if -(2**63) <= value < 2**63 else f"{value} does not fit 64 bits"
    if not isinstance(value, str):
        return f"{type(value).__name__} is not bool, int, str or Semver"
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "not valid Unicode"
    if size > MAX_VALUE_BYTES:
        return f"{size} bytes, at most {MAX_VALUE_BYTES}"
    if isinstance(value, Semver):
        return semver_problem(value)
    return ""


def semver_problem(value: str) -> str:
    """Why this is not a version; each number must fit 64 bits or CEL fails on the device."""
    match = _semver.match(value)
    if not match:
        return f"{value!r} is not a semantic version 2.0.0"
    if any(int(number) >= 2**64 for number in re.findall(r"\d+", value)):
        return f"{value!r} has a number beyond 64 bits"
    return ""


def quantity_problem(value: Any) -> str:
    """Why this is not a Kubernetes quantity."""
    if isinstance(value, str) and len(value) <= 64 and _quantity.match(value):
        return ""
    return f"{value!r} is not a quantity such as 4, 250m or 4Gi"


def _name_problem(name: Any) -> str:
    if isinstance(name, str) and len(name) <= 63 and _label.match(name):
        return ""
    return f"{name!r} is not a DNS label of at most 63 bytes"


def _taints(device: Device, drops: list[Drop]) -> Iterator[Taint]:
    seen: set[tuple[str, str]] = set()
    for taint in device.taints:
        problem = taint_problem(taint)
        if not problem and (taint.key, taint.effect) in seen:
            problem = "listed twice with the same effect"
        if not problem and len(seen) == MAX_TAINTS:
            problem = f"more than {MAX_TAINTS} taints"
        if problem:
            drops.append(Drop(device.name, f"taint {taint.key}", problem))
        else:
            seen.add((taint.key, taint.effect))
            yield taint


def taint_problem(taint: Taint) -> str:
    """Why the API would refuse this taint; empty when it would not."""
    prefix, slash, name = taint.key.rpartition("/")
    if slash and (len(prefix) > 253 or not _subdomain.match(prefix)):
        return f"key prefix {prefix!r} is not a DNS subdomain"
    if len(name) > 63 or not _label_name.match(name):
        return f"key {taint.key!r} is not a label name"
    if taint.value and (len(taint.value) > 63 or not _label_name.match(taint.value)):
        return f"value {taint.value!r} is not a label value"
    if taint.effect not in EFFECTS:
        return f"effect {taint.effect!r} is none of {', '.join(EFFECTS)}"
    if taint.time_added is not None and not _time.match(taint.time_added):
        return f"time {taint.time_added!r} is not RFC 3339 in whole seconds"
    return ""


def cut(text: str, limit: int = MAX_VALUE_BYTES) -> str:
    """The text cut to at most `limit` bytes of UTF-8, on a character boundary.

    For drivers that publish names they did not choose; lone surrogates are replaced.
    """
    data = text.encode("utf-8", "replace")
    return data[:limit].decode("utf-8", "ignore")
