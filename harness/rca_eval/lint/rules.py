"""The rules of `rca-eval lint`: errors make a result meaningless, warnings make it weak. Pure.

Every finding has a stable code, the incident it is about, and what to do. The schema itself is checked before
(one error, exit 2).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Literal

from rca_eval.contract import ContractError, GroundTruth, Incident, Model, case_id, display
from rca_eval.contract.groundtruth import Samples
from rca_eval.engine.baro import MIN_PRE, QUIET_SECONDS
from rca_eval.job.project import project
from rca_eval.lint.leaks import leaks
from rca_eval.lint.simple_rankers import saturation

Level = Literal["error", "warning"]
Found = tuple[str, str | None, str, str]
Rule = Callable[[GroundTruth], Iterator[Found]]

TOLERANCE = Fraction(1, 50)
ONE_CLASS_LIMIT = Fraction(3, 5)
ONE_CAUSE_LIMIT = Fraction(2, 5)


class Finding(Model):
    """One problem: `code` is stable, `fix` says what to do."""

    level: Level
    code: str
    incident: str | None
    message: str
    fix: str


def lint(truth: GroundTruth) -> list[Finding]:
    """All findings, errors first, in the order of the rules and of the file."""
    return [
        Finding(level=level, code=code, incident=incident, message=message, fix=fix)
        for level, rules in RULES
        for rule in rules
        for code, incident, message, fix in rule(truth)
    ]


def incomplete(truth: GroundTruth) -> Iterator[Found]:
    for one in truth.incidents:
        absent = [name for name in ("alert", "topology", "telemetry") if getattr(one, name) is None]
        if absent:
            text = f"has no {', '.join(absent)}, so it is not in LivePath"
            yield "E-INCOMPLETE", one.id, text, "add them, or take the incident out"


def cause_not_in_topology(truth: GroundTruth) -> Iterator[Found]:
    for one in truth.incidents:
        if one.topology is None:
            continue
        for cause in one.expected_root_cause:
            if cause not in one.topology.keys:
                yield (
                    "E-UNKNOWN-CAUSE",
                    one.id,
                    f"its cause {cause} is no service of its topology",
                    "add it, or correct it",
                )
            elif one.alert and cause not in reachable(one, one.alert.service):
                text = (
                    f"its cause {cause} is not reached from {one.alert.service} in three calls, so it "
                    "is no candidate"
                )
                yield "E-UNREACHABLE-CAUSE", one.id, text, "add the calls between them"


def changes_contradict(truth: GroundTruth) -> Iterator[Found]:
    for one in truth.incidents:
        if one.alert is None:
            continue
        onset = one.alert.onset
        inside = {
            change.service for change in one.changes if onset - truth.window_seconds <= change.at <= onset
        } & set(one.expected_root_cause)
        if one.change_induced and not inside:
            text = "is changeInduced, but no change of its cause lies in the window"
            yield "E-CHANGE-OUTSIDE", one.id, text, "correct the time of the change, the window or the label"
        if not one.change_induced and inside:
            text = f"is not changeInduced, but {sorted(inside)[0]} was changed in the window"
            yield "E-CHANGE-UNLABELLED", one.id, text, "set changeInduced, or correct the time of the change"


def onset_after_firing(truth: GroundTruth) -> Iterator[Found]:
    for one in truth.incidents:
        if one.alert is None or one.onset is None:
            continue
        if one.onset > one.alert.fired_at:
            yield "E-ONSET-LATE", one.id, "its onset is later than its alert", "correct one of the two times"
        elif abs(one.onset - one.alert.onset) % 3600 == 0 and one.onset != one.alert.onset:
            hours = abs(one.onset - one.alert.onset) // 3600
            yield (
                "E-TIME-ZONE",
                one.id,
                f"onset and alert differ by exactly {hours} h",
                "give both in UTC seconds",
            )


def too_few_samples(truth: GroundTruth) -> Iterator[Found]:
    for one in truth.incidents:
        if one.alert is None or one.telemetry is None:
            continue
        onset = one.alert.onset
        for key, row in one.telemetry.services.items():
            for series in row.series:
                if not isinstance(series, Samples):
                    continue
                first, last = onset - truth.window_seconds, onset - QUIET_SECONDS
                count = sum(value is not None and first <= at < last for at, value in series.samples)
                if count < MIN_PRE:
                    text = f"{key}/{series.metric} has {count} samples before the onset; {MIN_PRE} are needed"
                    yield "E-FEW-SAMPLES", one.id, text, "add samples of the window before the onset"


def not_projectable(truth: GroundTruth) -> Iterator[Found]:
    for one in truth.incidents:
        try:
            project(one, "LivePath", case=case_id("", "LivePath", one.id), window=truth.window_seconds)
        except ContractError as error:
            yield "E-SERIES", one.id, error.message.rstrip("."), "correct the series"


def leaking(truth: GroundTruth) -> Iterator[Found]:
    for one in truth.incidents:
        for text in leaks(one, truth.window_seconds):
            yield "E-LEAK", one.id, text, "rename it: an engine reads this"


def labels_unreviewed(truth: GroundTruth) -> Iterator[Found]:
    for one in truth.incidents:
        status = one.label.status if one.label else "absent"
        if status != "confirmed":
            yield "W-LABEL", one.id, f"its label is {status}", "confirm it before it decides anything"


def few_incidents(truth: GroundTruth) -> Iterator[Found]:
    count = len(truth.incidents)
    if count < 1 / TOLERANCE:
        share = display(Fraction(1, count))
        yield (
            "W-FEW",
            None,
            f"{count} incidents: one lost is {share}, more than 0.02",
            "add incidents; 50 make 0.02 a rate",
        )


def one_sided(truth: GroundTruth) -> Iterator[Found]:
    count = len(truth.incidents)
    name, most = Counter(one.fault_class for one in truth.incidents).most_common(1)[0]
    if Fraction(most, count) > ONE_CLASS_LIMIT:
        yield "W-ONE-CLASS", None, f"{most} of {count} incidents are {name}", "add incidents of other classes"
    cause, often = Counter(c for one in truth.incidents for c in one.expected_root_cause).most_common(1)[0]
    if Fraction(often, count) > ONE_CAUSE_LIMIT:
        text = (
            f"{cause} is the cause of {often} of {count}: always answering it scores "
            f"{display(Fraction(often, count))}"
        )
        yield "W-ONE-CAUSE", None, text, "add incidents with other causes"


def no_change_trap(truth: GroundTruth) -> Iterator[Found]:
    for one in truth.incidents:
        if one.change_induced and all(mark.kind != "changeTrap" for mark in one.distractors):
            text = "nothing in it is lost without the change term"
            yield "W-NO-CHANGE-TRAP", one.id, text, "add a louder rival without a change, marked changeTrap"


def saturated(truth: GroundTruth) -> Iterator[Found]:
    for name, share in saturation(truth):
        text = f"the rule `{name}` alone scores {display(share)}"
        yield "W-SATURATED", None, text, "add incidents on which it is wrong"


def reachable(incident: Incident, start: str, calls: int = 3) -> set[str]:
    """Services within so many calls of `start`, itself included: what the engine's query would return."""
    edges = incident.topology.calls if incident.topology else ()
    found = {start}
    for _ in range(calls):
        found |= {callee for caller, callee in edges if caller in found}
    return found


RULES: tuple[tuple[Level, tuple[Rule, ...]], ...] = (
    (
        "error",
        (
            incomplete,
            cause_not_in_topology,
            changes_contradict,
            onset_after_firing,
            too_few_samples,
            not_projectable,
            leaking,
        ),
    ),
    ("warning", (labels_unreviewed, few_incidents, one_sided, no_change_trap, saturated)),
)
