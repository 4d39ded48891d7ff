"""The messages between the relay and its client: one JSON object a line, each naming its version.

    client: {"version": 1, "wish": {...}}
    relay:  {"version": 1, "observed": {...}}
            {"version": 1, "error": {"name": "too-large", "message": "..."}}

Either side may add members; the other ignores what it does not know. What a member means changes
only with the version. After an error the relay keeps what it had; it closes the connection where
the rest of the stream cannot be trusted.
"""

from __future__ import annotations

import json

from . import checks
from .checks import InvalidValueError
from .model import Observed, Wish

VERSION = 1
LIMIT = 4 << 20  # bytes of one line; 256 peripherals of three nodes are about 1 MiB

TOO_LARGE = "too-large"
NOT_JSON = "not-json"
UNKNOWN_VERSION = "unknown-version"
INVALID = "invalid"
SUPERSEDED = "superseded"
NOT_PERMITTED = "not-permitted"


class MessageError(Exception):
    """A message that is refused; ``name`` is one of the names above."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


def wish_line(wish: Wish) -> bytes:
    """Write a wish."""
    return _line({"wish": wish.to_mapping()})


def observed_line(observed: Observed) -> bytes:
    """Write an observed state."""
    return _line({"observed": observed.to_mapping()})


def error_line(error: MessageError) -> bytes:
    """Write a refusal."""
    return _line({"error": {"name": error.name, "message": error.message}})


def read_wish(line: bytes) -> Wish:
    """Read a client's line. Raises MessageError, and nothing else whatever the bytes."""
    form = _form(line)
    try:
        return Wish.from_mapping(checks.member(form, "wish", "message"))
    except InvalidValueError as error:
        raise MessageError(INVALID, str(error)) from None


def read_answer(line: bytes) -> Observed | MessageError:
    """Read a relay's line: a state, or the refusal it tells. Raises MessageError for garbage."""
    form = _form(line)
    try:
        if "error" in form:
            told = checks.members(form["error"], "error")
            name = checks.text(checks.member(told, "name", "error"), "error.name", 64)
            return MessageError(name, checks.text(told.get("message", ""), "error.message", 4096))
        return Observed.from_mapping(checks.member(form, "observed", "message"))
    except InvalidValueError as error:
        raise MessageError(INVALID, str(error)) from None


def _line(form: dict[str, object]) -> bytes:
    return json.dumps({"version": VERSION, **form}, separators=(",", ":")).encode() + b"\n"


def _form(line: bytes) -> dict[str, object]:
    try:
        form = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise MessageError(NOT_JSON, f"a line that is no JSON: {str(error)[:200]}") from None
    if not isinstance(form, dict):
        raise MessageError(INVALID, "message: not an object")
    if type(form.get("version")) is not int or form["version"] != VERSION:
        said = checks.shown(form.get("version"))
        raise MessageError(UNKNOWN_VERSION, f"version {said} is not spoken here; {VERSION} is")
    return form
