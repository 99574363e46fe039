"""What the numbers mean: chance, rules of one line, how much so few incidents can say, and where they come from."""

from collections.abc import Iterator
from fractions import Fraction

from rca_eval.contract import ArmResult, GroundTruth, display, exact, nine
from rca_eval.contract.arm_metrics import describe_arm
from rca_eval.contract.metrics import mean
from rca_eval.contract.pools import candidate_pools
from rca_eval.gate import Comparison, GateResult
from rca_eval.gate.result import ArmStatistics
from rca_eval.report.document import ClassRow, Context, Ranker, StatisticRow
from rca_eval.report.rankers import accuracies
from rca_eval.report.rows import true_rank
from rca_eval.report.text import count, number

MANY = 50  # from here on one lost incident is within the usual tolerance of 0.02
BY_CONSTRUCTION = (
    "ScorerOnly is 1.0 by construction: its answer is planted. A sentinel for the plumbing, no measurement."
)
OURS = (
    "The {profile} incidents were written by the authors of the reference engine: exam and pupil come from one "
    "hand. Bring incidents of your own before you believe a rate."
)
SELF_REPORTED = "This scorecard was graded by whoever wrote it, not by the scorecard container."


def context_of(
    live: ArmResult | None,
    reference: ArmResult | None,
    beside: GateResult | Comparison,
    truth: GroundTruth | None,
    *,
    profile: str,
    self_reported: bool,
) -> Context:
    """The context of the honest arm; everything is null, and said to be missing, where it was not measured."""
    rows = live.incidents if live else ()
    pools = candidate_pools(truth) if truth else None
    first = next(iter(describe_arm(live, pools, cutoffs=(1,)).at), None) if live else None
    return Context(
        arm="LivePath",
        incidents=len(rows),
        accuracy=_figure(accuracy_of(live)),
        accuracy_was=_figure(accuracy_of(reference)),
        chance=first.chance if first else None,
        lift=first.lift if first else None,
        retrieval=first.retrieval if first else None,
        resolution=_figure(Fraction(1, len(rows)) if rows else None),
        rankers=None
        if truth is None
        else tuple(Ranker(name=name, accuracy=nine(share)) for name, share in accuracies(truth)),
        statistics=tuple(
            statistic_row(one, against="Reference" if isinstance(beside, Comparison) else None)
            for one in beside.statistics
        ),
        classes=tuple(
            ClassRow(
                fault_class=one.fault_class,
                arm=one.arm,
                incidents=one.incidents,
                hits=one.hits,
                hits_was=one.baseline,
            )
            for one in beside.classes
        ),
        caveats=tuple(caveats(len(rows), profile=profile, self_reported=self_reported)),
    )


def caveats(incidents: int, *, profile: str, self_reported: bool) -> Iterator[str]:
    """What belongs under every number, in every format."""
    yield small_sets(incidents)
    yield BY_CONSTRUCTION
    if profile in ("seed", "graded", "headroom"):
        yield OURS.format(profile=profile)
    if self_reported:
        yield SELF_REPORTED


def small_sets(incidents: int) -> str:
    if not incidents:
        return "LivePath measured nothing, so nothing is known about real incidents."
    one = f"one loss is {display(Fraction(1, incidents))}"
    if incidents < MANY:
        return f"{count(incidents, 'incident')}: {one}. So few can show a loss; they cannot prove that there is none."
    return f"{incidents} incidents: {one}. No loss here shows no loss here; it does not prove a rate."


def statistic_row(one: ArmStatistics, *, against: str | None = None) -> StatisticRow:
    """Never part of the verdict; two-sided exact McNemar, undefined where nothing was lost or fixed."""
    figures = f"b={one.regressed} lost, c={one.fixed} fixed of {one.incidents}"
    if one.mcnemar_exact is None:
        sentence = f"{figures}: nothing moved, so no p"
    else:
        sentence = f"{figures}: exact p {small(one.mcnemar_exact)}"
    if one.wilson_low is not None and one.wilson_high is not None:
        sentence += f"; AC@1 between {number(one.wilson_low)} and {number(one.wilson_high)} at 95 %"
    return StatisticRow(
        arm=one.arm,
        against=against or one.against,
        incidents=one.incidents,
        lost=one.regressed,
        fixed=one.fixed,
        exact_p=one.mcnemar_exact,
        sentence=sentence,
    )


def small(figure: str) -> str:
    """A probability for people: one that would print as 0.000 is not zero."""
    return "below 0.001" if exact(figure) < Fraction(1, 1000) else number(figure)


def accuracy_of(arm: ArmResult | None) -> Fraction | None:
    """AC@1 as the gate counts it: the cause alone at the top."""
    return mean([Fraction(true_rank(row) == 1) for row in arm.incidents]) if arm and arm.incidents else None


def _figure(value: Fraction | None) -> str | None:
    return None if value is None else nine(value)
