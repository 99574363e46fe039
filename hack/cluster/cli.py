"""A Kubernetes cluster for development and tests: yours, kind's, or one built from nothing."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from hack.cluster import images, lifecycle, tools
from hack.cluster.errors import ClusterError
from hack.cluster.paths import DEFAULT_NAME, ClusterPaths
from hack.cluster.progress import note


def _parser() -> argparse.ArgumentParser:
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument(
        "--name",
        default=os.environ.get("RCA_CLUSTER_NAME", DEFAULT_NAME),
        help="which cluster; several live side by side (default: $RCA_CLUSTER_NAME, else %(default)s)",
    )
    parser = argparse.ArgumentParser(prog="python -m hack.cluster", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser(
        "up", parents=[named], help="bring a cluster up (or repair it), print its kubeconfig's path"
    )
    up.add_argument(
        "--context",
        default=os.environ.get("RCA_CLUSTER_CONTEXT") or None,
        help="use this context of your kubeconfig (default: $RCA_CLUSTER_CONTEXT), never the current one",
    )
    up.add_argument("--allow-unknown-cluster", action="store_true", help="accept a context of any name")
    up.add_argument(
        "--control-plane-only", action="store_true", help="an API server without a node; needs no root"
    )
    verbs.add_parser("down", parents=[named], help="remove the cluster and every trace of it")
    status = verbs.add_parser("status", parents=[named], help="show what runs; exit status 0 only when ready")
    status.add_argument("--json", action="store_true", help="for programs")
    verbs.add_parser("kubeconfig", parents=[named], help="print the kubeconfig's path")
    ensure = verbs.add_parser(
        "ensure-tools", help="build what is missing, print the directory with all binaries"
    )
    ensure.add_argument("names", nargs="*", help="tools or sets of tools (default: all but kind)")
    image = verbs.add_parser("image", help="container images").add_subparsers(
        dest="image_verb", required=True
    )
    build = image.add_parser("build", help="build an image, unless nothing it is made from has changed")
    build.add_argument("image")
    build.add_argument("--file", type=Path, required=True, help="the Dockerfile")
    build.add_argument("--context", type=Path, default=Path(), help="the build context (default: here)")
    build.add_argument("--build-arg", action="append", default=[], metavar="KEY=VALUE")
    load = image.add_parser(
        "load", parents=[named], help="make a built image available to the cluster's Pods"
    )
    load.add_argument("image")
    return parser


def _show(status: lifecycle.Status) -> None:
    print(
        f"{status.name}: {status.state}"
        + (f" ({status.kind}, context {status.context})" if status.kind else "")
    )
    if status.kubeconfig:
        print(f"  kubeconfig {status.kubeconfig}")
    if status.server:
        print(f"  API server {status.server}")
    for component, pid in status.components.items():
        print(f"  {component:<24} {f'running, pid {pid}' if pid else 'NOT RUNNING'}")


def _run(options: argparse.Namespace) -> int:
    began = time.monotonic()
    match options.verb:
        case "up":
            paths = lifecycle.up(
                options.name,
                context=options.context,
                allow_unknown=options.allow_unknown_cluster,
                control_plane_only=options.control_plane_only,
            )
            note(
                f"{options.name} is ready after {time.monotonic() - began:.1f} s; "
                f"export KUBECONFIG={paths.kubeconfig}"
            )
            print(paths.kubeconfig)
        case "down":
            lifecycle.down(options.name)
            note(f"{options.name} is gone after {time.monotonic() - began:.1f} s")
        case "status":
            status = lifecycle.status(options.name)
            if options.json:
                print(json.dumps(asdict(status), indent=1))
            else:
                _show(status)
            return 0 if status.state == "ready" else 1
        case "kubeconfig":
            paths = ClusterPaths.of(options.name)
            if not paths.kubeconfig.exists():
                raise ClusterError(
                    f"There is no cluster {options.name!r}: run `python -m hack.cluster up` first."
                )
            print(paths.kubeconfig)
        case "ensure-tools":
            print(tools.ensure_all(options.names))
        case "image":
            _image(options)
    return 0


def _image(options: argparse.Namespace) -> None:
    if options.image_verb == "build":
        built = images.build(
            options.image, options.file, options.context, images.parse_arguments(options.build_arg)
        )
        print(f"{built.reference} {built.digest}")
    else:
        print(images.load(options.image, options.name))


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except ClusterError as error:
        print(f"cluster: error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `status | head -1`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("cluster: interrupted; `down` cleans up, `up` goes on", file=sys.stderr)
        return 130
