"""What the memory may know when an incident is evaluated: earlier incidents only, and never its own answer.

An accuracy cannot show a leak: who recalls the incident itself, or its repetition under the same family, is always
right. So the rule is prequential. Past rows are confirmed incidents with an alert, another id and another
`label.family` (an incident without one is a family of its own), resolved strictly before this one can have begun;
`windowSeconds` after it fired an incident counts as resolved.
"""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from rca_eval.contract import GroundTruth, Incident, PastIncident
from rca_eval.engine.recall import failing


@dataclass(frozen=True)
class Remembered:
    """A row of the past, with what decides for whom it is one."""

    incident: str
    family: str
    row: PastIncident


def remembered(truth: GroundTruth, dataset_sha256: str) -> tuple[Remembered, ...]:
    """All that can be anybody's past, sorted by opaque key. Made once for a dataset: the past of many is a part of it."""
    found = []
    for incident in truth.incidents:
        row = _row(incident, truth.window_seconds, dataset_sha256) if _confirmed(incident) else None
        if row is not None:
            found.append(Remembered(incident.id, _family(incident), row))
    return tuple(sorted(found, key=lambda one: one.row.key))


def past_of(
    incident: Incident,
    truth: GroundTruth,
    dataset_sha256: str,
    known: Sequence[Remembered] | None = None,
) -> tuple[PastIncident, ...]:
    """The past of one incident, sorted by opaque key; `known` is what `remembered` says of the dataset."""
    begin, family = earliest_onset(incident, truth.window_seconds), _family(incident)
    if begin is None:
        return ()
    return tuple(
        one.row
        for one in (remembered(truth, dataset_sha256) if known is None else known)
        if one.row.resolved_at < begin and one.incident != incident.id and one.family != family
    )


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
