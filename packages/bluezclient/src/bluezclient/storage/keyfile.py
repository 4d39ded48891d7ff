"""Just enough of GLib's key files to judge bluetoothd's: sections of key=value lines.

bluetoothd writes `info` and `cache` with GKeyFile. Values are compared, never written back.
"""

from __future__ import annotations

import configparser

Sections = dict[str, dict[str, str]]


class KeyFileError(ValueError):
    """The bytes are no key file."""


def parse(content: bytes) -> Sections:
    """The sections of a key file; raises `KeyFileError`, whose text quotes no content."""
    parser = configparser.RawConfigParser(
        delimiters=("=",), comment_prefixes=("#",), strict=False, default_section=""
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(content.decode("utf-8", "replace"))
    except configparser.Error as error:
        # configparser quotes the offending line, which may hold a key.
        raise KeyFileError(f"not a key file ({type(error).__name__})") from None
    return {name: dict(parser.items(name)) for name in parser.sections()}
