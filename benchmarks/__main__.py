"""`python -m benchmarks [NAME…]`: measure, print a table, exit 1 when a bound is missed, 2 when nothing could be measured.

Each benchmark runs in a process of its own, without the OpenBLAS settings that this machine may carry. Times on a
shared machine are what they are: see `load` in the output, and repeat.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.measure import Outcome
from rca_eval.contract import ContractError

NAMES = ("investigation", "throughput", "baro", "onset", "gate")
ASKED = ("scale",)
"""Only where they are named: they bring up a cluster."""
SECONDS = 1800
"""The most that one benchmark may take."""


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    if options.child:
        return _child(options)
    results: list[dict[str, Any]] = []
    before = machine.describe()
    for name in options.names or NAMES:
        result = _in_child(name, options)
        if result is None:
            return 2
        results.append(result)
        print(_table(result), flush=True)
    document = {"machine": before, "loadAfter": machine.load(), "results": results}
    print(_machine_line(document))
    if options.json is not None:
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    missed = [f"{result['name']}: {name}" for result in results for name in result["missed"]]
    for line in missed:
        print(f"missed  {line}")
    if not any(result["figures"] for result in results):
        print("benchmarks: nothing was measured, see above", file=sys.stderr)
        return 2
    return 1 if missed else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        choices=[[], *NAMES, *ASKED],
        metavar="NAME",
        help=f"of {', '.join(NAMES)} (default: all of these), {', '.join(ASKED)}",
    )
    parser.add_argument("--data", type=Path, help="folder with the Sock Shop cases; default: $RCA_DATA")
    parser.add_argument("--count", type=int, default=10_000, help="incidents of the throughput benchmark")
    parser.add_argument("--repeats", type=int, default=15, help="measurements of each figure, at least 3")
    parser.add_argument(
        "--scale",
        metavar="SCENARIO",
        action="append",
        help="of rate, 200, 1000, kill; default: all (with scale)",
    )
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.count < 2 or options.repeats < 3:
        parser.error("--count must be at least 2 and --repeats at least 3")
    return options


def _in_child(name: str, options: argparse.Namespace) -> dict[str, Any] | None:
    """The result of a benchmark in a process of its own; None when it failed, which the process has said."""
    env = {key: value for key, value in os.environ.items() if key not in machine.OPENBLAS}
    with tempfile.TemporaryDirectory(prefix="rca-bench-") as folder:
        target = Path(folder) / "result.json"
        command = [sys.executable, "-m", "benchmarks", name, "--child", str(target)]
        command += ["--count", str(options.count), "--repeats", str(options.repeats)]
        for scenario in options.scale or ():
            command += ["--scale", scenario]
        if options.data is not None:
            command += ["--data", str(options.data)]
        try:
            status = subprocess.run(command, env=env, check=False, timeout=SECONDS).returncode
        except subprocess.TimeoutExpired:
            print(f"benchmarks: {name} did not end within {SECONDS} s", file=sys.stderr)
            return None
        if status != 0:
            print(f"benchmarks: {name} ended with status {status}", file=sys.stderr)
            return None
        result: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
        return result


def _child(options: argparse.Namespace) -> int:
    from benchmarks import baro, gate, investigation, onset, throughput  # noqa: PLC0415  (numpy is slow to start)

    work: dict[str, Callable[[], Outcome]] = {
        "investigation": lambda: investigation.run(repeats=options.repeats),
        "throughput": lambda: throughput.run(count=options.count),
        "baro": lambda: baro.run(data=options.data, repeats=options.repeats),
        "onset": lambda: onset.run(repeats=options.repeats),
        "gate": gate.run,
    }
    if options.names[0] == "scale":
        from benchmarks import scale  # noqa: PLC0415  (the cluster's tools, which the others do not need)

        work["scale"] = lambda: scale.run(options.scale or scale.SCENARIOS)
    try:
        outcome = work[options.names[0]]()
    except ContractError as error:
        print(f"{error.reason}: {error.message}", file=sys.stderr)
        return 2
    options.child.write_text(json.dumps(outcome.plain()), encoding="utf-8")
    return 0


def _table(result: dict[str, Any]) -> str:
    lines = [result["name"]]
    for row in result["figures"]:
        bound = ""
        if row["limit"] is not None:
            sign = ">=" if row["at_least"] else "<="
            held = "least " if row["by_least"] else ""
            bound = f"  {held}{sign} {row['limit']:g}  {'ok' if row['kept'] else 'MISSED'}"
        spread = (
            f"  ({row['least']:.3f} to {row['most']:.3f}, n={row['repeats']})" if row["repeats"] > 1 else ""
        )
        lines.append(f"  {row['name']:<48}{row['median']:>12.3f} {row['unit']:<4}{bound}{spread}")
    lines += [
        f"  {fact['name']:<48}{'yes' if fact['kept'] else 'NO':>12}       {fact['detail']}"
        for fact in result["facts"]
    ]
    lines += [f"  note: {note}" for note in result["notes"]]
    lines += [f"  skipped: {reason}" for reason in result["skipped"]]
    return "\n".join(lines)


def _machine_line(document: dict[str, Any]) -> str:
    found = document["machine"]
    return (
        f"machine  {found['cpu']}, {found['cores']} cores, {found['system']}, Python {found['python']}, "
        f"load {found['load'][0]} before and {document['loadAfter'][0]} after"
    )


if __name__ == "__main__":
    sys.exit(main())
