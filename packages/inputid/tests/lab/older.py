"""The udevadm of Debian bookworm (systemd 252), unpacked once on the host and kept.

Only the udev package and what it needs to run is unpacked, nothing is configured: some forty
megabytes and a quarter of a minute.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

# Where the guest finds it.
PLACE = Path("/opt/udev-252")

SUITE = "bookworm"
PACKAGES = "udev"
# Where things of the guest are bound in.
MOUNT_POINTS = ("dev", "proc", "run", "sys", "tmp")
# Counts up when this file makes something else of the same packages.
FORMAT = 1


def root() -> Path:
    """The unpacked root, from the cache or built now."""
    from lab import host
    from lab.root import BuildError, cache
    from lab.say import say

    key = hashlib.sha256(repr((SUITE, PACKAGES, MOUNT_POINTS, FORMAT)).encode()).hexdigest()[:16]
    place = cache() / f"udev-{SUITE}-{key}"
    if place.exists():
        return place
    if lacking := host.lacking_programs(["mmdebstrap"]):
        raise BuildError(f"missing on this machine: apt-get install {' '.join(lacking)}")
    say(f"unpacking the udevadm of Debian {SUITE} (once)")
    cache().mkdir(parents=True, exist_ok=True)
    work = place.with_name(f"building-{place.name}")
    shutil.rmtree(work, ignore_errors=True)
    options = [f"--aptopt={line}" for line in host.apt_options()]
    command = ["mmdebstrap", "--mode=root", "--variant=extract", *options]
    command += ['--aptopt=Apt::Install-Recommends "false"', f"--include={PACKAGES}"]
    done = subprocess.run(
        [*command, SUITE, str(work), host.debian_mirror()],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(f"cannot unpack Debian {SUITE}'s udev\n{done.stderr[-2000:]}")
    for name in MOUNT_POINTS:
        (work / name).mkdir(exist_ok=True)
    work.rename(place)
    return place
