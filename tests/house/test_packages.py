"""The five packages: each has its own version, and those of ours that it needs in a fitting range."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

PACKAGES = Path(__file__).parents[2] / "packages"
FOLDERS = ("inputid", "bluezclient", "uinputrelay", "draplugin", "operator")


def project(folder: str) -> dict[str, object]:
    found: dict[str, object] = tomllib.loads((PACKAGES / folder / "pyproject.toml").read_text())
    return found


def version(folder: str) -> Version:
    """The version that hatch reads for this package."""
    path = project(folder)["tool"]["hatch"]["version"]["path"]  # type: ignore[index]
    text = (PACKAGES / folder / path).read_text()
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    assert found, f"{folder} has no __version__"
    return Version(found[1])


def name(folder: str) -> str:
    return str(project(folder)["project"]["name"])  # type: ignore[index]


OURS = {name(folder): folder for folder in FOLDERS}


def needs(folder: str) -> list[tuple[str, Requirement]]:
    """What a package needs of ours."""
    listed = [Requirement(text) for text in project(folder)["project"]["dependencies"]]  # type: ignore[index]
    return [(OURS[each.name], each) for each in listed if each.name in OURS]


PAIRS = [(folder, of, need) for folder in FOLDERS for of, need in needs(folder)]


@pytest.mark.parametrize(
    ("folder", "of", "need"), PAIRS, ids=[f"{folder} needs {of}" for folder, of, _ in PAIRS]
)
def test_a_range_holds_the_version_that_is_here_and_no_incompatible_one(
    folder: str, of: str, need: Requirement
) -> None:
    here = version(of)
    assert need.specifier.contains(here), f"{folder} needs {need}, {of} is {here}"
    # Before 1.0 the second number is the one that breaks (SemVer 2.0.0, 4).
    broken = f"0.{here.minor + 1}.0" if here.major == 0 else f"{here.major + 1}.0.0"
    assert not need.specifier.contains(broken), f"{folder} would take {of} {broken}"


def test_the_operator_needs_the_other_four() -> None:
    assert {of for of, _ in needs("operator")} == set(FOLDERS) - {"operator"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_package_has_what_its_users_look_for(folder: str) -> None:
    home = PACKAGES / folder
    (typed,) = home.glob("src/*/py.typed")
    assert typed.read_text() == ""
    for file in ("README.md", "LICENSE", "CHANGELOG.md"):
        assert (home / file).is_file(), f"{folder} has no {file}"
    assert (home / "LICENSE").read_text() == (PACKAGES.parent / "LICENSE").read_text()
    fragments = [each.name for each in (home / "changelog.d").iterdir() if each.suffix == ".md"]
    for fragment in fragments:
        assert re.fullmatch(r"[\w.-]+\.(added|changed|fixed|removed)\.md", fragment), fragment
