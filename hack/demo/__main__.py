"""Entry point of `python -m hack.demo`."""

from __future__ import annotations

import sys

from hack.demo.cli import main

if __name__ == "__main__":
    sys.exit(main())
