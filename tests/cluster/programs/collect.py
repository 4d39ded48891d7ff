"""Copies what an interpreter has loaded to run the pad reader: run by the lab root's Python.

``collect.py TREE FOLDER``: imports what the reader imports, then copies each module's file and
each mapped library from the root TREE to the same place under FOLDER, modules compiled as well,
since compiling at each start of a pod is slow in an emulated machine.
"""

from __future__ import annotations

import importlib
import importlib.util
import py_compile
import shutil
import sys
from pathlib import Path

# Python imports the latter by itself to print an exception.
_PROGRAMS = ("pad_reader", "traceback")
# asyncio, which evdev imports, does without; OpenSSL would be a third of the image.
_LEFT_OUT = ("_ssl", "_hashlib")


def loaded() -> set[Path]:
    """The files of all modules and shared objects in this process."""
    modules = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    lines = Path("/proc/self/maps").read_text().splitlines()
    mapped = {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    return {Path(name) for name in modules | mapped if name}


def copy(source: Path, target: Path, inside: str) -> None:
    """Copy one file; a module also as bytecode that is used without looking at times."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    if source.suffix == ".so" or ".so." in source.name:
        target.chmod(0o755)
    if source.suffix == ".py":
        py_compile.compile(
            str(source),
            importlib.util.cache_from_source(str(target)),
            inside,
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )


def link(source: Path, target: Path) -> None:
    """Make the names under which the loader asks for a library that is mapped as a file."""
    for name in source.parent.glob(f"{source.name.partition('.so')[0]}.so*"):
        if name.is_symlink() and name.resolve() == source:
            target.with_name(name.name).symlink_to(source.name)


def main() -> None:
    """Copy everything loaded that lies in the root."""
    # None makes an import fail as it will fail in the container (reference of sys.modules).
    sys.modules.update(dict.fromkeys(_LEFT_OUT))  # type: ignore[arg-type]
    for name in _PROGRAMS:
        importlib.import_module(name)
    tree, folder = Path(sys.argv[1]), Path(sys.argv[2])
    for source in loaded():
        if source.is_relative_to(tree) and not source.is_relative_to(Path(__file__).parent):
            place = source.relative_to(tree)
            copy(source, folder / place, f"/{place}")
            link(source, folder / place)


if __name__ == "__main__":
    main()
