"""What a dataset holds: incidents, who says so, how hard it is, and how much it can show. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from rca_eval.contract import Baseline, Figure, GroundTruth, Incident, IncidentResult, Model, digest, nine
from rca_eval.contract.arm_metrics import accuracy, random_order
from rca_eval.contract.groundtruth import Generator
from rca_eval.contract.pools import candidate_pools
from rca_eval.report.context import BY_CONSTRUCTION, OURS, accuracy_of, small_sets
from rca_eval.report.document import Ranker
from rca_eval.report.explanation import moment
from rca_eval.report.rankers import ENOUGH, accuracies
from rca_eval.report.rows import margin_of, true_rank
from rca_eval.report.text import NAME, clean, count

TOLERANCE = Fraction(1, 50)


class Counted(Model):
    name: str
    incidents: int


class DescribedIncident(Model):
    """One incident; `margin` and `rank` are those of the baseline, null without one."""

    id: str
    fault_class: str
    causes: tuple[str, ...]
    symptom: str | None
    alert: str | None
    change_induced: bool
    protected: bool
    label: str
    telemetry: str
    services: int
    candidates: int | None
    changes: int
    changes_in_window: int
    series: int
    onset: int | None
    rank: int | None
    margin: Figure | None


class Description(Model):
    """The dataset at a glance; figures are strings of nine digits, null where there is nothing to compute with."""

    source: str
    sha256: str
    profile: str
    comment: str | None
    window_seconds: int
    incidents: tuple[DescribedIncident, ...]
    live: int
    classes: tuple[Counted, ...]
    causes: tuple[Counted, ...]
    labels: tuple[Counted, ...]
    truth: tuple[str, ...]
    telemetry: tuple[Counted, ...]
    first: str | None
    last: str | None
    chance: Figure | None
    constant: Figure
    rankers: tuple[Ranker, ...]
    resolution: Figure
    baseline: str | None
    baseline_accuracy: Figure | None
    caveats: tuple[str, ...]


def description(
    truth: GroundTruth, *, source: str, sha256: str, baseline: Baseline | None = None
) -> Description:
    """`baseline` is a reference of this dataset, or None; it adds ranks and margins."""
    live = next((arm for arm in baseline.arms if arm.arm == "LivePath"), None) if baseline else None
    graded = {row.id: row for row in live.incidents} if live else {}
    pools = candidate_pools(truth)
    rows = tuple(
        _incident(one, truth.window_seconds, graded.get(one.id), len(pools.get(one.id, ())))
        for one in truth.incidents
    )
    usable = [one for one in truth.incidents if _live(one)]
    causes = Counter(cause for one in truth.incidents for cause in one.expected_root_cause)
    onsets = sorted(row.onset for row in rows if row.onset is not None)
    reference = accuracy_of(live)
    return Description(
        source=clean(source),
        sha256=sha256,
        profile=truth.profile,
        comment=clean(truth.comment) if truth.comment else None,
        window_seconds=truth.window_seconds,
        incidents=rows,
        live=len(usable),
        classes=_counted(Counter(one.fault_class for one in truth.incidents)),
        causes=_counted(causes),
        labels=_counted(Counter(row.label for row in rows)),
        truth=tuple(_truth(truth)),
        telemetry=_counted(Counter(row.telemetry for row in rows)),
        first=moment(onsets[0]) if onsets else None,
        last=moment(onsets[-1]) if onsets else None,
        chance=_chance(usable, pools),
        constant=nine(Fraction(max(causes.values()), len(truth.incidents))),
        rankers=tuple(Ranker(name=name, accuracy=nine(share)) for name, share in accuracies(truth)),
        resolution=nine(Fraction(1, len(truth.incidents))),
        baseline=_named(baseline) if baseline else None,
        baseline_accuracy=nine(reference) if reference is not None else None,
        caveats=tuple(_caveats(truth, len(usable))),
    )


def _incident(
    one: Incident, window: int, graded: IncidentResult | None, candidates: int
) -> DescribedIncident:
    onset = one.alert.onset if one.alert else one.onset
    inside = [change for change in one.changes if onset is not None and onset - window <= change.at <= onset]
    rows = one.telemetry.services.values() if one.telemetry else ()
    return DescribedIncident(
        id=one.id,
        fault_class=one.fault_class,
        causes=one.expected_root_cause,
        symptom=one.alert.service if one.alert else one.symptom,
        alert=clean(one.alert.name, NAME) if one.alert else None,
        change_induced=one.change_induced,
        protected=one.protected,
        label=one.label.status if one.label else "absent",
        telemetry=one.telemetry.availability if one.telemetry else "absent",
        services=len(one.topology.services) if one.topology else 0,
        candidates=candidates or None,
        changes=len(one.changes),
        changes_in_window=len(inside),
        series=sum(len(row.series) for row in rows),
        onset=onset,
        rank=true_rank(graded) if graded else None,
        margin=margin_of(graded) if graded else None,
    )


def _live(one: Incident) -> bool:
    return bool(one.alert and one.topology and one.telemetry and one.telemetry.availability != "none")


def _truth(truth: GroundTruth) -> Iterator[str]:
    """Who says what the causes were: a label without a second pair of eyes is one person's word."""
    labels = [one.label for one in truth.incidents if one.label]
    if not labels:
        yield "no incident has a label that says who named its cause; the file's author vouches for all"
        return
    by = Counter(clean(label.by, 60) if label.by else "nobody named" for label in labels)
    yield "labelled by " + ", ".join(f"{name} ({number})" for name, number in by.most_common(4))
    reviewed = sum(bool(label.reviewed_by) for label in labels)
    yield f"reviewed by a second person: {reviewed} of {len(truth.incidents)}"
    sources = Counter(clean(label.source, 100) for label in labels if label.source)
    yield (
        f"sources named: {sum(sources.values())} of {len(truth.incidents)}"
        + (f", e.g. {next(iter(sources))}" if sources else "")
    )
    generated = any(
        isinstance(series, Generator)
        for one in truth.incidents
        if one.telemetry
        for row in one.telemetry.services.values()
        for series in row.series
    )
    if generated:
        yield "series are generated from statistics, not recorded"


def _caveats(truth: GroundTruth, live: int) -> Iterator[str]:
    yield small_sets(live)
    if live and Fraction(1, live) > TOLERANCE:
        yield "at the default tolerance of 0.02 a single lost incident fails the gate"
    yield BY_CONSTRUCTION
    if truth.profile in ("seed", "graded", "headroom"):
        yield OURS.format(profile=truth.profile)
    if len(truth.incidents) > ENOUGH:
        yield f"the simple rules were tried on the first {count(ENOUGH, 'incident')}"


def _chance(usable: Sequence[Incident], pools: Mapping[str, frozenset[str]]) -> str | None:
    """AC@1 of a random order of what the alert reaches, as in the reports."""
    orders = [(random_order(pools[one.id], one.expected_root_cause)) for one in usable if one.id in pools]
    return nine(accuracy(1, orders, "expected")) if orders else None


def _named(baseline: Baseline) -> str:
    engine = baseline.provenance.engine
    return f"{clean(engine.name, 60)} {clean(engine.version, 60)}, sha256 {digest(baseline)}"


def _counted(counter: Counter[str]) -> tuple[Counted, ...]:
    ordered = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Counted(name=name, incidents=number) for name, number in ordered)
