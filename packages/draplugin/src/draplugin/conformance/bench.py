"""The bench a driver is put on: a node, claims for what it publishes, and a kubelet."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import yaml

from ..kube import NODES, RESOURCECLAIMS, RESOURCESLICES, Api, Object
from ..kube.resources import uid_of
from ..model import ClaimRef
from ..site import Site
from ..testing import FakeKubelet, Timings
from ..testing.kubelet import Registered
from .proxy import Wire

T = TypeVar("T")
Make = Callable[[Site], AbstractAsyncContextManager[object]]
PATIENCE = 20.0
POLL = 0.05
# Not a pod: where a controller manager runs, it takes reservations of missing pods away.
CONSUMER = {"apiGroup": "draplugin.invalid", "resource": "benches", "name": "b", "uid": "b"}
_numbers = itertools.count(1)


def load(name: str) -> Make:
    """The driver's `make`, from `module:attribute`."""
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ValueError(f"--driver {name}: module:attribute is expected")
    make: Make = getattr(importlib.import_module(module), attribute)
    return make


async def eventually(question: Callable[[], Awaitable[T]], what: str) -> T:
    """The first true answer; an AssertionError saying what did not happen."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not (answer := await question()):  # noqa: ASYNC110 - the server cannot wake us
                await asyncio.sleep(POLL)
    except TimeoutError:
        raise AssertionError(f"within {PATIENCE:.0f} s, {what}") from None
    return answer


@dataclass
class Bench:
    """One node with a kubelet; the driver comes and goes by `running`."""

    admin: Api
    node: str
    namespace: str
    kubelet: FakeKubelet
    wire: Wire
    site: Site
    make: Make
    plugin: Registered | None = None

    @property
    def cdi_dir(self) -> Path:
        """Where the driver writes CDI files."""
        return self.site.cdi_dir

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """Run the driver and yield its name once the kubelet knows it and it has published."""
        async with self.make(self.site):
            slices = await self.published()
            driver = str(slices[0]["spec"]["driver"])
            self.plugin = await self.kubelet.registered(driver, PATIENCE, after=self.plugin)
            yield driver

    async def slices(self) -> list[Object]:
        """The node's slices on the server."""
        return await self.admin.list(RESOURCESLICES, field_selector=f"spec.nodeName={self.node}")

    async def published(self) -> list[Object]:
        """The node's slices, once there are as many as they say."""

        async def complete() -> list[Object]:
            slices = await self.slices()
            count = slices[0]["spec"]["pool"]["resourceSliceCount"] if slices else -1
            return slices if len(slices) == count else []

        return await eventually(complete, "the driver published no complete pool")

    async def devices(self) -> list[tuple[str, str]]:
        """Pool and name of each published device."""
        return [
            (str(s["spec"]["pool"]["name"]), str(device["name"]))
            for s in await self.published()
            for device in s["spec"].get("devices") or ()
        ]

    async def claim(
        self, driver: str, device: tuple[str, str] | None = None, request: str = "device"
    ) -> ClaimRef:
        """A claim allocated to a device (the first by default) and reserved for a pod."""
        pool, name = device or (await self.devices())[0]
        base, slash, sub = request.partition("/")
        wanted: Object = {"deviceClassName": "conformance"}
        spec: Object = {"name": base, "exactly": wanted}
        if slash:
            spec = {"name": base, "firstAvailable": [{"name": sub, **wanted}]}
        created = await self.admin.create(
            RESOURCECLAIMS,
            {
                "metadata": {"name": f"claim-{next(_numbers)}", "namespace": self.namespace},
                "spec": {"devices": {"requests": [spec]}},
            },
        )
        result = {"request": request, "driver": driver, "pool": pool, "device": name}
        created["status"] = {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [CONSUMER],
        }
        await self.admin.replace(RESOURCECLAIMS, created, subresource="status")
        return ClaimRef(self.namespace, created["metadata"]["name"], uid_of(created))

    def cdi_names(self) -> dict[str, Any]:
        """Every fully qualified CDI id that a runtime would resolve now, and its edits."""
        found: dict[str, Any] = {}
        for path in sorted(self.cdi_dir.glob("*.json")) if self.cdi_dir.is_dir() else ():
            spec = json.loads(path.read_text())
            for device in spec["devices"]:
                found[f"{spec['kind']}={device['name']}"] = device["containerEdits"]
        return found

    def reboot(self) -> None:
        """Lose what a reboot loses: /var/run."""
        shutil.rmtree(self.cdi_dir, ignore_errors=True)


@asynccontextmanager
async def bench(
    kubeconfig: Path, root: Path, make: Make, admin: Api | None = None
) -> AsyncIterator[Bench]:
    """A node of its own below `root`, on the API server of the kubeconfig.

    `admin` is a connection to it that is there already; the driver gets one of its own.
    """
    node, namespace = f"conformance-{next(_numbers)}", "default"
    async with AsyncExitStack() as stack:
        if admin is None:
            admin = await stack.enter_async_context(await Api.connect(kubeconfig, manager="bench"))
        config = _read(kubeconfig)
        wire = await stack.enter_async_context(_wire_to(config).serve())
        through = _rewired(config, wire, root)
        api = await stack.enter_async_context(await Api.connect(through, manager="driver"))

        async def wipe(_: str | None) -> None:
            for item in await admin.list(RESOURCESLICES, field_selector=f"spec.nodeName={node}"):
                await admin.delete(RESOURCESLICES, item["metadata"]["name"])

        await admin.delete(NODES, node)
        await admin.create(NODES, {"metadata": {"name": node}})
        timings = Timings(call=10.0, retry_first=0.1, retry_most=1.0, health_redial=0.2)
        kubelet = await stack.enter_async_context(FakeKubelet(root, timings=timings, wipe=wipe))
        site = Site(api, node, kubelet.plugins_dir, kubelet.registry_dir, root / "cdi")
        try:
            yield Bench(admin, node, namespace, kubelet, wire, site, make)
        finally:
            await wipe(None)
            await admin.delete(NODES, node)


def _read(kubeconfig: Path) -> Object:
    return _parsed(kubeconfig.read_text())


@lru_cache(maxsize=1)
def _parsed(text: str) -> Object:
    config: Object = yaml.safe_load(text)
    return config


def _wire_to(config: Object) -> Wire:
    url = urlsplit(str(config["clusters"][0]["cluster"]["server"]))
    return Wire(url.hostname or "127.0.0.1", url.port or 443)


def _rewired(config: Object, wire: Wire, root: Path) -> Path:
    server = f"https://127.0.0.1:{wire.port}"
    clusters = [
        {**entry, "cluster": {**entry["cluster"], "server": server}} for entry in config["clusters"]
    ]
    target = root / "kubeconfig"
    target.touch(mode=0o600)
    target.write_text(json.dumps({**config, "clusters": clusters}))
    return target
