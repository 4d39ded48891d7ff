"""Generate draplugin's protobuf modules, or check that the ones checked in are current.

    python packages/draplugin/tools/protos.py            # write src/draplugin/_proto/*_pb2.py(i)
    python packages/draplugin/tools/protos.py --check     # exit 1 and print the difference

The generator is pinned and old on purpose: generated code demands a protobuf runtime at least as
new as its generator from protoc 27 on, and code of protoc 26.1 (grpcio-tools 1.63.2) loads on
every protobuf from 4.21 to 7. Where this interpreter lacks that very version it is installed into
a cached environment, which needs a Python from 3.8 to 3.12 for its wheels.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REQUIREMENTS = ("grpcio-tools==1.63.2", "protobuf==5.29.5", "setuptools==75.8.0")
# The stubs use a bare Mapping where a message may be given as a dict.
PREFIX = {".pyi": '# mypy: disable-error-code="type-arg"\n'}
PYTHONS = ("python3.11", "python3.12", "python3.10", "python3.9", "python3.8")
SOURCE = Path(__file__).resolve().parent.parent / "src"
PROTOS = SOURCE / "draplugin" / "_proto"


def main() -> int:
    """Generate or check; the exit status."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--check", action="store_true", help="change nothing, show differences")
    check = arguments.parse_args().check
    with tempfile.TemporaryDirectory() as directory:
        fresh = generate(generator(), Path(directory))
        return compare(fresh) if check else install(fresh)


def generator() -> Path:
    """A Python that has the pinned grpcio-tools, made on first use."""
    digest = hashlib.sha256("\n".join(REQUIREMENTS).encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "bluetooth.liken.sh" / f"protos-{digest}"
    python = home / "bin" / "python"
    if not (home / "complete").exists():
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([find_python(), "-m", "venv", str(home)], check=True)
        pip = [str(python), "-m", "pip", "install", "-q", "--only-binary", ":all:"]
        subprocess.run([*pip, *REQUIREMENTS], check=True)
        (home / "complete").touch()
    return python


def find_python() -> str:
    """A Python with wheels of the pinned generator."""
    if (3, 8) <= sys.version_info[:2] <= (3, 12):
        return sys.executable
    found = next((path for name in PYTHONS if (path := shutil.which(name))), None)
    if found is None:
        sys.exit(f"{REQUIREMENTS[0]} has wheels for Python 3.8 to 3.12; none of {PYTHONS} is here")
    return found


def generate(python: Path, directory: Path) -> dict[Path, str]:
    """The generated files: path where each belongs, and its text."""
    names = sorted(f"draplugin/_proto/{path.name}" for path in PROTOS.glob("*.proto"))
    command = [str(python), "-m", "grpc_tools.protoc", f"-I{SOURCE}"]
    outputs = [f"--python_out={directory}", f"--pyi_out={directory}"]
    subprocess.run([*command, *outputs, *names], check=True)
    made = sorted((directory / "draplugin" / "_proto").glob("*_pb2.py*"))
    return {PROTOS / path.name: PREFIX.get(path.suffix, "") + path.read_text() for path in made}


def compare(fresh: dict[Path, str]) -> int:
    """Print how the checked-in files differ from fresh ones; 1 if they do."""
    stale = {path: path.read_text() for path in PROTOS.glob("*_pb2.py*")}
    differing = [path for path in sorted({*fresh, *stale}) if fresh.get(path) != stale.get(path)]
    for path in differing:
        old, new = (side.get(path, "").splitlines(keepends=True) for side in (stale, fresh))
        sys.stdout.writelines(difflib.unified_diff(old, new, f"{path} (here)", f"{path} (fresh)"))
    return 1 if differing else 0


def install(fresh: dict[Path, str]) -> int:
    """Write the fresh files and remove those without a source."""
    for path in set(PROTOS.glob("*_pb2.py*")) - set(fresh):
        path.unlink()
    for path, text in fresh.items():
        path.write_text(text)
        print(path.relative_to(SOURCE.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
