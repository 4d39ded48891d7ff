"""The kernel of a root and the small file system it starts from."""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path

from lab import cpio


def vmlinuz(tree: Path) -> Path:
    """The kernel in the root's /boot; a root has one."""
    (found,) = (tree / "boot").glob("vmlinuz-*")
    return found


def modules_folder(tree: Path) -> Path:
    """/lib/modules/RELEASE of the root's one kernel."""
    (found,) = (tree / "usr/lib/modules").iterdir()
    return found


def busybox(tree: Path) -> bytes:
    """The statically linked busybox of the root."""
    return (tree / "usr/bin/busybox").read_bytes()


def initramfs(tree: Path, names: Iterable[str], shell: bytes) -> bytes:
    """Archive of a shell and the named modules, listed in /modules.order for insmod.

    The programs that use them are added at each boot (`vm.py`), so that changing them
    needs no other root.
    """
    modules = modules_folder(tree)
    files = {"bin/busybox": cpio.file(shell, 0o755)}
    order = []
    for path in load_order((modules / "modules.dep").read_text(), names):
        place = f"modules/{Path(path).name.split('.')[0]}.ko"
        files[place] = cpio.file(_plain(modules / path))
        order.append("/" + place)
    files["modules.order"] = cpio.file("\n".join(order).encode())
    return cpio.archive(files)


def load_order(modules_dep: str, names: Iterable[str]) -> list[str]:
    """Paths in the order insmod needs: each after all it depends on.

    modules.dep lists, after the colon, everything a module needs, the last to be loaded
    first (kmod, modules.dep(5)). A name that is not listed is built into the kernel.
    """
    needs = dict(_entries(modules_dep))
    by_name = {_name(path): path for path in needs}
    ordered: dict[str, None] = {}
    for name in names:
        path = by_name.get(name)
        if path:
            ordered.update(dict.fromkeys([*reversed(needs[path]), path]))
    return list(ordered)


def _entries(modules_dep: str) -> Iterator[tuple[str, list[str]]]:
    for line in modules_dep.splitlines():
        path, _, rest = line.partition(":")
        yield path, rest.split()


def _name(path: str) -> str:
    return Path(path).name.split(".")[0].replace("-", "_")


def _plain(path: Path) -> bytes:
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data
