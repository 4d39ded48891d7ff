"""`./dev test` runs every default check of the noxfile: what bears no tag of its would be forgotten."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_default_check_has_one_tag_and_dev_runs_every_tag() -> None:
    sessions = re.findall(r"^@nox\.session(.*)$", (ROOT / "noxfile.py").read_text(), re.MULTILINE)
    default = [options for options in sessions if "default=False" not in options]
    tags = [re.findall(r'tags=\["(\w+)"\]', options) for options in default]
    dev = runpy.run_path(str(ROOT / "dev"))
    assert {len(each) for each in tags} == {1}
    assert {each for [each] in tags} == {*dev["LANES"], dev["ALONE"][1]}
