"""deploy/ hangs together, and says what the code says. Needs no cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import bluetooth_operator
import pytest
import uinputrelay
import yaml
from bluetooth_operator import names, parameters
from inputid import CLASSES

from deploy import manifests
from deploy.manifests import BASE, DEPLOY, SAMPLES, STANDALONE, Manifest

# ABS_* of headers newer than those the installed evdev was built with: Linux 6.19 added this one.
NEWER_AXES = {"ABS_SND_PROFILE"}
CRDS = BASE / "crds"


@pytest.mark.parametrize("path", manifests.files(DEPLOY), ids=lambda p: str(p.relative_to(DEPLOY)))
def test_every_file_is_yaml_of_objects(path: Path) -> None:
    found = manifests.documents(path)
    assert found
    if path.parent != STANDALONE or path.name == "kustomization.yaml":
        assert all("apiVersion" in each and "kind" in each for each in found)


@pytest.mark.parametrize("folder", [BASE, SAMPLES, STANDALONE], ids=lambda p: p.name)
def test_a_kustomization_lists_every_file_of_its_folder(folder: Path) -> None:
    reached = manifests.listed(folder / "kustomization.yaml")
    assert set(manifests.files(folder)) <= reached
    assert all(path.is_file() for path in reached)


def test_every_sample_says_how_it_is_used() -> None:
    folders = [path for path in SAMPLES.iterdir() if path.is_dir()]
    assert folders
    for folder in folders:
        assert f"deploy/samples/{folder.name}\n" in (folder / "README.md").read_text()
        assert list(folder.glob("*.yaml"))


def _properties(schema: Manifest, path: str) -> Iterator[tuple[str, Manifest]]:
    for name, child in schema.get("properties", {}).items():
        yield f"{path}.{name}", child
        yield from _properties(child, f"{path}.{name}")
    if "items" in schema:
        yield from _properties(schema["items"], f"{path}[]")


def _schemas() -> Iterator[tuple[str, Manifest]]:
    for crd in manifests.every(CRDS):
        (version,) = crd["spec"]["versions"]
        yield crd["spec"]["names"]["kind"], version["schema"]["openAPIV3Schema"]


@pytest.mark.parametrize(("kind", "schema"), list(_schemas()), ids=[kind for kind, _ in _schemas()])
def test_every_field_explains_itself(kind: str, schema: Manifest) -> None:
    silent = [
        path
        for path, child in _properties(schema, kind)
        if not child.get("description") and not path.endswith(".metadata")
    ]
    assert silent == []
    assert schema["description"]


@pytest.mark.parametrize(("kind", "schema"), list(_schemas()), ids=[kind for kind, _ in _schemas()])
def test_every_text_and_every_list_has_a_bound(kind: str, schema: Manifest) -> None:
    bounds = {"string": {"maxLength", "enum", "format", "pattern"}, "array": {"maxItems"}}
    top = (f"{kind}.apiVersion", f"{kind}.kind")
    unbounded = [
        path
        for path, child in _properties(schema, kind)
        if path not in top and not bounds.get(child["type"], {"type"}) & set(child)
    ]
    assert unbounded == []


@pytest.mark.parametrize(("kind", "schema"), list(_schemas()), ids=[kind for kind, _ in _schemas()])
def test_every_status_holds_conditions_by_type_and_the_generation_it_answers(
    kind: str, schema: Manifest
) -> None:
    status = schema["properties"]["status"]["properties"]
    conditions = status["conditions"]
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert "observedGeneration" in status
    assert "observedGeneration" in conditions["items"]["properties"]


def test_the_kinds_share_no_short_name_and_are_found_together() -> None:
    found = [crd["spec"]["names"] for crd in manifests.every(CRDS)]
    short = [name for each in found for name in each["shortNames"]]
    assert len(short) == len(set(short)) == 3
    assert all(each["categories"] == ["bluetooth"] for each in found)


def test_conditions_have_one_schema() -> None:
    one, *others = [s["properties"]["status"]["properties"]["conditions"] for _, s in _schemas()]
    assert all(each["items"] == one["items"] for each in others)


def _policy() -> Manifest:
    return manifests.find(BASE, "ValidatingAdmissionPolicy", "parameters.bluetooth.liken.sh")


def test_the_policy_knows_the_input_classes_that_inputid_knows() -> None:
    assert manifests.variable(_policy(), "classes") == sorted(CLASSES)


def test_the_policy_knows_the_axes_that_the_operator_knows() -> None:
    known = set(parameters.AXES)
    assert set(manifests.variable(_policy(), "axisNames")) - known <= NEWER_AXES
    assert known <= set(manifests.variable(_policy(), "axisNames"))


def test_the_crd_and_the_samples_list_the_classes_that_inputid_knows() -> None:
    said = ", ".join(sorted(CLASSES))
    schema = dict(_schemas())["Peripheral"]
    inputs = schema["properties"]["status"]["properties"]["inputs"]
    readme = " ".join((SAMPLES / "gamepad" / "README.md").read_text().split())
    assert said in inputs["description"]
    assert said in readme


def test_the_policy_speaks_of_the_driver_version_and_kind_that_the_operator_reads() -> None:
    text = (BASE / "policy.yaml").read_text()
    assert f"c.opaque.driver == '{names.DRIVER}'" in text
    assert f"s.spec.driver == '{names.DRIVER}'" in text
    assert f"'{names.API_VERSION}'" in text
    assert f"p.kind == '{parameters.KIND}'" in text


def test_the_operator_accepts_what_every_sample_asks_for() -> None:
    blocks = [
        config["opaque"]["parameters"]
        for each in manifests.every(SAMPLES)
        for config in _configs(each)
    ]
    assert blocks
    for block in blocks:
        parameters.combine([block])


def _configs(obj: Manifest) -> list[Manifest]:
    spec = obj.get("spec", {})
    if obj["kind"] == "ResourceClaimTemplate":
        spec = spec["spec"]
    found: list[Manifest] = spec.get("devices", spec).get("config", [])
    return found


def _pod(name: str) -> Manifest:
    spec: Manifest = manifests.find(BASE, "DaemonSet", name)["spec"]["template"]["spec"]
    return spec


def _containers(pod: Manifest) -> dict[str, Manifest]:
    return {each["name"]: each for each in pod.get("initContainers", []) + pod["containers"]}


def _token_mounts(container: Manifest) -> list[str]:
    return [each["name"] for each in container["volumeMounts"] if each["name"] == "token"]


def test_only_those_who_call_the_api_server_hold_a_token() -> None:
    operator, relay = _pod("bluetooth-operator"), _pod("uinputrelay")
    holders = {name for name, each in _containers(operator).items() if _token_mounts(each)}
    assert holders == {"restore", "operator"}
    assert not any(_token_mounts(each) for each in _containers(relay).values())
    assert operator["automountServiceAccountToken"] is False
    assert relay["automountServiceAccountToken"] is False


@pytest.mark.parametrize(
    ("daemonset", "container", "privileged", "capabilities"),
    [
        ("bluetooth-operator", "restore", False, None),
        (
            "bluetooth-operator",
            "bluetoothd",
            False,
            ["NET_ADMIN", "NET_BIND_SERVICE", "NET_RAW", "SETUID", "SETGID"],
        ),
        ("bluetooth-operator", "operator", False, None),
        ("uinputrelay", "relay", True, None),
    ],
)
def test_each_container_has_the_privileges_it_needs(
    daemonset: str, container: str, privileged: bool, capabilities: list[str] | None
) -> None:
    context = _containers(_pod(daemonset))[container]["securityContext"]
    assert context["privileged"] is privileged
    assert context["readOnlyRootFilesystem"] is True
    if not privileged:
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"]["drop"] == ["ALL"]
        assert context["capabilities"].get("add") == capabilities
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}


def test_link_keys_never_reach_a_disk_of_the_node() -> None:
    (bonds,) = (each for each in _pod("bluetooth-operator")["volumes"] if each["name"] == "bonds")
    assert bonds["emptyDir"]["medium"] == "Memory"


def test_the_pods_start_the_programs_that_are_there() -> None:
    operator, relay = _containers(_pod("bluetooth-operator")), _containers(_pod("uinputrelay"))
    assert operator["restore"]["command"] == ["bluetooth-operator", "restore"]
    assert operator["operator"]["command"] == ["bluetooth-operator", "run"]
    socket = "/run/bluetooth.liken.sh/relay.sock"
    prefix = ["--phys-prefix", "bluetooth.liken.sh"]
    assert relay["relay"]["command"] == ["uinputrelay", "serve", "--socket", socket, *prefix]


def test_the_bus_is_where_claims_on_the_media_bus_look_for_it() -> None:
    pod = _pod("bluetooth-operator")
    (bus,) = (each for each in pod["volumes"] if each["name"] == "bus")
    assert bus["hostPath"]["path"] == names.BUS_DIRECTORY
    for name in ("bluetoothd", "operator"):
        container = _containers(pod)[name]
        mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
        environment = {each["name"]: each.get("value") for each in container["env"]}
        assert mounts["bus"] == names.BUS_DIRECTORY
        assert environment["DBUS_SYSTEM_BUS_ADDRESS"] == f"unix:path={names.BUS_SOCKET}"


def test_the_relay_outlives_the_operators_pod() -> None:
    relay = manifests.find(BASE, "DaemonSet", "uinputrelay")
    affinity = _pod("uinputrelay")["affinity"]["podAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    operator = manifests.find(BASE, "DaemonSet", "bluetooth-operator")
    assert relay["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert term["topologyKey"] == "kubernetes.io/hostname"
    labels = operator["spec"]["template"]["metadata"]["labels"]
    assert term["labelSelector"]["matchLabels"].items() <= labels.items()


def test_a_radio_is_never_wanted_by_two_pods_of_one_node() -> None:
    strategy = manifests.find(BASE, "DaemonSet", "bluetooth-operator")["spec"]["updateStrategy"]
    assert strategy["rollingUpdate"]["maxSurge"] == 0


def test_images_carry_the_versions_of_the_packages() -> None:
    (content,) = manifests.documents(BASE / "kustomization.yaml")
    tags = {each["name"]: each["newTag"] for each in content["images"]}
    assert tags["bluetooth-operator"] == bluetooth_operator.__version__
    assert tags["uinputrelay"] == uinputrelay.__version__


def test_rights_name_what_the_code_names() -> None:
    rules = manifests.find(BASE, "Role", "bluetooth-operator")["rules"]
    leases = [each for each in rules if each["resources"] == ["leases"] and "resourceNames" in each]
    assert [each["resourceNames"] for each in leases] == [[names.LEASE_UNHELD]]
    rules = manifests.find(BASE, "ClusterRole", "bluetooth-operator")["rules"]
    drivers = [each for each in rules if each["resources"] == ["resourceclaims/driver"]]
    assert [each["resourceNames"] for each in drivers] == [[names.DRIVER]]


def test_the_slice_policy_restricts_the_account_that_the_pod_runs_as() -> None:
    operator = manifests.find(BASE, "DaemonSet", "bluetooth-operator")
    namespace = operator["metadata"]["namespace"]
    account = operator["spec"]["template"]["spec"]["serviceAccountName"]
    policy = manifests.find(BASE, "ValidatingAdmissionPolicy", "own-slices.bluetooth.liken.sh")
    (condition,) = policy["spec"]["matchConditions"]
    assert f"'system:serviceaccount:{namespace}:{account}'" in condition["expression"]


def test_every_address_in_the_samples_is_written_as_the_api_wants_it() -> None:
    text = "\n".join(path.read_text() for path in manifests.files(SAMPLES))
    assert re.findall(r'address == "((?:[0-9A-F]{2}:){5}[0-9A-F]{2})"', text)
    assert not re.findall(r'address == "[^"]*[a-f-][^"]*"', text)


def test_the_readmes_name_only_files_that_are_there() -> None:
    for readme in DEPLOY.rglob("README.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", readme.read_text()):
            assert (readme.parent / link).exists(), f"{readme}: {link}"


def test_the_standalone_overlay_deletes_what_the_base_claims() -> None:
    deleted = [
        (each["kind"], each["metadata"]["name"])
        for path in manifests.files(STANDALONE)
        for each in yaml.safe_load_all(path.read_text())
        if isinstance(each, dict) and each.get("$patch") == "delete"
    ]
    for kind, name in deleted:
        manifests.find(BASE, kind, name)
    assert sorted(kind for kind, _ in deleted) == ["DeviceClass", "ResourceClaimTemplate"]
