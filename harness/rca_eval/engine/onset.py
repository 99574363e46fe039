"""When it began: the onset of an incident from its series, where the alert's own time is not to be trusted."""

from collections.abc import Sequence

from rca_eval.contract.protocol import EngineIncident, EngineSeries

AFTER_SECONDS = 600
"""How much after the alert is looked at: a change just before it needs samples on both sides."""
LATE_SECONDS = 60
"""A change after the alert did not raise it; up to a minute is the step of the samples."""
HALF_LIFE_SECONDS = 300
"""The window may hold other incidents. Evidence counts half for every five minutes between change and alert."""


def detected_onset(incident: EngineIncident) -> int | None:
    """T in Unix seconds, or None when no series changes before the alert: then the alert's onset is all there is.

    Looks at the samples in [firedAt - W, firedAt + 600 s], both ends included; T is in
    [firedAt - W, firedAt + 60 s] and the time of a sample, the first one after the change. Of several changes it is
    the one with the most evidence for it, halved for every five minutes before the alert; of equal ones the earliest.
    Cost is bounded, see `engine.changepoint`.
    """
    services = incident.telemetry.services
    series = [
        one for key in sorted(services) for one in sorted(services[key].series, key=lambda one: one.metric)
    ]
    return change_time(series, fired=incident.alert.fired_at, window=incident.window_seconds)


def change_time(series: Sequence[EngineSeries], *, fired: int, window: int) -> int | None:
    """`detected_onset` for series alone."""
    first, last = fired - window, fired + AFTER_SECONDS
    columns = []
    for one in series:
        known = [(at, float(value)) for at, value in one.samples if value is not None and first <= at <= last]
        columns.append(sorted(known))
    if not any(columns):
        return None
    # numpy takes longer to import than an investigation takes; only incidents with a detected onset pay for it.
    from rca_eval.engine.changepoint import changes  # noqa: PLC0415

    found = [
        (2 ** (-abs(fired - change.at) / HALF_LIFE_SECONDS) * change.evidence, -change.at)
        for change in changes(columns, seconds=last - first)
        if change.at <= fired + LATE_SECONDS
    ]
    return -max(found)[1] if found else None
