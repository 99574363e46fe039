"""What the memory may know when an incident is evaluated: earlier incidents only, and never its own answer.

An accuracy cannot show a leak: who recalls the incident itself, or its repetition under the same family, is always
right. So the rule is prequential. Past rows are confirmed incidents with an alert, another id and another
`label.family` (an incident without one is a family of its own), resolved strictly before this one can have begun;
`windowSeconds` after it fired an incident counts as resolved.
"""

import hashlib
import hmac

from rca_eval.contract import GroundTruth, Incident, PastIncident
from rca_eval.engine.recall import failing


def past_of(incident: Incident, truth: GroundTruth, dataset_sha256: str) -> tuple[PastIncident, ...]:
    """The past of one incident, sorted by opaque key."""
    begin = earliest_onset(incident, truth.window_seconds)
    if begin is None:
        return ()
    rows = [
        _row(other, truth.window_seconds, dataset_sha256)
        for other in truth.incidents
        if _confirmed(other) and other.id != incident.id and _family(other) != _family(incident)
    ]
    known = [row for row in rows if row is not None and row.resolved_at < begin]
    return tuple(sorted(known, key=lambda row: row.key))


def earliest_onset(incident: Incident, window: int) -> int | None:
    """The earliest T that an engine can find for this incident, or None without an alert."""
    alert = incident.alert
    if alert is None:
        return None
    return alert.fired_at - window if incident.onset_source == "detected" else alert.onset


def _row(incident: Incident, window: int, dataset_sha256: str) -> PastIncident | None:
    alert = incident.alert
    if alert is None:
        return None
    rows = incident.telemetry.services.items() if incident.telemetry else ()
    mac = hmac.new(dataset_sha256.encode(), f"past/{incident.id}".encode(), hashlib.sha256)
    return PastIncident(
        key=f"past-{mac.hexdigest()[:16]}",
        resolved_at=alert.fired_at + window,
        symptom=alert.service,
        alert=alert.name,
        services=tuple(sorted(failing(rows))),
        causes=tuple(sorted(incident.expected_root_cause)),
    )


def _confirmed(incident: Incident) -> bool:
    return incident.label is not None and incident.label.status == "confirmed"


def _family(incident: Incident) -> str:
    """What must not be recalled together. Another spelling of a family is the same one: what is doubtful stays unknown."""
    family = " ".join((incident.label.family or "").split()).casefold() if incident.label else ""
    return f"family {family}" if family else f"incident {incident.id}"
