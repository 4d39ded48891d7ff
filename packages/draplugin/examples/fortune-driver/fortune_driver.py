"""A DRA driver in forty lines: who claims a cookie finds a fortune in the environment."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from draplugin import (
    Claim,
    ClaimRef,
    Device,
    Plugin,
    Prepared,
    Site,
    SlicePublisher,
    cdi,
    terminated,
)

DRIVER = "fortune.example.com"
FORTUNES = {
    "cookie-1": "A pod you have not scheduled yet will be dear to you.",
    "cookie-2": "What you delete today comes back tomorrow, with an owner.",
    "cookie-3": "Somebody on your node is thinking of you.",
}


class Fortune:
    """Opens cookies."""

    async def prepare(self, claim: Claim) -> Sequence[Prepared]:
        """Give each claimed cookie's fortune to the container."""
        return [Prepared(a.device, a.pool, env=line(a.device)) for a in claim.allocations]

    async def unprepare(self, ref: ClaimRef) -> None:
        """There is nothing to undo beyond the CDI file, and that is gone by now."""


def line(cookie: str) -> dict[str, str]:
    """The environment of a container that has the cookie."""
    return {f"FORTUNE_{cookie[-1]}": FORTUNES[cookie]}


@asynccontextmanager
async def make(site: Site) -> AsyncIterator[SlicePublisher]:
    """Run the driver at a site until the context ends."""
    store = cdi.Store(site.cdi_dir, f"{DRIVER}/cookie")
    plugin = Plugin.at(site, DRIVER, Fortune(), store)
    async with plugin, SlicePublisher(site.api, DRIVER, site.node) as slices:
        slices.wish(Device(name, {"letters": len(text)}) for name, text in FORTUNES.items())
        yield slices


async def main() -> None:
    """Run in a pod."""
    async with Site.from_environment() as site, make(site):
        await terminated()


if __name__ == "__main__":
    asyncio.run(main())
