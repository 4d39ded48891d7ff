"""Things that take long to make are made once, and are either whole or absent.

An entry's name ends in the hash of everything it was made from, so a changed input never finds
an old entry.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_DIGITS = 16


def home() -> Path:
    """The project's cache folder, made when absent (XDG Base Directory specification)."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(base) / "bluetooth.liken.sh"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def key(*parts: bytes | str | Path) -> str:
    """A short hash of the parts, in order; a path stands for the bytes of its file."""
    total = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part
        data = data.encode() if isinstance(data, str) else data
        # Lengths keep ("ab", "c") apart from ("a", "bc").
        total.update(len(data).to_bytes(8, "big") + data)
    return total.hexdigest()[:_DIGITS]


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold a lock between processes; it is free again when the holder ends, however it ends."""
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def entry(name: str, make: Callable[[Path], None], folder: Path | None = None) -> Path:
    """The folder ``name`` in the cache; ``make`` fills it when it is not there yet.

    ``make`` gets an empty folder beside the final place. Only when it returns does the entry
    appear, by a rename; when it raises, nothing is left behind.
    """
    folder = home() if folder is None else folder
    final = folder / name
    if final.is_dir():
        return final
    with lock(folder / f".{name}.lock"):
        if not final.is_dir():
            _make_whole(final, make)
    return final


def _make_whole(final: Path, make: Callable[[Path], None]) -> None:
    draft = Path(tempfile.mkdtemp(prefix=f".{final.name}.", dir=final.parent))
    try:
        make(draft)
        draft.chmod(0o755)
        draft.rename(final)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
