"""Where the context of an alert comes from: topology, telemetry and changes. Pure.

An agent in production asks its own systems. This one takes a labelled set, shows its engine the same redacted
projection that an evaluation would (no label, no cause, no id), and moves it in time to when the alert says it fired.
"""

import hashlib
from typing import Protocol

from rca_eval.contract import ContractError, EngineIncident, GroundTruth, Reason, parse_ground_truth, shown
from rca_eval.contract.protocol import EngineSeries
from rca_eval.job.project import project
from rca_eval.serve.alertmanager import AlertNotice


class NoContextError(Exception):
    """An alert that nothing is known about; the text says why, and what to do."""


class Source(Protocol):
    @property
    def name(self) -> str: ...
    def context(self, alert: AlertNotice) -> EngineIncident:
        """Raises `NoContextError`."""
        ...


class NoSource:
    """For `--source none`: contexts come with the requests."""

    name = "none"

    def context(self, alert: AlertNotice) -> EngineIncident:
        raise NoContextError(
            f"the agent has no source of context for {shown(alert.name)}; post the incident to /v1/investigations, "
            "or start it with --source."
        )


class GroundTruthSource:
    """The incidents of a labelled set, found by the alert's name and service."""

    def __init__(self, truth: GroundTruth, name: str) -> None:
        self.name = name
        self._truth = truth

    def context(self, alert: AlertNotice) -> EngineIncident:
        fired_at = int(alert.fired.timestamp())
        known = [
            one
            for one in self._truth.incidents
            if one.alert is not None and (one.alert.name, one.alert.service) == (alert.name, alert.service)
        ]
        exact = [one for one in known if one.alert is not None and one.alert.fired_at == fired_at]
        chosen = exact if len(known) > 1 else known
        if not chosen:
            raise NoContextError(
                f"the alert {shown(alert.name)} of service {shown(alert.service)} "
                + (f"fits {len(known)} incidents" if known else "is in no incident")
                + f" of {self.name}; send one whose labels alertname and service are in it."
            )
        case = f"case-{hashlib.sha256(alert.incident_id.encode()).hexdigest()[:8]}"
        found = project(chosen[0], "LivePath", case=case, window=self._truth.window_seconds)
        if found is None:
            raise NoContextError(
                f"there is no telemetry for the alert {shown(alert.name)}; nothing can be ranked."
            )
        return shifted(found, fired_at - found.alert.fired_at)


def shifted(incident: EngineIncident, seconds: int) -> EngineIncident:
    """The same incident at another time: everything moves together, so what is ranked is the same."""
    alert = incident.alert.model_copy(update={"fired_at": incident.alert.fired_at + seconds})
    changes = tuple(one.model_copy(update={"at": one.at + seconds}) for one in incident.changes)
    rows = {
        key: row.model_copy(update={"series": tuple(_later(one, seconds) for one in row.series)})
        for key, row in incident.telemetry.services.items()
    }
    telemetry = incident.telemetry.model_copy(update={"services": rows})
    return incident.model_copy(update={"alert": alert, "changes": changes, "telemetry": telemetry})


def _later(series: EngineSeries, seconds: int) -> EngineSeries:
    return series.model_copy(update={"samples": tuple((at + seconds, value) for at, value in series.samples)})


def ground_truth_source(data: bytes, name: str) -> GroundTruthSource:
    """Raises `ContractError(DatasetInvalid)`, also for a set without a single incident that could be met."""
    truth = parse_ground_truth(data, source=name)
    if not any(one.alert for one in truth.incidents):
        raise ContractError(
            Reason.DATASET_INVALID, f"{name} has no incident with an alert; the agent could answer none."
        )
    return GroundTruthSource(truth, name)
