"""The command, through its arguments: what it prints and how it ends."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from draplugin.cli import main

from .test_explain import CLASS, TAINTED, claim, device, holding, part, selector


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "objects.yaml"


def write(path: Path, *objects: dict[str, Any]) -> str:
    path.write_text("\n---\n".join(json.dumps(obj) for obj in objects))
    return str(path)


def test_explain_prints_devices_reasons_configuration_and_what_to_change(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = (CLASS, claim(), part("n1", TAINTED, device("a")), holding("other", "n1", "a"))
    assert main(["explain", "-f", write(file, *objects)]) == 1
    assert capsys.readouterr().out == (
        "claim play/c: cannot be allocated: n1 does not have the devices for request r\n"
        "  asks for r: 1 device of class gpu\n"
        "\n"
        "REQUEST  NODE  DEVICE                RESULT   REASON\n"
        "r        n1    gpu.example.com/n1/t  tainted  k=v:NoSchedule\n"
        "r        n1    gpu.example.com/n1/a  taken    by claim play/other\n"
        "\n"
        "Configuration for the driver, later blocks override:\n"
        '  1. FromClass gpu.example.com (all requests): {"mode":"shared"}\n'
        "\n"
        "To change: add a toleration for k=v:NoSchedule to request r, or wait until it goes\n"
    )


def test_explain_answers_in_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["explain", "--json", "-f", write(file, CLASS, claim(), part("n1", device("a")))]) == 0
    )
    said = json.loads(capsys.readouterr().out)
    assert (said["claim"], said["verdict"], said["node"]) == ("play/c", "possible", "n1")
    asked = {"request": "r", "device_class": "gpu", "mode": "ExactCount", "count": 1}
    assert said["asked"] == [asked]
    assert said["rows"][0]["status"] == "would get it"


def test_explain_says_what_is_asked_for(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = claim()
    ways = [
        {"name": "all", "deviceClassName": "gpu", "allocationMode": "All"},
        {"name": "few", "deviceClassName": "small", "count": 2},
    ]
    asked["spec"]["devices"]["requests"] = [{"name": "r", "firstAvailable": ways}]
    main(["explain", "-f", write(file, CLASS, asked, part("n1", device("a")))])
    assert capsys.readouterr().out.splitlines()[1:3] == [
        "  asks for r/all: all devices of class gpu",
        "  asks for r/few: 2 devices of class small",
    ]


def test_several_claims_are_told_one_after_the_other(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = write(file, CLASS, claim("a"), claim("b"), part("n1", device("x")))
    main(["explain", "-f", name])
    assert "\n\nclaim play/b: " in capsys.readouterr().out
    main(["explain", "--json", "-f", name])
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["claim"] for each in said] == ["play/a", "play/b"]


def test_a_file_that_is_no_kubeconfig_is_told(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = write(file, claim())
    assert main(["explain", "-f", name, "--kubeconfig", "/nowhere"]) == 2
    assert "there is no file /nowhere" in capsys.readouterr().err
    assert main(["explain", "-f", name, "--kubeconfig", name]) == 2
    assert "which cluster?" in capsys.readouterr().err


def test_explain_reads_pods_and_templates(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t", "namespace": "play"},
        "spec": {"spec": claim()["spec"]},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "play"},
        "spec": {"resourceClaims": [{"name": "x", "resourceClaimTemplateName": "t"}]},
    }
    slices = part("n1", device("a"))
    assert main(["explain", "-f", write(file, CLASS, template, pod, slices)]) == 0
    assert "claim play/p-x: can be allocated on n1" in capsys.readouterr().out


def test_lint_tells_refused_from_regretted(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unguarded = claim("u", **selector('device.attributes["d"].x == 1'))
    name = write(file, CLASS, claim("bad", count=-1), unguarded)
    where = "spec.devices.requests[0].exactly.selectors[0].cel.expression"
    read_of = 'device.attributes["d"].x is read without has()'
    text = f"{read_of}: a device that lacks it aborts the allocation"
    assert main(["lint", name]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{name}: DeviceClass gpu: accepted",
        f"{name}: ResourceClaim bad: refused",
        "  error spec.devices.requests[0].exactly.count: must be greater than zero",
        f"{name}: ResourceClaim u: accepted",
        f"  warning {where}: {text}",
    ]


def test_lint_fails_on_regrets_when_asked_to(file: Path) -> None:
    unguarded = claim("u", **selector('device.attributes["d"].x == 1'))
    assert main(["lint", write(file, unguarded)]) == 0
    assert main(["lint", "--strict", write(file, unguarded)]) == 1


def test_lint_answers_in_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "--json", write(file, claim("bad", count=-1))])
    said = json.loads(capsys.readouterr().out)
    assert said["accepted"] is False
    assert said["causes"] == [
        {
            "field": "spec.devices.requests[0].exactly.count",
            "reason": "FieldValueInvalid",
            "message": "must be greater than zero",
        }
    ]


DEVICE = {"driver": "d", "attributes": {"x": {"int": 1}}}


def test_cel_answers_each_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expressions = ('device.attributes["d"].x == 1', 'device.attributes["d"].y == 1', "device.foo")
    lines = [json.dumps({"expression": e, "device": DEVICE}) for e in expressions]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    assert main(["cel"]) == 1
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"compile_error": None, "match": True, "eval_error": None},
        {"compile_error": None, "match": None, "eval_error": "no such key: y"},
        {"compile_error": "1:7: undefined field 'foo'", "match": None, "eval_error": None},
    ]


def test_cel_takes_an_expression_and_a_device(tmp_path: Path) -> None:
    name = tmp_path / "device.json"
    name.write_text(json.dumps(DEVICE))
    assert main(["cel", "-e", 'device.driver == "d"', "-d", str(name)]) == 0
    assert main(["cel", "-e", 'device.driver == "e"', "-d", str(name)]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cel", "-e", "true", "--server", "1.20"], "not known here"),
        (["cel", "-e", "true", "-d", "/nowhere"], "No such file"),
        (["lint", "/nowhere"], "No such file"),
        (["explain"], "give either -f FILE"),
        (["explain", "claim"], "give either -f FILE"),
    ],
)
def test_a_wrong_question_ends_with_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_nothing_from_a_cluster_moves_the_cursor(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = part("n1", device("a", taints=[{"key": "\x1b[2J", "effect": "NoSchedule"}]))
    main(["explain", "-f", write(file, CLASS, claim(), evil)])
    assert "\x1b" not in capsys.readouterr().out
