"""What this machine's own configuration says about where Debian and PyPI come from.

The lab names no mirror and no proxy: it uses what apt and pip use here already.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

DEBIAN = "http://deb.debian.org/debian"

# Settings of apt that say how to reach an archive, not what to install from it.
APT_SETTINGS = (
    "Acquire::http::Proxy",
    "Acquire::https::Proxy",
    "Acquire::https::CaInfo",
    "Acquire::Retries",
    "Acquire::Check-Valid-Until",
)

CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")


def debian_mirror(apt: Path = Path("/etc/apt")) -> str:
    """The Debian archive that apt uses here, or Debian's own name for the nearest one.

    An Ubuntu machine has none among its sources, hence the default.
    """
    return next(_archives(apt), DEBIAN)


def _archives(apt: Path) -> Iterator[str]:
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
    for file in files:
        if file.suffix not in {".list", ".sources"} or not file.is_file():
            continue
        for line in file.read_text(errors="replace").splitlines():
            found = re.match(r"(?:deb\s+(?:\[.*?\]\s+)?|URIs:\s*)(\S+)", line)
            if found and re.fullmatch(r"https?://.*/debian/?", found[1]):
                yield found[1].rstrip("/")


def apt_options() -> list[str]:
    """Lines of apt configuration to carry into the root's build."""
    options = []
    for name in APT_SETTINGS:
        value = _apt_value(name)
        if value:
            options.append(f'{name} "{value}";')
    return options


def _apt_value(name: str) -> str:
    found = subprocess.run(
        ["apt-config", "shell", "VALUE", name], capture_output=True, text=True, check=False
    )
    return found.stdout.strip().removeprefix("VALUE=").strip("'")


def pip_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """pip's settings and proxies of this machine, for a pip inside another root.

    A folder of wheels on this machine is left out: the other root does not have it.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if name.startswith("PIP_") or name.lower() in _PROXIES
    }
    for path in ("PIP_FIND_LINKS", "PIP_CERT", "PIP_CONFIG_FILE", "PIP_CACHE_DIR"):
        kept.pop(path, None)
    return kept


# Debian's package for each program.
PROGRAMS = {
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "qemu-system-x86_64": "qemu-system-x86",
}


def lacking_programs(programs: Iterable[str] = tuple(PROGRAMS)) -> list[str]:
    """Debian packages to install before a root can be built and booted here."""
    places = [*os.environ.get("PATH", "").split(":"), "/sbin", "/usr/sbin"]
    return sorted(
        PROGRAMS[program]
        for program in programs
        if not any(os.access(f"{place}/{program}", os.X_OK) for place in places if place)
    )
