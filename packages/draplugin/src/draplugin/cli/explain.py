"""`draplugin explain`: why a claim is allocated, or is not."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draplugin.api import ObjectMeta, ResourceClaim
from draplugin.explain import (
    Block,
    Explanation,
    Matcher,
    Pod,
    Status,
    World,
    explain,
    explain_pod,
    world_of,
)

from .lint import objects_of
from .output import UsageError, clean, paint, table

if TYPE_CHECKING:
    from draplugin.kube import Api

_HELP = """Explain what the scheduler does with a claim.

  draplugin explain -f claim.yaml                 a claim (or template, or pod) in a file
  draplugin explain claim NAME [-n NAMESPACE]     a claim in the cluster
  draplugin explain pod NAME [-n NAMESPACE]       the claims of a pod in the cluster

Files may also hold classes, slices, nodes and other claims. Where they hold no ResourceSlice, and
for claims and pods by name, the rest is read from the cluster of --kubeconfig.
"""
_COLOURS = {
    Status.ALLOCATED: "good",
    Status.CHOSEN: "good",
    Status.FREE: "good",
    Status.ERROR: "bad",
    Status.TAINTED: "middling",
    Status.TAKEN: "middling",
    Status.CAPACITY: "middling",
    Status.POOL: "middling",
    Status.NO_MATCH: "faint",
    Status.ELSEWHERE: "faint",
}
_VERDICTS = {"allocated": "good", "possible": "good", "waiting": "middling", "error": "bad"}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "explain",
        help="why a claim is allocated, or is not",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", nargs="?", choices=("claim", "pod"))
    parser.add_argument("name", nargs="?")
    parser.add_argument("-f", "--file", action="append", default=[], metavar="FILE")
    parser.add_argument("-n", "--namespace", default="default")
    parser.add_argument("--kubeconfig", metavar="FILE", help="default: as kubectl finds it")
    parser.add_argument("--json", action="store_true", help="a JSON object for each claim")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Explain every claim asked for; 1 unless all of them are or can be allocated."""
    if bool(options.what) == bool(options.file) or bool(options.what) != bool(options.name):
        raise UsageError("give either -f FILE, or `claim NAME`, or `pod NAME`")
    try:
        world, asked = _asked(options)
    except ValueError as error:
        raise UsageError(str(error)) from None
    matcher = Matcher()
    told = [each for claims, pod in asked for each in _explained(world, claims, pod, matcher)]
    if not told:
        raise UsageError("there is no claim to explain")
    if options.json:
        print("\n".join(json.dumps(explanation.as_json()) for explanation in told))
    else:
        print("\n\n".join(map(render, told)))
    return 0 if all(t.verdict in ("allocated", "possible") for t in told) else 1


# Claims that belong together, and the pod that they are for.
Asked = list[tuple[list[ResourceClaim], Pod | None]]


def _explained(
    world: World, claims: list[ResourceClaim], pod: Pod | None, matcher: Matcher
) -> list[Explanation]:
    if pod is not None and len(claims) > 1:
        return explain_pod(world, pod, claims, matcher)
    return [explain(world, claim, pod, matcher) for claim in claims]


def _asked(options: argparse.Namespace) -> tuple[World, Asked]:
    objects = [obj for name in options.file for obj in objects_of(name)]
    local = world_of(objects)
    live = bool(options.what) or not local.slices
    world = world_of([*_cluster(options.kubeconfig), *objects]) if live else local
    if not options.what:
        return world, _in_files(local, world)
    if options.what == "claim":
        claim = world.claim(options.namespace, options.name)
        if claim is None:
            named = [c.metadata.namespace for c in world.claims if c.metadata.name == options.name]
            raise UsageError(_missing("claim", options, named))
        return world, [([claim], _user(world, claim))]
    pods = [p for p in world.pods if (p.namespace, p.name) == (options.namespace, options.name)]
    if not pods:
        named = [pod.namespace for pod in world.pods if pod.name == options.name]
        raise UsageError(_missing("pod", options, named))
    return world, [(list(_of_pod(world, pods[0])), pods[0])]


def _missing(kind: str, options: argparse.Namespace, namespaces: list[str]) -> str:
    elsewhere = f"; there is one with -n {', -n '.join(sorted(namespaces))}" if namespaces else ""
    return f"there is no {kind} {options.namespace}/{options.name}{elsewhere}"


def _in_files(local: World, world: World) -> Asked:
    if local.pods:
        return [(list(_of_pod(world, pod)), pod) for pod in local.pods]
    waiting = [c for c in local.claims if c.status.allocation is None]
    chosen = list(waiting or local.claims)
    chosen = chosen or [_made(t.metadata, t.spec.spec) for t in local.templates]
    return [([claim], None) for claim in chosen]


def _made(metadata: ObjectMeta, spec: Any) -> ResourceClaim:
    return ResourceClaim(metadata=replace(metadata, uid=""), spec=spec)


def _of_pod(world: World, pod: Pod) -> Iterator[ResourceClaim]:
    for entry in pod.claims:
        claim = world.claim(pod.namespace, entry.claim) if entry.claim else None
        template = world.template(pod.namespace, entry.template) if entry.template else None
        if claim is not None:
            yield claim
        elif template is not None:
            name = f"{pod.name}-{entry.name}"
            yield _made(ObjectMeta(name=name, namespace=pod.namespace), template.spec.spec)
        else:
            missing = entry.claim or entry.template
            raise UsageError(f"pod {pod.name} uses {missing}, which is not there")


def _user(world: World, claim: ResourceClaim) -> Pod | None:
    """The pod that waits for a claim, since where it may run decides."""
    namespace, name = claim.metadata.namespace or "default", claim.metadata.name
    users = [
        p for p in world.pods if p.namespace == namespace and any(c.claim == name for c in p.claims)
    ]
    return users[0] if len(users) == 1 else None


def _cluster(kubeconfig: str | None) -> list[dict[str, Any]]:
    from kubernetes.aio.config.config_exception import ConfigException

    from draplugin.kube import ApiError

    if kubeconfig is not None and not Path(kubeconfig).is_file():
        raise UsageError(f"there is no file {kubeconfig}")
    try:
        return asyncio.run(_read_cluster(kubeconfig))
    except ConfigException as error:
        raise UsageError(f"which cluster? {error}") from None
    except ApiError as error:
        raise UsageError(f"the cluster does not answer: {error}") from None


async def _read_cluster(kubeconfig: str | None) -> list[dict[str, Any]]:
    from draplugin.kube import (
        DEVICECLASSES,
        NODES,
        PODS,
        RESOURCECLAIMS,
        RESOURCECLAIMTEMPLATES,
        RESOURCESLICES,
        Api,
    )

    kinds = (DEVICECLASSES, RESOURCESLICES, RESOURCECLAIMS, RESOURCECLAIMTEMPLATES, NODES, PODS)
    objects: list[dict[str, Any]] = []
    async with await Api.connect(kubeconfig) as api:
        for resource in kinds:
            for item in await api.list(resource):
                # Items of a list do not say what they are.
                named = {"apiVersion": resource.api_version, "kind": resource.kind}
                objects.append({**named, **item})
        objects += await _taint_rules(api)
    return objects


async def _taint_rules(api: Api) -> list[dict[str, Any]]:
    """DeviceTaintRules, where the server has them and lets them be read."""
    from draplugin.kube import Forbidden, NotFound, Resource
    from draplugin.kube.resources import DRA_GROUP

    kind = "DeviceTaintRule"
    resource = Resource(DRA_GROUP, "v1", "devicetaintrules", kind, namespaced=False)
    try:
        return [{"kind": kind, **item} for item in await api.list(resource)]
    except NotFound:
        return []
    except Forbidden as error:
        print(f"draplugin: explained without DeviceTaintRules: {error}", file=sys.stderr)
        return []


def render(told: Explanation) -> str:
    """The explanation for a person."""
    lines = [f"claim {clean(told.claim)}: {paint(clean(told.summary), _VERDICTS[told.verdict])}"]
    lines += [f"  asks for {clean(str(asked))}" for asked in told.asked]
    if told.rows:
        head = ("REQUEST", "NODE", "DEVICE", "RESULT", "REASON")
        rows = [
            [
                (clean(row.request), ""),
                (clean(row.node), ""),
                (clean(row.device), ""),
                (str(row.status), _COLOURS[row.status]),
                (clean(row.reason), ""),
            ]
            for row in told.rows
        ]
        lines += ["", table(head, rows)]
    if told.blocks:
        lines += ["", paint("Configuration for the driver, later blocks override:", "head")]
        lines += [f"  {number}. {_block(block)}" for number, block in enumerate(told.blocks, 1)]
    notes = (*told.notes, *map(str, told.evictions))
    lines += ["", *(f"Note: {clean(note)}" for note in notes)] if notes else []
    lines += ["", f"To change: {clean(told.change)}"]
    return "\n".join(lines)


def _block(block: Block) -> str:
    meant = ", ".join(block.requests) or "all requests"
    return clean(f"{block.source} {block.driver} ({meant}): {block.parameters}")
