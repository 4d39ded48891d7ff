"""The manual's page on DeviceClass: every command in it is run, and must print what the page says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from draplugin.cli import main

PAGE = Path(__file__).parents[4] / "docs" / "deviceclass.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def _blocks(kind: str) -> Iterator[str]:
    for block in _BLOCK.finditer(PAGE.read_text()):
        if block[1] == kind:
            yield block[2]


def _commands() -> Iterator[tuple[str, str]]:
    for block in _blocks("console"):
        for part in block.split("$ ")[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


def _write_files(folder: Path) -> None:
    for block in _blocks("yaml"):
        name, _, content = block.partition("\n")
        (folder / name.removeprefix("# ")).write_text(content)


COMMANDS = list(_commands())


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=[c[0] for c in COMMANDS])
def test_a_command_prints_what_the_page_says(
    command: str,
    printed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    _write_files(tmp_path)
    program, *arguments = shlex.split(command)
    assert program == "draplugin"
    main(arguments)
    assert capsys.readouterr().out == printed


def test_every_command_of_the_tool_is_on_the_page() -> None:
    assert {shlex.split(command)[1] for command, _ in COMMANDS} == {"cel", "lint", "explain"}
