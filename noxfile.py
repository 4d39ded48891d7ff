"""Every check of this repository, one session each.

`./dev test` runs those with a tag: `builds`, `units` and `api` side by side, then `machine` alone.
"""

from __future__ import annotations

import os
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv"
nox.options.error_on_external_run = True
# A Python that is not there is a session skipped aloud, never something from elsewhere.
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False
nox.options.stop_on_first_error = True

ROOT = Path(__file__).parent
PROJECT = nox.project.load_toml("pyproject.toml")
CACHE = (
    Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute()
    / "bluetooth.liken.sh"
)

# Directory of each package, and those of ours that it installs with.
PACKAGES: dict[str, tuple[str, ...]] = {
    "inputid": (),
    "bluezclient": (),
    "uinputrelay": ("inputid",),
    "draplugin": (),
    "operator": ("inputid", "bluezclient", "uinputrelay", "draplugin"),
}
# What a package's tests use beyond what the package installs.
EXTRAS: dict[str, str] = {"draplugin": "[cel,metrics,testing]"}
ROOT_OF_GUEST = ("lab", "root")
KUBERNETES = ("cluster", "build")
UNIT = "not lab and not api and not cluster and not vm and not oracles"


def group(name: str) -> list[str]:
    """The requirements of one dependency group of the root's pyproject.toml."""
    return list(nox.project.dependency_groups(PROJECT, name))


def wheels(session: nox.Session, *names: str) -> list[str]:
    """Build wheels of these packages and say how to install them: what is tested is what ships."""
    # Not create_tmp(): that moves TMPDIR into the tree, where paths are too long for unix sockets.
    dist = Path(session.virtualenv.location) / "dist"
    built = []
    for name in names:
        out = dist / name
        session.run(
            "uv",
            "build",
            "--quiet",
            "--wheel",
            "--out-dir",
            str(out),
            f"packages/{name}",
            external=True,
        )
        newest = max(out.glob("*.whl"), key=lambda path: path.stat().st_mtime)
        built.append(f"{newest.absolute()}{EXTRAS.get(name, '')}")
    return built


@nox.session(tags=["units"])
def lint(session: nox.Session) -> None:
    """Style, layers, and one changelog per package."""
    session.install(*group("lint"), *wheels(session, *PACKAGES))
    session.run("ruff", "check", ".", "dev")
    session.run("ruff", "format", "--check", ".", "dev")
    session.run("lint-imports", "--cache-dir", str(CACHE / "import-linter"))
    for name in PACKAGES:
        session.run(
            "towncrier",
            "build",
            "--draft",
            "--version",
            "next",
            "--dir",
            f"packages/{name}",
            silent=True,
        )


@nox.session(tags=["units"])
def types(session: nox.Session) -> None:
    """mypy, strict, over the packages, the tests and this file."""
    session.install(
        "nox", *group("types"), *group("test"), *group("lab"), *wheels(session, *PACKAGES)
    )
    cache = ["--cache-dir", str(CACHE / "mypy")]
    session.run(
        "mypy", *cache, *(f"packages/{name}/src" for name in PACKAGES), "noxfile.py", "tests"
    )
    for name in PACKAGES:
        session.run("mypy", *cache, f"packages/{name}/tests")


@nox.session(tags=["units"])
@nox.parametrize("package", [nox.param(name, id=name) for name in PACKAGES])
def tests(session: nox.Session, package: str) -> None:
    """One package alone: its wheel, its unit tests."""
    session.install(*group("test"), *wheels(session, package, *PACKAGES[package]))
    real_parts = [f"--ignore=packages/{package}/tests/{name}" for name in ("api", "cluster", "lab")]
    session.run("pytest", "-m", UNIT, f"packages/{package}/tests", *real_parts, *session.posargs)


# The last Python for which the oldest grpcio has wheels.
@nox.session(name="tests-oldest", python="3.11", tags=["units"])
def tests_oldest(session: nox.Session) -> None:
    """draplugin on the oldest grpcio, protobuf and others it allows; `tests` has the newest."""
    home = "packages/draplugin"
    oldest = ("--resolution", "lowest-direct", "--all-extras")
    session.install(*oldest, "-r", f"{home}/pyproject.toml")
    session.install(*group("test"))
    session.install("--no-deps", *wheels(session, "draplugin"))
    names = ", ".join(f"{name!r}" for name in ("grpcio", "protobuf", "aiohttp", "kubernetes"))
    session.run(
        "python", "-c", f"from importlib.metadata import version as v; print(*map(v, [{names}]))"
    )
    elsewhere = ("api", "cluster", "api_values", "cel", "explain")
    ignored = [f"--ignore={home}/tests/{name}" for name in elsewhere]
    session.run("pytest", "-m", UNIT, f"{home}/tests", *ignored, *session.posargs)


def _build(session: nox.Session, *what: tuple[str, str]) -> None:
    """Build what is missing of the real parts; minutes the first time, nothing after."""
    # What is tested meanwhile waits in real time; a build takes no processor from it.
    niced = ("nice", "-n", "19", "python", "-m")
    for module in what:
        session.run(*niced, *module, external=True, env={"PYTHONPATH": "tests"})


def _real(session: nox.Session, marks: str, *folders: str) -> None:
    """Install both hosts' sides, build what is missing, and run the tests of these marks."""
    session.install(*group("test"), *group("lab"), *wheels(session, *PACKAGES))
    if "lab" in marks or "cluster" in marks:
        _build(session, ROOT_OF_GUEST)
    if "api" in marks or "cluster" in marks:
        _build(session, KUBERNETES)
    where = session.posargs or folders or ("packages", "tests")
    session.run("pytest", "-v", "-m", marks, "--lab=require", *where)


@nox.session(tags=["builds"])
def builds(session: nox.Session) -> None:
    """The real parts that are built here: the guest's root and Kubernetes."""
    session.install(*group("test"), *group("lab"))
    _build(session, ROOT_OF_GUEST, KUBERNETES)


@nox.session(tags=["units"])
def house(session: nox.Session) -> None:
    """What crosses the packages without needing real parts: versions, ranges, the plugins."""
    session.install(*group("test"), *group("lab"), "packaging", *wheels(session, *PACKAGES))
    session.run("pytest", "-m", UNIT, "tests", *session.posargs)


@nox.session(tags=["api"])
def api(session: nox.Session) -> None:
    """What needs the real control plane and no VM."""
    _real(session, "api")


@nox.session(tags=["machine"])
def real(session: nox.Session) -> None:
    """The main job, input nodes and their tools on real parts: one control plane, one VM.

    bluezclient's days with bluetoothd would be 5 minutes more: they are in `lab`.
    """
    nodes = [f"packages/{name}/tests/lab" for name in ("inputid", "uinputrelay")]
    _real(session, "lab or cluster or vm", *nodes, "tests")


@nox.session(default=False)
def lab(session: nox.Session) -> None:
    """What runs in the lab's VM without Kubernetes, of every package: a quarter of an hour."""
    _real(session, "lab or vm")


@nox.session(default=False)
def cluster(session: nox.Session) -> None:
    """What needs the control plane and the node in the VM, of every package."""
    _real(session, "cluster")


@nox.session(default=False)
def oracles(session: nox.Session) -> None:
    """draplugin's answers against Kubernetes 1.31, which takes minutes to build, once."""
    _real(session, "oracles")


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """The main job on real parts, told step by step."""
    session.install(*group("test"), *group("lab"), *wheels(session, *PACKAGES))
    _build(session, ROOT_OF_GUEST, KUBERNETES)
    session.run("python", "-m", "job.demo", *session.posargs, env={"PYTHONPATH": "tests"})


@nox.session(default=False)
def playground(session: nox.Session) -> None:
    """A real control plane in the foreground, for a person to play with."""
    session.install(*group("test"), *group("lab"))
    session.run("python", "-m", "cluster", *session.posargs, env={"PYTHONPATH": "tests"})


@nox.session(default=False)
def protos(session: nox.Session) -> None:
    """The checked-in gRPC code equals what its generator makes of the .proto files."""
    session.run("python", "packages/draplugin/tools/protos.py", "--check", *session.posargs)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Figures, printed as ratios of one run; never asserted."""
    session.install(*wheels(session, "inputid"))
    session.run("python", "packages/inputid/benchmarks/bench.py", *session.posargs)
    session.install(*wheels(session, "draplugin"))
    for name in ("prepare", "idle"):
        session.run("python", f"packages/draplugin/benchmarks/{name}.py", *session.posargs)
    session.install(*group("lab"))
    inside = ("python", "packages/uinputrelay/benchmarks/bench_relay.py")
    session.run("python", "-m", "lab", "run", "--", *inside, env={"PYTHONPATH": "tests"})
