"""`python -m draplugin` is the command `draplugin`."""

import sys

from .cli import main

sys.exit(main())
