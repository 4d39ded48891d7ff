"""The guest is the machine that the other lab tests count on."""

from __future__ import annotations

import os
import platform
import stat
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.lab


@pytest.mark.parametrize("path", ["/dev/uinput", "/dev/uhid", "/dev/vhci"])
def test_the_kernel_offers_a_device(path: str) -> None:
    assert stat.S_ISCHR(Path(path).stat().st_mode)


def test_it_is_a_real_kernel_and_a_newer_python() -> None:
    assert platform.system() == "Linux"
    assert sys.version_info >= (3, 13)
    assert os.geteuid() == 0


def test_nothing_written_to_the_repository_reaches_the_host() -> None:
    place = Path(__file__).with_name("written-in-the-guest")
    place.write_text("kept in the guest's memory\n")
    assert Path("/run/lab/share0/upper").is_dir()


def test_the_clock_is_the_hosts() -> None:
    newest = max(path.stat().st_mtime for path in Path("/results").rglob("*"))
    assert abs(time.time() - newest) < 600
