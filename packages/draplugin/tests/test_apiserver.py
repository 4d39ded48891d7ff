"""Where the API server for tests comes from, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from draplugin.testing.apiserver import LocalApiServer, Unusable, find_assets

pytest_plugins = ["pytester"]


def programs(directory: Path, *names: str) -> Path:
    for name in names:
        (directory / name).write_text("#!/bin/sh\necho no such flag >&2\nexit 3\n")
        (directory / name).chmod(0o755)
    return directory


def test_the_directory_is_named_by_the_variable_that_envtest_uses(tmp_path: Path) -> None:
    directory = programs(tmp_path, "etcd", "kube-apiserver")
    assert find_assets({"KUBEBUILDER_ASSETS": str(directory)}) == directory


@pytest.mark.parametrize(
    ("there", "text"),
    [
        (None, "KUBEBUILDER_ASSETS is not set"),
        ([], "has no program etcd nor kube-apiserver"),
        (["etcd"], "has no program kube-apiserver"),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, there: list[str] | None, text: str) -> None:
    named = {"KUBEBUILDER_ASSETS": str(programs(tmp_path, *(there or ())))}
    with pytest.raises(Unusable, match=text):
        find_assets({} if there is None else named)


def test_a_server_that_ends_at_once_shows_its_log_and_leaves_nothing(tmp_path: Path) -> None:
    server = LocalApiServer(programs(tmp_path, "etcd", "kube-apiserver"))
    with pytest.raises(RuntimeError, match="no such flag"), server:
        pass
    assert not server.kubeconfig.parent.exists()


def test_a_test_that_needs_it_is_skipped_with_the_reason(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    pytester.makeconftest('pytest_plugins = ["draplugin.testing.fixtures"]')
    pytester.makepyfile("def test_something(api_server): raise AssertionError")
    result = pytester.runpytest_subprocess("-rs", "-p", "no:cacheprovider")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*KUBEBUILDER_ASSETS is not set: it names a directory *"])
