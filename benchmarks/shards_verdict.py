"""What the operator does with the logs of an evaluation: read, verify and merge the parts, and judge the whole.

`python -m benchmarks.shards_verdict LOG…`; the baseline is the run's own AllShadow. How long the loop stands still while a thread does it
is the longest gap between two looks of the main thread at the clock, which sleeps a millisecond in between.
"""

from __future__ import annotations

import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from rca_eval.contract import (
    Baseline,
    BaselineMttr,
    BaselineProvenance,
    Scorecard,
    canonical,
    pack,
    parse_scorecard,
    read_scorecard,
    unpack,
)
from rca_eval.contract.frames import read_part
from rca_eval.contract.merge import merge
from rca_eval.contract.part import ScorecardPart, parse_part
from rca_eval.contract.sharing import Pool
from rca_eval.gate import GateContext, GatePolicy, evaluate


def main() -> None:
    logs = [Path(name).read_bytes() for name in sys.argv[1:]]
    whole = len(logs) == 1
    documents = [(read_scorecard(raw)[1] if whole else read_part(raw)[1]) for raw in logs]
    packed = [pack(one) for one in documents]
    print(
        f"parts: {sum(map(len, documents)) / 1e6:.1f} MB plain, {sum(map(len, packed)) / 1e6:.2f} MB packed, "
        f"the largest {max(map(len, packed)) / 1024:.0f} KiB"
    )
    if not whole:
        documents, logs = packed, []
    card: Scorecard = _timed(
        "parse and merge",
        lambda: parse_scorecard(documents[0]) if whole else merge(_parts(documents)),
    )
    baseline = _baseline(card)
    verdict = _timed(
        "gate", lambda: evaluate(card, baseline, GatePolicy(), GateContext(component=True, revision="r1"))
    )
    digest = _timed("deterministicSha256", card.deterministic_sha256)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{verdict.verdict} ({verdict.reason}): {verdict.message[:120]}; {digest[:12]}; peak {peak:.0f} MiB"
    )
    print(
        f"the whole: {len(canonical(card)) / 1e6:.1f} MB plain, {len(pack(canonical(card))) / 1e6:.2f} MB packed"
    )


def _parts(documents: list[bytes]) -> list[ScorecardPart]:
    """One after the other, as the operator reads them."""
    pool = Pool()
    return [pool.share(parse_part(unpack(documents.pop(0)))) for _ in list(documents)]


def _timed[T](name: str, do: Callable[[], T]) -> T:
    found: list[T] = []
    thread = threading.Thread(target=lambda: found.append(do()))
    begun = last = time.perf_counter()
    gap, cpu = 0.0, time.process_time()
    thread.start()
    while thread.is_alive():
        time.sleep(0.001)
        now = time.perf_counter()
        gap, last = max(gap, now - last), now
    print(
        f"{name}: {last - begun:.2f} s, {time.process_time() - cpu:.2f} s of processor, the loop stood for {gap * 1e3:.0f} ms at most"
    )
    return found[0]


def _baseline(card: Scorecard) -> Baseline:
    return Baseline(
        provenance=BaselineProvenance(engine=card.measured.engine, created_by="the run itself"),
        dataset=card.deterministic.dataset,
        arms=card.deterministic.arms_of("AllShadow") or (),
        mttr_seconds=tuple(
            BaselineMttr(arm=row.arm, value=row.value)
            for row in card.measured.mttr_seconds
            if row.variant == "AllShadow"
        ),
    )


if __name__ == "__main__":
    main()
