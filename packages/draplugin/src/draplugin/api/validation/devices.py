"""Rules that classes and claims share: selectors, configuration, node selectors."""

from __future__ import annotations

from collections.abc import Sequence

from draplugin import cel

from ..deviceclass import DeviceSelector, OpaqueDeviceConfiguration
from ..nodes import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from ..rawjson import RawJson
from .findings import FORBIDDEN, INVALID, REQUIRED, TOO_LONG, Findings
from .names import driver, invalid, key_problems, subdomain_problems, value_problems

SELECTORS, CONFIGS = 32, 32
_PARAMETERS = 10 * 1024


def selectors(found: Findings, items: Sequence[DeviceSelector]) -> None:
    """The selectors of a class or request."""
    with found.at("selectors"):
        found.each(items, SELECTORS, lambda item: _selector(found, item))


def _selector(found: Findings, selector: DeviceSelector) -> None:
    with found.at("cel"):
        if selector.cel is None:
            found.add(REQUIRED, "must be set")
            return
        with found.at("expression"):
            _expression(found, selector.cel.expression)


def _expression(found: Findings, expression: str) -> None:
    limited = found.server >= (1, 32)
    if limited and len(expression.encode()) > cel.LENGTH_LIMIT:
        found.add(TOO_LONG, f"must be at most {cel.LENGTH_LIMIT} bytes")
        return
    try:
        cel.compile_new(expression, found.server)
    except cel.CompileError as error:
        text = str(error)
        found.add(FORBIDDEN if "too complex" in text else INVALID, text)


def configuration(found: Findings, opaque: OpaqueDeviceConfiguration | None) -> None:
    """One block of configuration."""
    with found.at("opaque"):
        if opaque is None:
            found.add(REQUIRED, "must be set")
            return
        with found.at("driver"):
            driver(found, opaque.driver, declarative=True)
        with found.at("parameters"):
            _parameters(found, opaque.parameters)


def _parameters(found: Findings, parameters: RawJson | None) -> None:
    if parameters is None:
        found.add(REQUIRED, "must be a JSON object")
        return
    if found.server >= (1, 32) and len(parameters.text.encode()) > _PARAMETERS:
        found.add(TOO_LONG, f"must be at most {_PARAMETERS} bytes, blanks included")
        return
    try:
        value = parameters.parsed()
    except ValueError as error:
        found.add(INVALID, f"must be a JSON object: {error}")
        return
    if value is None:
        found.add(REQUIRED, "must be a JSON object, not null")
    elif not isinstance(value, dict):
        found.add(INVALID, "must be a JSON object")


def node_selector(found: Findings, selector: NodeSelector, *, label_values: bool) -> None:
    """Terms of node labels and fields; `label_values` = the values must be label values too."""
    with found.at("nodeSelectorTerms"):
        if not selector.node_selector_terms:
            found.add(REQUIRED, "must have at least one term")
        for index, term in enumerate(selector.node_selector_terms):
            with found.at(index):
                _term(found, term, label_values)


def _term(found: Findings, term: NodeSelectorTerm, label_values: bool) -> None:
    for index, requirement in enumerate(term.match_expressions):
        with found.at("matchExpressions", index):
            _expression_requirement(found, requirement, label_values)
    for index, requirement in enumerate(term.match_fields):
        with found.at("matchFields", index):
            _field_requirement(found, requirement)


def _expression_requirement(
    found: Findings, requirement: NodeSelectorRequirement, label_values: bool
) -> None:
    count, operator = len(requirement.values), requirement.operator
    with found.at("values"):
        if operator in ("In", "NotIn") and not count:
            found.add(REQUIRED, f"must have at least one value for {operator}")
        elif operator in ("Exists", "DoesNotExist") and count:
            found.add(FORBIDDEN, f"must be empty for {operator}")
        elif operator in ("Gt", "Lt") and count != 1:
            found.add(REQUIRED, f"must have one value for {operator}")
    if operator not in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"):
        with found.at("operator"):
            found.add(INVALID, "must be In, NotIn, Exists, DoesNotExist, Gt or Lt")
    with found.at("key"):
        invalid(found, key_problems(requirement.key))
    if label_values:
        for index, value in enumerate(requirement.values):
            with found.at("values", index):
                invalid(found, value_problems(value))


def _field_requirement(found: Findings, requirement: NodeSelectorRequirement) -> None:
    if requirement.operator in ("In", "NotIn"):
        if len(requirement.values) != 1:
            with found.at("values"):
                found.add(REQUIRED, "must have one value")
    else:
        with found.at("operator"):
            found.add(INVALID, "must be In or NotIn")
    if requirement.key != "metadata.name":
        with found.at("key"):
            found.add(INVALID, "must be metadata.name")
        return
    for index, value in enumerate(requirement.values):
        with found.at("values", index):
            invalid(found, subdomain_problems(value))
