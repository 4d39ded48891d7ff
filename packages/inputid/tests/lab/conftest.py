"""Gives the guest the older udevadm to ask."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab.hooks import GuestPreparation

from . import older

HERE = Path(__file__).parent


@pytest.hookimpl(optionalhook=True)
def pytest_lab_prepare(items: Sequence[pytest.Item]) -> GuestPreparation | None:
    """Share the unpacked root, when tests of this folder are to run."""
    from lab.hooks import GuestPreparation

    if not any(HERE in item.path.parents for item in items):
        return None
    return GuestPreparation(folders={str(older.PLACE): older.root()})
