"""What is counted, and where to: nowhere by default, Prometheus on request.

`prometheus-client` is imported only by `PrometheusRecorder`, so a driver without metrics does not
carry it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class Recorder(Protocol):
    """The measurements of a driver."""

    def claim(self, operation: str, *, ok: bool, seconds: float) -> None:
        """One claim was prepared or unprepared (`operation`), or was refused."""
        ...

    def registered(self, registered: bool) -> None:
        """The kubelet took the plugin, or not."""
        ...

    def published(self, devices: int, slices: int) -> None:
        """The slices on the server now hold what was wished."""
        ...

    def publish_failed(self, cause: str) -> None:
        """A slice could not be written; `cause` is the error's class."""
        ...

    def dropped(self, items: int) -> None:
        """How many devices, attributes and taints of the last wish did not reach the server."""
        ...


class NoRecorder:
    """Counts nothing."""

    def claim(self, operation: str, *, ok: bool, seconds: float) -> None:
        """See Recorder."""

    def registered(self, registered: bool) -> None:
        """See Recorder."""

    def published(self, devices: int, slices: int) -> None:
        """See Recorder."""

    def publish_failed(self, cause: str) -> None:
        """See Recorder."""

    def dropped(self, items: int) -> None:
        """See Recorder."""


class PrometheusRecorder:
    """Metrics in a Prometheus registry, names prefixed `draplugin_`, labelled by driver.

    Series exist from the start with 0, so that a rate of the first failure is seen.
    """

    def __init__(self, driver: str, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        self._driver = driver
        self._claims = Counter(
            "draplugin_claim_requests",
            "Claims the kubelet asked for, by outcome",
            ["driver", "operation", "result"],
            registry=registry,
        )
        self._seconds = Histogram(
            "draplugin_claim_duration_seconds",
            "Time from the kubelet's call to the claim's answer",
            ["driver", "operation"],
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 45),
            registry=registry,
        )
        gauges = {
            "registered": "1 while the kubelet has the plugin registered",
            "published_devices": "Devices in the node's slices",
            "published_slices": "ResourceSlices of the node's pool",
            "dropped_items": "Devices, attributes and taints that the API would not take",
        }
        self._gauges = {
            name: Gauge(f"draplugin_{name}", text, ["driver"], registry=registry).labels(driver)
            for name, text in gauges.items()
        }
        self._failures = Counter(
            "draplugin_publish_failures",
            "Failed attempts to write a slice, by cause",
            ["driver", "cause"],
            registry=registry,
        )
        for operation in ("prepare", "unprepare"):
            self._seconds.labels(driver, operation)
            for result in ("ok", "error"):
                self._claims.labels(driver, operation, result)

    def claim(self, operation: str, *, ok: bool, seconds: float) -> None:
        """See Recorder."""
        self._claims.labels(self._driver, operation, "ok" if ok else "error").inc()
        self._seconds.labels(self._driver, operation).observe(seconds)

    def registered(self, registered: bool) -> None:
        """See Recorder."""
        self._gauges["registered"].set(int(registered))

    def published(self, devices: int, slices: int) -> None:
        """See Recorder."""
        self._gauges["published_devices"].set(devices)
        self._gauges["published_slices"].set(slices)

    def publish_failed(self, cause: str) -> None:
        """See Recorder."""
        self._failures.labels(self._driver, cause).inc()

    def dropped(self, items: int) -> None:
        """See Recorder."""
        self._gauges["dropped_items"].set(items)
