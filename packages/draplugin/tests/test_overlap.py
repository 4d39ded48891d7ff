"""Who may hold a device at the same time."""

from __future__ import annotations

import pytest
from draplugin import Allocation, Claim, Prepared, PreparedClaim, Refused
from draplugin.overlap import holdings, refuse_overlap

from .builders import DRIVER, NODE, ref


def wanting(number: int, device: str = "a", share: str | None = None, admin: bool = False) -> Claim:
    me = ref(number)
    allocation = Allocation("r", DRIVER, NODE, device, share, admin)
    return Claim(me.namespace, me.name, me.uid, (allocation,))


def holding(
    number: int, device: str = "a", share: str | None = None, admin: bool = False, pool: str = NODE
) -> PreparedClaim:
    prepared = Prepared(device, pool, share_id=share, admin_access=admin)
    return PreparedClaim(ref(number), (prepared,))


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        pytest.param(wanting(1), holding(1), id="its own device again"),
        pytest.param(wanting(1), holding(2, "b"), id="another device"),
        pytest.param(wanting(1), holding(2, pool="other"), id="same name in another pool"),
        pytest.param(wanting(1, admin=True), holding(2), id="admin access beside an owner"),
        pytest.param(wanting(1), holding(2, admin=True), id="owner beside admin access"),
        pytest.param(wanting(1, share="s"), holding(2, share="t"), id="two shares"),
    ],
)
def test_claims_that_may_be_prepared_at_once(claim: Claim, held: PreparedClaim) -> None:
    refuse_overlap(claim, holdings([held]))


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        pytest.param(wanting(1), holding(2), id="the whole device twice"),
        pytest.param(wanting(1, share="s"), holding(2, share="s"), id="one share twice"),
        pytest.param(wanting(1, share="s"), holding(2), id="a share of a whole device"),
        pytest.param(wanting(1), holding(2, share="s"), id="the whole of a shared device"),
    ],
)
def test_claims_that_may_not(claim: Claim, held: PreparedClaim) -> None:
    with pytest.raises(Refused, match=r"device a of pool node-1 is still prepared for .*claim-2"):
        refuse_overlap(claim, holdings([held]))
