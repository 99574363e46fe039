"""`python -m hack.mutation`: put small faults into the gate, one at a time, and count how many its tests notice.

    python -m hack.mutation                      # the whole gate; exit 1 below 95 %
    python -m hack.mutation --module statistics  # one module of it, or several
    python -m hack.mutation --limit 100          # so many mutants, spread evenly
    python -m hack.mutation --only clipped       # those whose names contain this
    python -m hack.mutation --list               # their names, and nothing is run

Exit 2: nothing was measured, since the tests fail without a mutant, a self-check failed, or the list of equivalent
mutants is not true any more. See docs/gate-selftest.md.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from hack.mutation.ledger import Tally, equivalents
from hack.mutation.measure import Measurement, Target
from hack.mutation.mutants import Mutant, Source, read
from hack.mutation.processes import BrokenError

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("test_gate_*.py", "test_statistics*.py", "test_counterfactual*.py", "test_compare*.py")
TOO_SLOW = ("store", "report_cases")  # a database, and a replay in a process of its own
EVERY_SECONDS = 20


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        return _run(options)
    except BrokenError as error:
        print(f"mutation: {error}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    folder: Path = options.source.resolve()
    sources = [read(path) for path in sorted(folder.glob("*.py"))]
    known = equivalents(options.equivalents, (one for source in sources for one in source.mutants))
    names = {source.name for source in sources}
    if unknown := sorted(set(options.module) - names):
        raise BrokenError(f"{folder.name} has no module {unknown[0]}; it has {', '.join(sorted(names))}")
    mutants = _chosen(sources, options)
    if not mutants:
        raise BrokenError("no mutant fits; see --list")
    if options.list:
        for mutant in mutants:
            print(f"{'equivalent  ' if mutant.name in known else ''}{mutant.name}")
        return 0
    tests = tuple(map(str, options.tests)) or tuple(
        str(path) for pattern in TESTS for path in sorted((ROOT / "tests/unit/harness").glob(pattern))
    )
    target = Target(folder, options.package, tests, without=TOO_SLOW)
    tally, start = Tally(mutants, known), time.monotonic()
    spoken = start
    with tempfile.TemporaryDirectory(prefix="mutation-") as base:
        measurement = Measurement(target, [s for s in sources if s.mutants], mutants, Path(base, "pytest"))
        for result in measurement.results():
            tally.fates[result.number] = result.fate
            if options.verbose:
                print(f"{result.fate:9}  {mutants[result.number].name}", flush=True)
            elif time.monotonic() - spoken > EVERY_SECONDS:
                spoken = time.monotonic()
                print(
                    f"{len(tally.fates)} of {len(mutants)}, {spoken - start:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
    return _report(tally, len(mutants), Fraction(options.bound), time.monotonic() - start)


def _report(tally: Tally, expected: int, bound: Fraction, seconds: float) -> int:
    if len(tally.fates) != expected:
        raise BrokenError(f"only {len(tally.fates)} of {expected} mutants were judged; run again")
    for name in tally.survivors:
        print(f"survived  {name}")
    print(tally.table())
    print(f"{seconds:.0f} s")
    for name in tally.refuted:
        print(f"refuted   {name}: called equivalent, and a test notices it", file=sys.stderr)
    if tally.refuted:
        return 2
    share = tally.share()
    if share is None or 100 * share < bound:
        print(
            f"fewer than {bound} % of the mutants are noticed: write a test for the survivors above",
            file=sys.stderr,
        )
        return 1
    return 0


def _chosen(sources: Sequence[Source], options: argparse.Namespace) -> list[Mutant]:
    every = [
        mutant
        for source in sources
        if not options.module or source.name in options.module
        for mutant in source.mutants
        if options.only is None or options.only in mutant.name
    ]
    if options.limit is None or options.limit >= len(every):
        return every
    return [every[at * len(every) // options.limit] for at in range(options.limit)]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m hack.mutation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--module", action="append", default=[], metavar="NAME", help="of the package; can be given again")
    add("--limit", type=int, metavar="N", help="so many mutants, spread evenly")
    add("--only", metavar="TEXT", help="mutants whose names contain this")
    add("--list", action="store_true", help="print the mutants and run nothing")
    add("--verbose", action="store_true", help="print what became of each")
    add("--bound", default="95", metavar="PERCENT", help="exit 1 below this; default 95")
    add("--source", type=Path, default=ROOT / "harness/rca_eval/gate", help="folder of another package")
    add("--package", default="rca_eval.gate", help="its dotted name")
    add("--tests", type=Path, action="append", default=[], metavar="PATH", help="its tests")
    add(
        "--equivalents",
        type=Path,
        default=Path(__file__).with_name("equivalents.toml"),
        help="its list of equivalents",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
