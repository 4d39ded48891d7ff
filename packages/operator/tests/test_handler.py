"""What the kubelet is answered for a claim on a controller and on a media bus, and every refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bluetooth_operator.handler import ControllerHandler
from draplugin import (
    Allocation,
    Claim,
    DeviceNode,
    Mount,
    OpaqueConfig,
    Prepared,
    Refused,
    Toleration,
)

PAD, BUS = "a0-ab-51-33-b7-12", "04-4a-69-66-92-27-media"


def claim(device: str = PAD, *blocks: Any, tolerations: tuple[Toleration, ...] = ()) -> Claim:
    allocation = Allocation(
        "controller", "bluetooth.liken.sh", "node-1", device, tolerations=tolerations
    )
    configs = tuple(OpaqueConfig("FromClaim", "bluetooth.liken.sh", block) for block in blocks)
    return Claim("games", "pad", "c1", (allocation,), configs)


async def prepared(world: Any, asked: Claim) -> Prepared:
    (answer,) = await ControllerHandler(lambda: world).prepare(asked)
    return answer


async def test_a_controller_gives_its_virtual_nodes_and_keeps_the_demand(build: Any) -> None:
    nodes = [build.mirror(number=7), build.mirror(build.remote_node, 8)]
    world = build.world(device=build.pad(), relay=build.observed(*nodes))
    answer = await prepared(world, claim(PAD, {"inputs": ["joystick"]}))
    assert answer.device_nodes == tuple(
        DeviceNode(path, path, "c", 13, minor, "rw", 0o666)
        for path, minor in (("/dev/input/event7", 71), ("/dev/input/event8", 72))
    )
    assert (answer.mounts, answer.env) == ((), {})
    assert answer.annotations["address"] == "A0:AB:51:33:B7:12"
    assert json.loads(answer.annotations["demand"]) == {"inputs": ["joystick"]}
    assert json.loads(answer.annotations["nodes"]) == [
        [13, 71, build.pad_node.fingerprint],
        [13, 72, build.remote_node.fingerprint],
    ]


async def test_the_same_claim_asked_again_is_given_what_is_there_now(build: Any) -> None:
    world = build.world(device=build.pad())
    assert await prepared(world, claim()) == await prepared(world, claim())


async def test_a_media_bus_gives_its_socket_and_no_node(build: Any) -> None:
    answer = await prepared(build.world(), claim(BUS, {"inputs": ["nonsense"]}))
    where = "/var/run/bluetooth.liken.sh/dbus"
    assert answer.mounts == (Mount(where, where),)
    assert answer.env == {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={where}/system_bus_socket"}
    assert answer.device_nodes == ()


REFUSALS: dict[str, tuple[dict[str, Any], Claim, str]] = {
    "no node yet": (
        {"relay": "nothing"}, claim(),
        "has no input node on node node-1 yet: switch it on once",
    ),
    "no relay": ({"relay": None}, claim(), "the relay on this node does not answer"),
    "malformed parameters": ({}, claim(PAD, {"inputs": []}), "must name at least one class"),
    "a device of nobody": ({}, claim("pad0"), "'pad0' is no device of this driver"),
    "a radio that is not here": ({}, claim("11-22-33-44-55-66-media"), "no radio of node node-1"),
    "asleep, where the server drops taints": (
        {"taints_kept": False, "connected": False}, claim(),
        "tainted bluetooth.liken.sh/disconnected:NoExecute, which this claim does not tolerate",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("facts", "asked", "message"), REFUSALS.values(), ids=REFUSALS)
async def test_refusals(build: Any, facts: dict[str, Any], asked: Claim, message: str) -> None:
    facts = dict(facts)
    if facts.get("relay") == "nothing":
        facts["relay"] = build.observed()
    world = build.world(device=build.pad(connected=facts.pop("connected", True)), **facts)
    with pytest.raises(Refused) as refusal:
        await prepared(world, asked)
    assert message in str(refusal.value)


async def test_a_claim_that_tolerates_the_dropped_taint_is_prepared(build: Any) -> None:
    tolerant = claim(tolerations=(Toleration("bluetooth.liken.sh/disconnected", "Exists"),))
    world = build.world(device=build.pad(connected=False), taints_kept=False)
    assert (await prepared(world, tolerant)).device == PAD
