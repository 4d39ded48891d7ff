"""The example as its README deploys it: the server takes the manifests, and their rights suffice."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from draplugin.conformance.bench import Bench, Make, bench, eventually
from draplugin.kube import EVENTS, RESOURCESLICES, Api
from draplugin.testing import PrepareFailed

if TYPE_CHECKING:
    from cluster.kubectl import Kubectl

pytestmark = pytest.mark.api
EXAMPLE = Path(__file__).parents[2] / "examples" / "fortune-driver"
SPACE = "fortune"
# What makes nothing run.
STAYS = {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "DeviceClass"}


def documents() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((EXAMPLE / "deploy.yaml").read_text()))


def make() -> Make:
    spec = importlib.util.spec_from_file_location("fortune", EXAMPLE / "fortune_driver.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Make = module.make
    return found


@pytest.fixture
def deployed(kubectl: Kubectl) -> Iterator[Kubectl]:
    """Deploy what makes nothing run; dry-run the rest."""
    undo = []
    for document in documents():
        dry = [] if document["kind"] in STAYS else ["--dry-run=server"]
        kubectl("apply", "--validate=strict", *dry, "-f", "-", stdin=json.dumps(document))
        if not dry:
            undo.append((document["kind"], document["metadata"]["name"]))
    yield kubectl
    for kind, name in reversed(undo):
        namespace = [] if kind != "ServiceAccount" else ["-n", SPACE]
        kubectl("delete", kind, name, "--wait=false", *namespace)


@pytest.fixture
async def on_bench(
    deployed: Kubectl, api: Path, client: Api, tmp_path: Path, kubelet_root: Path
) -> AsyncIterator[Bench]:
    """The example with its service account's token and nothing else."""
    token = deployed("create", "token", "fortune-driver", "-n", SPACE).strip()
    kubeconfig = with_token(api, token, tmp_path / "account")
    async with bench(kubeconfig, kubelet_root, make(), client) as ready:
        yield ready


def with_token(kubeconfig: Path, token: str, target: Path) -> Path:
    config = json.loads(kubeconfig.read_text())
    config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
    target.write_text(json.dumps(config))
    return target


async def test_the_account_of_the_manifests_may_do_all_that_the_driver_does(
    on_bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    admin = on_bench.admin
    async with on_bench.running() as driver:
        (slice_,) = await on_bench.published()
        assert [owner["name"] for owner in slice_["metadata"]["ownerReferences"]] == [on_bench.node]
        first, second = [await on_bench.claim(driver) for _ in range(2)]
        await on_bench.kubelet.prepare(driver, first)
        with pytest.raises(PrepareFailed, match="still prepared for claim"):
            await on_bench.kubelet.prepare(driver, second)

        async def told() -> bool:
            events = await admin.list(EVENTS, "default")
            return second.uid in [event["regarding"].get("uid") for event in events]

        await eventually(told, "no event about the refused claim")
        await on_bench.kubelet.unprepare(driver, first)
        await admin.delete(RESOURCESLICES, slice_["metadata"]["name"])
        await eventually(on_bench.slices, "the deleted slice did not come back")
    assert "orbidden" not in caplog.text
    assert "without an owner" not in caplog.text
