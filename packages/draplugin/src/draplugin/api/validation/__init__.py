"""Whether an API server would take an object, and why not.

`validate` takes objects as plain dicts in any of the four versions and answers with the paths the
server names. What is measured: 1.31.14 for v1alpha3 and 1.37.2 for v1, v1beta1 and v1beta2; rules
of releases in between follow the notes in k8s.io/api. A server also asks admission plugins and
policies of its cluster; those are not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from draplugin.cel import NEWEST

from .. import versions
from ..codec import Misfit
from ..reading import KINDS, read_lenient
from . import objects, slices
from .findings import MISTYPED, UNKNOWN, Cause, Findings, Server, as_old

#: API version -> first and last server that serves it for classes, claims and slices.
SERVED: dict[str, tuple[Server, Server]] = {
    "v1alpha3": ((1, 31), (1, 33)),
    "v1beta1": ((1, 32), (1, 37)),
    "v1beta2": ((1, 33), (1, 38)),
    "v1": ((1, 34), (9, 99)),
}
_RULES: dict[str, Callable[..., None]] = {
    "DeviceClass": objects.device_class,
    "ResourceClaim": objects.resource_claim,
    "ResourceClaimTemplate": objects.resource_claim_template,
    "ResourceSlice": slices.resource_slice,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """`accepted` when there are no causes."""

    causes: tuple[Cause, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the server would create the object."""
        return not self.causes


def validate(
    obj: Mapping[str, Any], server: Server = NEWEST, *, admin_namespace: bool = True
) -> Verdict:
    """What a server of this version says to creating the object, strictly (`fieldValidation`).

    `admin_namespace` = the namespace is labelled for admin access. Raises ValueError for an object
    of another group or kind, or one whose version the server does not serve.
    """
    version = versions.version_of(obj)
    kind = str(obj.get("kind", ""))
    if kind not in KINDS or kind not in _RULES:
        raise ValueError(f"kind {kind!r} is none of {', '.join(_RULES)}")
    first, last = SERVED[version]
    if not first <= server <= last:
        shown = "{}.{}".format(*server)
        served = ", ".join(v for v, (since, until) in SERVED.items() if since <= server <= until)
        raise ValueError(
            f"a server of {shown} does not serve {versions.GROUP}/{version}, only {served}"
        )
    value, misfits = read_lenient(obj)
    if misfits:
        return Verdict(tuple(sorted(_misfit(version, misfit) for misfit in misfits)))
    found = Findings(version, server)
    _RULES[kind](found, value)
    if not admin_namespace and kind.startswith("ResourceClaim"):
        objects.admin_access(found, value)
    return Verdict(tuple(dict.fromkeys(found.causes)))


def _misfit(version: str, misfit: Misfit) -> Cause:
    old = version in ("v1alpha3", "v1beta1")
    path = as_old(misfit.path) if old else misfit.path
    return Cause(path, UNKNOWN if misfit.unknown else MISTYPED, misfit.message)


__all__ = ["SERVED", "Cause", "Verdict", "validate"]
