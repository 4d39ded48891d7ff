"""ResourceClaims as the API server sends them, short enough to read in a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from draplugin import ClaimRef

DRIVER = "fortune.example.com"
NODE = "node-1"


def ref(number: int = 1, name: str | None = None) -> ClaimRef:
    """A claim's identity."""
    return ClaimRef("default", name or f"claim-{number}", f"00000000-0000-4000-8000-{number:012}")


def claim_path(claim: ClaimRef) -> str:
    """Where the API has the claim."""
    base = "/apis/resource.k8s.io/v1/namespaces"
    return f"{base}/{claim.namespace}/resourceclaims/{claim.name}"


def claim_object(
    claim: ClaimRef,
    *devices: str,
    request: str = "cookie",
    config: Sequence[dict[str, Any]] = (),
    **result: Any,
) -> dict[str, Any]:
    """An allocated and reserved claim for devices of the test driver."""
    results = [
        {"request": request, "driver": DRIVER, "pool": NODE, "device": device, **result}
        for device in devices or ("cookie-1",)
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": claim.namespace, "name": claim.name, "uid": claim.uid},
        "spec": {
            "devices": {
                "requests": [
                    {"name": request.partition("/")[0], "exactly": {"deviceClassName": "fortune"}}
                ]
            }
        },
        "status": {
            "allocation": {"devices": {"results": results, "config": list(config)}},
            "reservedFor": [{"resource": "pods", "name": "pod", "uid": "p"}],
        },
    }
