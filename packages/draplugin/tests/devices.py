"""Arbitrary device data for property tests: mostly reasonable, often at a limit, sometimes absurd."""

from __future__ import annotations

from typing import Any

from draplugin import Device, Semver, Taint
from hypothesis import strategies as st

DRIVER = "prop.example.com"
text = st.text(max_size=70) | st.text("aä😀", min_size=15, max_size=66)
identifiers = st.sampled_from(["a", "A_1", "x" * 32, "x" * 33, "numa-1", "1a", "", "package", "ä"])
domains = st.sampled_from(["", "example.com/", f"{DRIVER}/", "a/b/", "Bad/", f"{'d' * 64}/", "/"])
names = st.builds(lambda domain, name: domain + name, domains, identifiers)
versions = st.sampled_from(
    [
        "1.2.3",
        "1.2",
        "v1.2.3",
        "1.0.0-rc.1+b.5",
        "01.0.0",
        "99999999999999999999.0.0",
        "1.0.0-" + "a" * 60,
        "",
    ]
).map(Semver)
values = (
    st.booleans()
    | st.integers(-(2**64), 2**64)
    | text
    | versions
    | st.just(1.5)
    | st.none()
    | st.just("\ud800")
)
quantities: st.SearchStrategy[Any] = st.sampled_from(
    [
        "1",
        "4Gi",
        "250m",
        "1.5",
        "007",
        "+1",
        "1e+3",
        "1e5000",
        "1e99",
        "1e999",
        "-1e-99",
        "Gi",
        "",
        " 1",
        "1K",
        "1GB",
        "-1",
        ".5",
        "5.",
    ]
) | st.from_regex(r"[+-]?[0-9]{1,30}(\.[0-9]{0,20})?(Ki|m|k|E|Ei)?", fullmatch=True)
taint_keys = st.sampled_from(
    ["a", "example.com/a", "Example.com/a", "a b", "", "x" * 64, "a/b/c", "-a"]
)
taints = st.builds(
    Taint,
    taint_keys,
    st.sampled_from(["NoSchedule", "NoExecute", "None", "PreferNoSchedule", ""]),
    st.sampled_from(["", "yes", "no way", "x" * 64, "-"]),
    st.sampled_from([None, "2026-01-02T03:04:05Z", "yesterday", "2026-01-02T03:04:05.5Z"]),
)
many = st.integers(30, 40).map(lambda n: {f"x{i}": i for i in range(n)})
device_names = st.sampled_from(
    ["a", "a0-ab-51", "A", "a.b", "x" * 63, "x" * 64, "", "-a", "a\n"]
) | st.from_regex(r"[a-z]{1,3}", fullmatch=True)
devices = st.builds(
    Device,
    device_names,
    st.dictionaries(names, values, max_size=6) | many,
    st.lists(taints, max_size=3).map(tuple),
    st.dictionaries(names, quantities, max_size=3),
)
device_lists = st.lists(devices, max_size=4)
