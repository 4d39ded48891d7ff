"""A guest of its own for each test, since its end is what the test is about."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import root, vm

pytestmark = [pytest.mark.vm, pytest.mark.timeout(600)]


@pytest.fixture
def guest(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[vm.Machine]:
    try:
        root.build()
    except root.UnavailableError as error:
        if request.config.getoption("lab") == "require":
            raise
        pytest.skip(f"no guest on this machine: {error}")
    with vm.boot(results=tmp_path / "results", silence_seconds=30) as machine:
        yield machine


def test_programs_leave_status_output_and_files_and_a_crash_is_told_in_the_kernels_words(
    guest: vm.Machine,
) -> None:
    script = "echo seen; echo complaint >&2; echo kept > /results/file; exit 3"
    done = guest.run(["sh", "-c", script], sink=vm.quiet)
    assert (done.status, done.stdout, done.stderr) == (3, "seen\n", "complaint\n")
    assert (guest.results / "file").read_text() == "kept\n"

    late = guest.run(["sleep", "1000"], timeout=1, sink=vm.quiet)
    assert (late.timed_out, late.status) == (True, 128 + signal.SIGTERM)

    missing = guest.run(["no-such-program"], sink=vm.quiet)
    assert (missing.status, "cannot be started" in missing.stderr) == (127, True)

    with pytest.raises(vm.GuestDiedError, match="sysrq triggered crash") as caught:
        guest.run(["sh", "-c", "echo c > /proc/sysrq-trigger"], sink=vm.quiet)
    assert "kernel trouble" in caught.value.reason


def test_a_guest_that_stands_still_is_a_hang(guest: vm.Machine) -> None:
    assert guest.qemu
    guest.qemu.send_signal(signal.SIGSTOP)
    with pytest.raises(vm.GuestDiedError, match="the guest hangs: not a word"):
        guest.run(["true"], sink=vm.quiet)
