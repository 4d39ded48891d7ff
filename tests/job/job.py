"""The main job as steps that the demo tells and the tests check: each waits for what it promises."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import evdev
from bluetooth_operator.resources import ADAPTERS, PAIRINGREQUESTS, PERIPHERALS
from draplugin.kube import (
    PODS,
    RESOURCECLAIMS,
    RESOURCESLICES,
    SECRETS,
    Api,
    NotFound,
    Object,
    Resource,
)
from lab.controllers import DualSense, Remote
from lab.radio import FIRST_RADIO

from job.stage import CDI, NAMESPACE, Stage
from job.waiting import Unmet, until

READER_IMAGE = "localhost/pad-reader:1"
PHYS_PREFIX = "bluetooth.liken.sh"
DOMAIN = "bluetooth.liken.sh"
# A container's start, an image's first use and a kubelet's loop, each slow in an emulated machine.
POD_SECONDS = 240.0
TAP_SECONDS = 4.0


@dataclass(frozen=True)
class Kind:
    """What is peculiar to one kind of controller."""

    word: str
    button: str
    input_class: str
    nodes: int


DUALSENSE = Kind("DualSense gamepad", "BTN_SOUTH", "joystick", 3)
REMOTE = Kind("media remote", "KEY_ENTER", "key", 1)


def dashes(address: str) -> str:
    """An address as the names of objects spell it."""
    return address.replace(":", "-").lower()


def condition(obj: Object, kind: str) -> Mapping[str, Any]:
    """One condition of an object, or an empty one."""
    listed = obj.get("status", {}).get("conditions") or ()
    return next((each for each in listed if each["type"] == kind), {})


class Job:
    """One run of the main job with one controller, in one namespace."""

    def __init__(
        self, api: Api, stage: Stage, pad: DualSense | Remote, kind: Kind, namespace: str
    ) -> None:
        self.api, self.stage, self.pad, self.kind = api, stage, pad, kind
        self.namespace = namespace
        self.logs = stage.logs
        self.adapter = dashes(FIRST_RADIO)

    @property
    def address(self) -> str:
        """The controller's address, as people write it."""
        return self.pad.address.upper()

    @property
    def name(self) -> str:
        """The controller's name as an object and a device."""
        return dashes(self.address)

    # -- pairing

    async def adapter_ready(self) -> Object:
        """The radio has an Adapter that is Ready."""
        return await self.wait(
            f"Adapter {self.adapter} is Ready",
            ADAPTERS,
            self.adapter,
            lambda it: condition(it, "Ready").get("status") == "True",
        )

    async def request_pairing(self, name: str = "pad", **spec: Any) -> Object:
        """A person applies a PairingRequest."""
        body = {
            "apiVersion": PAIRINGREQUESTS.api_version,
            "kind": PAIRINGREQUESTS.kind,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"adapter": self.adapter, "windowSeconds": 300, **spec},
        }
        return await self.api.create(PAIRINGREQUESTS, body)

    async def request(
        self, expected: str, good: Callable[[Object], object], name: str = "pad"
    ) -> Object:
        """The PairingRequest, once it is as expected."""
        return await self.wait(expected, PAIRINGREQUESTS, name, good, self.namespace)

    async def heard(self) -> Object:
        """Its pairing buttons are held, and the request lists it."""
        await self.request(
            "the window is open", lambda it: it.get("status", {}).get("phase") == "Open"
        )
        await self.pad.advertise()

        def lists_it(request: Object) -> bool:
            seen = request.get("status", {}).get("seen") or ()
            return self.address in {each["address"] for each in seen}

        return await self.request(f"status.seen lists {self.address}", lists_it)

    async def approve(self) -> None:
        """A person chooses it."""
        patch = {"spec": {"device": self.address}}
        await self.api.patch(PAIRINGREQUESTS, "pad", patch, self.namespace)

    async def paired(self) -> Object:
        """The request is Paired, and the Peripheral can be claimed."""
        await self.request(
            "the request is Paired", lambda it: it["status"].get("phase") == "Paired"
        )
        return await self.wait(
            f"Peripheral {self.name} is Ready with its input classes",
            PERIPHERALS,
            self.name,
            lambda it: (
                condition(it, "Ready").get("status") == "True"
                and self.kind.input_class in (it["status"].get("inputs") or ())
            ),
        )

    async def pair(self) -> Object:
        """All of it, from the request to a Peripheral that can be claimed."""
        await self.adapter_ready()
        await self.request_pairing()
        await self.heard()
        await self.approve()
        return await self.paired()

    async def stored(self) -> Object:
        """Its bond is in a Secret, with the snapshots of all its nodes."""

        def whole(secret: Object) -> bool:
            return {"info", "nodes.json"} <= set(secret.get("data") or {})

        return await self.wait(
            "the bond is in a Secret", SECRETS, f"bluetooth-bond-{self.name}", whole, NAMESPACE
        )

    # -- what Kubernetes sees

    async def slice_device(
        self, expected: str, good: Callable[[Mapping[str, Any]], object]
    ) -> Mapping[str, Any]:
        """The controller's device in the node's ResourceSlice, once it is as expected."""

        async def look() -> Mapping[str, Any]:
            name = f"{self.stage.node}-{DOMAIN}"
            try:
                found = await self.api.get(RESOURCESLICES, name)
            except NotFound:
                return {}
            devices = found["spec"].get("devices") or ()
            return next((each for each in devices if each["name"] == self.name), {})

        return await until(expected, look, good, logs=self.logs)

    async def published(self) -> Mapping[str, Any]:
        """It is a device that a pod can claim: its class is known and no taint is on it."""
        return await self.slice_device(
            f"device {self.name} with {self.kind.input_class} and without a taint",
            lambda it: self.kind.input_class in it.get("attributes", {}) and not it.get("taints"),
        )

    async def tainted(self, key: str) -> Mapping[str, Any]:
        """Its device has a taint of this driver."""
        return await self.slice_device(
            f"device {self.name} with taint {key}",
            lambda it: f"{DOMAIN}/{key}" in {each["key"] for each in it.get("taints") or ()},
        )

    def claim(self, parameters: Mapping[str, Any] | None = None, name: str = "pad") -> Object:
        """A claim on this very controller, which lets it sleep for as long as it likes."""
        selector = f'device.attributes["{DOMAIN}"].address == "{self.address}"'
        request = {
            "name": "controller",
            "exactly": {
                "deviceClassName": "bluetooth-input",
                "selectors": [{"cel": {"expression": selector}}],
                "tolerations": [
                    {"key": f"{DOMAIN}/disconnected", "operator": "Exists", "effect": "NoExecute"}
                ],
            },
        }
        devices: dict[str, Any] = {"requests": [request]}
        if parameters is not None:
            opaque = {"driver": DOMAIN, "parameters": dict(parameters)}
            devices["config"] = [{"requests": ["controller"], "opaque": opaque}]
        return {
            "apiVersion": RESOURCECLAIMS.api_version,
            "kind": RESOURCECLAIMS.kind,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"devices": devices},
        }

    def pod(self, name: str = "player", claim: str = "pad") -> Object:
        """A pod without any privilege that prints what the claimed nodes say."""
        container = {
            "name": "player",
            "image": READER_IMAGE,
            "imagePullPolicy": "Never",
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
            "resources": {"claims": [{"name": "controller"}]},
        }
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "terminationGracePeriodSeconds": 1,
                "securityContext": {"runAsNonRoot": True, "runAsUser": 65534, "runAsGroup": 65534},
                "containers": [container],
                "resourceClaims": [{"name": "controller", "resourceClaimName": claim}],
            },
        }

    async def start_pod(
        self, parameters: Mapping[str, Any] | None = None, name: str = "player"
    ) -> Object:
        """Apply claim and pod; the pod runs and has opened its nodes."""
        await self.api.create(RESOURCECLAIMS, self.claim(parameters))
        await self.api.create(PODS, self.pod(name))
        return await self.running(name)

    async def running(self, name: str = "player") -> Object:
        """The pod runs and has opened its nodes."""
        running = await self.wait(
            f"pod {name} is Running",
            PODS,
            name,
            lambda it: it.get("status", {}).get("phase") == "Running",
            self.namespace,
            POD_SECONDS,
        )
        await self.printed(
            f"the pod reads {self.kind.nodes} nodes",
            lambda lines: sum(line.startswith("reading ") for line in lines) >= self.kind.nodes,
            name,
        )
        return running

    async def printed(
        self, expected: str, good: Callable[[list[str]], object], name: str = "player"
    ) -> list[str]:
        """What the pod has printed, once it is as expected."""

        async def look() -> list[str]:
            return self.output(name)

        return await until(expected, look, good, logs=self.logs, seconds=POD_SECONDS)

    def output(self, name: str = "player") -> list[str]:
        """What the pod's containers have printed so far, from the file the kubelet keeps of it."""
        lines = []
        folder = Path("/var/log/pods")
        for log in sorted(folder.glob(f"{self.namespace}_{name}_*/player/*.log")):
            # CRI's log format: time, stream, F or P, and the line.
            lines += [line.split(" ", 3)[3] for line in log.read_text().splitlines() if line]
        return lines

    def cdi(self) -> Mapping[str, Any]:
        """The CDI file of the one prepared claim."""
        (path,) = CDI.glob("bluetooth.liken.sh-*.json")
        found: Mapping[str, Any] = json.loads(path.read_text())
        return found

    # -- the controller in the hand

    async def press(self, name: str = "player") -> list[str]:
        """A button is tapped until the pod prints both halves of it once more than before.

        Again every few seconds, as a person would: a controller that has just come back is read
        when udev is done with its nodes, and a tap before that moves nobody.
        """
        before = self._taps(self.output(name))

        async def tap() -> list[str]:
            await self.pad.tap(self.kind.button)
            with suppress(Unmet):
                await self._more_taps(before, name, TAP_SECONDS)
            return self.output(name)

        return await until(
            f"the pod prints {self.kind.button} 1 and 0 once more",
            tap,
            lambda lines: self._taps(lines) > before,
            logs=self.logs,
            seconds=60,
        )

    async def _more_taps(self, before: int, name: str, seconds: float) -> None:
        async def look() -> int:
            return self._taps(self.output(name))

        await until("another tap", look, lambda it: it > before, logs=self.logs, seconds=seconds)

    def _taps(self, lines: list[str]) -> int:
        """How often the button was pressed and released."""
        states = [line.split()[-1] for line in lines if f" {self.kind.button} " in line]
        return sum(pair == ("1", "0") for pair in itertools.pairwise(states))

    def real_nodes(self) -> list[str]:
        """The kernel's own nodes of the controller, none of ours."""
        found = []
        for path in evdev.list_devices():
            # A node may go between being listed and being opened.
            with suppress(OSError), closing(evdev.InputDevice(path)) as device:
                ours = device.phys.startswith(PHYS_PREFIX)
                if device.uniq.upper() == self.address and not ours:
                    found.append(path)
        return sorted(found)

    async def sleep(self) -> None:
        """It switches itself off: its own nodes are gone and the slice says so."""
        await self.pad.sleep()

        async def look() -> list[str]:
            return await asyncio.to_thread(self.real_nodes)

        await until("the kernel's own nodes are gone", look, lambda it: not it, logs=self.logs)
        await self.tainted("disconnected")

    async def wake(self) -> None:
        """It comes back by itself: its nodes are there again and the taint is gone."""
        await self.pad.wake()
        await self.pad.wait_usable()

        async def look() -> list[str]:
            return await asyncio.to_thread(self.real_nodes)

        await until("the kernel's own nodes are back", look, bool, logs=self.logs)
        await self.published()

    # -- the end

    async def end_pod(self, name: str = "player") -> None:
        """Pod and claim go; nothing stays prepared."""
        await self.api.delete(PODS, name, self.namespace)
        await self.gone("the pod is gone", PODS, name, self.namespace)
        await self.api.delete(RESOURCECLAIMS, "pad", self.namespace)
        await self.gone("the claim is gone", RESOURCECLAIMS, "pad", self.namespace)

        async def files() -> list[str]:
            return [path.name for path in CDI.glob("bluetooth.liken.sh-*")]

        await until("no CDI file is left", files, lambda it: not it, logs=self.logs)

    async def unpair(self) -> None:
        """Deleting the Peripheral unpairs: bond, Secret and device are gone."""
        await self.api.delete(PERIPHERALS, self.name)
        await self.gone("the Peripheral is gone", PERIPHERALS, self.name)
        await self.gone("the Secret is gone", SECRETS, f"bluetooth-bond-{self.name}", NAMESPACE)
        await self.slice_device("the device is gone from the slice", lambda it: not it)

    # -- waiting

    async def wait(
        self,
        expected: str,
        resource: Resource,
        name: str,
        good: Callable[[Object], object],
        namespace: str | None = None,
        seconds: float = 120.0,
    ) -> Object:
        """An object, once it is there and as expected."""

        async def look() -> Object:
            try:
                return await self.api.get(resource, name, namespace)
            except NotFound:
                return {}

        return await until(
            expected, look, lambda it: it and good(it), logs=self.logs, seconds=seconds
        )

    async def gone(
        self, expected: str, resource: Resource, name: str, namespace: str | None = None
    ) -> None:
        """An object, once it is no longer there."""

        async def look() -> Object | None:
            try:
                return await self.api.get(resource, name, namespace)
            except NotFound:
                return None

        await until(expected, look, lambda it: it is None, logs=self.logs)
