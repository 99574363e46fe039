"""Real runs for the reports: the reference engine as it is, without a term, with another blend, with edited weights."""

import sys
import tempfile
from functools import cache
from pathlib import Path

from rca_eval.contract import Baseline, GroundTruth, Scorecard, parse_baseline, parse_ground_truth
from rca_eval.data import baseline_bytes, ground_truth_bytes
from rca_eval.gate import GateResult, evaluate
from rca_eval.replay import DEFAULT_COMPONENT, Plan, replay, variants
from rca_eval.report.build import Sources, gate_report
from rca_eval.report.document import Report

RUNS: dict[str, dict[str, str]] = {
    "passed": {},
    "two lost": {"RCA_ENGINE_WITHOUT": "chg"},
    "nine lost": {"RCA_ENGINE_BLEND": "topo=.75,tele=.10,hist=.15"},
}
# The reference engine with one published table replaced, as a diff of one weight would do it.
EDITED = """
import sys
from fractions import Fraction
from rca_eval.engine import blend
name, *weights = sys.argv[1:]
table = getattr(blend, name)
changed = dict(table.weights) | {term: Fraction(w) for term, w in (pair.split("=") for pair in weights)}
setattr(blend, name, blend.Table(table.name, changed))
from rca_eval.cli.main import run
sys.exit(run(["job", "engine"]))
"""


@cache
def card(name: str) -> Scorecard:
    """A real replay of the graded profile, two engine processes."""
    return replay(
        Plan(
            dataset=ground_truth_bytes("graded"),
            variants=variants(DEFAULT_COMPONENT, {}),
            settings=RUNS[name],
        )
    )


@cache
def edited_card(table: str, *weights: str) -> Scorecard:
    """`edited_card("FLOOR", "topo=51/100", "tele=34/100")`."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "engine.py")
        script.write_text(EDITED, encoding="utf-8")
        plan = Plan(
            dataset=ground_truth_bytes("graded"),
            variants=variants(DEFAULT_COMPONENT, {}),
            engine=(sys.executable, str(script), table, *weights),
        )
        return replay(plan)


@cache
def baseline() -> Baseline:
    return parse_baseline(baseline_bytes("graded"))


@cache
def truth() -> GroundTruth:
    return parse_ground_truth(ground_truth_bytes("graded"))


@cache
def verdict(name: str) -> GateResult:
    return evaluate(card(name), baseline())


@cache
def report(name: str) -> Report:
    return gate_report(
        card(name), baseline(), verdict(name), truth=truth(), sources=Sources(scorecard="card.json")
    )
