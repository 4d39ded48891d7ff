"""The hook by which other plugins give the guest what their tests need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass(frozen=True)
class GuestPreparation:
    """What a guest is given at its boot.

    environment: variables of the guest's pytest.
    folders: place inside -> folder of the host, for reading.
    """

    environment: dict[str, str] = field(default_factory=dict)
    folders: dict[str, Path] = field(default_factory=dict)


@pytest.hookspec
def pytest_lab_prepare(
    config: pytest.Config, items: Sequence[pytest.Item], tree: Path, results: str
) -> GuestPreparation | None:
    """Prepare for a guest that will run these items; called on the host before it boots.

    tree: the guest's root, unpacked. results: the folder that is shared for writing, by its
    place inside. Whatever is started here is stopped by `config.add_cleanup`, which runs
    after the guest is off.
    """
