"""`./dev demo`: the main job on real parts, told step by step.

This half runs on the host: a real control plane here, the lab's machine beside it, and in that
machine the other half (`job.narrator`), whose output is shown as it comes.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from cluster import build, controlplane
from cluster.plugin import guest
from cluster.processes import ComponentDiedError
from lab import results, root, vm

LONGEST = 30 * 60.0


def main() -> int:
    """Play the demo; the exit status, 0 when every step was seen."""
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__)
    parser.add_argument(
        "--controller", choices=("dualsense", "remote"), default="dualsense", help="what to pair"
    )
    parser.add_argument("--results", type=Path, help="where logs go (default: a fresh folder)")
    options = parser.parse_args()
    begin = time.monotonic()
    try:
        done = play(options.controller, results.folder(options.results))
    except (root.BuildError, build.BuildError, ComponentDiedError, vm.GuestDiedError) as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    print(f"demo: {time.monotonic() - begin:.0f} s in all", file=sys.stderr)
    return done.status


def play(controller: str, folder: Path) -> vm.Done:
    """Start cluster and machine, and run the narrator in it."""
    found = root.build()
    with controlplane.start() as cluster:
        prepared = guest(cluster, found.tree, vm.RESULTS)
        shares = tuple(vm.Share(path, place) for place, path in prepared.folders.items())
        with vm.boot(shares=shares, results=folder) as machine:
            command = ["python", "-u", "-m", "job.narrator", controller, str(machine.results)]
            return machine.run(command, env=prepared.environment, timeout=LONGEST)


if __name__ == "__main__":
    sys.exit(main())
