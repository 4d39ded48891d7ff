"""Our pairing agent: says yes to the chosen device and to nobody else.

bluetoothd asks an agent on our own bus connection (`org.bluez.Agent1`, BlueZ
`doc/org.bluez.Agent.rst`). Only the owner of `org.bluez` is answered, since any root process could
call the object. Outgoing JustWorks pairings do not ask at all; device-initiated ones come as
RequestAuthorization.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dbus_fast import Message, MessageType

from bluezclient.address import Address
from bluezclient.bus import Connection
from bluezclient.model import Device
from bluezclient.properties import AGENT

log = logging.getLogger(__name__)

AGENT_PATH = "/liken/bluezclient/agent"


class Capability(StrEnum):
    """What the agent says it can show and read (`AgentManager1.RegisterAgent`)."""

    NO_INPUT_NO_OUTPUT = "NoInputNoOutput"
    DISPLAY_ONLY = "DisplayOnly"
    DISPLAY_YES_NO = "DisplayYesNo"
    KEYBOARD_ONLY = "KeyboardOnly"
    KEYBOARD_DISPLAY = "KeyboardDisplay"


class PromptKind(StrEnum):
    """What bluetoothd wants from the person in front of the device."""

    SHOW_PASSKEY = "ShowPasskey"
    SHOW_PIN = "ShowPin"
    CONFIRM = "Confirm"
    ENTER_PASSKEY = "EnterPasskey"
    ENTER_PIN = "EnterPin"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question of the agent about the chosen device.

    `code`: six digits (or the PIN) to show or compare, "" when it is to be entered. `entered`:
    how many digits have been typed on the device so far.
    """

    kind: PromptKind
    address: Address
    code: str = ""
    entered: int = 0


# The answer: True or None accepts, False refuses; a str or int is the PIN or passkey entered.
Answer = bool | str | int | None
PromptHandler = Callable[[Prompt], Awaitable[Answer]]


class Refused(Exception):  # noqa: N818
    """The agent's no."""


class Agent:
    """Answers bluetoothd for one window.

    `chosen` maps an object path to its device if that is the device being paired, else to None.
    `prompt` is what a person should see now; `pin_required` records that we had to refuse because
    nobody can answer.
    """

    def __init__(
        self,
        owner: Callable[[], str | None],
        chosen: Callable[[str], Device | None],
        on_prompt: PromptHandler | None,
    ) -> None:
        self._owner = owner
        self._chosen = chosen
        self._on_prompt = on_prompt
        self._asking: set[asyncio.Task[None]] = set()
        self.prompt: Prompt | None = None
        self.pin_required = False

    def serve(self, connection: Connection) -> None:
        """Answer the agent's calls on this connection from now on."""

        def receive(message: Message) -> bool:
            ours = message.message_type is MessageType.METHOD_CALL and message.path == AGENT_PATH
            if not ours or message.interface != AGENT:
                return False
            if message.sender != self._owner():
                connection.send(_rejected(message, "only bluetoothd may ask this agent"))
                return True
            self._take(connection, message)
            return True

        connection.on_message(receive)

    def reset(self) -> None:
        """Forget the prompt and call off what is being asked."""
        self.prompt = None
        for task in self._asking:
            task.cancel()

    def _take(self, connection: Connection, message: Message) -> None:
        if message.member in ("Cancel", "Release"):
            self.reset()
            connection.send(Message.new_method_return(message))
            return
        task = asyncio.create_task(self._reply(connection, message))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _reply(self, connection: Connection, message: Message) -> None:
        try:
            signature, body = await self._answer(message.member or "", message.body)
            connection.send(Message.new_method_return(message, signature, body))
        except Refused as refusal:
            connection.send(_rejected(message, str(refusal)))
        except asyncio.CancelledError:
            canceled = "org.bluez.Error.Canceled"
            connection.send(Message.new_error(message, canceled, "the pairing was called off"))
            raise
        except Exception:
            log.exception("answering %s failed", message.member)
            connection.send(_rejected(message, "the handler of the prompt failed"))

    async def _answer(self, member: str, body: list[Any]) -> tuple[str, list[Any]]:
        device = self._chosen(body[0]) if body and isinstance(body[0], str) else None
        if device is None:
            raise Refused("not the device this window is pairing")
        address = device.address
        match member, body:
            case "RequestAuthorization", [_]:
                return "", []
            case "AuthorizeService", [_, _]:
                if not device.bonded:
                    raise Refused("not bonded yet")
                return "", []
            case "RequestConfirmation", [_, int(number)]:
                await self._confirm(Prompt(PromptKind.CONFIRM, address, f"{number:06d}"))
                return "", []
            case "DisplayPasskey", [_, int(number), int(entered)]:
                await self._show(Prompt(PromptKind.SHOW_PASSKEY, address, f"{number:06d}", entered))
                return "", []
            case "DisplayPinCode", [_, str(pin)]:
                await self._show(Prompt(PromptKind.SHOW_PIN, address, pin))
                return "", []
            case "RequestPasskey", [_]:
                return "u", [await self._enter_passkey(Prompt(PromptKind.ENTER_PASSKEY, address))]
            case "RequestPinCode", [_]:
                return "s", [await self._enter_pin(Prompt(PromptKind.ENTER_PIN, address))]
        raise Refused(f"{member} is not known to this agent")

    async def _confirm(self, prompt: Prompt) -> None:
        """With nobody to compare the numbers this is JustWorks, which the window stands for."""
        if self._on_prompt is None:
            return
        self.prompt = prompt
        if await self._on_prompt(prompt) is False:
            raise Refused("the numbers were not confirmed")

    async def _show(self, prompt: Prompt) -> None:
        self.prompt = prompt
        if self._on_prompt is not None and await self._on_prompt(prompt) is False:
            raise Refused("the person declined")

    async def _ask(self, prompt: Prompt) -> Answer:
        if self._on_prompt is None:
            self.pin_required = True
            raise Refused("nobody can enter a code here")
        self.prompt = prompt
        answer = await self._on_prompt(prompt)
        if answer is None or isinstance(answer, bool):
            self.pin_required = True
            raise Refused("no code was entered")
        return answer

    async def _enter_passkey(self, prompt: Prompt) -> int:
        answer = str(await self._ask(prompt)).strip()
        if not (answer.isascii() and answer.isdigit() and len(answer) <= 6):
            raise Refused("a passkey is up to six digits")
        return int(answer)

    async def _enter_pin(self, prompt: Prompt) -> str:
        answer = str(await self._ask(prompt))
        if not 1 <= len(answer.encode()) <= 16:
            raise Refused("a PIN is 1 to 16 bytes")
        return answer


def _rejected(message: Message, text: str) -> Message:
    return Message.new_error(message, "org.bluez.Error.Rejected", text)
