"""Rules of one line. A dataset that they solve cannot tell a good engine from them."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from rca_eval.contract import ContractError, EngineIncident, GroundTruth, Incident, case_id
from rca_eval.contract.metrics import median
from rca_eval.contract.protocol import EngineSeries
from rca_eval.engine.baro import MIN_PRE, PRESENT_FROM, QUIET_SECONDS, iqr
from rca_eval.job.project import project

SATURATED_FROM = Fraction(9, 10)
LEAK_FROM = Fraction(1, 2)
SHAPES_FROM = 5  # of fewer, some rule of form is right by chance
NEVER = 10**10  # later than any time
Scores = dict[str, Fraction]
Score = Callable[[EngineIncident], Scores]


def _loudest(view: EngineIncident) -> Scores:
    return {key: Fraction(row.error_rate or 0) for key, row in view.telemetry.services.items()}


def _most_critical(view: EngineIncident) -> Scores:
    return {key: Fraction(row.criticality or 0) for key, row in view.telemetry.services.items()}


def _most_changed(view: EngineIncident) -> Scores:
    onset = view.alert.onset
    inside = [change.service for change in view.changes if onset - view.window_seconds <= change.at <= onset]
    return {key: Fraction(inside.count(key)) for key in view.telemetry.services}


def _first_to_move(view: EngineIncident) -> Scores:
    """By when the first of a service's series leaves its usual range; one that never does comes last."""
    onset, window = view.alert.onset, view.window_seconds
    return {
        key: -min((first_deviation(one, onset, window) for one in row.series), default=Fraction(NEVER))
        for key, row in view.telemetry.services.items()
    }


def _most_measured(view: EngineIncident) -> Scores:
    return {
        key: Fraction(sum(len(one.samples) for one in row.series))
        for key, row in view.telemetry.services.items()
    }


def _first_by_name(view: EngineIncident) -> Scores:
    keys = sorted(service.key for service in view.topology.services)
    return {key: Fraction(-place) for place, key in enumerate(keys)}


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
"""What a report shows beside an engine's accuracy."""
SHAPES: tuple[tuple[str, Score], ...] = (
    ("most measured service", _most_measured),
    ("first service by name", _first_by_name),
)
"""Rules that look at no value at all: a set that they solve gives its answer away by its form."""


def accuracies(truth: GroundTruth) -> Iterator[tuple[str, Fraction]]:
    """AC@1 in [0, 1] of each rule alone on the incidents that have telemetry; ties count against it.

    Nothing where no incident has telemetry: that would be no accuracy of 0.
    """
    yield from shares(truth.incidents, truth.window_seconds, RANKERS)


def saturation(incidents: Sequence[Incident], window: int) -> Iterator[tuple[str, Fraction]]:
    """The rules that alone reach AC@1 >= 0.9."""
    shapes = SHAPES if len(incidents) >= SHAPES_FROM else ()
    every = shares(incidents, window, (*RANKERS, *shapes))
    yield from ((name, share) for name, share in every if share >= SATURATED_FROM)


def shares(
    incidents: Sequence[Incident], window: int, rankers: Sequence[tuple[str, Score]]
) -> Iterator[tuple[str, Fraction]]:
    """AC@1 of the given rules, over the incidents that LivePath has."""
    usable = [
        (one, view) for one in incidents if (view := live_view(one, window)) and view.telemetry.services
    ]
    for name, score in rankers if usable else ():
        hits = sum(_hit(one, score(view)) for one, view in usable)
        yield name, Fraction(hits, len(usable))


def live_view(incident: Incident, window: int) -> EngineIncident | None:
    """What an engine sees; None where LivePath cannot have the incident, or another rule says why it cannot."""
    try:
        return project(incident, "LivePath", case=case_id("", "LivePath", incident.id), window=window)
    except ContractError:
        return None


def previous_cause(incidents: Sequence[Incident]) -> tuple[int, int]:
    """How often an incident's cause is the one before it in time, and of how many incidents."""
    timed = sorted(
        (one for one in incidents if one.alert), key=lambda one: one.alert.fired_at if one.alert else 0
    )
    pairs = list(pairwise(timed))
    return sum(bool(set(a.expected_root_cause) & set(b.expected_root_cause)) for a, b in pairs), len(timed)


def _hit(incident: Incident, scores: Scores) -> bool:
    best = max(scores.values(), default=None)
    return bool(scores) and all(
        key in incident.expected_root_cause for key, value in scores.items() if value == best
    )
