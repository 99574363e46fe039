"""The report of `rca-eval compare`: the blocks of a verdict, without a gate."""

from collections.abc import Iterator
from fractions import Fraction

from rca_eval.contract import Baseline, GroundTruth, Scorecard, display, exact
from rca_eval.gate import Comparison, Side
from rca_eval.gate.beside import ARM_ORDER
from rca_eval.gate.counterfactual import changed_weights, weights_text
from rca_eval.report.build import Sources, assemble, run_facts, seconds_of, timelines_of
from rca_eval.report.context import context_of
from rca_eval.report.document import Fact, MetricRow, Report, Verdict
from rca_eval.report.rows import Side as RowSide
from rca_eval.report.text import clean, listed

WEIGHTS_LIMIT = 200


def comparison_report(
    reference: Side,
    candidate: Side,
    found: Comparison,
    card: Scorecard | Baseline,
    *,
    truth: GroundTruth | None = None,
    sources: Sources | None = None,
) -> Report:
    """`card` is the candidate's document. Verdict Worse (exit 1) if an incident was lost, else Better or Equal."""
    variant = _variant(candidate, card)
    sides = [
        RowSide(
            variant=variant,
            now=candidate.arms[arm],
            references=[("Reference", reference.arms[arm])],
            protected=frozenset(
                row.id for row in candidate.arms[arm].incidents if row.protected or row.change_induced
            ),
            seconds=seconds_of(card, variant, arm) if isinstance(card, Scorecard) else {},
        )
        for arm in ARM_ORDER
        if arm in candidate.arms and arm in reference.arms
    ]
    weights = [
        text
        for side in sides
        if (text := weights_text(changed_weights(side.now, side.references[0][1]), limit=WEIGHTS_LIMIT))
    ]
    return assemble(
        sides,
        kind="Comparison",
        verdict=_verdict(found),
        weights=tuple(weights[:1]),
        notes=(),
        timelines=timelines_of(truth),
        checks=(),
        metrics=tuple(
            MetricRow(
                variant=variant,
                arm=row.arm,
                metric="MTTR, s" if row.metric == "MTTR" else row.metric,
                was=row.reference,
                now=row.candidate,
            )
            for row in found.metrics
        ),
        context=context_of(
            candidate.arms.get("LivePath"),
            reference.arms.get("LivePath"),
            found,
            truth,
            profile=candidate.dataset.profile,
            self_reported=isinstance(card, Scorecard) and card.provenance == "SelfReported",
        ),
        run=tuple(_facts(reference, candidate, card, variant)),
        sources=sources or Sources(),
    )


def _verdict(found: Comparison) -> Verdict:
    live = [move for move in found.regressed if move.arm == "LivePath"] or found.regressed
    lost = list(dict.fromkeys(move.incident for move in live))
    fixed = list(dict.fromkeys(move.incident for move in found.fixed))
    everything = [move.incident for move in (*found.regressed, *found.fixed, *found.unchanged)]
    word = "Worse" if lost else "Better" if fixed else "Equal"
    moved = f"lost {listed(lost, everything)}; fixed {listed(fixed, everything)}"
    metric = next(
        (row for row in found.metrics if row.metric == "AC@1" and row.reference and row.candidate), None
    )
    figures = ""
    if metric is not None and metric.reference and metric.candidate:
        was, now = exact(metric.reference), exact(metric.candidate)
        figures = f"AC@1 {_shown(was)} -> {_shown(now)}, {metric.arm}; "
    return Verdict(
        verdict=word,
        reason="IncidentsLost" if lost else "NothingLost",
        message=clean(f"{figures}{moved}", 300),
        exit_code=found.exit_code,
    )


def _shown(value: Fraction) -> str:
    return display(value)


def _variant(side: Side, card: Scorecard | Baseline) -> str:
    return "AllShadow" if isinstance(card, Baseline) else side.name.rpartition(" ")[2]


def _facts(reference: Side, candidate: Side, card: Scorecard | Baseline, variant: str) -> Iterator[Fact]:
    yield Fact(name="reference", value=clean(reference.name))
    yield Fact(name="candidate", value=clean(candidate.name))
    if isinstance(card, Scorecard):
        yield from (
            fact for fact in run_facts(card, None, variant) if fact.name not in ("baseline", "judged")
        )
        return
    yield Fact(name="dataset", value=f"{clean(card.dataset.profile, 60)}, sha256 {card.dataset.sha256}")
    engine = card.provenance.engine
    yield Fact(name="engine", value=f"{clean(engine.name, 60)} {clean(engine.version, 60)}")
