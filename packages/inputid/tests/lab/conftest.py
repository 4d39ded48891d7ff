"""What the random devices need: udevadms to ask, a seed that was seen, radios out of reach."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab.hooks import GuestPreparation

from . import older

HERE = Path(__file__).parent
RFKILL_IOCTL_NOINPUT = ord("R") << 8 | 1  # linux/rfkill.h


@pytest.fixture(scope="module", autouse=True)
def radios_left_alone() -> Iterator[None]:
    """Radios stay on: a device with SW_RFKILL_ALL turns all of them off by being there.

    While this is open the kernel leaves radio keys and switches to us (net/rfkill/core.c).
    """
    fd = os.open("/dev/rfkill", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(fd, RFKILL_IOCTL_NOINPUT)
    yield
    os.close(fd)


@pytest.hookimpl(optionalhook=True)
def pytest_lab_prepare(items: Sequence[pytest.Item]) -> GuestPreparation | None:
    """Share the unpacked root and print the seed, when tests of this folder are to run."""
    from lab.hooks import GuestPreparation

    if not any(HERE in item.path.parents for item in items):
        return None
    seed = os.environ.get("INPUTID_SEED") or str(SystemRandom().randrange(1 << 32))
    print(f"INPUTID_SEED={seed}", flush=True)
    return GuestPreparation(
        environment={"INPUTID_SEED": seed}, folders={str(older.PLACE): older.root()}
    )
