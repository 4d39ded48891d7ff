"""gRPC and protobuf, translated to and from the typed values; the rest of the driver knows neither.

Service names are not what `supported_versions` lists: the kubelet calls
`k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin` for the entry `v1.DRAPlugin` (and takes the first entry
of the list it knows, so the best comes first). Both versions have one message layout; `share_id`
is left out of v1beta1, which never had it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import grpc
import grpc.aio

from ._proto import dra_pb2, health_pb2, registration_pb2
from .model import ClaimRef
from .sockets import LIMIT, Placed, hidden_name, place

PLUGIN_TYPE = "DRAPlugin"
REGISTRATION = "pluginregistration.Registration"
DRA_SERVICES: Mapping[str, str] = {
    "v1.DRAPlugin": "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin",
    "v1beta1.DRAPlugin": "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin",
}
HEALTH_SERVICES = ("v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth")


class ShuttingDown(Exception):  # noqa: N818 - a state, not a fault
    """The plugin cannot answer for any claim now; the kubelet asks again."""


@dataclass(frozen=True, slots=True)
class PreparedDevice:
    """One device of an answer, as the kubelet gets it."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_ids: tuple[str, ...]
    share_id: str | None = None


@dataclass(frozen=True, slots=True)
class PrepareAnswer:
    """The answer for one claim: its devices, or why there are none."""

    devices: tuple[PreparedDevice, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class DeviceHealth:
    """A device's health as told to the kubelet.

    `healthy` None means unknown. The kubelet forgets it `timeout` seconds after the message
    (1.35 and later; 30 s before), so a driver yields it again in time. It cuts `message` at 1024
    characters. `updated` is Unix time.
    """

    pool: str
    device: str
    healthy: bool | None
    message: str = ""
    timeout: int = 30
    updated: int = 0


class Node(Protocol):
    """What the DRA services call."""

    async def prepare_claims(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """An answer for every UID asked."""
        ...

    async def unprepare_claims(self, refs: Sequence[ClaimRef]) -> Mapping[str, str]:
        """An error text, empty for success, for every UID asked."""
        ...


class Registrar(Protocol):
    """What the registration service calls."""

    def info(self) -> tuple[str, Path, Sequence[str]]:
        """Driver name, DRA socket and supported services."""
        ...

    def notified(self, registered: bool, error: str) -> None:
        """The kubelet's verdict."""
        ...


HealthSource = Callable[[], AsyncIterator[Sequence[DeviceHealth]]]


def registration_service(registrar: Registrar) -> grpc.GenericRpcHandler:
    """The service behind the registration socket."""

    async def get_info(_: Any, __: Any) -> registration_pb2.PluginInfo:
        name, endpoint, services = registrar.info()
        return registration_pb2.PluginInfo(
            type=PLUGIN_TYPE, name=name, endpoint=str(endpoint), supported_versions=services
        )

    async def notify(
        status: registration_pb2.RegistrationStatus, _: Any
    ) -> registration_pb2.RegistrationStatusResponse:
        registrar.notified(status.plugin_registered, status.error)
        return registration_pb2.RegistrationStatusResponse()

    pb = registration_pb2
    return _service(
        REGISTRATION,
        GetInfo=_unary(get_info, pb.InfoRequest),
        NotifyRegistrationStatus=_unary(notify, pb.RegistrationStatus),
    )


def dra_service(name: str, node: Node) -> grpc.GenericRpcHandler:
    """One version of the DRA service; `name` is a key of DRA_SERVICES."""
    with_share_id = name == "v1.DRAPlugin"

    async def prepare(request: dra_pb2.NodePrepareResourcesRequest, context: Any) -> Any:
        answers = await _or_abort(context, node.prepare_claims(_refs(request.claims)))
        return prepare_response(answers, with_share_id)

    async def unprepare(request: dra_pb2.NodeUnprepareResourcesRequest, context: Any) -> Any:
        errors = await _or_abort(context, node.unprepare_claims(_refs(request.claims)))
        return unprepare_response(errors)

    return _service(
        DRA_SERVICES[name],
        NodePrepareResources=_unary(prepare, dra_pb2.NodePrepareResourcesRequest),
        NodeUnprepareResources=_unary(unprepare, dra_pb2.NodeUnprepareResourcesRequest),
    )


def health_service(name: str, source: HealthSource) -> grpc.GenericRpcHandler:
    """One version of the health service; `name` is in HEALTH_SERVICES."""

    async def watch(_: Any, __: Any) -> AsyncIterator[health_pb2.NodeWatchResourcesResponse]:
        async for devices in source():
            yield health_response(devices)

    method = grpc.unary_stream_rpc_method_handler(
        watch,
        request_deserializer=health_pb2.NodeWatchResourcesRequest.FromString,
        response_serializer=health_pb2.NodeWatchResourcesResponse.SerializeToString,
    )
    return grpc.method_handlers_generic_handler(name, {"NodeWatchResources": method})


def prepare_response(
    answers: Mapping[str, PrepareAnswer], with_share_id: bool
) -> dra_pb2.NodePrepareResourcesResponse:
    """The message for a set of answers (pure)."""
    response = dra_pb2.NodePrepareResourcesResponse()
    for uid, answer in answers.items():
        entry = response.claims[uid]
        entry.error = answer.error
        for device in () if answer.error else answer.devices:
            message = entry.devices.add(
                request_names=device.requests,
                pool_name=device.pool,
                device_name=device.device,
                cdi_device_ids=device.cdi_ids,
            )
            if with_share_id and device.share_id is not None:
                message.share_id = device.share_id
    return response


def unprepare_response(errors: Mapping[str, str]) -> dra_pb2.NodeUnprepareResourcesResponse:
    """The message for a set of results (pure); an entry for each UID, also without an error."""
    response = dra_pb2.NodeUnprepareResourcesResponse()
    for uid, error in errors.items():
        response.claims[uid].error = error
    return response


def health_response(devices: Sequence[DeviceHealth]) -> health_pb2.NodeWatchResourcesResponse:
    """The message for a set of device states (pure)."""
    states = {None: health_pb2.UNKNOWN, True: health_pb2.HEALTHY, False: health_pb2.UNHEALTHY}
    response = health_pb2.NodeWatchResourcesResponse()
    for device in devices:
        response.devices.add(
            device=health_pb2.DeviceIdentifier(pool_name=device.pool, device_name=device.device),
            health=states[device.healthy],
            last_updated_time=device.updated,
            health_check_timeout_seconds=device.timeout,
            message=device.message,
        )
    return response


class SocketServer:
    """A gRPC server on one unix socket, which appears only when it serves."""

    def __init__(self, services: Sequence[grpc.GenericRpcHandler]) -> None:
        self._services = services
        self._server: Any = None
        self._placed: Placed | None = None

    async def start(self, path: Path) -> None:
        """Serve on `path`, over whatever socket is there."""
        if len(os.fsencode(path)) > LIMIT:
            raise ValueError(f"{path} is longer than {LIMIT} bytes")
        self._server = server = grpc.aio.server()
        server.add_generic_rpc_handlers(tuple(self._services))
        hidden = hidden_name(path)
        try:
            server.add_insecure_port(f"unix:{hidden}")
            await server.start()
            # The kubelet runs as root; nobody else has business with these sockets.
            hidden.chmod(0o600)
            self._placed = place(hidden, path)
        except BaseException:
            await self.stop(0)
            hidden.unlink(missing_ok=True)
            raise

    @property
    def in_place(self) -> bool:
        """Whether the path still leads to this server."""
        placed = self._placed
        try:
            return placed is not None and placed.path.lstat().st_ino == placed.inode
        except FileNotFoundError:
            return False

    def unlist(self) -> None:
        """Remove the socket's path, unless it is another instance's by now; keep serving."""
        if self._placed is not None:
            self._placed.remove()

    async def stop(self, grace: float) -> None:
        """Unlist, refuse new calls and let running ones end within `grace` seconds."""
        self.unlist()
        server, self._server = self._server, None
        if server is not None:
            await server.stop(grace)


def _service(name: str, **methods: Any) -> grpc.GenericRpcHandler:
    return grpc.method_handlers_generic_handler(name, methods)


def _unary(call: Callable[[Any, Any], Awaitable[Any]], request: Any) -> Any:
    return grpc.unary_unary_rpc_method_handler(
        call,
        request_deserializer=request.FromString,
        response_serializer=lambda message: message.SerializeToString(),
    )


def _refs(claims: Sequence[dra_pb2.Claim]) -> list[ClaimRef]:
    return [ClaimRef(claim.namespace, claim.name, claim.uid) for claim in claims]


async def _or_abort(context: Any, answer: Awaitable[Any]) -> Any:
    try:
        return await answer
    except ShuttingDown as error:
        await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
