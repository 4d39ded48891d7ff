"""What the build reads from go.mod, and what makes it build again."""

from __future__ import annotations

import pytest
from cluster import build

GO_MOD = """module example

go 1.26.0

replace k8s.io/api => k8s.io/api v0.37.2

require (
	k8s.io/api v0.37.2
	k8s.io/kubernetes v1.37.2
)
"""


def test_the_version_linked_in_is_the_one_required() -> None:
    assert build.kubernetes_version(GO_MOD) == "v1.37.2"


def test_the_servers_are_told_their_version_by_the_linker() -> None:
    trimmed, linker = build.flags("v1.37.2")
    assert trimmed == "-trimpath"
    package = "k8s.io/component-base/version"
    assert linker == (
        f"-ldflags=-s -w -X {package}.gitVersion=v1.37.2"
        f" -X {package}.gitMajor=1 -X {package}.gitMinor=37"
    )


def test_go_is_compared_as_numbers() -> None:
    assert build.wanted_go(GO_MOD) == (1, 26, 0)
    assert build.wanted_go(GO_MOD) < (1, 100)


def test_a_go_mod_without_kubernetes_is_refused() -> None:
    with pytest.raises(build.BuildError, match="requires no release"):
        build.kubernetes_version(GO_MOD.replace("k8s.io/kubernetes", "k8s.io/other"))


def test_a_go_mod_without_a_go_line_is_refused() -> None:
    with pytest.raises(build.BuildError, match="no go line"):
        build.wanted_go(GO_MOD.replace("go 1.26.0\n", ""))


def test_the_checked_in_go_mod_is_kubernetes_1_37() -> None:
    go_mod = (build.SOURCE / "go.mod").read_text()
    assert build.kubernetes_version(go_mod).startswith("v1.37.")
