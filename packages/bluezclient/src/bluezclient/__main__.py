"""`python -m bluezclient` is the `bluezclient` command."""

import sys

from bluezclient.cli import main

if __name__ == "__main__":
    sys.exit(main())
