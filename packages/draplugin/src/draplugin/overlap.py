"""No device in two claims at once, unless it is meant to be.

A force-deleted pod frees its claim in the API while its containers still run, so the scheduler may
hand out a device that is still prepared here (kubernetes #141471, #131617). The second claim is
refused until the first is unprepared; the kubelet keeps asking. Claims with admin access share by
definition, and shares of a device differ by their share id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .model import Allocation, Claim, ClaimRef, PreparedClaim, Refused


@dataclass(frozen=True, slots=True)
class Held:
    """What a claim has its hands on: one device, or one share of it."""

    pool: str
    device: str
    share_id: str | None = None

    def collides(self, other: Held) -> bool:
        """Whether both cannot be prepared at once."""
        # A record without a pool is another program's: it may mean any.
        same_pool = self.pool == other.pool or not (self.pool and other.pool)
        if self.device != other.device or not same_pool:
            return False
        both_shares = self.share_id is not None and other.share_id is not None
        return not both_shares or self.share_id == other.share_id


def wanted(claim: Claim) -> frozenset[Held]:
    """What a claim would hold once prepared."""
    return frozenset(_held(a) for a in claim.allocations if not a.admin_access)


def _held(allocation: Allocation) -> Held:
    return Held(allocation.pool, allocation.device, allocation.share_id)


def holdings(claims: Iterable[PreparedClaim]) -> dict[ClaimRef, frozenset[Held]]:
    """What each prepared claim holds."""
    return {
        claim.ref: frozenset(
            Held(d.pool, d.device, d.share_id) for d in claim.devices if not d.admin_access
        )
        for claim in claims
    }


def refuse_overlap(claim: Claim, others: Mapping[ClaimRef, frozenset[Held]]) -> None:
    """Raise Refused naming the claim that holds a device of this one."""
    for mine in sorted(wanted(claim), key=lambda held: (held.pool, held.device)):
        for ref, theirs in others.items():
            if ref.uid != claim.uid and any(mine.collides(other) for other in theirs):
                raise Refused(
                    f"device {mine.device} of pool {mine.pool} is still prepared for claim {ref} "
                    f"(UID {ref.uid}); it is free once the kubelet has unprepared that claim"
                )
