"""Objects that servers and draplugin once disagreed about, shrunk, with what the servers say.

Each is asked about without a server by test_values.py, and put to the real ones by the oracles.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]
_OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "x"}


@dataclass(frozen=True)
class Row:
    """`devices` of a claim, or else a class with this metadata; no `causes` = accepted."""

    version: str
    causes: tuple[tuple[str, str], ...] = ()
    metadata: Object = field(default_factory=dict)
    devices: Object | None = None

    @property
    def server(self) -> tuple[int, int]:
        return (1, 31) if self.version == "v1alpha3" else (1, 37)

    def object(self) -> Object:
        """The object as it is sent."""
        return {
            "apiVersion": f"resource.k8s.io/{self.version}",
            "kind": "DeviceClass" if self.devices is None else "ResourceClaim",
            "metadata": {"name": "x", **self.metadata},
            "spec": {} if self.devices is None else {"devices": self.devices},
        }


def _refused(version: str, where: str, why: str, **rest: Object) -> Row:
    return Row(version, ((where, f"FieldValue{why}"),), **rest)


def _owned(version: str, where: str, why: str, *owners: Object) -> Row:
    return _refused(version, where, why, metadata={"ownerReferences": [*owners]})


def _finalized(version: str, where: str, *names: str) -> Row:
    return _refused(version, where, "Invalid", metadata={"finalizers": [*names]})


_NAMELESS = {**_OWNER, "name": ""}
_CONTROLLERS = [{**_OWNER, "uid": uid, "controller": True} for uid in "ab"]
_NO_CLASS = {"requests": [{"name": "none"}]}
_NO_IDENTIFIER = {
    "requests": [{"name": "r", "deviceClassName": "c"}],
    "constraints": [{"matchAttribute": "x/1"}],
}
ROWS = (
    # A request that says nothing still gets the mode it did not ask for, where it has no
    # alternatives; v1 cannot know which of the two it was to be.
    _refused("v1alpha3", "spec.devices.requests[0].deviceClassName", "Required", devices=_NO_CLASS),
    _refused("v1beta1", "spec.devices.requests[0]", "Required", devices=_NO_CLASS),
    _refused("v1", "spec.devices.requests[0]", "Required", devices=_NO_CLASS),
    _refused(
        "v1alpha3",
        "spec.devices.constraints[0].matchAttribute",
        "TypeInvalid",
        devices=_NO_IDENTIFIER,
    ),
    _refused(
        "v1beta1", "spec.devices.constraints[0].matchAttribute", "Invalid", devices=_NO_IDENTIFIER
    ),
    # Spelling is reported at the list, a missing domain at the name.
    _finalized("v1alpha3", "metadata.finalizers[0]", "nope"),
    _finalized("v1", "metadata.finalizers[0]", "nope"),
    _finalized("v1alpha3", "metadata.finalizers", "x/a b"),
    _finalized("v1", "metadata.finalizers", "x/a b"),
    _finalized("v1", "metadata.finalizers", "orphan", "foregroundDeletion"),
    Row("v1", metadata={"finalizers": ["kubernetes"]}),
    _owned("v1alpha3", "metadata.ownerReferences.name", "Invalid", _NAMELESS),
    _owned("v1", "metadata.ownerReferences[0].name", "Required", _NAMELESS),
    _owned("v1alpha3", "metadata.ownerReferences", "Invalid", *_CONTROLLERS),
    _owned("v1", "metadata.ownerReferences", "Invalid", *_CONTROLLERS),
    # The same owner twice is once.
    Row("v1", metadata={"ownerReferences": [_CONTROLLERS[0]] * 2}),
    Row("v1alpha3", metadata={"ownerReferences": [_CONTROLLERS[0]] * 2}),
)
