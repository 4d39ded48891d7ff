"""An emulated controller's own process: reads verbs as JSON lines, answers each with one."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from typing import Any

from lab.controllers.peer import Peer, RefusedError, emit


def make(kind: str, settings: dict[str, Any]) -> Peer:
    """The peer of that kind; imported late, since bumble's parts take a while to load."""
    if kind == "dualsense":
        from lab.controllers.dualsense import DualSensePeer

        return DualSensePeer(settings)
    from lab.controllers.remote import RemotePeer

    return RemotePeer(settings)


async def serve(peer: Peer) -> None:
    """Carry out verbs in the order they come, until the test closes the pipe."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in reader:
        message = json.loads(line)
        verb = message.pop("verb")
        try:
            emit(ok=verb, **(await getattr(peer, verb)(**message) or {}))
        except RefusedError as error:
            emit(error=str(error))
        except Exception as error:
            logging.exception("%s failed", verb)
            emit(error=f"{type(error).__name__}: {error}")


def main() -> None:
    """Entry of `python -m lab.controllers.serve KIND SETTINGS`."""
    form = "%(relativeCreated)8d %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=os.environ.get("LAB_PEER_LOG", "INFO"), format=form)
    asyncio.run(serve(make(sys.argv[1], json.loads(sys.argv[2]))))


if __name__ == "__main__":
    main()
