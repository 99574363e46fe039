"""What the dataset knows about an incident beyond the scorecard: its times, and the values behind weighted terms."""

from collections.abc import Iterator
from fractions import Fraction

from rca_eval.contract import ArmResult, ContractError, GroundTruth, Incident, IncidentResult, case_id
from rca_eval.engine.baro import baro_signal
from rca_eval.job.project import project
from rca_eval.report.document import Mark, Timeline
from rca_eval.report.text import clean

AFTER = 600  # seconds that a picture shows after the onset: as far as the BARO term looks
MARKS = 12
WINDOW = "window begins"
ONSET = "onset T"
Values = dict[tuple[str, str, str], Fraction]


def timeline(incident: Incident | None, window: int) -> Timeline | None:
    """Window, changes, onset and alert in seconds from the onset; None without an alert. At most twelve changes."""
    if incident is None or incident.alert is None:
        return None
    onset, fired = incident.alert.onset, incident.alert.for_seconds
    last = max(AFTER, fired + 60)
    margin = window // 6
    near = sorted(
        (
            change.at - onset,
            f"{change.kind} of {change.service}" + (f" ({clean(change.ref, 60)})" if change.ref else ""),
        )
        for change in incident.changes
        if -window - margin <= change.at - onset <= last
    )
    marks = [Mark(what=clean(text), at=at, outside=not -window <= at <= 0) for at, text in near[:MARKS]]
    marks.append(Mark(what=WINDOW, at=-window))
    marks.append(Mark(what=ONSET, at=0))
    marks.append(Mark(what=f"alert {clean(incident.alert.name, 60)}", at=fired))
    return Timeline(first=-window - margin, last=last, marks=tuple(sorted(marks, key=lambda mark: mark.at)))


def term_values(truth: GroundTruth, arm: ArmResult) -> Values:
    """The values that the reference engine multiplies by its weights, by (incident, candidate, term), LivePath only.

    As in `engine.investigation`: topo = criticality, tele = error rate, chg = a change in [T - W, T], baro. What a
    memory recalled is not in the dataset.
    """
    if arm.arm != "LivePath":
        return {}
    incidents = {one.id: one for one in truth.incidents}
    return {
        (row.id, key, term): value
        for row in arm.incidents
        if (incident := incidents.get(row.id)) is not None
        for key, term, value in _values(incident, row, truth.window_seconds)
    }


def _values(incident: Incident, row: IncidentResult, window: int) -> Iterator[tuple[str, str, Fraction]]:
    try:
        view = project(incident, "LivePath", case=case_id("", "LivePath", incident.id), window=window)
    except ContractError:
        return
    if view is None:
        return
    keys = [one.key for one in row.candidates]
    known = view.telemetry.services
    for key in keys:
        if key in known:
            yield key, "topo", Fraction(known[key].criticality or 0)
            yield key, "tele", Fraction(known[key].error_rate or 0)
    if incident.onset_source == "detected":
        return  # T is the engine's finding, and with it the change and the BARO term
    onset = view.alert.onset
    changed = {change.service for change in view.changes if onset - window <= change.at <= onset}
    signal = baro_signal({key: known[key].series if key in known else () for key in keys}, onset, window)
    for key in keys:
        yield key, "chg", Fraction(key in changed)
        yield key, "baro", signal.terms.get(key, Fraction(0))
