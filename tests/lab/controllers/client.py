"""The test's side of an emulated controller: verbs out, answers and events in."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from pathlib import Path
from typing import Any, ClassVar, Self

from lab.controllers import nursery
from lab.daemon import said

_VERB_SECONDS = 120.0
_numbers = itertools.count(1)


class ControllerError(Exception):
    """A controller could not do what it was asked; names its log."""


class Controller:
    """An emulated controller. Use a subclass, as an async context manager.

    address: as the host sees it, upper case with colons; known once started.
    """

    kind: ClassVar[str]
    address: str

    def __init__(self, logs: Path, **settings: Any) -> None:
        self._settings = settings
        self.log = logs / f"{self.kind}-{next(_numbers)}.log"
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.Task[None] | None = None
        self._answer: asyncio.Future[Any] | None = None
        self._changed = asyncio.Condition()
        self._gone = False
        self.connected = False
        self.usable = False
        self.stuck = False
        self.goodbye: int | None = None

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    # -- life

    async def start(self) -> None:
        """Join the air; silent until it advertises."""
        reader, self._writer = await nursery.connect()
        self._writer.write(f"{self.log}\n".encode())
        first = {"kind": self.kind, "settings": self._settings}
        self._writer.write(json.dumps(first).encode() + b"\n")
        self._reader = asyncio.create_task(self._read(reader))
        facts = await self._call("start")
        self.address = facts["address"]

    async def stop(self) -> None:
        """Leave the air for good, as a controller that is destroyed."""
        if self._writer:
            self._writer.close()
            with contextlib.suppress(ConnectionError):
                await self._writer.wait_closed()
        if self._reader:
            await self._reader
        self._writer = self._reader = None

    # -- verbs

    async def advertise(self) -> None:
        """Be found and accept a connection, until it sleeps."""
        await self._call("advertise")

    async def press(self, name: str) -> None:
        """Hold a button or key down."""
        await self._call("press", name=name)

    async def release(self, name: str) -> None:
        """Let it go."""
        await self._call("release", name=name)

    async def tap(self, name: str) -> None:
        """Press and release."""
        await self.press(name)
        await self.release(name)

    async def sleep(self) -> None:
        """Power off as it does when left alone: the link ends with reason 0x15."""
        await self._call("sleep")

    async def wake(self) -> None:
        """Come back and be usable again; the host must be there and know it."""
        await self._call("wake")

    async def vanish(self) -> None:
        """Be gone without a word: the host's controller reports a link timeout (0x08)."""
        await self._call("vanish")

    # -- what is known of the link

    async def wait_connected(self, connected: bool = True, seconds: float = 120.0) -> None:
        """Wait for the link to be up, or down."""
        await self._wait(lambda: self.connected == connected, f"connected={connected}", seconds)

    async def wait_usable(self, usable: bool = True, seconds: float = 120.0) -> None:
        """Wait until the host takes reports (HID channels open, notifications on), or not."""
        await self._wait(lambda: self.usable == usable, f"usable={usable}", seconds)

    async def _wait(self, done: Any, what: str, seconds: float) -> None:
        async def changed() -> None:
            async with self._changed:
                await self._changed.wait_for(lambda: self._gone or done())

        try:
            await asyncio.wait_for(changed(), seconds)
        except TimeoutError:
            raise ControllerError(f"{self._name}: not {what} in {seconds:.0f} s") from None
        if not done():
            raise self._ended()

    # -- the pipe

    @property
    def _name(self) -> str:
        return f"{self.kind} {getattr(self, 'address', '')} (log: {self.log})"

    def _log_lines(self) -> list[str]:
        return said(self.log).splitlines()

    def _ended(self) -> ControllerError:
        tail = "\n".join(self._log_lines()[-15:])
        return ControllerError(f"{self._name} ended:\n{tail}")

    async def _call(self, verb: str, **arguments: Any) -> Any:
        assert self._writer, f"{self._name} was not started"
        if self._gone:
            raise self._ended()
        self._answer = asyncio.get_running_loop().create_future()
        self._writer.write(json.dumps({"verb": verb, **arguments}).encode() + b"\n")
        try:
            reply = await asyncio.wait_for(self._answer, _VERB_SECONDS)
        except TimeoutError:
            raise ControllerError(f"{self._name}: {verb} took over {_VERB_SECONDS} s") from None
        if "error" in reply:
            raise ControllerError(f"{self._name}: {verb}: {reply['error']}")
        return reply

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError):
            async for line in reader:
                message = json.loads(line)
                if "event" in message:
                    await self._note(message)
                elif self._answer and not self._answer.done():
                    self._answer.set_result(message)
        self._gone = True
        if self._answer and not self._answer.done():
            self._answer.set_exception(self._ended())
        async with self._changed:
            self._changed.notify_all()

    async def _note(self, message: dict[str, Any]) -> None:
        async with self._changed:
            match message["event"]:
                case "link":
                    self.connected = message["connected"]
                    self.goodbye = message.get("reason")
                case "usable":
                    self.usable = message["usable"]
                case "stuck":
                    self.stuck = True
            self._changed.notify_all()


class DualSense(Controller):
    """Sony's DualSense over BR/EDR; hid-playstation makes a pad, motion sensors, a touchpad.

    Buttons: BTN_SOUTH, BTN_EAST, BTN_NORTH, BTN_WEST, BTN_TL, BTN_TR, BTN_TL2, BTN_TR2,
    BTN_SELECT, BTN_START, BTN_MODE, BTN_THUMBL, BTN_THUMBR. After pairing it opens HID by
    itself, as the real one does.
    """

    kind = "dualsense"

    async def move(self, **axes: int) -> None:
        """Bring axes to raw values, where they stay.

        ABS_X, ABS_Y, ABS_RX, ABS_RY (0 to 255, 127 at rest), ABS_Z, ABS_RZ (0 to 255, 0 at
        rest), HAT (0 north, clockwise in eighths, 8 at rest).
        """
        await self._call("move", axes=axes)

    async def touch(self, *points: tuple[int, int]) -> None:
        """Put fingers at x (0 to 1919), y (0 to 1079) of the touchpad; none lifts them all."""
        await self._call("touch", points=points)

    async def outputs(self) -> list[str]:
        """Output reports that the host has sent so far, in hexadecimal, oldest first."""
        reports: list[str] = (await self._call("outputs"))["reports"]
        return reports

    async def hang_up(self) -> None:
        """Close HID and leave the link to the host, which drops it when nothing uses it."""
        await self._call("hang_up")


class SlowPad(DualSense):
    """A DualSense whose pairing stops at a step until `go_on`.

    stuck: "link" never answers the page, "bond" never confirms, "services" never answers SDP.
    """

    kind = "slowpad"

    def __init__(self, logs: Path, stuck: str) -> None:
        super().__init__(logs, stuck=stuck)

    async def wait_stuck(self, seconds: float = 120.0) -> None:
        """Wait until its pairing is at that step."""
        await self._wait(lambda: self.stuck, "stuck", seconds)

    async def go_on(self) -> None:
        """Behave, from the next try on."""
        await self._call("go_on")


class Intruder(DualSense):
    """A gamepad that opens its HID channels to the host over a link without a bond."""

    kind = "intruder"

    async def attack(self, host: str) -> None:
        """Connect, encrypt without keeping a key, open HID and send reports.

        Whether it got in is the kernel's to tell: bluetoothd takes the channels of those it rejects
        and drops what comes.
        """
        await self._call("attack", host=host)


class Remote(Controller):
    """A media remote over LE (HOGP) with a battery; the kernel makes one node of its keyboard
    and its consumer control (hidinput_match_application in drivers/hid/hid-input.c).

    Keys: KEY_A to KEY_Z, KEY_0 to KEY_9, KEY_ENTER, KEY_ESC, KEY_UP, KEY_DOWN, KEY_LEFT,
    KEY_RIGHT, and KEY_PLAYPAUSE, KEY_VOLUMEUP, KEY_VOLUMEDOWN, KEY_MUTE, KEY_HOMEPAGE,
    KEY_BACK. address: a random static one, settable.
    """

    kind = "remote"

    def __init__(
        self,
        logs: Path,
        address: str = "F0:F1:F2:F3:F4:F5",
        name: str = "Remote",
        battery: int = 55,
    ) -> None:
        super().__init__(logs, address=address, name=name, battery=battery)

    async def discharge(self, battery: int) -> None:
        """Change the battery's level, in percent; told to a connected host."""
        await self._call("discharge", battery=battery)


class Keyboard(Remote):
    """An LE keyboard; keys and verbs are the remote's.

    private: it advertises with a resolvable private address and has `identity` as its own.
    passkey: six digits that the host shows have to be typed on it. `address` is what it advertises.
    """

    kind = "keyboard"
    identity = "F0:F1:F2:F3:F4:F5"

    def __init__(self, logs: Path, *, private: bool = False, passkey: bool = False) -> None:
        super().__init__(logs, address=self.identity, name="Keyboard")
        self._settings |= {"private": private, "passkey": passkey}

    async def type(self, passkey: str) -> None:
        """Type what the host shows, and Enter."""
        await self._call("type", passkey=passkey)
