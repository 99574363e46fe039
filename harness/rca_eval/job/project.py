"""What an engine may see of an incident, in each arm: a projection onto a whitelist, never a removal from the
original.

*LivePath* is the incident as it was. *ScorerOnly* is a sentinel with the answer planted: the cause has criticality and error rate
0.9, everything else 0.5, no change, no series. Its AC@1 is 1.0 by construction and says only that the plumbing works. As the
answer is in it, nothing else of the incident is: with the alert, the time or the names of the honest arm it would carry it over.
"""

from decimal import Decimal

from rca_eval.contract import Arm, ContractError, EngineIncident, Incident, Reason
from rca_eval.contract.groundtruth import Alert, Generator, Samples, Series, Topology
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
OTHERS = Decimal("0.5")
BYSTANDERS = 3  # the service that alerts, and two more
PLANTED_FIRED_AT = 1700000060


def has_arm(incident: Incident, arm: Arm) -> bool:
    """Whether `project` gives anything."""
    if arm == "ScorerOnly":
        return True
    parts = (incident.alert, incident.topology, incident.telemetry)
    return None not in parts and incident.telemetry is not None and incident.telemetry.availability != "none"


def project(incident: Incident, arm: Arm, *, case: str, window: int) -> EngineIncident | None:
    """The incident for an arm, or None where this arm cannot have it (LivePath without alert, topology or
    telemetry).
    """
    if arm == "LivePath":
        return _live(incident, case, window)
    return _planted(incident.expected_root_cause, case, window)


def _live(incident: Incident, case: str, window: int) -> EngineIncident | None:
    alert, topology, telemetry = incident.alert, incident.topology, incident.telemetry
    if alert is None or topology is None or telemetry is None or not has_arm(incident, "LivePath"):
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
        onset_source="detected" if incident.onset_source == "detected" else None,
    )


def _planted(causes: tuple[str, ...], case: str, window: int) -> EngineIncident:
    hidden, keys = _hidden(causes, case), _neutral(causes)
    symptom = next(key for key in keys if key not in hidden)
    rows = {
        key: EngineTelemetryRow(
            criticality=PLANTED if key in hidden else OTHERS, error_rate=PLANTED if key in hidden else OTHERS
        )
        for key in keys
    }
    return EngineIncident(
        case=case,
        window_seconds=window,
        alert=EngineAlert(name="Planted", service=symptom, fired_at=PLANTED_FIRED_AT, for_seconds=60),
        topology=EngineTopology(
            services=tuple(EngineService(key=key) for key in keys),
            calls=tuple((symptom, key) for key in keys if key != symptom),
        ),
        telemetry=EngineTelemetry(availability="full", services=rows),
        changes=(),
    )


def planted_names(causes: tuple[str, ...], case: str) -> dict[str, str]:
    """In ScorerOnly: the name under which an engine sees each cause, to the cause. Which one it is differs by case.

    A bystander's name leads to itself, unless a real cause is called the same: then to a name that no service can have.
    """
    hidden = _hidden(causes, case)
    namesakes = (name for name in _neutral(causes) if name in causes and name not in hidden)
    return hidden | {name: f"{name} (planted)" for name in namesakes}


def _hidden(causes: tuple[str, ...], case: str) -> dict[str, str]:
    names = _neutral(causes)
    first = int(case.removeprefix("case-"), 16)
    return {names[(first + at) % len(names)]: cause for at, cause in enumerate(causes)}


def _neutral(causes: tuple[str, ...]) -> list[str]:
    """`service-1`, `service-2`, … for the causes and the bystanders.

    None is left out for being a real service's name: the gap would tell that it is the cause.
    """
    return [f"service-{number}" for number in range(1, len(causes) + BYSTANDERS + 1)]


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
        f"{where}: the series file {series.file} was not read; replay the dataset from its folder.",
    )
