"""The project's images: what they are called, what they are made from, how they get onto a cluster's node.

`python -m hack.images build` builds all of them, `… load --name CLUSTER` builds and brings them to the
cluster. Nothing is pushed anywhere: a Pod that names them finds them on the node.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Image:
    """One image of ours."""

    name: str
    dockerfile: str
    context: str = "."


OPERATOR = Image("rca-rollout/operator:dev", "images/operator/Dockerfile")
HARNESS = Image("rca-rollout/harness:dev", "images/harness/Dockerfile")
PLAIN_ENGINE = Image(
    "rca-rollout/plain-engine:dev", "examples/engines/plain/Dockerfile", context="examples/engines/plain"
)
IMAGES = (OPERATOR, HARNESS, PLAIN_ENGINE)


def _cluster(*arguments: str) -> str:
    command = [sys.executable, "-m", "hack.cluster", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.strip()


def build(image: Image) -> str:
    """Build one image if what it is made from has changed; its digest either way."""
    arguments = ["image", "build", image.name, "--file", image.dockerfile, "--context", image.context]
    return _cluster(*arguments).rpartition(" ")[2]


def load(cluster: str, images: Sequence[Image] = IMAGES) -> None:
    """Build what changed, say every image's digest, then bring all of it to the cluster's node."""
    for image in images:
        print(image.name, build(image), flush=True)
    for image in images:
        _cluster("image", "load", image.name, "--name", cluster)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hack.images", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("build", help="build every image whose contents changed")
    verbs.add_parser("load", help="build, then load into a cluster").add_argument("--name", default="rca")
    verbs.add_parser("list", help="print the images' names")
    options = parser.parse_args(arguments)
    try:
        if options.verb == "build":
            for image in IMAGES:
                print(image.name, build(image))
        elif options.verb == "load":
            load(options.name)
        else:
            print("\n".join(image.name for image in IMAGES))
    except subprocess.CalledProcessError as error:
        # hack.cluster has said why on standard error.
        return int(error.returncode) or 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
