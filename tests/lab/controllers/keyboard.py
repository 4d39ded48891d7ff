"""An LE keyboard as a peer: the remote, with a resolvable private address or a passkey to type.

Core Specification Vol 3 Part H 2.3 (pairing methods), Vol 6 Part B 1.3.2.2 (private addresses).
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from bumble.pairing import PairingConfig, PairingDelegate

from lab.controllers.remote import RemotePeer


class Typist(PairingDelegate):  # type: ignore[misc]
    """Waits for the digits to be typed."""

    def __init__(self, passkey: bool) -> None:
        capability = self.KEYBOARD_INPUT_ONLY if passkey else self.NO_OUTPUT_NO_INPUT
        super().__init__(io_capability=capability)
        self.typed: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def get_number(self) -> int:
        """The passkey."""
        return await self.typed


class KeyboardPeer(RemotePeer):
    """See lab.controllers.Keyboard for the verbs."""

    def make(self, source: Any, sink: Any) -> Any:
        device = super().make(source, sink)
        self.typist = Typist(self.settings["passkey"])
        device.irk = os.urandom(16)
        device.le_privacy_enabled = self.settings["private"]
        device.pairing_config_factory = lambda _link: PairingConfig(
            mitm=self.settings["passkey"],
            delegate=self.typist,
            identity_address_type=PairingConfig.AddressType.RANDOM,
        )
        return device

    async def type(self, passkey: str) -> None:
        self.typist.typed.set_result(int(passkey))
