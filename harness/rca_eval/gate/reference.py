"""A golden record beside the statistics: with these components Active, is the answer still the one that was committed?

AC@1 sees a fault inside a component only where it moves a cause from the top. Whoever commits references of its
active modes sees every other one too, at the price that a wanted change has to be accepted. No reference, no check.
"""

from collections.abc import Iterator
from typing import Final

from rca_eval.contract.errors import shown
from rca_eval.contract.scorecard import Reference
from rca_eval.gate.beside import ARM_ORDER
from rca_eval.gate.result import CheckResult, clipped
from rca_eval.gate.subject import Subject, short_ids

NAME: Final = "ReferenceDrift"


def reference_check(s: Subject) -> Iterator[CheckResult]:
    """In each arm for which the baseline has a reference of the judged modes: every incident has its fingerprint."""
    active = active_keys(s)
    references = {
        one.arm: one for one in (s.baseline.references if s.baseline else ()) if one.active == active
    }
    if not references:
        text = "the baseline holds no reference of these modes" if active else "everything is in Shadow"
        yield CheckResult(name=NAME, result="NotApplicable", message=text)
        return
    mine = s.arms(s.candidate_name)
    for arm in ARM_ORDER:
        if arm in references and arm in mine and mine[arm].incidents:
            found = {result.id: s.ranks.fingerprint(result) for result in mine[arm].incidents}
            yield _row(s, arm, found, references[arm])


def active_keys(s: Subject) -> tuple[str, ...]:
    """The mode keys that were Active where the judged variant ran, in order."""
    judged = (v.active for v in s.scorecard.deterministic.variants if v.name == s.candidate_name)
    return next(judged, ())


def _row(s: Subject, arm: str, found: dict[str, str], reference: Reference) -> CheckResult:
    ids = [*found, *(name for name in reference.incidents if name not in found)]
    moved = [name for name in ids if found.get(name) != reference.incidents.get(name)]
    what = f"{s.candidate_name} equals the committed reference of {shown(', '.join(reference.active))}, {arm}"
    failing = "Failed" if s.policy.reference_drift == "Fail" else "Warning"
    if moved:
        what = (
            f"{s.candidate_name} is not the committed reference of {shown(', '.join(reference.active))} in "
            f"{len(moved)} of {len(ids)} incidents ({short_ids(moved, ids)}); if that is wanted, accept it with "
            f"`rca-eval baseline accept`, {arm}"
        )
    return CheckResult(
        name=NAME,
        result=failing if moved else "Passed",
        message=clipped(what),
        arm=arm,
        variant=s.candidate_name,
        against="Baseline",
    )
