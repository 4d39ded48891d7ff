"""`python -m lab`: the lab for people. See README.md beside this file."""

from __future__ import annotations

import sys

from lab.cli import main

if __name__ == "__main__":
    sys.exit(main())
