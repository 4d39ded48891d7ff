"""pytest plugin: tests marked `lab` or `cluster` run inside one guest, reported as ordinary tests.

On the host it boots the guest at the first such test, runs a pytest inside with their node
ids, and hands the reports on as they come. In the guest (LAB_GUEST=1) it sends them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lab import hooks, reports, results, root, vm
from lab.hooks import GuestPreparation
from lab.recipe import RECIPES

IN_GUEST = os.environ.get("LAB_GUEST") == "1"
MARKS = ("lab", "cluster")
# A guest under TCG is some ten times slower than the machine it is on.
TEST_SECONDS = 300

# Variables that ask for more logs, the same inside as outside.
PASSED_ON = ("LAB_BTMON", "LAB_PEER_LOG")

# Set for the guest where a test uses a controller. A name is enough on the host, which has
# not these fixtures.
CONTROLLERS = "LAB_CONTROLLERS"
_ON_AIR = {"air", "dualsense", "remote"}

_SENDER = pytest.StashKey[reports.Sender]()
_SESSION = pytest.StashKey["HostSession"]()

if IN_GUEST:
    pytest_plugins = ["lab.fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options for what happens where no guest can be had, and for where its logs go."""
    group = parser.getgroup("lab")
    group.addoption(
        "--lab",
        choices=["auto", "require"],
        default="auto",
        help="tests in the guest where it cannot be had: auto skips them, require fails",
    )
    group.addoption(
        "--lab-root", choices=sorted(RECIPES), default="forky", help="which guest the tests get"
    )
    group.addoption("--lab-results", type=Path, help="folder for the guest's logs and results")


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Make `pytest_lab_prepare` known."""
    pluginmanager.add_hookspecs(hooks)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Guest: its own time limit. Host: none, since the guest's counts; and they come last."""
    guests = [item for item in items if _is_for_guest(item)]
    if IN_GUEST:
        for item in guests:
            if not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(TEST_SECONDS))
        return
    for item in guests:
        item.add_marker(pytest.mark.timeout(0), append=False)
    items[:] = [item for item in items if not _is_for_guest(item)] + guests
    config.stash[_SESSION] = HostSession(config, guests)


def _is_for_guest(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(mark) for mark in MARKS)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Host: a guest's test is run by passing on what the guest says of it."""
    if IN_GUEST or not _is_for_guest(item):
        return None
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in item.config.stash[_SESSION].reports(item):
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Host: power the guest off."""
    host = session.config.stash.get(_SESSION, None)
    if host:
        host.stop()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say where the guest's logs are."""
    host = config.stash.get(_SESSION, None)
    if host and host.machine:
        terminalreporter.write_line(f"lab: logs and results are in {host.machine.results}")


# -- the guest's side


def pytest_configure(config: pytest.Config) -> None:
    """Guest: open the pipe to the host, if there is one."""
    config.addinivalue_line("markers", "vm: boots a guest of its own, on this machine")
    pipe = os.environ.get(reports.VARIABLE)
    if os.environ.get(CONTROLLERS):
        from lab.controllers import nursery

        nursery.prepare()  # loads on one processor while tests are collected on the other
    if IN_GUEST and pipe:
        config.stash[_SENDER] = reports.Sender(Path(pipe))
        config.pluginmanager.register(_Sending(config), "lab-sending")


class _Sending:
    """Sends each step of each test."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._sender = config.stash[_SENDER]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._sender.send("begin", nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook
        data = hook.pytest_report_to_serializable(config=self._config, report=report)
        self._sender.send("report", report.nodeid, data)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._sender.send("end", nodeid)


# -- the host's side


class HostSession:
    """The host's one guest and the pytest inside it."""

    def __init__(self, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
        self.machine: vm.Machine | None = None
        self._config = config
        self._items = items
        self._receiver = reports.Receiver()
        self._end: vm.Done | None = None
        self._trouble: Exception | None = None
        self._blamed = ""
        self._threads: list[threading.Thread] = []
        self._started = False

    def reports(self, item: pytest.Item) -> Iterator[pytest.TestReport]:
        """The reports of one item as they come, and why it has none if the guest let us down."""
        if not self._started:
            self._started = True
            self._start()
        while data := self._receiver.next(item.nodeid):
            hook = self._config.hook
            data = _tuples_again(data)
            yield hook.pytest_report_from_serializable(config=self._config, data=data)
        if not self._receiver.ended(item.nodeid):
            yield self._explain(item)

    def stop(self) -> None:
        """Power off, whatever is still running."""
        if self.machine:
            self.machine.stop()

    def _start(self) -> None:
        """Boot and begin; a failure becomes every test's result, not an internal error."""
        capture = self._config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            print(flush=True)
            try:
                self._boot()
            except (root.BuildError, vm.GuestDiedError) as error:
                self._trouble = error
                self._receiver.close()

    def _boot(self) -> None:
        name = self._config.getoption("lab_root")
        found = root.build(name)
        prepared = self._config.hook.pytest_lab_prepare(
            config=self._config, items=self._items, tree=found.tree, results=vm.RESULTS
        )
        folder = results.folder(self._config.getoption("lab_results"))
        shares = [
            vm.Share(path, place)
            for preparation in prepared
            for place, path in preparation.folders.items()
        ]
        self.machine = vm.Machine(vm.Options(root=name, shares=tuple(shares), results=folder))
        self.machine.start()
        self._begin(self.machine, prepared)

    def _begin(self, machine: vm.Machine, prepared: Sequence[GuestPreparation]) -> None:
        environment = {reports.VARIABLE: reports.PIPE}
        environment |= {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        if any(_ON_AIR & set(getattr(item, "fixturenames", ())) for item in self._items):
            environment[CONTROLLERS] = "1"
        for preparation in prepared:
            environment |= preparation.environment
        machine.run(["mkfifo", reports.PIPE], sink=vm.quiet).check()
        pipe = machine.begin(["cat", reports.PIPE], sink=self._feed)
        log = (machine.results / "pytest.log").open("wb")

        def keep(stream: str, data: bytes) -> None:
            log.write(data)
            log.flush()
            if self._config.getoption("capture") == "no":
                vm.live(stream, data)

        inside = machine.begin(self._command(), env=environment, sink=keep)
        watch = threading.Thread(target=self._watch, args=(inside, pipe), daemon=True)
        watch.start()

    def _command(self) -> list[str]:
        option = self._config.getoption
        command = ["python", "-m", "pytest", "-p", "no:cacheprovider", f"--tb={option('tbstyle')}"]
        if option("capture") == "no":
            command.append("-s")
        return [*command, f"--rootdir={vm.REPOSITORY}", *(item.nodeid for item in self._items)]

    def _feed(self, stream: str, data: bytes) -> None:
        if stream == "stdout":
            self._receiver.feed(data)

    def _watch(self, inside: vm.Program, pipe: vm.Program) -> None:
        """Thread: the end of the guest's pytest, or of the guest, ends the waiting."""
        try:
            self._end = inside.wait()
            pipe.wait(30)  # the pipe ends with its writer; the last reports are in it
        except vm.GuestDiedError as error:
            self._trouble = error
        self._receiver.close()

    def _explain(self, item: pytest.Item) -> pytest.TestReport:
        """Why the guest said nothing, or not all, of an item."""
        if isinstance(self._trouble, root.UnavailableError):
            text = f"no guest on this machine: {self._trouble}"
            skip = self._config.getoption("lab") == "auto"
            return _report(item, "skipped" if skip else "failed", text)
        if self._trouble:
            if self._blamed:
                text = f"not run: the guest died during {self._blamed}"
                return _report(item, "skipped", text)
            self._blamed = self._receiver.running() or item.nodeid
            return _report(item, "failed", str(self._trouble))
        end = self._end
        tail = "\n".join((end.stdout + end.stderr).splitlines()[-30:]) if end else ""
        status = end.status if end else "no status"
        return _report(item, "failed", f"the guest's pytest ended ({status}) without it:\n{tail}")


def _tuples_again(data: dict[str, Any]) -> dict[str, Any]:
    """JSON has made lists of what pytest compares as tuples."""
    if isinstance(data["longrepr"], list):  # the reason of a skip
        data["longrepr"] = tuple(data["longrepr"])
    data["location"] = tuple(data["location"])
    data["user_properties"] = [tuple(pair) for pair in data["user_properties"]]
    return data


def _report(item: pytest.Item, outcome: Any, text: str) -> pytest.TestReport:
    path, line, _ = item.location
    longrepr: Any = (str(path), line or 0, f"Skipped: {text}") if outcome == "skipped" else text
    return pytest.TestReport(
        item.nodeid, item.location, dict.fromkeys(item.keywords, 1), outcome, longrepr, "call"
    )
