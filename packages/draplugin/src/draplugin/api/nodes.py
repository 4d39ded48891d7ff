"""Selecting nodes: by their labels, and by their name as a field.

Rules: k8s.io/api/core/v1 NodeSelector; k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .codec import REQUIRED, required

_INTEGER = re.compile(r"[+-]?[0-9]+\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class NodeSelectorRequirement:
    """A label (or field), an operator and values. What each operator asks of a node:

    * `In`: the label is there with one of the values.
    * `NotIn`: the label is not there, or with none of the values.
    * `Exists`: the label is there, whatever its value; `values` must be empty.
    * `DoesNotExist`: the label is not there; `values` must be empty.
    * `Gt`, `Lt`: the label is there, an integer, and greater or less than the one value.

    Of fields there is `metadata.name` alone, with `In` or `NotIn` and one value.
    """

    key: str = required(default="")
    operator: str = required(default="")
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet it; one with an operator that does not exist is never met."""
        value = labels.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        if self.operator not in ("Gt", "Lt") or len(self.values) != 1 or value is None:
            return False
        if not (_INTEGER.match(value) and _INTEGER.match(self.values[0])):
            return False
        mine, bound = int(value), int(self.values[0])
        return mine > bound if self.operator == "Gt" else mine < bound


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """Requirements that must all be met; a term without any matches no node.

    Both lists are atomic: a merge replaces them whole.
    """

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node of this name and these labels meets all of it."""
        if not self.match_expressions and not self.match_fields:
            return False
        return all(r.matches(labels) for r in self.match_expressions) and all(
            r.matches({"metadata.name": name}) for r in self.match_fields
        )


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """Terms of which one must match. The list is atomic: a merge replaces it whole."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = field(default=(), metadata=REQUIRED)

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node of this name and these labels is selected."""
        return any(term.matches(name, labels) for term in self.node_selector_terms)
