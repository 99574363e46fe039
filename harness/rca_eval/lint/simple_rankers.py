"""Rules of one line. A dataset that they solve cannot tell a good engine from them."""

from collections.abc import Callable, Iterator
from fractions import Fraction

from rca_eval.contract import GroundTruth, Incident
from rca_eval.contract.groundtruth import ServiceTelemetry

SATURATED_FROM = Fraction(9, 10)
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


RANKERS: tuple[tuple[str, Score], ...] = (
    ("loudest service", _loudest),
    ("most critical service", _most_critical),
    ("most changed service", _most_changed),
)


def saturation(truth: GroundTruth) -> Iterator[tuple[str, Fraction]]:
    """The rules that alone reach AC@1 >= 0.9 on the incidents that have telemetry; ties count against them."""
    usable = [one for one in truth.incidents if one.alert and one.telemetry and one.telemetry.services]
    for name, score in RANKERS:
        hits = sum(_hit(one, score, truth.window_seconds) for one in usable)
        if usable and Fraction(hits, len(usable)) >= SATURATED_FROM:
            yield name, Fraction(hits, len(usable))


def _hit(incident: Incident, score: Score, window: int) -> bool:
    scores = score(incident, window)
    best = max(scores.values())
    return all(key in incident.expected_root_cause for key, value in scores.items() if value == best)
