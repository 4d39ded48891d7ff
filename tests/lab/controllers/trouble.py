"""Gamepads as nobody wants them: one that stops in the middle of its pairing, and an intruder."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from bumble.hci import Address
from bumble.pairing import PairingConfig, PairingDelegate

from lab.controllers.dualsense import DualSensePeer

_BROWSED_SECONDS = 60.0
_OPEN_SECONDS = 20.0


class _Doubtful(PairingDelegate):  # type: ignore[misc]
    """Does not confirm before it is told to."""

    def __init__(self, pad: SlowPadPeer) -> None:
        super().__init__()
        self._pad = pad

    async def confirm(self, auto: bool = False) -> bool:
        """The host waits meanwhile."""
        if self._pad.stuck == "bond":
            self._pad.emit(event="stuck")
            await self._pad.released.wait()
        return True


class SlowPadPeer(DualSensePeer):
    """See lab.controllers.SlowPad for the verbs."""

    def make(self, source: Any, sink: Any) -> Any:
        device = super().make(source, sink)
        self.stuck = self.settings["stuck"]
        self.released = asyncio.Event()
        device.pairing_config_factory = lambda _link: PairingConfig(
            mitm=False, delegate=_Doubtful(self)
        )
        if self.stuck == "link":
            device.host.remove_all_listeners("connection_request")
            device.host.on("connection_request", lambda *_: self.emit(event="stuck"))
        if self.stuck == "services":
            device.sdp_server.on_pdu = lambda _pdu: self.emit(event="stuck")
        return device

    async def go_on(self) -> None:
        if self.stuck == "link":
            self.device.host.remove_all_listeners("connection_request")
            self.device.host.on("connection_request", self.device.on_connection_request)
        if self.stuck == "services":
            del self.device.sdp_server.on_pdu
        self.stuck = ""
        self.released.set()


class IntruderPeer(DualSensePeer):
    """See lab.controllers.Intruder for the verbs."""

    async def attack(self, host: str) -> None:
        self.device.pairing_config_factory = lambda _link: PairingConfig(
            mitm=False, bonding=False, delegate=PairingDelegate()
        )
        self.returns = 0
        browsed = self._browsed()
        address = Address(host, Address.PUBLIC_DEVICE_ADDRESS)
        link = await self._page(address)
        await link.authenticate()
        await link.encrypt(True)
        # The host browses a newly paired device, and refuses HID of one that it does not know; soon
        # after that it drops a link that nothing uses.
        await asyncio.wait_for(browsed.wait(), _BROWSED_SECONDS)
        try:
            await asyncio.wait_for(self.hid.open(link), _OPEN_SECONDS)
        except Exception as error:
            logging.info("refused: %r", error)

    def _browsed(self) -> asyncio.Event:
        """Set when the host has closed its SDP channel."""
        browsed, server = asyncio.Event(), self.device.sdp_server
        answer = server.on_pdu

        def on_pdu(pdu: bytes) -> None:
            server.on_pdu = answer
            server.channel.sink = answer
            server.channel.on("close", browsed.set)
            answer(pdu)

        server.on_pdu = on_pdu
        return browsed
