"""The demo's order of events."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from rich.console import Console

from hack import images
from hack.cluster.paths import DEFAULT_NAME
from hack.demo import agent, background, cluster, ending, first, replay, watch
from hack.demo.shell import DemoError


def _title(console: Console, text: str) -> None:
    console.print()
    console.rule(f"[bold]{text}", align="left", characters="─")


def _wait(console: Console, preparation: background.Preparation) -> None:
    """Show that the long part is alive, with what it is doing right now."""
    told, shown = "", 0.0
    if preparation.finished():
        return
    console.print(
        f"Tools, cluster and images are being made; the first time takes minutes. Log: {preparation.log}"
    )
    with console.status("starting") as status:
        while not preparation.finished():
            stage = preparation.stage()
            line = f"{stage}, {preparation.elapsed:.0f} s: {preparation.last_line()}"
            status.update(line.replace("[", r"\["))
            quiet = not console.is_terminal and time.monotonic() - shown > 20
            if not console.is_terminal and (stage != told or quiet):
                told, shown = stage, time.monotonic()
                print(line, flush=True)
            time.sleep(0.5)


def up(name: str, console: Console) -> int:
    began = time.monotonic()
    _title(console, "1  Offline: nine labelled incidents, replayed")
    preparation = background.Preparation(name)
    demo: cluster.Cluster | None = None
    try:
        replay.show(console)
        console.print(f"[dim]{time.monotonic() - began:.0f} s since the start")
        _title(console, "2  A real Kubernetes node, the operator's chart, two components")
        _wait(console, preparation)
        demo = cluster.Cluster.of(name)
        cluster.forget_last_time(demo)
        cluster.install(demo, preparation.digest(images.OPERATOR.name))
        before = cluster.apply_modes(demo)
        agent.deploy(demo)
        agent.before(demo, console)
        cluster.apply_examples(demo)
        console.print(
            f"Installed after {time.monotonic() - began:.0f} s: chart, suites, {watch.GOOD}, {watch.BAD}."
        )
        _title(console, "3  Evidence: evaluations in Jobs, an observation period, one ConfigMap key")
        seen = watch.watch(demo, console)
        _title(console, "4  What happened")
        agent.after(demo, console)
        ending.show(console, demo, before, seen)
    except DemoError as error:
        console.print(f"\n[bold red]The demo stopped:[/] {str(error).replace('[', chr(92) + '[')}")
        if demo is not None:
            print(cluster.explain(demo), flush=True)
        console.print(error.advice or "`make demo` starts over; `make demo-down` removes everything.")
        return 1
    except KeyboardInterrupt:
        console.print("\nInterrupted. `make demo` goes on where it was; `make demo-down` removes everything.")
        return 130
    finally:
        preparation.stop()
        first.stop_compilers()
    console.print(f"[dim]{time.monotonic() - began:.0f} s in all")
    return 0


def down(name: str, console: Console) -> int:
    try:
        cluster.remove(name)
    except DemoError as error:
        console.print(f"[bold red]Not all could be removed:[/] {str(error).replace('[', chr(92) + '[')}")
        return 1
    console.print(f"The demo and its cluster {name!r} are gone.")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hack.demo", description=__doc__)
    parser.add_argument("verb", choices=["up", "down", "prepare"])
    parser.add_argument(
        "--name", default=os.environ.get("RCA_CLUSTER_NAME", DEFAULT_NAME), help="the cluster"
    )
    options = parser.parse_args(arguments)
    if options.verb == "prepare":
        return background.perform(options.name)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    console = Console(highlight=False)
    return up(options.name, console) if options.verb == "up" else down(options.name, console)
