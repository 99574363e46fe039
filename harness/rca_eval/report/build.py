"""Build the report of a verdict. Pure: documents in, one document out."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rca_eval.contract import (
    METRIC_NAMES,
    ArmResult,
    Baseline,
    GroundTruth,
    Scorecard,
    digest,
    exact,
    is_finite,
    nine,
    one_line,
)
from rca_eval.contract.metrics import median
from rca_eval.gate import GateContext, GatePolicy, GateResult
from rca_eval.gate.beside import ARM_ORDER
from rca_eval.gate.subject import Subject
from rca_eval.report.context import context_of
from rca_eval.report.document import (
    Against,
    CheckRow,
    Fact,
    LostRow,
    MetricRow,
    Report,
    Timeline,
    Verdict,
)
from rca_eval.report.incident_data import timeline
from rca_eval.report.rows import EXPLAINED, Side, explain, incident_row, lost_row, pairs
from rca_eval.report.text import brief, clean, cut
from rca_eval.report.weights import active_notes, shadow_weights, text_of
from rca_eval.report.why import why_of

NEAREST = 3
LONGEST = 300  # the gate's own limit of a message


@dataclass(frozen=True)
class Sources:
    """Where the documents came from, for the commands to type next; None for what was not a file.

    Of `dataset` and `profile` one is given where the dataset is not the one that commands take by themselves.
    """

    scorecard: str | None = None
    baseline: str | None = None
    dataset: str | None = None
    profile: str | None = None


def gate_report(
    card: Scorecard,
    baseline: Baseline | None,
    result: GateResult,
    *,
    truth: GroundTruth | None = None,
    policy: GatePolicy | None = None,
    context: GateContext | None = None,
    sources: Sources | None = None,
) -> Report:
    """The report of a verdict. `truth` adds chance, simple rankers, times and weights. Total, as the gate is."""
    subject = Subject(card, baseline, policy or GatePolicy(), context or GateContext())
    sides = list(gate_sides(subject))
    weights = shadow_weights(card, baseline, truth)
    notes = tuple(active_notes(card, baseline, truth))
    live = subject.arms(subject.candidate_name).get("LivePath")
    return assemble(
        sides,
        verdict=Verdict(
            verdict=result.verdict,
            reason=result.reason,
            message=cut(one_line(result.message), LONGEST),
            exit_code=result.exit_code,
        ),
        weights=(text_of(weights),) if weights else (),
        notes=notes,
        timelines=timelines_of(truth),
        checks=tuple(
            CheckRow(
                name=one.name,
                arm=one.arm,
                against=one.against,
                result=one.result,
                message=clean(one.message, LONGEST),
            )
            for one in result.checks
        ),
        metrics=tuple(_metrics(subject)),
        context=context_of(
            live,
            subject.baseline_arms.get("LivePath"),
            result,
            truth,
            profile=card.deterministic.dataset.profile,
            self_reported=card.provenance == "SelfReported",
        ),
        run=tuple(run_facts(card, baseline, subject.candidate_name)),
        sources=sources or Sources(),
    )


def gate_sides(subject: Subject) -> Iterator[Side]:
    """Both arms of the candidate, each beside the baseline and beside Without."""
    for arm in ARM_ORDER:
        side = side_of(subject, subject.candidate_name, arm)
        if side is not None:
            yield side


def side_of(subject: Subject, variant: str, arm: str) -> Side | None:
    """One arm of a variant beside the baseline, and beside Without if it is another; None if it has no such arm."""
    now = subject.arms(variant).get(arm)
    if now is None:
        return None
    references: list[tuple[Against, ArmResult]] = []
    if arm in subject.baseline_arms:
        references.append(("Baseline", subject.baseline_arms[arm]))
    without = subject.arms("Without")
    if variant == "With" and arm in without:
        references.append(("Without", without[arm]))
    return Side(
        variant=variant,
        now=now,
        references=references,
        protected=frozenset(row.id for row in subject.protected(now)),
        seconds=seconds_of(subject.scorecard, variant, arm),
    )


def assemble(
    sides: Sequence[Side],
    *,
    weights: tuple[str, ...],
    notes: tuple[str, ...],
    timelines: Callable[[str], Timeline | None],
    sources: Sources,
    **blocks: Any,
) -> Report:
    """The blocks that are made of incidents, around those that are given."""
    found = [pair for side in sides for pair in pairs(side)]
    lost = [pair for pair in found if pair.outcome == "Lost"]
    explained = [(pair, explain(pair)) for pair in lost[:EXPLAINED]]
    rows = tuple(lost_row(pair, why, timelines) for pair, why in explained)
    incidents = tuple(map(incident_row, found))
    honest = [row for row in incidents if row.arm == "LivePath" and row.variant == sides[0].variant]
    near = sorted(
        (
            row
            for row in honest
            if row.rank_now == 1 and row.margin_now is not None and is_finite(row.margin_now)
        ),
        key=lambda row: (exact(row.margin_now or "0.000000000"), row.id),
    )[:NEAREST]
    why = why_of(explained, total=len(lost), weights=weights, notes=notes)
    return Report(
        why=why,
        lost=rows,
        near=tuple(near),
        fixed=tuple(row.id for row in honest if row.outcome == "Fixed"),
        still_missed=tuple(row.id for row in honest if row.outcome == "StillMissed"),
        unchanged=sum(row.outcome == "Kept" for row in honest),
        incidents=incidents,
        next=tuple(_next(rows, near[0].id if near else None, [row.id for row in incidents], sources)),
        **blocks,
    )


def timelines_of(truth: GroundTruth | None) -> Callable[[str], Timeline | None]:
    incidents = {one.id: one for one in truth.incidents} if truth else {}
    return lambda name: timeline(incidents.get(name), truth.window_seconds if truth else 0)


def seconds_of(card: Scorecard, variant: str, arm: str) -> dict[str, str]:
    """Median over the repeats by incident; incidents without any time are left out."""
    owner = card.deterministic.owner_of(variant)
    found = {}
    for row in card.measured.seconds:
        if row.variant == owner and row.arm == arm:
            known = [exact(value) for value in row.values if value is not None and is_finite(value)]
            if known:
                found[row.incident] = nine(median(known))
    return found


def run_facts(card: Scorecard, baseline: Baseline | None, variant: str) -> Iterator[Fact]:
    """The identity of what was measured: equal facts, equal evidence."""
    info, measured = card.deterministic.dataset, card.measured
    modes = next((one.modes for one in card.deterministic.variants if one.name == variant), {})
    yield Fact(name="revision", value=clean(card.deterministic.revision) or "-")
    yield Fact(name="dataset", value=f"{clean(info.profile, 60)}, sha256 {info.sha256}")
    if baseline is None:
        yield Fact(name="baseline", value="none")
    else:
        engine = baseline.provenance.engine
        yield Fact(
            name="baseline",
            value=f"{clean(engine.name, 60)} {clean(engine.version, 60)}, sha256 {digest(baseline)}",
        )
    yield Fact(
        name="modes", value=clean(", ".join(f"{key}={value}" for key, value in sorted(modes.items()))) or "-"
    )
    yield Fact(name="judged", value=variant)
    yield Fact(name="engine", value=f"{clean(measured.engine.name, 60)} {clean(measured.engine.version, 60)}")
    same = "identical" if measured.repeats.identical else "NOT identical"
    yield Fact(name="repeats", value=f"{measured.repeats.count}, {same}")
    yield Fact(name="provenance", value=card.provenance)
    yield Fact(name="evidence", value=f"sha256 {card.deterministic_sha256()}")


def _metrics(s: Subject) -> Iterator[MetricRow]:
    name = s.candidate_name
    for arm in ARM_ORDER:
        now, was = s.arms(name).get(arm), s.baseline_arms.get(arm)
        if now is None:
            continue
        for metric in METRIC_NAMES:
            yield MetricRow(
                variant=name,
                arm=arm,
                metric=metric,
                was=was.metrics.get(metric) if was else None,
                now=now.metrics.get(metric),
            )
        yield MetricRow(
            variant=name, arm=arm, metric="MTTR, s", was=_mttr(s, arm, None), now=_mttr(s, arm, name)
        )


def _mttr(s: Subject, arm: str, variant: str | None) -> str | None:
    try:
        value: Fraction | None = s.baseline_seconds(arm) if variant is None else s.seconds(variant, arm)
    except ValueError:  # a time that is no number; the gate has said so
        return None
    return None if value is None else nine(value)


def _next(
    lost: Sequence[LostRow], nearest: str | None, ids: Sequence[str], sources: Sources
) -> Iterator[str]:
    """Commands that can be typed as they stand; an id's beginning is enough where it is the only one."""
    card = shlex.quote(sources.scorecard) if sources.scorecard else "SCORECARD"
    data = f" --dataset {shlex.quote(sources.dataset)}" if sources.dataset else ""
    data += f" --profile {shlex.quote(sources.profile)}" if sources.profile else ""
    more = (f" --baseline {shlex.quote(sources.baseline)}" if sources.baseline else "") + data
    about = lost[0].id if lost else nearest
    if about:
        yield one_line(f"rca-eval explain {brief(about, ids)} --scorecard {card}{more}")
    if lost:
        some = list(dict.fromkeys(row.id for row in lost))[:3]
        yield one_line(f"rca-eval replay {' '.join(f'--only {brief(name, ids)}' for name in some)}{data}")
