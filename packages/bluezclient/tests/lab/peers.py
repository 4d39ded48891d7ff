"""Peers the lab has none of: an LE keyboard with a private address or a passkey, and an intruder.

Run as a program this is the peer's own process, which speaks the protocol of `lab.controllers`; imported,
it is the test's side. bumble is imported in the peer's process alone.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
from asyncio.subprocess import DEVNULL
from pathlib import Path
from typing import Any

from lab.controllers import Controller, DualSense, Remote


class _Here(Controller):
    """Forked from the process of this file instead of the lab's."""

    _process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Join the air; silent until it advertises."""
        # Not beside the log: its path is too long for a socket, and its file system has none.
        place = Path(tempfile.mkdtemp(dir="/run"), "socket")
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, __file__, str(place), stdin=DEVNULL, stdout=log, stderr=log
            )
        reader, self._writer = await _connected(place)
        self._writer.write(f"{self.log}\n".encode())
        first = {"kind": self.kind, "settings": self._settings}
        self._writer.write(json.dumps(first).encode() + b"\n")
        self._reader = asyncio.create_task(self._read(reader))
        self.address = (await self._call("start"))["address"]

    async def stop(self) -> None:
        """Leave the air for good."""
        await super().stop()
        if self._process:
            self._process.kill()
            await self._process.wait()


async def _connected(place: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection once the process listens; loading bumble takes an emulated machine a minute."""
    async with asyncio.timeout(300):
        while True:
            try:
                return await asyncio.open_unix_connection(str(place))
            except (FileNotFoundError, ConnectionRefusedError):
                await asyncio.sleep(0.2)


class Keyboard(_Here, Remote):
    """An LE keyboard. `private`: it advertises with a resolvable private address, and has a static
    one as its identity; `passkey`: six digits shown by the host have to be typed on it.
    """

    kind = "keyboard"

    def __init__(self, logs: Path, *, private: bool = False, passkey: bool = False) -> None:
        Remote.__init__(self, logs, name="Keyboard")
        self._settings |= {"private": private, "passkey": passkey}

    async def type(self, passkey: str) -> None:
        """Type what the host shows, and Enter."""
        await self._call("type", passkey=passkey)


class Intruder(_Here, DualSense):
    """A gamepad that opens its HID channels to the host over a link without a bond (CVE-2023-45866)."""

    kind = "intruder"

    async def attack(self, host: str) -> bool:
        """Connect, encrypt without keeping a key, open HID; whether both channels stayed open."""
        return bool((await self._call("attack", host=host))["open"])


def main() -> None:
    """The peers' process: `peers.py SOCKET`."""
    from bumble.core import PhysicalTransport
    from bumble.hci import Address
    from bumble.pairing import PairingConfig, PairingDelegate
    from lab.controllers import serve
    from lab.controllers.dualsense import DualSensePeer
    from lab.controllers.remote import RemotePeer

    class Typist(PairingDelegate):  # type: ignore[misc]
        """Waits for the digits to be typed."""

        def __init__(self, passkey: bool) -> None:
            capability = self.KEYBOARD_INPUT_ONLY if passkey else self.NO_OUTPUT_NO_INPUT
            super().__init__(io_capability=capability)
            self.typed: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def get_number(self) -> int:
            return await self.typed

    class KeyboardPeer(RemotePeer):
        """See `Keyboard`."""

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

    class IntruderPeer(DualSensePeer):
        """See `Intruder`."""

        async def attack(self, host: str) -> dict[str, Any]:
            self.device.pairing_config_factory = lambda _link: PairingConfig(
                mitm=False, bonding=False, delegate=PairingDelegate()
            )
            address = Address(host, Address.PUBLIC_DEVICE_ADDRESS)
            link = await self.device.connect(address, transport=PhysicalTransport.BR_EDR)
            await link.authenticate()
            await link.encrypt(True)
            # The host browses a newly paired device; HID of a stranger would be refused as unknown.
            await asyncio.sleep(10)
            try:
                await asyncio.wait_for(self.hid.open(link), 20)
                await asyncio.sleep(3)
            except Exception as error:
                logging.info("refused: %r", error)
                return {"open": False}
            channels = (self.hid.l2cap_ctrl_channel, self.hid.l2cap_intr_channel)
            return {"open": all(channels) and self.link is not None}

    kinds: dict[str, Any] = {"keyboard": KeyboardPeer, "intruder": IntruderPeer}
    serve.make = lambda kind, settings, voice: kinds[kind](settings, voice)
    serve.main()


if __name__ == "__main__":
    main()
