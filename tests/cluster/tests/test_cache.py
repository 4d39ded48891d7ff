"""An entry of the cache is whole or absent."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster import cache


def test_an_entry_is_made_once(tmp_path: Path) -> None:
    made = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "file").write_text("content")

    first = cache.entry("thing-1", make, tmp_path)
    assert cache.entry("thing-1", make, tmp_path) == first == tmp_path / "thing-1"
    assert (first / "file").read_text() == "content"
    assert len(made) == 1


def test_an_entry_that_could_not_be_made_leaves_nothing(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        cache.entry("thing-1", fail, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".thing-1.lock"]


def test_the_key_depends_on_each_part_and_on_where_it_ends(tmp_path: Path) -> None:
    file = tmp_path / "input"
    file.write_text("ab")
    keys = [cache.key("ab", "c"), cache.key("a", "bc"), cache.key("abc"), cache.key("c", "ab")]
    assert len(set(keys)) == len(keys)
    assert cache.key(file, b"c") == cache.key("ab", "c")
