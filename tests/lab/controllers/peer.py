"""What emulated controllers have in common on the air, on top of bumble."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from bumble.transport import open_transport

TRANSPORT = "unix:/tmp/bt-server-bredrle"

# HCI error codes, Core Specification Vol 1 Part F: what the host's controller will report.
POWER_OFF = 0x15
LINK_TIMEOUT = 0x08


class RefusedError(Exception):
    """A verb cannot be done now, or not with these words."""


class Voice:
    """The way back to the test."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def say(self, **message: Any) -> None:
        """An answer to a verb, or an event."""
        self._writer.write(json.dumps(message).encode() + b"\n")


class Peer:
    """A controller's process: its device on the air and its verbs, all coroutines."""

    def __init__(self, settings: dict[str, Any], voice: Voice) -> None:
        self.settings = settings
        self.emit = voice.say
        self.device: Any = None
        self.link: Any = None

    async def start(self) -> dict[str, Any]:
        """Join the air."""
        transport = await open_transport(TRANSPORT)
        self.device = self.make(transport.source, transport.sink)
        self.device.on("connection", self._up)
        await self.device.power_on()
        return {"address": self.address()}

    def make(self, source: Any, sink: Any) -> Any:
        """The bumble device."""
        raise NotImplementedError

    def address(self) -> str:
        """The address by which the host knows it."""
        raise NotImplementedError

    async def sleep(self) -> None:
        """End the link politely."""
        await self._leave(POWER_OFF)

    async def vanish(self) -> None:
        """End the link as its absence would.

        btvirt has no supervision timer: the reason that one side gives is what the other
        side's controller reports, so the timeout is made by giving that reason.
        """
        await self._leave(LINK_TIMEOUT)

    async def hide(self) -> None:
        """Be found by nobody."""
        raise NotImplementedError

    async def _leave(self, reason: int) -> None:
        await self.hide()
        if self.link:
            await self.link.disconnect(reason)

    def _up(self, link: Any) -> None:
        self.link = link
        link.on("disconnection", self._down)
        self.emit(event="link", connected=True)
        self.on_link()

    def _down(self, reason: int) -> None:
        self.link = None
        self.emit(event="usable", usable=False)
        self.emit(event="link", connected=False, reason=int(reason))
        self.on_no_link()

    def on_link(self) -> None:
        """The link came up."""

    def on_no_link(self) -> None:
        """The link went down."""


def note(text: str) -> None:
    """Write to the controller's log."""
    print(text, file=sys.stderr, flush=True)
