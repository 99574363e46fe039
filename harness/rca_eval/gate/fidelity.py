"""Check 5: what Shadow says that it would rank is what Active ranks. Otherwise an observation watches another program."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from rca_eval.contract.errors import shown
from rca_eval.contract.numbers import nine
from rca_eval.contract.scorecard import ArmResult
from rca_eval.gate.beside import ARM_ORDER
from rca_eval.gate.result import CheckResult, clipped
from rca_eval.gate.subject import Ranking, Subject, ranking, short_ids

NAME: Final = "ShadowFidelity"


def fidelity_check(s: Subject) -> Iterator[CheckResult]:
    """In each arm and for every incident, one row of what Without logged for the component equals With's ranking.

    The component is the one mode that With switches on. A row without a component is from an engine that has
    one only, so it speaks for this one. A missing row is a difference: a Shadow that logs nothing shows nothing.
    """
    if not s.context.component:
        yield _not_applicable("the run measures no component")
        return
    component = s.component
    if component is None:
        return  # Validity names it: With is not Without with one mode switched on
    if s.policy.shadow_fidelity == "IfLogged" and not s.scorecard.measured.would_be:
        yield _not_applicable("the engine logs no would-be rankings, and the policy does not ask for them")
        return
    with_ = s.arms(s.candidate_name)
    for arm in ARM_ORDER:
        if arm in with_ and with_[arm].incidents:
            yield _of_arm(s, component, with_[arm])


def _of_arm(s: Subject, component: str, active: ArmResult) -> CheckResult:
    logged = _logged(s, component, active.arm)
    ids = [result.id for result in active.incidents]
    silent = [name for name in ids if name not in logged]
    # Two rows for one incident are no answer, even if one of them is right.
    unlike = [
        result.id
        for result in active.incidents
        if logged.get(result.id, [ranking(result)]) != [ranking(result)]
    ]
    same = len(ids) - len(silent) - len(unlike)
    return CheckResult(
        name=NAME,
        result="Passed" if same == len(ids) else "Failed",
        message=clipped(f"{_text(component, ids, silent, unlike)}, {active.arm}"),
        arm=active.arm,
        variant=s.candidate_name,
        against="Without",
        value=nine(Fraction(same, len(ids))),
        baseline=nine(1),
        limit=nine(1),
    )


def _text(component: str, ids: list[str], silent: list[str], unlike: list[str]) -> str:
    if silent == ids:
        return (
            f"Shadow logged no would-be ranking of {shown(component)}; let the engine answer with wouldBe, "
            "or set shadowFidelity to IfLogged"
        )
    found = ((unlike, "ranked otherwise"), (silent, "not logged"))
    why = "; ".join(f"{short_ids(names, ids)} {word}" for names, word in found if names)
    same = len(ids) - len(silent) - len(unlike)
    return f"Shadow logged what Active ranks in {same} of {len(ids)} incidents{f' ({why})' if why else ''}"


def _logged(s: Subject, component: str, arm: str) -> dict[str, list[Ranking]]:
    """Incident to every row that Without logged for the component; its rows stand under the variant that ran."""
    owner = s.scorecard.deterministic.owner_of(s.reference_name)
    rows = [row for row in s.scorecard.measured.would_be if (row.variant, row.arm) == (owner, arm)]
    found: dict[str, list[Ranking]] = {}
    for row in rows:
        if row.component in (component, None):
            found.setdefault(row.incident, []).append(row.entities)
    return found


def _not_applicable(text: str) -> CheckResult:
    return CheckResult(name=NAME, result="NotApplicable", message=text)
