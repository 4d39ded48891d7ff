"""A dbus-daemon of one's own: real D-Bus without touching the machine's."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


class PrivateBusError(RuntimeError):
    """There is no `dbus-daemon` on PATH (Debian package dbus-daemon)."""


@contextlib.contextmanager
def private_bus() -> Iterator[str]:
    """The address of a fresh bus daemon that ends with the `with` block."""
    program = shutil.which("dbus-daemon")
    if program is None:
        raise PrivateBusError("dbus-daemon is not installed (Debian package dbus-daemon)")
    with tempfile.TemporaryDirectory(prefix="bluezclient-bus-") as folder:
        config, socket = Path(folder, "bus.conf"), Path(folder, "bus")
        config.write_text(_CONFIG.format(socket=socket))
        command = [program, f"--config-file={config}", "--nofork", "--print-address"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as daemon:
            assert daemon.stdout is not None
            try:
                address = daemon.stdout.readline().strip()
                if not address:
                    raise PrivateBusError("dbus-daemon ended before it was ready")
                yield address
            finally:
                daemon.terminate()
                daemon.wait(5)
