"""How far rules of one line come on a dataset: what a number has to beat before it means something."""

from collections.abc import Sequence
from fractions import Fraction

from rca_eval.contract import GroundTruth
from rca_eval.lint.simple_rankers import RANKERS, live_view

ENOUGH = 1000  # incidents; the series of more are not computed with, and the report says so


def accuracies(truth: GroundTruth) -> Sequence[tuple[str, Fraction]]:
    """AC@1 of every rule, over the first thousand incidents that LivePath can have; ties count against a rule.

    Empty when no incident has telemetry.
    """
    views = [
        (frozenset(one.expected_root_cause), view)
        for one in truth.incidents[:ENOUGH]
        if (view := live_view(one, truth.window_seconds)) is not None and view.telemetry.services
    ]
    if not views:
        return ()
    found = []
    for name, score in RANKERS:
        hits = sum(_alone_at_the_top(score(view), causes) for causes, view in views)
        found.append((name, Fraction(hits, len(views))))
    return found


def _alone_at_the_top(scores: dict[str, Fraction], causes: frozenset[str]) -> bool:
    best = max(scores.values(), default=None)
    return bool(scores) and all(key in causes for key, value in scores.items() if value == best)
