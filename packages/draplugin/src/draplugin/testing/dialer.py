"""The kubelet's end of the plugin's sockets: the calls it makes, as it makes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from .._proto import dra_pb2, health_pb2, registration_pb2
from ..model import ClaimRef
from ..wire import DRA_SERVICES, REGISTRATION, DeviceHealth

_HEALTH = {health_pb2.HEALTHY: True, health_pb2.UNHEALTHY: False}


@dataclass(frozen=True, slots=True)
class Info:
    """A plugin's answer to GetInfo."""

    type: str
    name: str
    endpoint: str
    services: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KubeletDevice:
    """A device of a prepare answer, as the kubelet keeps it."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_ids: tuple[str, ...]
    share_id: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one claim."""

    devices: tuple[KubeletDevice, ...] = ()
    error: str = ""


class Dialer:
    """A connection to one plugin socket; raises grpc.aio.AioRpcError as the kubelet sees it."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._channel: Any = grpc.aio.insecure_channel(f"unix:{path}")

    async def __aenter__(self) -> Dialer:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close()

    async def get_info(self, timeout: float = 1.0) -> Info:
        """Ask who is there; the kubelet waits one second."""
        reply = await self._call(
            f"/{REGISTRATION}/GetInfo",
            registration_pb2.InfoRequest(),
            registration_pb2.PluginInfo,
            timeout,
        )
        return Info(reply.type, reply.name, reply.endpoint, tuple(reply.supported_versions))

    async def notify(self, registered: bool, error: str = "", timeout: float = 5.0) -> None:
        """Tell the plugin the verdict."""
        await self._call(
            f"/{REGISTRATION}/NotifyRegistrationStatus",
            registration_pb2.RegistrationStatus(plugin_registered=registered, error=error),
            registration_pb2.RegistrationStatusResponse,
            timeout,
        )

    async def prepare(
        self, service: str, claims: Sequence[ClaimRef], timeout: float = 45.0
    ) -> Mapping[str, Answer]:
        """NodePrepareResources of a service named as in `supported_versions`."""
        reply = await self._call(
            f"/{DRA_SERVICES[service]}/NodePrepareResources",
            dra_pb2.NodePrepareResourcesRequest(claims=_claims(claims)),
            dra_pb2.NodePrepareResourcesResponse,
            timeout,
        )
        return {uid: _answer(entry) for uid, entry in reply.claims.items()}

    async def unprepare(
        self, service: str, claims: Sequence[ClaimRef], timeout: float = 45.0
    ) -> Mapping[str, str]:
        """NodeUnprepareResources; an error text for each UID, empty for success."""
        reply = await self._call(
            f"/{DRA_SERVICES[service]}/NodeUnprepareResources",
            dra_pb2.NodeUnprepareResourcesRequest(claims=_claims(claims)),
            dra_pb2.NodeUnprepareResourcesResponse,
            timeout,
        )
        return {uid: entry.error for uid, entry in reply.claims.items()}

    async def watch_health(self, service: str) -> AsyncGenerator[list[DeviceHealth], None]:
        """NodeWatchResources until the plugin ends the stream."""
        call = self._channel.unary_stream(
            f"/{service}/NodeWatchResources",
            request_serializer=health_pb2.NodeWatchResourcesRequest.SerializeToString,
            response_deserializer=health_pb2.NodeWatchResourcesResponse.FromString,
        )
        with _cancellable():
            async for reply in call(health_pb2.NodeWatchResourcesRequest()):
                yield [_health(device) for device in reply.devices]

    async def _call(self, method: str, request: Any, reply: Any, timeout: float) -> Any:
        call = self._channel.unary_unary(
            method,
            request_serializer=type(request).SerializeToString,
            response_deserializer=reply.FromString,
        )
        with _cancellable():
            return await call(request, timeout=timeout)


@contextmanager
def _cancellable() -> Iterator[None]:
    """Let a cancellation win over the end of the call in the same moment.

    grpcio answers it with the call's own error then (grpc/aio/_call.py: `_read` of 1.51, unary
    calls still in 1.85), and whoever was cancelled would go on as after a failure.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    try:
        yield
    except grpc.aio.AioRpcError:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError from None
        raise


def _claims(refs: Sequence[ClaimRef]) -> list[dra_pb2.Claim]:
    return [dra_pb2.Claim(namespace=r.namespace, name=r.name, uid=r.uid) for r in refs]


def _answer(entry: dra_pb2.NodePrepareResourceResponse) -> Answer:
    return Answer(tuple(_device(device) for device in entry.devices), entry.error)


def _device(device: dra_pb2.Device) -> KubeletDevice:
    return KubeletDevice(
        requests=tuple(device.request_names),
        pool=device.pool_name,
        device=device.device_name,
        cdi_ids=tuple(device.cdi_device_ids),
        share_id=device.share_id if device.HasField("share_id") else None,
    )


def _health(device: health_pb2.DeviceHealth) -> DeviceHealth:
    return DeviceHealth(
        pool=device.device.pool_name,
        device=device.device.device_name,
        healthy=_HEALTH.get(device.health),
        message=device.message,
        timeout=device.health_check_timeout_seconds,
        updated=device.last_updated_time,
    )
