"""What a user types, on a real API server: install, both ways, and every sample."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from cluster.controlplane import ControlPlane

from deploy import manifests
from deploy.manifests import BASE, DEPLOY, SAMPLES, STANDALONE, Manifest

pytestmark = pytest.mark.api

STRICT = ("--dry-run=server", "--validate=strict", "--server-side", "--force-conflicts")


def built(cluster: ControlPlane, folder: Path) -> list[Manifest]:
    """What kustomize makes of a folder."""
    return list(yaml.safe_load_all(cluster.kubectl("kustomize", str(folder))))


@pytest.mark.parametrize(
    "folder", [BASE, BASE / "crds", STANDALONE, SAMPLES], ids=lambda p: str(p.relative_to(DEPLOY))
)
def test_a_folder_applies_strictly(deployed: ControlPlane, folder: Path) -> None:
    said = deployed.kubectl("apply", *STRICT, "-k", str(folder))
    lines = said.splitlines()
    assert len(lines) == len(built(deployed, folder))
    assert all(line.endswith("(server dry run)") for line in lines)


@pytest.mark.parametrize("sample", sorted(p for p in SAMPLES.iterdir() if p.is_dir()), ids=str)
def test_a_sample_applies_by_its_folder(deployed: ControlPlane, sample: Path) -> None:
    said = deployed.kubectl("apply", *STRICT, "-f", str(sample))
    objects = [each for path in manifests.files(sample) for each in manifests.documents(path)]
    assert len(said.splitlines()) == len(objects)


def _pod(objects: list[Manifest], name: str) -> Manifest:
    (found,) = [
        each["spec"]["template"]["spec"]
        for each in objects
        if (each["kind"], each["metadata"]["name"]) == ("DaemonSet", name)
    ]
    assert isinstance(found, dict)
    return found


def _privileged(pod: Manifest) -> list[str]:
    return [
        each["name"]
        for each in pod.get("initContainers", []) + pod["containers"]
        if each["securityContext"].get("privileged")
    ]


def test_standalone_needs_no_liken_and_says_where_the_radio_is(deployed: ControlPlane) -> None:
    objects = built(deployed, STANDALONE)
    kinds = {each["kind"] for each in objects}
    assert "ResourceClaimTemplate" not in kinds
    assert "DeviceClass" not in kinds
    for name in ("bluetooth-operator", "uinputrelay"):
        pod = _pod(objects, name)
        assert "resourceClaims" not in pod
        assert pod["nodeSelector"]["bluetooth.liken.sh/radio"] == "true"
        containers = pod.get("initContainers", []) + pod["containers"]
        assert not any("claims" in each["resources"] for each in containers)


def test_standalone_privileges_bluetoothd_and_no_one_else_anew(deployed: ControlPlane) -> None:
    base, standalone = built(deployed, BASE), built(deployed, STANDALONE)
    assert _privileged(_pod(base, "bluetooth-operator")) == []
    assert _privileged(_pod(standalone, "bluetooth-operator")) == ["bluetoothd"]
    assert _privileged(_pod(base, "uinputrelay")) == ["relay"]
    assert _privileged(_pod(standalone, "uinputrelay")) == ["relay"]


def test_an_image_of_ones_own_reaches_every_container(
    deployed: ControlPlane, tmp_path: Path
) -> None:
    image = {"name": "bluetooth-operator", "newName": "registry.example/op", "newTag": "7"}
    # kustomize wants the way to another folder to be relative.
    content = {"resources": [os.path.relpath(BASE, tmp_path.resolve())], "images": [image]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(content))
    pod = _pod(built(deployed, tmp_path), "bluetooth-operator")
    images = {each["name"]: each["image"] for each in pod["initContainers"] + pod["containers"]}
    assert images["restore"] == images["operator"] == "registry.example/op:7"
    assert images["bluetoothd"].startswith("bluetooth-bluetoothd:")


def test_the_policies_compile_without_a_warning(deployed: ControlPlane) -> None:
    found = deployed.kubectl.get("validatingadmissionpolicies")["items"]
    assert len(found) == 2
    for policy in found:
        deployed.kubectl(
            "wait",
            "--for=jsonpath={.status.observedGeneration}=1",
            "--timeout=60s",
            f"validatingadmissionpolicy/{policy['metadata']['name']}",
        )
    for policy in deployed.kubectl.get("validatingadmissionpolicies")["items"]:
        warnings = policy["status"].get("typeChecking", {}).get("expressionWarnings", [])
        assert warnings == []


def test_applying_again_changes_nothing(deployed: ControlPlane) -> None:
    def versions() -> dict[str, object]:
        kinds = "crd,validatingadmissionpolicies,clusterroles,deviceclasses"
        items = deployed.kubectl.get(kinds)["items"]
        ours = [each for each in items if "bluetooth" in each["metadata"]["name"]]
        # The server counts a write of a policy's status in resourceVersion, not in generation.
        found = [each["metadata"] for each in ours]
        return {each["name"]: each.get("generation", each["resourceVersion"]) for each in found}

    before = versions()
    assert before
    deployed.kubectl("apply", "--server-side", "--validate=strict", "-k", str(BASE))
    assert versions() == before
