"""Why a claim is allocated, or is not: what the scheduler would answer if it could be asked."""

from .allocator import Given, Outcome, allocate
from .configuration import Block
from .eviction import Eviction
from .matching import Matcher, Status
from .report import Asked, Explanation, Row, explain
from .together import explain_pod
from .world import DeviceId, Node, Pod, PodClaim, World, world_of

__all__ = [
    "Asked",
    "Block",
    "DeviceId",
    "Eviction",
    "Explanation",
    "Given",
    "Matcher",
    "Node",
    "Outcome",
    "Pod",
    "PodClaim",
    "Row",
    "Status",
    "World",
    "allocate",
    "explain",
    "explain_pod",
    "world_of",
]
