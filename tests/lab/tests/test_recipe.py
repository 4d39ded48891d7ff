"""A root is found again by what decides its content, and by nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest
from lab import cpio, host, kernel, root
from lab.recipe import HERE, RECIPES, Recipe

BASE = RECIPES["forky"]

CHANGES = {
    "a package": replace(BASE, packages=(*BASE.packages, "strace")),
    "the release": replace(BASE, suite="trixie"),
    "a step": replace(BASE, steps=("true",)),
    "no Python packages": replace(BASE, requirements=""),
    "a module to find the root": replace(BASE, initramfs=("virtio_blk",)),
    "another's kernel": replace(BASE, kernel_of="forky"),
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES.keys())
def test_another_content_is_another_root(changed: Recipe) -> None:
    assert changed.key() != BASE.key()


def test_modules_loaded_at_boot_make_no_other_root() -> None:
    assert replace(BASE, modules=("uinput",)).key() == BASE.key()


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES.keys())
def test_every_python_package_is_pinned(recipe: Recipe) -> None:
    lines = (HERE / recipe.requirements).read_text().splitlines() if recipe.requirements else []
    assert [line for line in lines if line[:1] != "#" and "==" not in line] == []


# -- where it comes from

SOURCES = {
    "one line": ("sources.list", "deb http://mirror.example/debian bookworm main", "mirror"),
    "with options": (
        "sources.list",
        "deb [arch=amd64 signed-by=/k.gpg] https://mirror.example/debian/ forky main",
        "mirror",
    ),
    "deb822": (
        "sources.list.d/debian.sources",
        "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\n",
        "mirror",
    ),
    "switched off": (
        "sources.list.d/debian.sources.disabled",
        "URIs: http://mirror.example/debian",
        "default",
    ),
    "Ubuntu's": ("sources.list", "deb http://archive.example/ubuntu noble main", "default"),
    "security only": (
        "sources.list",
        "deb http://mirror.example/debian-security bookworm-security main",
        "default",
    ),
}


@pytest.mark.parametrize(("name", "text", "expected"), SOURCES.values(), ids=SOURCES.keys())
def test_the_archive_is_the_one_that_apt_uses_here(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / name).write_text(text)
    found = host.debian_mirror(tmp_path)
    mirror = found.replace("https", "http") == "http://mirror.example/debian"
    assert ("mirror" if mirror else "default") == expected
    assert mirror or found == host.DEBIAN


def test_pip_in_the_root_gets_this_machines_settings_but_none_of_its_paths() -> None:
    environ = {
        "PIP_INDEX_URL": "https://index.example/simple",
        "PIP_CERT": "/etc/ssl/own.pem",
        "PIP_FIND_LINKS": "/opt/wheels",
        "https_proxy": "http://proxy.example:3128",
        "HOME": "/home/somebody",
    }
    assert host.pip_environment(environ) == {
        "PIP_INDEX_URL": "https://index.example/simple",
        "https_proxy": "http://proxy.example:3128",
    }


# -- the initramfs

MODULES_DEP = """\
kernel/fs/ext4/ext4.ko.xz: kernel/fs/jbd2/jbd2.ko.xz kernel/fs/mbcache.ko.xz
kernel/fs/jbd2/jbd2.ko.xz:
kernel/fs/mbcache.ko.xz:
kernel/drivers/block/virtio_blk.ko.xz:
kernel/lib/crc-itu-t.ko.xz:
"""


def test_a_module_comes_after_all_it_needs_and_once() -> None:
    names = ["virtio_blk", "ext4", "jbd2", "crc_itu_t", "built_in"]
    assert kernel.load_order(MODULES_DEP, names) == [
        "kernel/drivers/block/virtio_blk.ko.xz",
        "kernel/fs/mbcache.ko.xz",
        "kernel/fs/jbd2/jbd2.ko.xz",
        "kernel/fs/ext4/ext4.ko.xz",
        "kernel/lib/crc-itu-t.ko.xz",
    ]


def test_an_archive_has_its_folders_files_and_end() -> None:
    data = cpio.archive({"bin/sh": cpio.file(b"shell", 0o755)})
    assert [name for name, _, _ in _entries(data)] == ["bin", "bin/sh", "TRAILER!!!"]
    assert [mode for _, mode, _ in _entries(data)] == [0o040755, 0o100755, 0]
    assert [content for _, _, content in _entries(data)] == [b"", b"shell", b""]
    assert len(data) % 4 == 0


def _entries(data: bytes) -> list[tuple[str, int, bytes]]:
    found, place = [], 0
    while place < len(data):
        fields = [int(data[place + 6 + 8 * n : place + 14 + 8 * n], 16) for n in range(13)]
        assert data[place : place + 6] == b"070701"
        name = place + 110
        content = _even(name + fields[11])
        text = data[name : name + fields[11] - 1].decode()
        found.append((text, fields[1], data[content : content + fields[6]]))
        place = _even(content + fields[6])
    return found


def _even(number: int) -> int:
    return (number + 3) // 4 * 4


# -- a build that fails

FAILURES = {
    "an old keyring": ("W: GPG error: forky InRelease: NO_PUBKEY 6ED0E7B8", "too old"),
    "a stale mirror": ("E: Release file for forky/InRelease is expired", "Check-Valid-Until"),
    "a full disk": ("dpkg: error: No space left on device", "3 GB"),
}


@pytest.mark.parametrize(("line", "hint"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failed_build_names_its_step_its_log_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, hint: str
) -> None:
    def step(_work: root.Root, log: IO[str]) -> None:
        root._run(["sh", "-c", 'echo "$0"; exit 5', line], log)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(root, "_check_host", lambda: None)
    monkeypatch.setattr(root, "_STEPS", (("the step", step),))
    with pytest.raises(root.BuildError) as caught:
        root.build()
    message = str(caught.value)
    assert "root forky failed at: the step" in message
    assert line in message
    assert hint in message
    assert Path(message.rpartition("whole log: ")[2]).read_text().strip() == line
    assert not list(root.cache().glob("root-*"))


def test_a_finished_build_is_found_again_and_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []

    def step(work: root.Root, _log: IO[str]) -> None:
        built.append(work.name)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(root, "_check_host", lambda: None)
    monkeypatch.setattr(host, "lacking_programs", lambda _programs: [])
    monkeypatch.setattr(root, "_STEPS", (("the step", step),))
    assert root.build() == root.build()
    assert built == ["forky"]
    assert root.build().path == root.cache() / f"root-{BASE.key()}"
