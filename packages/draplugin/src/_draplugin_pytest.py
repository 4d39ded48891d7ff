"""The command line of the conformance suite; outside of `draplugin`, so that it imports nothing.

pytest loads this in every run of an environment that has draplugin installed. It adds its options
only where the suite is asked for: `--driver` is other plugins' word too.
"""

from __future__ import annotations

from typing import Any

SUITE = "draplugin.conformance"


def pytest_load_initial_conftests(early_config: Any, parser: Any, args: list[str]) -> None:  # noqa: ARG001 - pytest passes by name
    """Add the options when `draplugin.conformance` is among the arguments."""
    if not any(argument.partition("::")[0].startswith(SUITE) for argument in args):
        return
    group = parser.getgroup("draplugin", "conformance of a DRA driver")
    group.addoption(
        "--driver",
        metavar="MODULE:MAKE",
        help="an async context manager `make(site: draplugin.Site)` that runs the driver",
    )
    group.addoption(
        "--driver-kubeconfig",
        metavar="FILE",
        help="use this API server instead of starting the one of KUBEBUILDER_ASSETS",
    )
