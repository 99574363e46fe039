"""Entry point of `python -m hack.cluster`."""

from __future__ import annotations

import sys

from hack.cluster.cli import main

if __name__ == "__main__":
    sys.exit(main())
