"""Where a driver runs: the node, the kubelet's directories and the API server, in one value.

A driver that takes a Site runs unchanged in its pod and under test: `Site.from_environment()` in
the one, a temporary directory in the other.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from . import cdi
from .kube import Api

PLUGINS = Path("/var/lib/kubelet/plugins")
REGISTRY = Path("/var/lib/kubelet/plugins_registry")


@dataclass(frozen=True, slots=True)
class Site:
    """The surroundings of one driver instance."""

    api: Api
    node: str
    plugins_dir: Path = PLUGINS
    registry_dir: Path = REGISTRY
    cdi_dir: Path = cdi.DEFAULT_DIRECTORY
    pod_uid: str | None = None

    @classmethod
    @asynccontextmanager
    async def from_environment(
        cls, environment: Mapping[str, str] = os.environ
    ) -> AsyncIterator[Site]:
        """The site a DaemonSet describes: NODE_NAME (required) and POD_UID by the downward API.

        KUBECONFIG, KUBELET_PLUGINS, KUBELET_REGISTRY and CDI_DIR replace the defaults outside of a
        pod. Raises KeyError without a node's name: a wrong guess would publish for another node.
        """
        if not environment.get("NODE_NAME"):
            raise KeyError("NODE_NAME is not set; in a pod: fieldRef spec.nodeName")
        async with await Api.connect(environment.get("KUBECONFIG")) as api:
            yield cls(
                api,
                environment["NODE_NAME"],
                Path(environment.get("KUBELET_PLUGINS", PLUGINS)),
                Path(environment.get("KUBELET_REGISTRY", REGISTRY)),
                Path(environment.get("CDI_DIR", cdi.DEFAULT_DIRECTORY)),
                environment.get("POD_UID"),
            )


async def terminated() -> None:
    """Return at SIGTERM or SIGINT: what a driver's main waits for."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        await stop.wait()
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
