"""Does what an engine reads give the answer away in words?"""

import re
from collections.abc import Iterator

from rca_eval.contract import ContractError, Incident, case_id
from rca_eval.job.project import project

# "default" is an innocent word that holds a telltale one.
_TELLTALE = re.compile(r"chaos|inject|(?<!de)fault|ground.?truth|\bgt-[0-9]", re.IGNORECASE)
SHORT_NAME = 5


def leaks(incident: Incident, window: int) -> Iterator[str]:
    """Texts of the projection that name the cause where only the outside world should speak, or the
    experiment itself.

    Service names belong to topology, telemetry and changes; in the alert's name and in a change's `ref`
    (beyond the service that it changed) the cause's name is the answer.
    """
    try:
        view = project(incident, "LivePath", case=case_id("", "LivePath", incident.id), window=window)
    except ContractError:  # reported by another rule
        return
    if view is None:
        return
    texts = [
        ("the alert's name", view.alert.name, view.alert.service),
        ("the alert's severity", view.alert.severity or "", ""),
    ]
    texts += [(f"a change of {change.service}", change.ref or "", change.service) for change in view.changes]
    texts += [("a service's kind", service.kind or "", "") for service in view.topology.services]
    texts += [
        (f"a metric of {key}", series.metric, key)
        for key, row in view.telemetry.services.items()
        for series in row.series
    ]
    for where, text, own in texts:
        if (match := _TELLTALE.search(text)) is not None:
            yield f"{where} holds the word {match[0]!r}"
        for cause in incident.expected_root_cause:
            if cause != own and _names(text, cause):
                yield f"{where} names the cause {cause}"
    for service in view.topology.services:
        if (match := _TELLTALE.search(service.key)) is not None:
            yield f"the service {service.key} holds the word {match[0]!r}"


def _names(text: str, service: str) -> bool:
    """`AutheliaDown` names authelia; `WebhookFailures` does not name web: a short name counts as a whole word
    only.
    """
    if len(service) >= SHORT_NAME:
        return service.lower() in text.lower()
    return re.search(rf"(?<![a-z0-9]){re.escape(service)}(?![a-z0-9])", text, re.IGNORECASE) is not None
