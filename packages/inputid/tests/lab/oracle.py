"""The real ``udevadm test-builtin input_id`` of two systemd generations, asked about many devices.

The guest's own udevadm runs as it is. Debian bookworm's runs by chroot in an unpacked bookworm root:
it reads sysfs and opens the node, nothing else, so the guest's /sys and /dev bound into that root are
all it needs.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
# What other builtins read each time udevadm starts: half of what a question costs.
OTHERS = (
    *("/etc/modprobe.d", "/usr/lib/modprobe.d", "/usr/lib/modules"),
    *("/etc/systemd/network", "/usr/lib/systemd/network"),
)


def build_preload(folder: Path) -> Path:
    """Compile manymains.c, which saves starting udevadm anew for each device."""
    library = folder / "manymains.so"
    command = ["gcc", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-o", str(library)]
    subprocess.run([*command, str(HERE / "manymains.c")], check=True)
    return library


@dataclass(frozen=True)
class Udevadm:
    """One udevadm. release: of systemd. root: where it is unpacked, None for the guest's own."""

    release: int
    preload: Path
    root: Path | None = None

    def ask(self, paths: Sequence[Path], sysfs: Path | None = None) -> dict[Path, list[str]]:
        """Return the lines ``NAME=value`` of each sysfs path; ``sysfs`` stands in for /sys."""
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-ec", self._script(sysfs)],
            input="".join(f"{path}\n" for path in paths),
            capture_output=True,
            text=True,
            errors="replace",  # its log repeats whatever bytes an attribute holds
            check=False,
        )
        found = _answers(done.stdout)
        if done.returncode or [*found] != [*paths]:
            raise AssertionError(
                f"udevadm {self.release}: {done.returncode}\n{done.stderr[-2000:]}"
            )
        return found

    def _script(self, sysfs: Path | None) -> str:
        mounts = [f"mount --rbind {sysfs or '/sys'} {self.root or ''}/sys"]
        mounts += [
            "for folder in " + " ".join(f"{self.root or ''}{one}" for one in OTHERS),
            'do test ! -d "$folder" || mount -t tmpfs none "$folder"; done',
        ]
        # systemd wants to see a real sysfs at /sys; a stand-in is our business.
        mounts += ["export SYSTEMD_DEVICE_VERIFY_SYSFS=0"] if sysfs else []
        arguments = "test-builtin input_id -"
        if self.root is None:
            return "\n".join([*mounts, f"exec env LD_PRELOAD={self.preload} udevadm {arguments}"])
        mounts += [f"mount --rbind /dev {self.root}/dev", f"mount --bind /proc {self.root}/proc"]
        mounts += [f"mount --bind {self.preload.parent} {self.root}/tmp"]
        linker = next(iter(self.root.glob("lib*/ld-linux*.so.*"))).relative_to(self.root)
        preload = f"/tmp/{self.preload.name}"
        command = f"/{linker} --preload {preload} /bin/udevadm {arguments}"
        return "\n".join([*mounts, f"exec chroot {self.root} {command}"])


def _answers(output: str) -> dict[Path, list[str]]:
    """Split manymains' output at its "@ PATH" lines."""
    found: dict[Path, list[str]] = {}
    lines: list[str] = []
    for line in output.splitlines():
        if line.startswith("@ "):
            lines = found.setdefault(Path(line[2:]), [])
        else:
            lines.append(line)
    return found
