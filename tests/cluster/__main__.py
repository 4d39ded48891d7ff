"""A control plane to play with: ``python -m cluster``.

``python -m cluster build`` only builds it, so that a later start takes seconds.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time

from cluster import build, controlplane
from cluster.processes import ComponentDiedError

_CHECK_INTERVAL = 1.0


def main() -> int:
    """Run the command; the process's exit status."""
    parser = argparse.ArgumentParser(prog="cluster", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("run", "build"), default="run")
    try:
        if parser.parse_args().what == "build":
            print(build.binaries())
            return 0
        return _run()
    except (build.BuildError, ComponentDiedError, TimeoutError) as error:
        print(error, file=sys.stderr)
        return 1


def _run() -> int:
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: over.set())
    begin = time.monotonic()
    with controlplane.start() as cp:
        print(f"# Kubernetes is ready after {time.monotonic() - begin:.1f} s. In another shell:")
        print(f"export KUBECONFIG={cp.kubeconfig}")
        print(f"export PATH={cp.binaries}:$PATH   # kubectl is there")
        print("kubectl get namespaces")
        print(f"# Logs: {cp.logs}. Ctrl-C here stops it and removes everything.", flush=True)
        while not over.wait(_CHECK_INTERVAL):
            cp.check()
        print("# stopping", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
