"""The command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from hack.cluster import tools
from hack.cluster.errors import ClusterError


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hack.cluster", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    ensure = verbs.add_parser("ensure-tools")
    ensure.add_argument("names", nargs="*")
    options = parser.parse_args(arguments)
    try:
        print(tools.ensure_all(options.names))
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    return 0
