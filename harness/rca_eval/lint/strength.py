"""What a dataset can tell: how many incidents, how different, and whether a trivial rule solves them."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from rca_eval.contract import Incident, display, exact
from rca_eval.engine import Blend
from rca_eval.gate import GatePolicy
from rca_eval.lint.finding import Found, Subject, at
from rca_eval.lint.references import HOPS, distances
from rca_eval.lint.simple_rankers import LEAK_FROM, live_view, previous_cause, saturation

ONE_CLASS_LIMIT = Fraction(3, 5)
ONE_CAUSE_LIMIT = Fraction(2, 5)
MARGINS_FROM = 3  # two incidents may well be alike
SCHEDULE_FROM = 5
WHOLE = ("incidents",)


def few_incidents(subject: Subject) -> Iterator[Found]:
    policy, count = subject.policy or GatePolicy(), len(subject.incidents)
    if policy.tolerance and count < 1 / policy.tolerance:
        text = (
            f"{count} incidents: one lost is {display(Fraction(1, count))}, more than {policy.accuracy_drop}"
        )
        needed = -(-policy.tolerance.denominator // policy.tolerance.numerator)
        yield Found("W-FEW", WHOLE, text, f"add incidents; {needed} make {policy.accuracy_drop} a rate")
    if count < policy.min_incidents:
        text = f"{count} incidents are fewer than the {policy.min_incidents} that the gate asks for"
        yield Found("W-TOO-FEW", WHOLE, text, "add incidents, or lower minIncidents in the policy")
    classes = len({one.fault_class for _, one in subject.incidents})
    if classes < policy.min_fault_classes:
        text = f"{classes} fault classes are fewer than the {policy.min_fault_classes} that the gate asks for"
        yield Found("W-TOO-FEW", WHOLE, text, "add incidents of other classes, or lower minFaultClasses")


def one_sided(subject: Subject) -> Iterator[Found]:
    incidents = [one for _, one in subject.incidents]
    count = len(incidents)
    name, most = Counter(one.fault_class for one in incidents).most_common(1)[0]
    if Fraction(most, count) > ONE_CLASS_LIMIT:
        yield Found(
            "W-ONE-CLASS", WHOLE, f"{most} of {count} incidents are {name}", "add incidents of other classes"
        )
    cause, often = Counter(cause for one in incidents for cause in one.expected_root_cause).most_common(1)[0]
    if Fraction(often, count) > ONE_CAUSE_LIMIT:
        text = f"{cause} is the cause of {often} of {count}: always answering it scores {display(Fraction(often, count))}"
        yield Found("W-ONE-CAUSE", WHOLE, text, "add incidents with other causes")


def scheduled(subject: Subject) -> Iterator[Found]:
    """Faults that are injected service by service: the answer to the last incident is the answer to this one."""
    hits, count = previous_cause([one for _, one in subject.incidents])
    if count >= SCHEDULE_FROM and Fraction(hits, count) >= LEAK_FROM:
        text = f"answering the previous incident's cause scores {display(Fraction(hits, count))}"
        yield Found(
            "W-SCHEDULE", WHOLE, text, "leave out history of the same set, or shuffle what is injected"
        )


def no_change_trap(subject: Subject) -> Iterator[Found]:
    for position, one in subject.incidents:
        if one.change_induced and all(mark.kind != "changeTrap" for mark in one.distractors):
            text, fix = (
                "nothing in it is lost without the change term",
                "add a louder rival without a change, marked changeTrap",
            )
            yield Found("W-NO-CHANGE-TRAP", at(position, "distractors"), text, fix)


def saturated(subject: Subject) -> Iterator[Found]:
    for name, share in saturation([one for _, one in subject.incidents], subject.window):
        text = f"the rule `{name}` alone scores {display(share)}"
        yield Found("W-SATURATED", WHOLE, text, "add incidents on which it is wrong")


def equal_margins(subject: Subject) -> Iterator[Found]:
    """All incidents decided by the same distance are one incident, told several times."""
    margins = [margin for margin in _margins(subject) if margin is not None]
    if len(margins) >= MARGINS_FROM and len(set(margins)) == 1:
        text = (
            f"in all {len(margins)} incidents the cause leads by {display(margins[0])}: this is one incident"
        )
        yield Found("W-MARGINS", WHOLE, text, "add rivals that come closer, and some that hardly count")


def no_rates(subject: Subject) -> Iterator[Found]:
    """Without both, all services tie in Shadow, and ties are misses."""
    rows = [row for _, one in subject.incidents if one.telemetry for row in one.telemetry.services.values()]
    if rows and not any(row.criticality or row.error_rate for row in rows):
        text = "no service of any incident has a criticality or an error rate above 0"
        yield Found(
            "W-NO-RATES",
            WHOLE,
            text,
            "add them: without them the reference engine has only changes and series",
        )


def _margins(subject: Subject) -> Iterator[Fraction | None]:
    if subject.baseline is None:
        yield from (telemetry_margin(one, subject.window) for _, one in subject.incidents)
        return
    for arm in subject.baseline.arms:
        for row in arm.incidents if arm.arm == "LivePath" else ():
            scores = {one.key: exact(one.score) for one in row.candidates if one.score is not None}
            yield _margin(scores, row.expected)


def telemetry_margin(incident: Incident, window: int) -> Fraction | None:
    """By how much the cause leads, or trails, in the reference engine's tables, from telemetry and changes alone."""
    view = live_view(incident, window)
    if view is None:
        return None
    first, last = view.alert.onset - window, view.alert.onset
    near = {key for key, hops in distances(view.topology.calls, view.alert.service).items() if hops <= HOPS}
    changed = {change.service for change in view.changes if first <= change.at <= last} & near
    weights = Blend().choose(change=bool(changed), baro=False).weights
    rows = view.telemetry.services
    scores = {
        key: weights["topo"] * Fraction((rows[key].criticality if key in rows else None) or 0)
        + weights["tele"] * Fraction((rows[key].error_rate if key in rows else None) or 0)
        + weights.get("chg", Fraction(0)) * (key in changed)
        for key in near
    }
    return _margin(scores, incident.expected_root_cause) if any(scores.values()) else None


def _margin(scores: dict[str, Fraction], causes: tuple[str, ...]) -> Fraction | None:
    best = max((score for key, score in scores.items() if key in causes), default=None)
    rival = max((score for key, score in scores.items() if key not in causes), default=None)
    return None if best is None or rival is None else best - rival
