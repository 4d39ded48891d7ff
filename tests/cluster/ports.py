"""Free ports for servers that cannot be handed an open socket."""

from __future__ import annotations

import random
import socket

# Below Linux's default range of ports for outgoing connections (32768-60999), so that no client
# on this machine takes one between the look and the use.
_RANGE = range(20000, 32000)


def free(count: int) -> list[int]:
    """Different ports on which nobody listens on the loopback address right now."""
    found: list[int] = []
    for port in random.SystemRandom().sample(_RANGE, len(_RANGE)):
        if _is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"fewer than {count} ports are free between {_RANGE.start} and {_RANGE.stop}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As Go's servers do: a port whose last connections linger in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
