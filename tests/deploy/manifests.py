"""The files of deploy/, read: one place that knows where they are and how they hang together."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
BASE = DEPLOY / "base"
SAMPLES = DEPLOY / "samples"
STANDALONE = DEPLOY / "overlays" / "standalone"

Manifest = dict[str, Any]


def files(folder: Path) -> list[Path]:
    """Every YAML file below a folder, in order."""
    return sorted(folder.rglob("*.yaml"))


def documents(path: Path) -> list[Manifest]:
    """The documents of one file."""
    return [each for each in yaml.safe_load_all(path.read_text()) if each is not None]


def every(folder: Path) -> Iterator[Manifest]:
    """Every object below a folder, kustomizations left out."""
    for path in files(folder):
        if path.name != "kustomization.yaml":
            yield from documents(path)


def find(folder: Path, kind: str, name: str) -> Manifest:
    """The one object of that kind and name below a folder."""
    found = [
        each for each in every(folder) if (each["kind"], each["metadata"]["name"]) == (kind, name)
    ]
    if len(found) != 1:
        raise LookupError(f"{len(found)} objects {kind} {name} below {folder}")
    return found[0]


def listed(kustomization: Path) -> set[Path]:
    """Every file that a kustomization reaches, through other kustomizations too."""
    (content,) = documents(kustomization)
    reached = {kustomization}
    names = content.get("resources", []) + [each["path"] for each in content.get("patches", [])]
    for name in names:
        target = (kustomization.parent / name).resolve()
        reached |= listed(target / "kustomization.yaml") if target.is_dir() else {target}
    return reached


def variable(policy: Manifest, name: str) -> list[str]:
    """A variable of an admission policy whose expression is a list of words."""
    (expression,) = (
        each["expression"] for each in policy["spec"]["variables"] if each["name"] == name
    )
    # A CEL list of single-quoted words is a Python list too.
    words = ast.literal_eval(expression)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise TypeError(f"{name} is no list of words")
    return words
