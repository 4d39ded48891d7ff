"""The processes of emulated controllers: verbs in as JSON lines, an answer out for each.

Loading bumble and hid-tools takes an emulated machine most of a minute. So one process loads
them, listens on a unix socket, and forks a controller for each connection; the end of the
connection is the end of the controller.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys

from lab.controllers.peer import Peer, RefusedError, Voice


async def serve(line: socket.socket, log: str) -> None:
    """One controller: the first line says what it is, the next ones what it shall do."""
    reader, writer = await asyncio.open_connection(sock=line)
    voice = Voice(writer)
    first = json.loads(await reader.readline())
    peer = make(first["kind"], first["settings"], voice)
    async for text in reader:
        message = json.loads(text)
        verb = message.pop("verb")
        try:
            voice.say(ok=verb, **(await getattr(peer, verb)(**message) or {}))
        except RefusedError as error:
            voice.say(error=str(error))
        except Exception as error:
            logging.exception("%s failed (%s)", verb, log)
            voice.say(error=f"{type(error).__name__}: {error}")


def make(kind: str, settings: dict[str, object], voice: Voice) -> Peer:
    """The peer of that kind."""
    from lab.controllers.dualsense import DualSensePeer
    from lab.controllers.keyboard import KeyboardPeer
    from lab.controllers.remote import RemotePeer
    from lab.controllers.trouble import IntruderPeer, SlowPadPeer

    kinds: dict[str, type[Peer]] = {
        "dualsense": DualSensePeer,
        "intruder": IntruderPeer,
        "keyboard": KeyboardPeer,
        "remote": RemotePeer,
        "slowpad": SlowPadPeer,
    }
    return kinds[kind](settings, voice)


def child(line: socket.socket) -> None:
    """In the new process: its own log, then the controller, until the connection ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = _first_word(line)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    form = "%(relativeCreated)8d %(levelname)s %(name)s: %(message)s"
    level = os.environ.get("LAB_PEER_LOG", "INFO")
    logging.basicConfig(level=level, format=form, stream=sys.stderr)
    with contextlib.suppress(ConnectionError):
        asyncio.run(serve(line, log))


def _first_word(line: socket.socket) -> str:
    """The log's path: bytes up to the first newline, taken one by one to leave the rest."""
    word = b""
    while not word.endswith(b"\n"):
        word += line.recv(1)
    return word.decode().strip()


def main() -> None:
    """Entry of `python -m lab.controllers.serve SOCKET`; ends with the socket's file."""
    import lab.controllers.keyboard
    import lab.controllers.trouble  # noqa: F401 -- so that children find them loaded, all kinds

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are nobody's to wait for
    server = socket.socket(socket.AF_UNIX)
    server.bind(sys.argv[1])
    server.listen()
    while True:
        line, _ = server.accept()
        if os.fork() == 0:
            server.close()
            try:
                child(line)
            finally:
                os._exit(0)
        line.close()


if __name__ == "__main__":
    main()
