"""The rules of each kind (k8s.io/kubernetes/pkg/apis/resource/validation at v1.31 and v1.37)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..claim import (
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)
from ..deviceclass import DeviceClass, DeviceClassConfiguration
from .devices import CONFIGS, configuration, node_selector, selectors
from .findings import FORBIDDEN, INVALID, REQUIRED, UNSUPPORTED, Findings
from .names import (
    driver,
    fully_qualified,
    invalid,
    key_problems,
    label_problems,
    labels_and_annotations,
    metadata,
    subdomain_problems,
    value_problems,
)

_REQUESTS, _CONSTRAINTS, _ALTERNATIVES = 32, 32, 8
_EFFECTS = ("NoExecute", "NoSchedule", "None")
_NATIVE = re.compile(r"(?:.*\.)?kubernetes\.io/", re.S)
Names = Mapping[str, frozenset[str]]


def device_class(found: Findings, obj: DeviceClass) -> None:
    """A DeviceClass."""
    metadata(found, obj.metadata, namespaced=False)
    spec = obj.spec
    with found.at("spec"):
        selectors(found, spec.selectors)
        with found.at("config"):
            found.each(spec.config, CONFIGS, lambda item: _class_configuration(found, item))
        if spec.extended_resource_name is not None:
            with found.at("extendedResourceName"):
                _extended_resource(found, spec.extended_resource_name)
    if spec.suitable_nodes is not None:
        # The server forgets `spec` in this path.
        with found.at("suitableNodes"):
            node_selector(found, spec.suitable_nodes, label_values=False)


def _class_configuration(found: Findings, item: DeviceClassConfiguration) -> None:
    configuration(found, item.opaque)


def _extended_resource(found: Findings, name: str) -> None:
    bad = "/" not in name or _NATIVE.match(name) or name.startswith("requests.")
    if bad or key_problems(f"requests.{name}"):
        found.add(INVALID, "must be a resource name such as example.com/gpu", declarative=True)


def resource_claim(found: Findings, obj: ResourceClaim) -> None:
    """A ResourceClaim; its status plays no part when it is created."""
    metadata(found, obj.metadata, namespaced=True)
    with found.at("spec"):
        _spec(found, obj.spec)


def resource_claim_template(found: Findings, obj: ResourceClaimTemplate) -> None:
    """A ResourceClaimTemplate."""
    metadata(found, obj.metadata, namespaced=True)
    with found.at("spec"):
        with found.at("metadata"):
            labels_and_annotations(found, obj.spec.metadata)
        with found.at("spec"):
            _spec(found, obj.spec.spec)


def _spec(found: Findings, spec: ResourceClaimSpec) -> None:
    with found.at("devices"):
        _claim(found, spec.devices)
    if spec.controller:
        with found.at("controller"):
            driver(found, spec.controller)


def _claim(found: Findings, claim: DeviceClaim) -> None:
    names = {r.name: frozenset(sub.name for sub in r.first_available) for r in claim.requests}
    with found.at("requests"):
        found.each(
            claim.requests,
            _REQUESTS,
            lambda item: _request(found, item),
            key=lambda item: item.name,
            key_field="name",
        )
    with found.at("constraints"):
        found.each(claim.constraints, _CONSTRAINTS, lambda item: _constraint(found, item, names))
    with found.at("config"):
        found.each(claim.config, CONFIGS, lambda item: _claim_configuration(found, item, names))


def _request(found: Findings, request: DeviceRequest) -> None:
    with found.at("name"):
        invalid(found, label_problems(request.name))
    exactly = request.exactly
    if exactly is None and found.server < (1, 33):
        exactly = ExactDeviceRequest()
    if exactly is None and not request.first_available:
        found.add(REQUIRED, "must have `exactly` or `firstAvailable`")
    elif exactly is not None and request.first_available:
        found.add(INVALID, "must have only one of `exactly` and `firstAvailable`")
    elif exactly is not None:
        with found.at("exactly"):
            _way(found, exactly)
    else:
        with found.at("firstAvailable"):
            found.each(
                request.first_available,
                _ALTERNATIVES,
                lambda item: _alternative(found, item),
                key=lambda item: item.name,
            )


def _alternative(found: Findings, request: DeviceSubRequest) -> None:
    with found.at("name"):
        invalid(found, label_problems(request.name))
    _way(found, request)


def _way(found: Findings, request: ExactDeviceRequest | DeviceSubRequest) -> None:
    alternative = isinstance(request, DeviceSubRequest)
    with found.at("deviceClassName"):
        if request.device_class_name:
            invalid(found, subdomain_problems(request.device_class_name), declarative=alternative)
        else:
            found.add(REQUIRED, "must name a DeviceClass", declarative=alternative)
    selectors(found, request.selectors)
    _mode(found, request.allocation_mode, request.count)
    with found.at("tolerations"):
        for index, toleration in enumerate(request.tolerations):
            with found.at(index):
                _toleration(found, toleration)


def _mode(found: Findings, mode: str, count: int) -> None:
    if mode == "All" and count != 0:
        with found.at("count"):
            found.add(INVALID, "must not be set for allocationMode All")
    elif mode == "ExactCount" and count <= 0:
        with found.at("count"):
            found.add(INVALID, "must be greater than zero")
    elif mode not in ("All", "ExactCount"):
        with found.at("allocationMode"):
            found.add(UNSUPPORTED, "must be ExactCount or All", declarative=bool(mode))


def _toleration(found: Findings, toleration: DeviceToleration) -> None:
    if toleration.key:
        with found.at("key"):
            invalid(found, key_problems(toleration.key), declarative=True)
    if toleration.operator == "Exists":
        if toleration.value:
            with found.at("value"):
                found.add(INVALID, "must be empty for operator Exists")
    elif toleration.operator == "Equal":
        with found.at("value"):
            invalid(found, value_problems(toleration.value))
    else:
        with found.at("operator"):
            found.add(UNSUPPORTED, "must be Equal or Exists", declarative=True)
    if toleration.effect and toleration.effect not in _EFFECTS:
        with found.at("effect"):
            found.add(UNSUPPORTED, f"must be one of {', '.join(_EFFECTS)}", declarative=True)


def _references(found: Findings, requests: Sequence[str], names: Names) -> None:
    with found.at("requests"):
        found.each(
            requests, _REQUESTS, lambda name: _reference(found, name, names), key=lambda name: name
        )


def _reference(found: Findings, name: str, names: Names) -> None:
    parts = name.split("/")
    if len(parts) > 2 and found.server >= (1, 33):
        found.add(INVALID, "must be the name of a request, or request/subrequest")
        return
    for part in parts if found.server >= (1, 33) else [name]:
        invalid(found, label_problems(part))
    known = parts[0] in names and (len(parts) == 1 or parts[1] in names[parts[0]])
    if not known or (len(parts) > 1 and found.server < (1, 33)):
        shown = ", ".join(sorted(names)) or "there is none"
        found.add(INVALID, f"must be the name of a request of this claim: {shown}")


def _constraint(found: Findings, constraint: DeviceConstraint, names: Names) -> None:
    _references(found, constraint.requests, names)
    if constraint.match_attribute is not None:
        with found.at("matchAttribute"):
            fully_qualified(found, constraint.match_attribute)
    elif constraint.distinct_attribute is not None:
        with found.at("distinctAttribute"):
            fully_qualified(found, constraint.distinct_attribute)
    elif found.server >= (1, 36):
        found.add(REQUIRED, "must have matchAttribute or distinctAttribute")
    else:
        with found.at("matchAttribute"):
            found.add(REQUIRED, "must be set")


def _claim_configuration(found: Findings, item: DeviceClaimConfiguration, names: Names) -> None:
    _references(found, item.requests, names)
    configuration(found, item.opaque)


def admin_access(found: Findings, obj: ResourceClaim | ResourceClaimTemplate) -> None:
    """Admin access is for namespaces labelled `resource.kubernetes.io/admin-access: "true"`."""
    spec = obj.spec.spec if isinstance(obj, ResourceClaimTemplate) else obj.spec
    for index, request in enumerate(spec.devices.requests):
        if request.exactly is None or not request.exactly.admin_access:
            continue
        # The server names this path for every version, and for templates too.
        with found.at("spec", "devices", "requests", index, "adminAccess"):
            found.add(FORBIDDEN, "needs a namespace labelled resource.kubernetes.io/admin-access")
        return
