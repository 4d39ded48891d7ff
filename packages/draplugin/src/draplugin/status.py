"""What a prepared device looks like, told in the claim's `status.devices`.

Optional: a driver gives `Prepared.status`. Server-side apply under the driver's own name leaves
the entries of other drivers alone, where a whole update would replace them. Since 1.36 the server
asks for permissions of its own (kubernetes #138149); lacking them costs this status, never the
claim, and is said once.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from .kube import RESOURCECLAIMS, Api, ApiError, Forbidden, NotFound, Object
from .model import Claim, Prepared

_log = logging.getLogger(__name__)


class StatusWriter:
    """Writes the status of a claim's devices; failures are logged, not raised."""

    def __init__(self, api: Api, driver: str) -> None:
        self._api = api
        self._driver = driver
        self._forbidden = False

    async def write(self, claim: Claim, devices: Sequence[Prepared]) -> None:
        """Apply the status of those devices that have one."""
        body = status_of(claim, devices, self._driver)
        if body is None or self._forbidden:
            return
        try:
            await self._api.apply_status(RESOURCECLAIMS, body, manager=self._driver)
        except NotFound:
            return
        except Forbidden as error:
            self._forbidden = True
            _log.error(
                "device status is not written any more: %s; the driver needs resourceclaims/status"
                " update and patch, and since Kubernetes 1.36 resourceclaims/driver with the verbs"
                " associated-node:update and associated-node:patch and resourceNames [%s]",
                error,
                self._driver,
            )
        except ApiError as error:
            _log.warning("device status of claim %s not written: %s", claim.ref, error)


def status_of(claim: Claim, devices: Sequence[Prepared], driver: str) -> Object | None:
    """The body to apply; None when no device has a status (pure)."""
    entries = [
        {
            "driver": driver,
            "pool": device.pool,
            "device": device.device,
            **({"shareID": device.share_id} if device.share_id is not None else {}),
            **device.status,
        }
        for device in devices
        if device.status is not None
    ]
    if not entries:
        return None
    # The UID makes sure that a claim made anew under this name is not written to.
    metadata = {"name": claim.name, "namespace": claim.namespace, "uid": claim.uid}
    return {"metadata": metadata, "status": {"devices": entries}}
