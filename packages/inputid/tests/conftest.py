"""Settings of the property tests: no clock decides, and a failure prints how to repeat it."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "inputid", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("inputid")
