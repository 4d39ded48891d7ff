"""Builds the guests' roots once and finds them again by the hash of their recipe.

A finished root is a folder of the cache that holds `tree/` (the unpacked root), `root.img`
(the same as an ext4 image), `vmlinuz`, `initramfs` and `build.log`. It is built under
another name and renamed at the end, so a root that exists is whole.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lab import host, kernel
from lab.recipe import HERE, RECIPES, Recipe
from lab.say import say


class BuildError(Exception):
    """A root could not be built; says at which step and where the log is."""


class UnavailableError(BuildError):
    """This machine lacks what a guest needs; says what to install."""


@dataclass(frozen=True)
class Root:
    """A finished root of the cache."""

    name: str
    recipe: Recipe
    path: Path

    @property
    def tree(self) -> Path:
        return self.path / "tree"

    @property
    def image(self) -> Path:
        return self.path / "root.img"

    @property
    def vmlinuz(self) -> Path:
        return self.path / "vmlinuz"

    @property
    def initramfs(self) -> Path:
        return self.path / "initramfs"


def cache() -> Path:
    """Where built things stay from one run to the next."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "bluetooth.liken.sh"


def build(name: str = "forky") -> Root:
    """The root of that name, built if the cache has none of this recipe.

    Raises BuildError with the step, the end of the log and the log's place.
    """
    recipe = RECIPES[name]
    root = Root(name, recipe, cache() / f"root-{recipe.key()}")
    if root.path.exists() and not host.lacking_programs(("qemu-system-x86_64",)):
        return root
    if recipe.kernel_of:
        build(recipe.kernel_of)
    cache().mkdir(parents=True, exist_ok=True)
    _check_host()
    with _alone():
        if not root.path.exists():
            _build(root)
    return root


@contextmanager
def _alone() -> Iterator[None]:
    """One build at a time; the second caller finds the first one's root."""
    with (cache() / "root.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another program is building a root; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(root: Root) -> None:
    for stale in cache().glob("building-*"):  # nobody else builds while we hold the lock
        shutil.rmtree(stale)
    work = Root(root.name, root.recipe, cache() / f"building-{root.path.name}")
    work.path.mkdir()
    started = time.monotonic()
    say(f"building the guest's root {root.name} (once; log: {work.path}/build.log)")
    with (work.path / "build.log").open("w") as log:
        for title, step in _STEPS:
            say(f"root {root.name}: {title}")
            try:
                step(work, log)
            except (OSError, subprocess.CalledProcessError) as error:
                raise _failure(work, title, error) from error
    work.path.rename(root.path)
    say(f"root {root.name}: finished in {time.monotonic() - started:.0f} s")


def _failure(work: Root, title: str, error: Exception) -> BuildError:
    log = cache() / f"failed-{work.path.name.removeprefix('building-')}.log"
    shutil.copy(work.path / "build.log", log)
    text = log.read_text(errors="replace")
    hints = [hint for sign, hint in _HINTS.items() if sign in text]
    tail = text.splitlines()[-15:]
    lines = [f"root {work.name} failed at: {title}", str(error), *tail, *hints]
    return BuildError("\n".join([*lines, f"whole log: {log}"]))


# What a person can do about lines of a log.
_HINTS = {
    "NO_PUBKEY": "hint: debian-archive-keyring of this machine is too old for that release;"
    " version 2023.3 knows the keys of bookworm, which sign forky",
    "is expired": "hint: the mirror's release files are out of date; if that is meant to be so, say"
    ' Acquire::Check-Valid-Until "false"; in apt\'s own configuration',
    "No space left": "hint: a root takes 3 GB of the cache while it is built",
}


def _check_host() -> None:
    if lacking := host.lacking_programs():
        raise UnavailableError(f"missing on this machine: apt-get install {' '.join(lacking)}")
    if os.geteuid() != 0:
        raise UnavailableError(
            "building the guest's root needs root (chroot, file owners): use sudo"
        )


def _debian(work: Root, log: IO[str]) -> None:
    """The Debian part; mmdebstrap checks every signature with this machine's keyring."""
    options = [f"--aptopt={line}" for line in host.apt_options()]
    if any("Check-Valid-Until" in option for option in options):
        say("note: apt here accepts expired release files, so this build does too")
    _run(
        [
            "mmdebstrap",
            "--mode=root",
            "--variant=apt",
            *options,
            '--aptopt=Apt::Install-Recommends "false"',
            "--dpkgopt=force-unsafe-io",
            *(f"--dpkgopt=path-exclude={path}" for path in _UNREAD),
            f"--include={','.join(work.recipe.packages)}",
            work.recipe.suite,
            str(work.tree),
            host.debian_mirror(),
        ],
        log,
        # The lab makes its own initramfs; the distribution's would take a minute.
        environment={"INITRD": "No"},
        watch=re.compile(r"^I: (running|downloading|extracting|installing|cleaning).*"),
    )
    # mmdebstrap leaves this machine's apt settings in the root; they are not the guest's.
    (work.tree / "etc/apt/apt.conf.d/99mmdebstrap").unlink(missing_ok=True)


# No test reads a manual page; leaving them out makes unpacking a third quicker.
_UNREAD = (
    "/usr/share/doc/*",
    "/usr/share/info/*",
    "/usr/share/locale/*",
    "/usr/share/man/*",
)


def _python(work: Root, log: IO[str]) -> None:
    """/opt/venv with the pinned packages, compiled: imports are slow without, most so in TCG."""
    if not work.recipe.requirements:
        return
    shutil.copy(HERE / work.recipe.requirements, work.tree / "tmp/requirements.txt")
    environment = host.pip_environment()
    with _borrowed(work.tree) as borrowed:
        _chroot(
            work,
            log,
            "python3 -m venv /opt/venv\n"
            "/opt/venv/bin/pip install --no-cache-dir --progress-bar=off"
            " --disable-pip-version-check --no-deps -r /tmp/requirements.txt\n"
            "/opt/venv/bin/pip check",
            {**environment, **borrowed},
            re.compile(r"^(Building|Installing) .*"),
        )


@contextmanager
def _borrowed(tree: Path) -> Iterator[dict[str, str]]:
    """This machine's resolver and certificates, in the root for as long as pip runs."""
    resolver = tree / "etc/resolv.conf"
    resolver.unlink(missing_ok=True)
    shutil.copy("/etc/resolv.conf", resolver)
    environment = {}
    bundle = tree / "tmp/ca.crt"
    if host.CA_BUNDLE.exists():
        shutil.copy(host.CA_BUNDLE, bundle)
        names = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
        environment = dict.fromkeys(names, "/tmp/ca.crt")
    try:
        yield environment
    finally:
        resolver.write_text("")
        bundle.unlink(missing_ok=True)
        (tree / "tmp/requirements.txt").unlink(missing_ok=True)


def _steps(work: Root, log: IO[str]) -> None:
    for step in work.recipe.steps:
        _chroot(work, log, step)


def _kernel(work: Root, log: IO[str]) -> None:
    """The kernel, and the first file system with the modules to mount the second."""
    source = work.tree
    if work.recipe.kernel_of:
        source = build(work.recipe.kernel_of).tree
        modules = kernel.modules_folder(source)
        shutil.copytree(modules, work.tree / modules.relative_to(source), symlinks=True)
    shutil.copy(kernel.vmlinuz(source), work.vmlinuz)
    busybox = kernel.busybox(source)
    work.initramfs.write_bytes(kernel.initramfs(source, work.recipe.initramfs, busybox))
    log.write(f"kernel {work.vmlinuz}, initramfs {work.initramfs.stat().st_size} bytes\n")


def _image(work: Root, log: IO[str]) -> None:
    """The tree as an ext4 image: under TCG a disk is several times quicker than 9p."""
    used = subprocess.run(["du", "-sm", work.tree], capture_output=True, text=True, check=True)
    megabytes = int(used.stdout.split()[0])
    _run(
        [
            "mke2fs",
            *("-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-b", "4096"),
            *("-d", str(work.tree)),
            str(work.image),
            f"{megabytes * 115 // 100 + 64}M",
        ],
        log,
    )


_STEPS = (
    ("Debian packages (about three minutes)", _debian),
    ("Python packages (about a minute)", _python),
    ("last steps", _steps),
    ("kernel and initramfs", _kernel),
    ("disk image", _image),
)


def _chroot(
    work: Root,
    log: IO[str],
    script: str,
    extra: dict[str, str] | None = None,
    watch: re.Pattern[str] | None = None,
) -> None:
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    environment = {"PATH": path, "HOME": "/root", "LANG": "C.UTF-8", **(extra or {})}
    _run(["chroot", str(work.tree), "sh", "-ec", script], log, environment, watch)


def _run(
    command: Sequence[str],
    log: IO[str],
    environment: dict[str, str] | None = None,
    watch: re.Pattern[str] | None = None,
) -> None:
    """Run to the log; lines that `watch` matches are progress for the person waiting."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    with subprocess.Popen(
        command,
        env={**os.environ, "PATH": path, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout
        for line in process.stdout:
            log.write(line)
            log.flush()
            if watch and watch.match(line):
                say(f"  {line.strip()[:100]}")
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command[0])
