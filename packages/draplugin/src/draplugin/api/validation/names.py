"""Names as Kubernetes checks them (k8s.io/apimachinery/pkg/util/validation)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..meta import ObjectMeta, OwnerReference
from .findings import FORBIDDEN, INVALID, REQUIRED, TOO_LONG, TYPE_INVALID, Findings

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z", re.ASCII)
_ANNOTATIONS = 256 * 1024
_DRIVER = 63
_ID = 32
# Those without a domain that Kubernetes itself uses (pkg/apis/core/helper).
_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_LABEL_HINT = "must be lower-case letters, digits and dashes, with a letter or digit at both ends"
_SUBDOMAIN_HINT = f"each part between dots {_LABEL_HINT}"
_KEY_HINT = "must be letters, digits, '-', '_' or '.', with a letter or digit at both ends"


def label_problems(text: str) -> list[str]:
    """What keeps a text from being a DNS label."""
    long = [f"must be at most 63 bytes, has {_size(text)}"] if _size(text) > 63 else []
    return long if _LABEL.match(text) else [*long, _LABEL_HINT]


def subdomain_problems(text: str) -> list[str]:
    """What keeps a text from being a lower-case DNS subdomain."""
    long = [f"must be at most 253 bytes, has {_size(text)}"] if _size(text) > 253 else []
    return long if _SUBDOMAIN.match(text) else [*long, _SUBDOMAIN_HINT]


def key_problems(text: str) -> list[str]:
    """What keeps a text from being a label key such as `example.com/name`."""
    parts = text.split("/")
    if len(parts) > 2:
        return ["must be a name with at most one '/' before it"]
    problems = []
    if len(parts) == 2:
        problems += ["the part before '/' must not be empty"] if not parts[0] else []
        problems += subdomain_problems(parts[0]) if parts[0] else []
    name = parts[-1]
    if not name:
        return [*problems, "the name must not be empty"]
    if _size(name) > 63:
        problems.append("the name must be at most 63 bytes")
    return problems if _NAME_PART.match(name) else [*problems, _KEY_HINT]


def value_problems(text: str) -> list[str]:
    """What keeps a text from being a label value, which may be empty."""
    long = [f"must be at most 63 bytes, has {_size(text)}"] if _size(text) > 63 else []
    return long if not text or _NAME_PART.match(text) else [*long, _KEY_HINT]


def _size(text: str) -> int:
    return len(text.encode())


def invalid(found: Findings, problems: list[str], *, declarative: bool = False) -> None:
    """Note each problem at the field at hand."""
    for problem in problems:
        found.add(INVALID, problem, declarative=declarative)


def driver(found: Findings, name: str, *, declarative: bool = False) -> None:
    """A driver's name: a DNS subdomain of at most 63 bytes, in whatever case."""
    if not name:
        found.add(REQUIRED, "must name a driver", declarative=declarative)
        if found.server >= (1, 37) and declarative:
            return
    if _size(name) > _DRIVER:
        message = f"must be at most {_DRIVER} bytes, has {_size(name)}"
        found.add(TOO_LONG, message, declarative=declarative)
        if found.server >= (1, 37) and declarative:
            return
    invalid(found, subdomain_problems(name.lower()), declarative=declarative)


def identifier(found: Findings, name: str) -> None:
    """A C identifier of at most 32 bytes."""
    if _size(name) > _ID:
        found.add(TOO_LONG, f"must be at most {_ID} bytes, has {_size(name)}")
    if not _IDENTIFIER.match(name):
        reason = TYPE_INVALID if found.server < (1, 33) else INVALID
        found.add(reason, "must be letters, digits and '_', not beginning with a digit")


def qualified(found: Findings, name: str) -> None:
    """`name` or `domain/name`; more slashes are, oddly, not looked into."""
    parts = name.split("/")
    empty = REQUIRED if found.server < (1, 33) else INVALID
    if not name and found.server < (1, 33):
        found.add(REQUIRED, "must have a name")
    elif len(parts) == 1:
        identifier(found, name)
    elif len(parts) == 2:
        if parts[0]:
            driver(found, parts[0])
        else:
            found.add(empty, "the domain must not be empty")
        if parts[1]:
            identifier(found, parts[1])
        else:
            found.add(empty, "the name must not be empty")


def fully_qualified(found: Findings, name: str) -> None:
    """`domain/name`."""
    qualified(found, name)
    domain, slash, _ = name.partition("/")
    if found.server >= (1, 37) and name.count("/") == 1 and domain != domain.lower():
        # An attribute's domain may have upper case, but not where one is referred to.
        found.add(INVALID, "the domain must be lower case")
    if slash:
        return
    if found.server < (1, 33):
        with found.at("domain"):
            found.add(REQUIRED, "must be a domain and a name, as example.com/name")
    else:
        found.add(INVALID, "must be a domain and a name, as example.com/name")


def metadata(found: Findings, meta: ObjectMeta, *, namespaced: bool) -> None:
    """Name, labels and the rest of what an object is created with."""
    with found.at("metadata"):
        _own_name(found, meta)
        if not namespaced and meta.namespace:
            with found.at("namespace"):
                found.add(FORBIDDEN, "this kind has no namespace")
        labels_and_annotations(found, meta)
        with found.at("finalizers"):
            _finalizers(found, meta.finalizers)
        with found.at("ownerReferences"):
            # The same owner said twice is taken as said once (apiserver's dedupOwnerReferences).
            _owners(found, tuple(dict.fromkeys(meta.owner_references)))


def _own_name(found: Findings, meta: ObjectMeta) -> None:
    if meta.generate_name:
        with found.at("generateName"):
            prefix = meta.generate_name.rstrip("-")
            invalid(found, subdomain_problems(prefix) if prefix else [])
    with found.at("name"):
        if meta.name:
            invalid(found, subdomain_problems(meta.name))
        elif not meta.generate_name:
            found.add(REQUIRED, "must have a name or generateName")


def labels_and_annotations(found: Findings, meta: ObjectMeta) -> None:
    """Labels and annotations: also what a template may set."""
    with found.at("labels"):
        _labels(found, meta.labels)
    with found.at("annotations"):
        for key in meta.annotations:
            invalid(found, key_problems(key.lower()))
        if sum(_size(k) + _size(v) for k, v in meta.annotations.items()) > _ANNOTATIONS:
            found.add(TOO_LONG, f"must be at most {_ANNOTATIONS} bytes together")


def _labels(found: Findings, labels: Mapping[str, str]) -> None:
    for key, value in labels.items():
        invalid(found, [*key_problems(key), *value_problems(value)])


def _finalizers(found: Findings, names: Sequence[str]) -> None:
    for index, name in enumerate(names):
        invalid(found, key_problems(name))
        if "/" not in name and name not in _FINALIZERS:
            with found.at(index):
                found.add(INVALID, "must have a domain, as example.com/finalizer")
    if {"orphan", "foregroundDeletion"} <= set(names):
        found.add(INVALID, "must not have both orphan and foregroundDeletion")


def _owners(found: Findings, owners: Sequence[OwnerReference]) -> None:
    for index, owner in enumerate(owners):
        if found.server >= (1, 37):
            with found.at(index):
                _owner(found, owner)
        else:
            _owner(found, owner)
    controllers = sum(owner.controller is True for owner in owners)
    for _ in range(controllers - 1):
        found.add(INVALID, "must have one controller at most")


def _owner(found: Findings, owner: OwnerReference) -> None:
    empty = REQUIRED if found.server >= (1, 37) else INVALID
    group, slash, version = owner.api_version.partition("/")
    if not owner.api_version:
        with found.at("apiVersion"):
            found.add(empty, "must not be empty")
    elif "/" in version or not (version if slash else group):
        with found.at("apiVersion"):
            found.add(INVALID, "must be a version, or a group and a version")
    for name, value in (("kind", owner.kind), ("name", owner.name), ("uid", owner.uid)):
        if not value:
            with found.at(name):
                found.add(empty, "must not be empty")
    if (owner.api_version, owner.kind) == ("v1", "Event"):
        found.add(INVALID, "an Event owns nothing")
