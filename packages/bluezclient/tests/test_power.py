"""The kernel's batteries, by the names its drivers give them."""

from __future__ import annotations

from pathlib import Path

import pytest
from bluezclient import Address, kernel_battery

from .conftest import PAD


@pytest.mark.parametrize(
    "name",
    [
        f"ps-controller-battery-{PAD.colons.lower()}",
        f"sony_controller_battery_{PAD.colons.lower()}",
        f"nintendo_switch_controller_battery_{PAD.colons.lower()}",
        f"hid-{PAD.colons.lower()}-battery",
    ],
)
@pytest.mark.parametrize(
    ("capacity", "percentage"),
    [("55\n", 55), ("0\n", 0), ("100\n", 100), ("101\n", None), ("-1\n", None), ("", None)],
)
def test_a_battery_is_found_by_its_address(
    tmp_path: Path, name: str, capacity: str, percentage: int | None
) -> None:
    """bluetui #134, bluetuith #78: bluetoothd has no battery of a DualSense."""
    (tmp_path / "BAT0").mkdir()
    (tmp_path / name).mkdir()
    (tmp_path / name / "capacity").write_text(capacity)
    battery = kernel_battery(PAD, tmp_path)
    assert (battery and battery.percentage) == percentage
    assert kernel_battery(Address("11:22:33:44:55:66"), tmp_path) is None


def test_a_supply_that_leaves_while_it_is_read_is_none(tmp_path: Path) -> None:
    (tmp_path / f"hid-{PAD.colons.lower()}-battery").mkdir()
    assert kernel_battery(PAD, tmp_path) is None
    assert kernel_battery(PAD, tmp_path / "none") is None
