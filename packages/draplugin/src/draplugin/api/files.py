"""Objects from YAML and JSON text.

YAML is read the way kubectl reads it, so that a file means here what it means there: `yes`, `on`
and `n` are booleans, dates are texts, a key may not be there twice.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import yaml

from .rawjson import RawJson, RepeatedKeyError, loads


class FileError(ValueError):
    """The text is neither YAML nor JSON; says where."""


def read_documents(text: str, name: str = "") -> Iterator[dict[str, Any]]:
    """The objects of a file, with those of a `List` one by one; raises `FileError`.

    Opaque parameters are `RawJson`: from JSON as they stand, from YAML as compact JSON.
    """
    try:
        for document in _documents(text):
            yield from _single(document, name)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{name or 'text'}: {error}") from None


def read_file(path: Path) -> list[dict[str, Any]]:
    """The objects of a file; raises `FileError`, or OSError where it cannot be read."""
    try:
        return list(read_documents(path.read_text(encoding="utf-8"), str(path)))
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: {error}") from None


def _documents(text: str) -> Iterator[Any]:
    if text.lstrip()[:1] in ("{", "["):
        try:
            yield loads(text)
            return
        except RepeatedKeyError:
            raise
        except ValueError:
            # Flow style YAML also begins with a brace.
            pass
    yield from yaml.load_all(text, Loader=_Loader)


def _single(document: Any, name: str) -> Iterator[dict[str, Any]]:
    if document is None:
        return
    if not isinstance(document, dict):
        raise FileError(f"{name or 'text'}: holds {type(document).__name__}, not an object")
    if str(document.get("kind", "")) == "List" and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _single(item, name)
    else:
        yield with_raw_parameters(document)


def with_raw_parameters(node: Any) -> Any:
    """A copy in which every `opaque.parameters` is `RawJson`."""
    if isinstance(node, list):
        return [with_raw_parameters(item) for item in node]
    if not isinstance(node, dict):
        return node
    copied = {name: with_raw_parameters(item) for name, item in node.items()}
    opaque = copied.get("opaque")
    if isinstance(opaque, dict) and opaque.get("parameters") is not None:
        parameters = node["opaque"]["parameters"]
        copied["opaque"] = {**opaque, "parameters": RawJson.of(parameters)}
    return copied


class _Loader(yaml.SafeLoader):
    """YAML as sigs.k8s.io/yaml reads it."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key_node.tag != "tag:yaml.org,2002:merge" and str(key) in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} is there twice", key_node.start_mark
                )
            seen.add(str(key))
        return {
            key if isinstance(key, str) else _key_text(key): value
            for key, value in super().construct_mapping(node, deep).items()
        }


def _key_text(key: Hashable) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    kept = {
        first: [(tag, rule) for tag, rule in rules if not tag.endswith(("timestamp", "float"))]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for first in "yYnN":
        kept[first] = [("tag:yaml.org,2002:bool", re.compile("[yYnN]$")), *kept.get(first, [])]
    number = re.compile(
        r"[-+]?(?:[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?)$"
        r"|[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$"
    )
    for first in "-+0123456789.":
        kept[first] = [*kept.get(first, []), ("tag:yaml.org,2002:float", number)]
    return kept


_Loader.yaml_implicit_resolvers = _resolvers()
_BOOLEANS = {"y": True, "n": False}


def _boolean(loader: _Loader, node: yaml.ScalarNode) -> bool:
    text = str(loader.construct_scalar(node)).lower()
    return _BOOLEANS[text] if text in _BOOLEANS else bool(loader.bool_values[text])


_Loader.add_constructor("tag:yaml.org,2002:bool", _boolean)
