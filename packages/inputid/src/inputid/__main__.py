"""``python -m inputid`` is the command ``inputid``."""

from __future__ import annotations

import sys

from .cli import main

sys.exit(main())
