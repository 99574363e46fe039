"""When it began: the onset of an incident from its series, where the alert's own time is not to be trusted."""

from collections.abc import Sequence

from rca_eval.contract.protocol import EngineIncident, EngineSeries

AFTER_SECONDS = 600


def detected_onset(incident: EngineIncident) -> int | None:
    """T in Unix seconds, or None when no series of the incident changes: then the alert's onset is all there is.

    Looks at the samples in [firedAt - W, firedAt + 600 s], both ends included. T is the time of the first sample
    after the change with the most evidence for it; of equal ones, the earliest. Cost is bounded, see
    `engine.changepoint`.
    """
    services = incident.telemetry.services
    series = [
        one for key in sorted(services) for one in sorted(services[key].series, key=lambda one: one.metric)
    ]
    fired = incident.alert.fired_at
    return change_time(series, first=fired - incident.window_seconds, last=fired + AFTER_SECONDS)


def change_time(series: Sequence[EngineSeries], *, first: int, last: int) -> int | None:
    """The time of the strongest common change of these series within [first, last], or None."""
    columns = []
    for one in series:
        known = sorted((at, float(value)) for at, value in one.samples if value is not None)
        columns.append([(at, value) for at, value in known if first <= at <= last])
    if not any(columns):
        return None
    # numpy takes longer to import than an investigation takes; only incidents with a detected onset pay for it.
    from rca_eval.engine.changepoint import strongest_change  # noqa: PLC0415

    return strongest_change(columns, seconds=last - first)
