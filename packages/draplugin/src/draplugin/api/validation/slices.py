"""The rules of ResourceSlice (k8s.io/kubernetes/pkg/apis/resource/validation at v1.37)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from draplugin.cel import quantity
from draplugin.cel.quantity import QuantityError

from ..slice import (
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceTaint,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from .devices import node_selector
from .findings import DUPLICATE, FORBIDDEN, INVALID, REQUIRED, TOO_LONG, UNSUPPORTED, Findings
from .names import (
    driver,
    invalid,
    key_problems,
    label_problems,
    metadata,
    qualified,
    subdomain_problems,
    value_problems,
)

_DEVICES, _TAINTED_DEVICES = 128, 64
_PER_DEVICE, _VALUES, _VALUE_BYTES = 32, 48, 64
_COUNTER_SETS, _CONSUMED, _CONDITIONS, _POOL_BYTES = 8, 2, 4, 253
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?\Z",
    re.ASCII,
)
_EFFECTS = ("NoExecute", "NoSchedule", "None")


def resource_slice(found: Findings, obj: ResourceSlice) -> None:
    """A ResourceSlice."""
    metadata(found, obj.metadata, namespaced=False)
    with found.at("spec"):
        spec = obj.spec
        with found.at("driver"):
            driver(found, spec.driver)
        _pool(found, spec.pool)
        _scope(found, spec)
        if spec.shared_counters is not None and spec.devices is not None:
            found.add(INVALID, "must have only one of sharedCounters and devices")
        _devices(found, spec)
        with found.at("sharedCounters"):
            found.each(
                spec.shared_counters or (),
                _COUNTER_SETS,
                lambda item: _counter_set(found, item),
                key=lambda item: item.name,
            )


def _pool(found: Findings, pool: ResourcePool) -> None:
    with found.at("pool"):
        with found.at("name"):
            if not pool.name:
                found.add(REQUIRED, "must be set")
            else:
                _pool_name(found, pool.name)
        if pool.resource_slice_count <= 0:
            with found.at("resourceSliceCount"):
                found.add(INVALID, "must be greater than zero")
        if pool.generation < 0:
            with found.at("generation"):
                found.add(INVALID, "must not be negative")


def _pool_name(found: Findings, name: str) -> None:
    if len(name.encode()) > _POOL_BYTES:
        found.add(TOO_LONG, f"must be at most {_POOL_BYTES} bytes")
    for part in name.split("/"):
        invalid(found, subdomain_problems(part))


def _scope(found: Findings, spec: ResourceSliceSpec) -> None:
    count = 0
    if spec.node_name is not None:
        count += _named_node(found, spec.node_name, "must be left out or not empty")
    if spec.node_selector is not None:
        count += 1
        with found.at("nodeSelector"):
            node_selector(found, spec.node_selector, label_values=True)
            if len(spec.node_selector.node_selector_terms) != 1:
                with found.at("nodeSelectorTerms"):
                    found.add(INVALID, "must have exactly one term")
    for name, value in (
        ("allNodes", spec.all_nodes),
        ("perDeviceNodeSelection", spec.per_device_node_selection),
    ):
        count += _flag(found, name, value)
    if count == 0:
        found.add(REQUIRED, "must have nodeName, nodeSelector, allNodes or perDeviceNodeSelection")
    elif count > 1:
        found.add(
            INVALID,
            "must have only one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection",
        )


def _named_node(found: Findings, name: str, empty: str) -> int:
    with found.at("nodeName"):
        if not name:
            found.add(INVALID, empty)
            return 0
        invalid(found, subdomain_problems(name))
    return 1


def _flag(found: Findings, name: str, value: bool | None) -> int:
    if value is False:
        with found.at(name):
            found.add(INVALID, "must be left out or true")
    return int(bool(value))


def _devices(found: Findings, spec: ResourceSliceSpec) -> None:
    devices = spec.devices or ()
    advanced = any(d.taints or d.consumes_counters for d in devices)
    with found.at("devices"):
        found.each(
            devices,
            _TAINTED_DEVICES if advanced else _DEVICES,
            lambda item: _device(found, item, bool(spec.per_device_node_selection)),
            key=lambda item: item.name,
            declarative=False,
        )


def _device(found: Findings, device: Device, per_device: bool) -> None:
    with found.at("name"):
        invalid(found, label_problems(device.name))
    count = len(device.attributes) + len(device.capacity)
    if count > _PER_DEVICE:
        found.add(INVALID, f"must have at most {_PER_DEVICE} attributes and capacities together")
    if sum(_values(attribute) for attribute in device.attributes.values()) > _VALUES:
        found.add(INVALID, f"must have at most {_VALUES} attribute values")
    _attributes(found, device)
    _capacities(found, device)
    with found.at("taints"):
        found.each(device.taints, 16, lambda item: _taint(found, item), declarative=False)
    with found.at("consumesCounters"):
        found.each(
            device.consumes_counters,
            _CONSUMED,
            lambda item: _consumption(found, item),
            key=lambda item: item.counter_set,
        )
    _device_scope(found, device, per_device)
    _binding(found, device)


def _values(attribute: DeviceAttribute) -> int:
    lists = (
        attribute.int_values,
        attribute.bool_values,
        attribute.string_values,
        attribute.version_values,
    )
    return sum(len(items or ()) for items in lists) or 1


def _attributes(found: Findings, device: Device) -> None:
    with found.at("attributes"):
        for name, attribute in device.attributes.items():
            qualified(found, name)
            with found.at(f"[{name}]"):
                _attribute(found, attribute)


def _attribute(found: Findings, attribute: DeviceAttribute) -> None:
    # The gate for lists is closed by default: the server drops them before it looks.
    singles = (
        attribute.int_value,
        attribute.bool_value,
        attribute.string_value,
        attribute.version_value,
    )
    if sum(value is not None for value in singles) != 1:
        found.add(INVALID, "must have exactly one value", declarative=True)
    for name, text in (("string", attribute.string_value), ("version", attribute.version_value)):
        if text is None:
            continue
        with found.at(name):
            if name == "version" and not _SEMVER.match(text):
                found.add(INVALID, "must be a version by semver.org 2.0.0, such as 1.2.0")
            if len(text.encode()) > _VALUE_BYTES:
                found.add(TOO_LONG, f"must be at most {_VALUE_BYTES} bytes")


def _capacities(found: Findings, device: Device) -> None:
    with found.at("capacity"):
        for name, capacity in device.capacity.items():
            qualified(found, name)
            with found.at(f"[{name}]"):
                _capacity(found, capacity, shared=bool(device.allow_multiple_allocations))


def _capacity(found: Findings, capacity: DeviceCapacity, *, shared: bool) -> None:
    if capacity.request_policy is not None and not shared:
        with found.at("requestPolicy"):
            found.add(FORBIDDEN, "needs allowMultipleAllocations")
    try:
        quantity.parse(capacity.value.strip())
    except QuantityError as error:
        with found.at("value"):
            found.add(INVALID, str(error))


def _taint(found: Findings, taint: DeviceTaint) -> None:
    with found.at("key"):
        invalid(found, key_problems(taint.key) if taint.key else ["must not be empty"])
    with found.at("value"):
        invalid(found, value_problems(taint.value))
    with found.at("effect"):
        if not taint.effect:
            found.add(REQUIRED, "must be set", declarative=True)
        elif taint.effect not in _EFFECTS:
            found.add(UNSUPPORTED, f"must be one of {', '.join(_EFFECTS)}", declarative=True)


def _counter_set(found: Findings, counters: CounterSet) -> None:
    with found.at("name"):
        _short(found, counters.name)
    with found.at("counters"):
        _counters(found, tuple(counters.counters))


def _consumption(found: Findings, consumption: DeviceCounterConsumption) -> None:
    with found.at("counterSet"):
        _short(found, consumption.counter_set)
    with found.at("counters"):
        _counters(found, tuple(consumption.counters))


def _short(found: Findings, name: str) -> None:
    if not name:
        found.add(REQUIRED, "must be set", declarative=True)
    else:
        invalid(found, label_problems(name), declarative=True)


def _counters(found: Findings, names: Sequence[str]) -> None:
    if not names:
        found.add(REQUIRED, "must not be empty", declarative=True)
    for name in names:
        invalid(found, label_problems(name), declarative=True)


def _device_scope(found: Findings, device: Device, per_device: bool) -> None:
    scoped = (device.node_name, device.node_selector, device.all_nodes)
    if not per_device:
        if any(part is not None for part in scoped):
            found.add(INVALID, "may choose nodes only with perDeviceNodeSelection in the slice")
        return
    count = 0
    if device.node_name is not None:
        count += _named_node(found, device.node_name, "must not be empty")
    if device.node_selector is not None:
        count += 1
        with found.at("nodeSelector"):
            node_selector(found, device.node_selector, label_values=True)
    count += _flag(found, "allNodes", device.all_nodes)
    if count != 1:
        reason = REQUIRED if count == 0 else INVALID
        found.add(reason, "must have exactly one of nodeName, nodeSelector and allNodes")


def _binding(found: Findings, device: Device) -> None:
    wanted, failed = device.binding_conditions, device.binding_failure_conditions
    for name, items in (("bindingConditions", wanted), ("bindingFailureConditions", failed)):
        with found.at(name):
            found.each(items, _CONDITIONS, lambda item: invalid(found, key_problems(item)))
            _twice(found, items)
    for name, mine, other in (
        ("bindingConditions", wanted, failed),
        ("bindingFailureConditions", failed, wanted),
    ):
        if other and not mine:
            with found.at(name):
                found.add(INVALID, "conditions for binding and for its failure go together")
    for index, item in enumerate(failed):
        if item in wanted:
            with found.at("bindingFailureConditions", index):
                found.add(INVALID, "must not be a condition for binding as well")


def _twice(found: Findings, items: Sequence[str]) -> None:
    for index, item in enumerate(items):
        if item in items[:index]:
            with found.at(index):
                found.add(DUPLICATE, f"{item} is there twice")
