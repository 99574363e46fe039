"""Whose word the labels are, and which incidents a suite names."""

from collections import defaultdict
from collections.abc import Iterator

from rca_eval.contract import case_id
from rca_eval.contract.confirmed import named
from rca_eval.job.project import project
from rca_eval.lint.finding import Found, Subject, at


def unconfirmed(subject: Subject) -> Iterator[Found]:
    for position, one in subject.incidents:
        if one.label is None:
            yield Found(
                "W-LABEL", at(position), "its label is absent: nobody vouches for the cause", "add a label"
            )
        elif one.label.status != "confirmed":
            text = f"its label is {one.label.status}; only confirmed labels decide, a replay refuses this set"
            fix = "confirm it in label.status, move it to another file, or replay with --skip-drafts"
            yield Found("E-DRAFT", at(position, "label", "status"), text, fix)
        elif one.label.reviewed_by is None and one.label.by is None:
            text = "its label is confirmed, but by nobody"
            yield Found("W-LABEL", at(position, "label"), text, "write who confirmed it into label.by")


def one_family(subject: Subject) -> Iterator[Found]:
    """Incidents of one family know each other's answer, once a memory has seen one of them."""
    members = defaultdict(list)
    for position, one in subject.incidents:
        if one.label and one.label.family:
            members[one.label.family].append((position, one.id))
    for family, rows in members.items():
        if len(rows) > 1:
            text = (
                f"{len(rows)} incidents are of the family {family} ({named(tuple(name for _, name in rows))})"
            )
            fix = "an engine with a memory of its own has seen the answer: keep one, or leave its memory off"
            yield Found("W-FAMILY", at(rows[1][0], "label", "family"), text, fix)


def protected(subject: Subject) -> Iterator[Found]:
    known = {one.id for _, one in subject.incidents}
    for name in (subject.policy.protected_incidents or ()) if subject.policy else ():
        if name not in known:
            text = f"the policy protects {name}, which is no incident of this dataset"
            yield Found("E-PROTECTED-UNKNOWN", ("incidents",), text, "correct the id in protectedIncidents")


def baseline_fits(subject: Subject) -> Iterator[Found]:
    if subject.baseline is None:
        return
    known, kept = {one.id for _, one in subject.incidents}, set(subject.baseline.dataset.incidents)
    for ids, text in (
        (kept - known, "the baseline has incidents that the dataset has not"),
        (known - kept, "the dataset has incidents that the baseline has not"),
    ):
        if ids:
            fix = "write a new baseline with `rca-eval baseline write`, or restore the dataset"
            yield Found("E-BASELINE", ("incidents",), f"{text}: {named(tuple(sorted(ids)))}", fix)


def planted_cause_dominates(subject: Subject) -> Iterator[Found]:
    """ScorerOnly is 1.0 by construction only while no other name of it is graded as the cause."""
    for position, one in subject.incidents:
        case = case_id("", "ScorerOnly", one.id)
        view = project(one, "ScorerOnly", case=case, window=subject.window)
        names = dict(subject.aliases)
        for service in one.topology.services if one.topology else ():
            names |= dict.fromkeys(service.aliases, service.key)
        for key in view.telemetry.services if view else ():
            if names.get(key) in one.expected_root_cause:
                text = f"{key} is a name of its cause, and in ScorerOnly of a service beside it"
                yield Found("E-DOMINANCE", at(position), text, "give the alias another name")
