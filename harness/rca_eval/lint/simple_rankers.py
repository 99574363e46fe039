"""Rules of one line. A dataset that they solve cannot tell a good engine from them."""

from collections.abc import Callable, Iterator
from fractions import Fraction

from rca_eval.contract import ContractError, GroundTruth, Incident, case_id
from rca_eval.contract.groundtruth import ServiceTelemetry
from rca_eval.contract.metrics import median
from rca_eval.contract.protocol import EngineSeries
from rca_eval.engine.baro import MIN_PRE, PRESENT_FROM, QUIET_SECONDS, iqr
from rca_eval.job.project import project

SATURATED_FROM = Fraction(9, 10)
NEVER = 10**10  # later than any time
Score = Callable[[Incident, int], dict[str, Fraction]]


def _rows(incident: Incident) -> dict[str, ServiceTelemetry]:
    return incident.telemetry.services if incident.telemetry else {}


def _loudest(incident: Incident, _window: int) -> dict[str, Fraction]:
    return {key: Fraction(row.error_rate or 0) for key, row in _rows(incident).items()}


def _most_critical(incident: Incident, _window: int) -> dict[str, Fraction]:
    return {key: Fraction(row.criticality or 0) for key, row in _rows(incident).items()}


def _most_changed(incident: Incident, window: int) -> dict[str, Fraction]:
    onset = incident.alert.onset if incident.alert else 0
    inside = [change.service for change in incident.changes if onset - window <= change.at <= onset]
    return {key: Fraction(inside.count(key)) for key in _rows(incident)}


def _first_to_move(incident: Incident, window: int) -> dict[str, Fraction]:
    """By when the first of a service's series leaves its usual range; one that never does comes last."""
    onset = incident.alert.onset if incident.alert else 0
    try:
        view = project(incident, "LivePath", case=case_id("", "LivePath", incident.id), window=window)
    except ContractError:  # reported by another rule
        view = None
    rows = view.telemetry.services if view else {}
    return {
        key: -min((first_deviation(one, onset, window) for one in row.series), default=Fraction(NEVER))
        for key, row in rows.items()
    }


def first_deviation(series: EngineSeries, onset: int, window: int) -> Fraction:
    """Unix seconds of the first sample since the onset that is more than three times the usual spread away."""
    known = [(at, Fraction(value)) for at, value in series.samples if value is not None]
    usual = [value for at, value in known if onset - window <= at < onset - QUIET_SECONDS]
    if len(usual) < MIN_PRE:
        return Fraction(NEVER)
    middle, spread = median(usual), iqr(usual)
    return Fraction(
        min((at for at, v in known if at >= onset and abs(v - middle) > PRESENT_FROM * spread), default=NEVER)
    )


RANKERS: tuple[tuple[str, Score], ...] = (
    ("loudest service", _loudest),
    ("most critical service", _most_critical),
    ("most changed service", _most_changed),
    ("first service to move", _first_to_move),
)


def accuracies(truth: GroundTruth) -> Iterator[tuple[str, Fraction]]:
    """AC@1 of every rule on the incidents that have telemetry; ties count against them. Empty without such incidents."""
    usable = [one for one in truth.incidents if one.alert and one.telemetry and one.telemetry.services]
    for name, score in RANKERS if usable else ():
        hits = sum(_hit(one, score, truth.window_seconds) for one in usable)
        yield name, Fraction(hits, len(usable))


def saturation(truth: GroundTruth) -> Iterator[tuple[str, Fraction]]:
    """The rules that alone reach AC@1 >= 0.9."""
    yield from ((name, share) for name, share in accuracies(truth) if share >= SATURATED_FROM)


def _hit(incident: Incident, score: Score, window: int) -> bool:
    scores = score(incident, window)
    best = max(scores.values(), default=None)
    return bool(scores) and all(
        key in incident.expected_root_cause for key, value in scores.items() if value == best
    )
