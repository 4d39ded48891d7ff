"""Named formats: `format.dns1123Label().validate(x)` gives a list of problems or nothing.

Patterns: k8s.io/apimachinery/pkg/util/validation; k8s.io/kube-openapi/pkg/validation/strfmt.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from ..errors import EvaluationError
from ..values import NONE, Format, Optional, Value
from .conversions import parse_timestamp
from .network import _url

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_UUID = r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"
_BASE64 = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
_DATE = r"\d{4}-\d{2}-\d{2}"
_DATETIME_WEIGHT = 71
Problems = list[str]


def _pattern(rule: str, most: int, what: str) -> Callable[[str], Problems]:
    compiled = re.compile(rf"{rule}\Z", re.ASCII)

    def problems(text: str) -> Problems:
        found = [] if len(text.encode()) <= most else [f"must be no more than {most} bytes"]
        return found if compiled.match(text) else [*found, f"must be {what}"]

    return problems


def _prefix(check: Callable[[str], Problems]) -> Callable[[str], Problems]:
    # A prefix may end in a dash: the generated rest follows it.
    def problems(text: str) -> Problems:
        return check(text[:-1] + "a" if len(text) > 1 and text.endswith("-") else text)

    return problems


_name_part = _pattern(_QUALIFIED, 63, "letters, digits, '-', '_' or '.'")
_subdomain = _pattern(_SUBDOMAIN, 253, "a lower-case DNS subdomain")


def _qualified(text: str) -> Problems:
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return ["must be a name with an optional DNS subdomain and one '/' before it"]
    return [*(_subdomain(prefix) if slash else []), *_name_part(name)]


def _label_value(text: str) -> Problems:
    return _name_part(text) if text else []


def _uri(text: str) -> Problems:
    return _raised(_url, text)


def _datetime(text: str) -> Problems:
    return _raised(parse_timestamp, text.upper())


def _raised(parse: Callable[[str], Value], text: str) -> Problems:
    try:
        parse(text)
    except EvaluationError as error:
        return [str(error)]
    return []


def _date(text: str) -> Problems:
    try:
        good = re.fullmatch(_DATE, text, re.ASCII) is not None and date.fromisoformat(text)
    except ValueError:
        good = False
    return [] if good else ["invalid date"]


_uuid_lower = _pattern(_UUID, 64, "a UUID")
_label = _pattern(_LABEL, 63, "a lower-case DNS label")
_label_1035 = _pattern(_LABEL_1035, 63, "a lower-case DNS label that begins with a letter")

#: name in expressions -> the format; the last figure is what its check weighs in costs.
_FORMATS: dict[str, Format] = {
    "dns1123Label": Format("DNS1123Label", _label, 30),
    "dns1123Subdomain": Format("DNS1123Subdomain", _subdomain, 60),
    "dns1035Label": Format("DNS1035Label", _label_1035, 30),
    "qualifiedName": Format("QualifiedName", _qualified, 60),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", _prefix(_label), 30),
    "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", _prefix(_subdomain), 60),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", _prefix(_label_1035), 30),
    "labelValue": Format("LabelValue", _label_value, 40),
    "uri": Format("URI", _uri, 1103),
    "uuid": Format("uuid", lambda text: _uuid_lower(text.lower()), 71),
    "byte": Format("byte", _pattern(_BASE64, 2**31, "base64"), 84),
    "date": Format("date", _date, _DATETIME_WEIGHT),
    "datetime": Format("datetime", _datetime, _DATETIME_WEIGHT),
}


def _constant(value: Format) -> Callable[[], Format]:
    return lambda: value


def _named(name: str) -> Optional:
    return Optional(_FORMATS[name]) if name in _FORMATS else NONE


def _validate(checked: Format, text: str) -> Optional:
    found = checked.problems(text)
    return Optional(tuple(found)) if found else NONE


FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{f"format.{name}": _constant(value) for name, value in _FORMATS.items()},
    "format.named": _named,
    "validate": _validate,
}
