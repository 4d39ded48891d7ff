"""Tests in the guest are ordinary results of the host's pytest, whatever becomes of the guest.

Here a second pytest process is the guest; only QEMU is left out.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = Path(__file__).parents[2]

# The host's side of the run under test: a machine whose programs are this machine's.
CONFTEST = """
import os, subprocess, sys, threading
from pathlib import Path
from lab import reports, root, vm
from lab.recipe import RECIPES

pytest_plugins = ["lab.plugin"]
HERE = Path(__file__).parent
reports.PIPE = str(HERE / "pipe")
vm.REPOSITORY = HERE
root.build = lambda name: root.Root(name, RECIPES[name], HERE)

class Program:
    def __init__(self, argv, env, sink):
        self.argv = argv
        environment = {**os.environ, "LAB_GUEST": "1", **(env or {})}
        argv = [sys.executable if argv[0] == "python" else argv[0], *argv[1:]]
        self.process = subprocess.Popen(
            argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.output = b""
        self.thread = threading.Thread(target=self.pump, args=(sink,))
        self.thread.start()
    def pump(self, sink):
        while chunk := self.process.stdout.read1():
            self.output += chunk
            sink("stdout", chunk)
    def wait(self, timeout=None):
        status = self.process.wait(timeout)
        self.thread.join()
        self.process.stdout.close()
        if status == 99:
            raise vm.GuestDiedError("the guest went away", "Kernel panic - not syncing", HERE)
        return vm.Done(tuple(self.argv), status, self.output.decode(), "")

class Machine:
    def __init__(self, options):
        self.results = options.results
        (HERE / "booted").write_text(options.root)
    def start(self):
        START
    def begin(self, argv, env=None, sink=vm.quiet):
        return Program(argv, env, sink)
    def run(self, argv, env=None, sink=vm.quiet):
        return self.begin(argv, env, sink).wait()
    def stop(self):
        (HERE / "off").touch()

if os.environ.get("LAB_GUEST") != "1":
    vm.Machine = Machine
"""

INI = """
[pytest]
markers =
    lab: in the guest
    cluster: in the guest
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
"""

MIXED = """
import os
import pytest

def test_on_the_host():
    assert "LAB_GUEST" not in os.environ

@pytest.mark.lab
def test_in_the_guest():
    assert os.environ["LAB_GUEST"] == "1"

@pytest.mark.cluster
@pytest.mark.parametrize("word", ["a b", "c/d::e"])
def test_of_names(word):
    assert word

@pytest.mark.lab
def test_that_fails():
    print("said before the failure")
    assert 1 + 1 == 3

@pytest.mark.lab
@pytest.mark.skip(reason="for a reason")
def test_that_is_skipped():
    pass

@pytest.mark.lab
@pytest.mark.xfail(reason="known", strict=True)
def test_that_is_known_to_fail():
    assert False

@pytest.fixture
def broken():
    raise RuntimeError("broken fixture")

@pytest.mark.lab
def test_with_a_broken_fixture(broken):
    pass
"""

DYING = """
import os
import pytest

@pytest.mark.lab
def test_before():
    pass

@pytest.mark.lab
def test_that_kills_the_guest():
    os._exit(99)

@pytest.mark.lab
def test_after():
    pass
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join([str(TESTS), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]),
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(pytester.path / "cache"))
    monkeypatch.delenv("LAB_GUEST", raising=False)
    pytester.makeini(INI)
    pytester.makeconftest(CONFTEST.replace("START", "pass"))
    return pytester


@pytest.mark.timeout(60)
def test_results_of_every_kind_come_through_with_their_output(run: pytest.Pytester) -> None:
    run.makepyfile(MIXED)
    result = run.runpytest_subprocess("-rs")
    result.assert_outcomes(passed=4, failed=1, skipped=1, xfailed=1, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*RuntimeError: broken fixture",
            "*assert (1 + 1) == 3",
            "said before the failure",
            "SKIPPED*for a reason",
        ],
    )
    assert (run.path / "off").exists()


@pytest.mark.timeout(60)
def test_no_guest_is_booted_for_tests_that_need_none(run: pytest.Pytester) -> None:
    run.makepyfile(MIXED)
    run.runpytest_subprocess("-m", "not lab and not cluster").assert_outcomes(
        passed=1, deselected=7
    )
    assert not (run.path / "booted").exists()


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("options", "root"), [([], "forky"), (["--lab-root=bookworm"], "bookworm")]
)
def test_the_guest_is_the_one_that_was_asked_for(
    run: pytest.Pytester, options: list[str], root: str
) -> None:
    run.makepyfile(MIXED)
    run.runpytest_subprocess("-k", "of_names", *options).assert_outcomes(passed=2, deselected=6)
    assert (run.path / "booted").read_text() == root


@pytest.mark.timeout(60)
def test_a_guest_that_dies_fails_the_running_test_and_the_rest_are_not_run(
    run: pytest.Pytester,
) -> None:
    run.makepyfile(DYING)
    result = run.runpytest_subprocess("-rs")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "*the guest went away*",
            "*Kernel panic - not syncing*",
            "*not run: the guest died during*kills_the_guest*",
        ]
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("option", "outcome"), [("auto", "skipped"), ("require", "failed")])
def test_a_machine_that_can_have_no_guest_skips_or_fails_and_says_why(
    run: pytest.Pytester, option: str, outcome: str
) -> None:
    run.makeconftest(CONFTEST.replace("START", "raise root.UnavailableError('install qemu')"))
    run.makepyfile(DYING)
    result = run.runpytest_subprocess("-rs", f"--lab={option}")
    result.assert_outcomes(**{outcome: 3})
    result.stdout.fnmatch_lines(["*no guest on this machine: install qemu*"])


@pytest.mark.timeout(60)
def test_a_guest_that_does_not_come_up_is_a_failure_and_never_a_skip(run: pytest.Pytester) -> None:
    died = "raise vm.GuestDiedError('the guest died while booting', 'no root', HERE)"
    run.makeconftest(CONFTEST.replace("START", died))
    run.makepyfile(DYING)
    result = run.runpytest_subprocess()
    result.assert_outcomes(failed=1, skipped=2)
    result.stdout.fnmatch_lines(["*the guest died while booting*"])


@pytest.mark.timeout(60)
def test_a_module_that_cannot_be_loaded_in_the_guest_fails_its_tests_with_the_reason(
    run: pytest.Pytester,
) -> None:
    refuse = 'import os\nassert "LAB_GUEST" not in os.environ, "not for guests"\n'
    run.makepyfile(refuse + DYING)
    result = run.runpytest_subprocess()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*the guest's pytest ended*without it*", "*not for guests*"])
