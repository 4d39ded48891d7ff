"""Folders of dead control planes are swept, those of living ones are not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cluster import rundir


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_folder_in_use_is_left_alone() -> None:
    used = rundir.RunDirectory(None)
    assert rundir.sweep(None) == []
    assert used.path.is_dir()
    used.remove()
    assert not used.path.exists()


def test_a_folder_is_its_owners_alone() -> None:
    used = rundir.RunDirectory(None)
    assert used.path.stat().st_mode & 0o777 == 0o700
    used.remove()


def test_the_folder_of_a_killed_process_is_swept(tmp_path: Path) -> None:
    program = (
        "import os, signal, tempfile\n"
        f"tempfile.tempdir = {str(tmp_path)!r}\n"
        "from cluster import rundir\n"
        "print(rundir.RunDirectory(None).path, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    tests = Path(__file__).parents[2]
    killed = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(tests)},
        capture_output=True,
        text=True,
        check=False,
    )
    left = Path(killed.stdout.strip())
    assert left.is_dir()
    assert rundir.sweep(None) == [left]
    assert not left.exists()


def test_a_released_folder_stays_until_the_next_sweep() -> None:
    used = rundir.RunDirectory(None)
    (used.path / "log").write_text("why it died")
    used.release()
    assert (used.path / "log").exists()
    assert rundir.sweep(None) == [used.path]


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "bluetooth-cluster-without-a-lock").mkdir()
    assert rundir.sweep(None) == []


def test_a_path_too_long_for_sockets_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with pytest.raises(OSError, match="set TMPDIR"):
        rundir.RunDirectory(None)
    assert list(deep.iterdir()) == []
