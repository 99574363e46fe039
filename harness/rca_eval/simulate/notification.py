"""A labelled incident as Alertmanager would announce it: its alert, and nothing of its label. Pure."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any, Literal

from rca_eval.contract import ContractError, GroundTruth, Incident, Reason, shown

Status = Literal["firing", "resolved"]
RECEIVER = "rca-eval-simulate"
NEVER = "0001-01-01T00:00:00Z"  # what Alertmanager writes for the end of an alert that has none


def chosen(truth: GroundTruth, wanted: str, source: str) -> Incident:
    """The incident whose id is, or begins with, `wanted`. Raises `ContractError(Usage)`."""
    found = [one for one in truth.incidents if one.id == wanted] or [
        one for one in truth.incidents if one.id.startswith(wanted)
    ]
    if len(found) != 1 or not wanted:
        known = ", ".join(one.id for one in (found or truth.incidents)[:12])
        what = f"is the beginning of {len(found)} incidents" if found and wanted else "is no incident"
        raise ContractError(Reason.USAGE, f"{shown(wanted)} {what} of {source}; name one of {known}.")
    if found[0].alert is None:
        raise ContractError(
            Reason.DATASET_INVALID, f"{source}: {found[0].id} has no alert, so none can be sent."
        )
    return found[0]


def notification(
    incident: Incident, *, status: Status, starts: datetime, ends: datetime | None
) -> dict[str, Any]:
    """The webhook payload, version 4, with this one alert."""
    alert = incident.alert
    assert alert is not None  # noqa: S101 - `chosen` saw to it
    labels = {"alertname": alert.name, "service": alert.service}
    if alert.severity:
        labels["severity"] = alert.severity
    fingerprint = hashlib.sha256(json.dumps(labels, sort_keys=True).encode()).hexdigest()[:16]
    return {
        "version": "4",
        "groupKey": f'{{}}:{{alertname="{alert.name}"}}',
        "truncatedAlerts": 0,
        "status": status,
        "receiver": RECEIVER,
        "groupLabels": {"alertname": alert.name},
        "commonLabels": labels,
        "commonAnnotations": {},
        "externalURL": "",
        "alerts": [
            {
                "status": status,
                "labels": labels,
                "annotations": {"summary": f"{alert.name} on {alert.service}"},
                "startsAt": _rfc3339(starts),
                "endsAt": _rfc3339(ends) if ends else NEVER,
                "generatorURL": "",
                "fingerprint": fingerprint,
            }
        ],
    }


def original_start(incident: Incident) -> datetime:
    """When it fired according to the dataset."""
    assert incident.alert is not None  # noqa: S101 - `chosen` saw to it
    return datetime.fromtimestamp(incident.alert.fired_at, UTC)


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
