"""A node's pool of devices in ResourceSlices: validation, planning, publishing."""

from .publisher import Publication, SlicePublisher
from .validate import Drop, cut, sanitize

__all__ = ["Drop", "Publication", "SlicePublisher", "cut", "sanitize"]
