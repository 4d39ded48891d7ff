"""Whoever sits at the terminal, asked what the pairing agent is asked.

Lines are read in the event loop and not in a thread: a thread in `input()` cannot be called off, so
a pairing that ends meanwhile, or Ctrl-C, would wait for somebody to press Enter.
"""

from __future__ import annotations

import asyncio
import sys

from rich.live import Live

from bluezclient.cli.output import Output
from bluezclient.pairing import Prompt, PromptKind


class Person:
    """Answers prompts of one pairing window.

    Codes to be typed on the device are always shown. What needs an answer is refused where standard
    input is no terminal: two numbers that nobody compares are not confirmed. `live` is a display to
    be held still while `asking`.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._shown = ""
        self.asking = False
        self.live: Live | None = None

    async def asked(self, prompt: Prompt) -> bool | str | None:
        """The answer to one prompt, see `Client.pairing_window`."""
        match prompt.kind:
            case PromptKind.SHOW_PASSKEY | PromptKind.SHOW_PIN:
                self._show(prompt)
                return None
            case PromptKind.CONFIRM:
                question = f"does {prompt.address} show {prompt.code}? [y/N] "
                return (await self._answer(prompt, question)).lower() in ("y", "yes")
            case _:
                return await self._answer(prompt, f"code for {prompt.address}: ") or None

    def _show(self, prompt: Prompt) -> None:
        # It comes again for every digit typed; a person needs it once.
        if self._output.json or prompt.code != self._shown:
            self._shown = prompt.code
            self._output.say(f"type {prompt.code} on {prompt.address}", prompt=prompt)

    async def _answer(self, prompt: Prompt, question: str) -> str:
        """A line from the terminal; "" without one."""
        if self._output.json:
            self._output.say("", prompt=prompt)
        if not sys.stdin.isatty():
            sys.stderr.write(f"{question}refused: standard input is no terminal\n")
            return ""
        self.asking = True
        if self.live is not None:
            self.live.stop()
        try:
            return await typed(question)
        finally:
            self.asking = False
            if self.live is not None:
                self.live.start()


async def typed(question: str) -> str:
    """One line of standard input, a terminal, without its end; "" at end of file."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        loop.remove_reader(sys.stdin)
        line.set_result(sys.stdin.readline())

    sys.stderr.write(question)
    sys.stderr.flush()
    loop.add_reader(sys.stdin, read)
    try:
        return (await line).strip()
    finally:
        loop.remove_reader(sys.stdin)
