"""Does what an engine reads give the answer away in words?

What is read is the projection: ids, labels, distractors, annotations and the order of the file stay outside of it.
"""

import re
from collections.abc import Iterator

from rca_eval.contract import ContractError, Incident, case_id
from rca_eval.job.project import project
from rca_eval.lint.finding import Found, Path, Subject, at

# "default" is an innocent word that holds a telltale one.
_TELLTALE = re.compile(r"chaos|inject|(?<!de)fault|ground.?truth|\bgt-[0-9]", re.IGNORECASE)
# Tools, and the names that their experiments usually get: `x-network-delay`, `cpustress-x`.
_INJECTOR = re.compile(
    r"chaos|litmus|toxiproxy|pumba|gremlin|fault-?inject|inject(?:or|ion)"
    r"|(?:network|io|http|dns)-?(?:delay|loss|partition|abort|corruption|fault)"
    r"|pod-?(?:kill|failure)|container-?kill|(?:cpu|mem|memory|io)-?stress|stress-?(?:cpu|mem|memory|ng)"
)
SHORT_NAME = 5
_RENAME = "rename it: an engine reads this"


def leaking(subject: Subject) -> Iterator[Found]:
    """Texts of the projection that name the cause where only the outside world should speak, the incident's id, or the
    experiment itself.
    """
    for position, one in subject.incidents:
        if any(_INJECTOR.search(cause) for cause in one.expected_root_cause):
            cause = next(cause for cause in one.expected_root_cause if _INJECTOR.search(cause))
            text = f"its cause {cause} is what injected the fault, not the service that failed"
            yield Found(
                "E-INJECTOR", at(position, "expectedRootCause"), text, "label the service that it acted on"
            )
        for where, what, text, own in _texts(one, position, subject.window):
            for problem in _problems(text, one, own):
                yield Found("E-LEAK", where, f"{what} {problem}", _RENAME)
        for name, text in one.alert.labels.items() if one.alert else ():
            own = one.alert.service if one.alert else ""
            for problem in _problems(text, one, own):
                where = at(position, "alert", "labels", name)
                fix = "rename it: a replay leaves labels out, a live engine reads them"
                yield Found("W-LEAK-LABEL", where, f"the alert's label {name} {problem}", fix)


def _texts(one: Incident, position: int, window: int) -> Iterator[tuple[Path, str, str, str]]:
    """Path, what it is, the text, and the service that it may name.

    Service names belong to topology, telemetry and changes; in the alert's name and in a change's `ref` (beyond the
    service that it changed) the cause's name is the answer.
    """
    try:
        view = project(one, "LivePath", case=case_id("", "LivePath", one.id), window=window)
    except ContractError:  # reported by another rule
        return
    if view is None:
        return
    yield at(position, "alert", "name"), "the alert's name", view.alert.name, view.alert.service
    yield at(position, "alert", "severity"), "the alert's severity", view.alert.severity or "", ""
    for nth, change in enumerate(view.changes):
        path = at(position, "changes", nth, "ref")
        yield path, f"a change of {change.service}", change.ref or "", change.service
    for nth, service in enumerate(view.topology.services):
        path = at(position, "topology", "services", nth)
        yield path, "a service's kind", service.kind or "", ""
        yield path, f"the service {service.key}", service.key, service.key
    for key, row in view.telemetry.services.items():
        for nth, series in enumerate(row.series):
            path = at(position, "telemetry", "services", key, "series", nth, "metric")
            yield path, f"a metric of {key}", series.metric, key


def _problems(text: str, one: Incident, own: str) -> Iterator[str]:
    if (match := _TELLTALE.search(text)) is not None:
        yield f"holds the word {match[0]!r}"
    if own == text:
        return  # the name of a service itself
    for cause in one.expected_root_cause:
        if cause != own and _names(text, cause):
            yield f"names the cause {cause}"
    if len(one.id) >= SHORT_NAME and _words(one.id) in _words(text):
        yield f"holds the incident's id {one.id}"


def _words(text: str) -> str:
    """In one spelling: `GT-01-login-break` in `gt_01 login.break` is the same id."""
    return "-" + "-".join(re.findall(r"[a-z0-9]+", text.lower())) + "-"


def _names(text: str, service: str) -> bool:
    """`AutheliaDown` names authelia; `WebhookFailures` does not name web: a short name counts as a whole word
    only.
    """
    if len(service) >= SHORT_NAME:
        return service.lower() in text.lower() or service.replace("-", "").lower() in text.lower()
    return re.search(rf"(?<![a-z0-9]){re.escape(service)}(?![a-z0-9])", text, re.IGNORECASE) is not None
