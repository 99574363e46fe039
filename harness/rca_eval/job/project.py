"""What an engine may see of an incident, in each arm: a projection onto a whitelist, never a removal from the
original.

*LivePath* is the incident as it was. *ScorerOnly* is a sentinel with the answer planted: the cause has criticality and error rate
0.9, everything else at most 0.5, no change, no series. Its AC@1 is 1.0 by construction and says only that the
plumbing works.
"""

from decimal import Decimal

from rca_eval.contract import Arm, ContractError, EngineIncident, Incident, Reason
from rca_eval.contract.groundtruth import Alert, Generator, Samples, Series, Service, Topology
from rca_eval.contract.protocol import (
    EngineAlert,
    EngineChange,
    EngineSeries,
    EngineService,
    EngineTelemetry,
    EngineTelemetryRow,
    EngineTopology,
)
from rca_eval.job.series import expand

PLANTED = Decimal("0.9")
OTHERS_AT_MOST = Decimal("0.5")
NEUTRAL = ("neutral-a", "neutral-b")
NEUTRAL_SYMPTOM = "symptom"
NEUTRAL_FIRED_AT = 1700000060


def project(incident: Incident, arm: Arm, *, case: str, window: int) -> EngineIncident | None:
    """The incident for an arm, or None where this arm cannot have it (LivePath without alert, topology or
    telemetry).
    """
    return _live(incident, case, window) if arm == "LivePath" else _planted(incident, case, window)


def _live(incident: Incident, case: str, window: int) -> EngineIncident | None:
    alert, topology, telemetry = incident.alert, incident.topology, incident.telemetry
    if alert is None or topology is None or telemetry is None or telemetry.availability == "none":
        return None
    rows = {
        key: EngineTelemetryRow(
            criticality=row.criticality,
            error_rate=row.error_rate,
            error_rate_before=row.error_rate_before,
            series=tuple(
                _samples(one, alert.onset, window, f"{incident.id}, series of {key}") for one in row.series
            ),
        )
        for key, row in telemetry.services.items()
    }
    return EngineIncident(
        case=case,
        window_seconds=window,
        alert=_alert(alert),
        topology=_topology(topology),
        telemetry=EngineTelemetry(availability=telemetry.availability, services=rows),
        changes=tuple(
            EngineChange(kind=change.kind, service=change.service, at=change.at, ref=change.ref)
            for change in incident.changes
        ),
    )


def _planted(incident: Incident, case: str, window: int) -> EngineIncident:
    causes = incident.expected_root_cause
    alert, topology = incident.alert, incident.topology
    if alert is None or topology is None or not set(causes) <= set(topology.keys):
        topology = _neutral_topology(causes)
        alert = Alert(name="Planted", service=NEUTRAL_SYMPTOM, fired_at=NEUTRAL_FIRED_AT, for_seconds=60)
    given = incident.telemetry.services if incident.telemetry else {}
    rows = {}
    for key in topology.keys:
        row = given.get(key)
        rows[key] = EngineTelemetryRow(
            criticality=PLANTED
            if key in causes
            else min(OTHERS_AT_MOST, (row and row.criticality) or OTHERS_AT_MOST),
            error_rate=PLANTED
            if key in causes
            else min(OTHERS_AT_MOST, (row and row.error_rate) or OTHERS_AT_MOST),
        )
    return EngineIncident(
        case=case,
        window_seconds=window,
        alert=_alert(alert),
        topology=_topology(topology),
        telemetry=EngineTelemetry(availability="full", services=rows),
        changes=(),
    )


def _neutral_topology(causes: tuple[str, ...]) -> Topology:
    """For an incident of which only the label is known: a symptom that calls the causes and two bystanders.
    """
    keys = [NEUTRAL_SYMPTOM, *causes, *(key for key in NEUTRAL if key not in causes)]
    return Topology(
        services=tuple(Service(key=key) for key in dict.fromkeys(keys)),
        calls=tuple((NEUTRAL_SYMPTOM, key) for key in dict.fromkeys(keys) if key != NEUTRAL_SYMPTOM),
    )


def _alert(alert: Alert) -> EngineAlert:
    return EngineAlert(
        name=alert.name,
        service=alert.service,
        fired_at=alert.fired_at,
        for_seconds=alert.for_seconds,
        severity=alert.severity,
    )


def _topology(topology: Topology) -> EngineTopology:
    return EngineTopology(
        services=tuple(EngineService(key=service.key, kind=service.kind) for service in topology.services),
        calls=topology.calls,
    )


def _samples(series: Series, onset: int, window: int, where: str) -> EngineSeries:
    if isinstance(series, Generator):
        return expand(series, onset=onset, window=window, where=where)
    if isinstance(series, Samples):
        return EngineSeries(metric=series.metric, samples=series.samples)
    raise ContractError(
        Reason.DATASET_INVALID,
        f"{where}: series files are not read by this version; put the samples into the dataset.",
    )
