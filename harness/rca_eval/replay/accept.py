"""Accept a lawful change of the legacy path: a new baseline that loses nothing, with the old one and the reason on record."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from rca_eval.contract import (
    Acceptance,
    ArmResult,
    Baseline,
    ContractError,
    IncidentResult,
    Reason,
    Scorecard,
    canonical,
    is_finite,
)
from rca_eval.gate.figures import arm_figures
from rca_eval.replay.baseline import from_scorecard
from rca_eval.replay.references import with_references

CREATED_BY = "rca-eval baseline accept"
REASON_LIMIT = 1000
Refusal = Literal["lost", "protected"]


@dataclass(frozen=True)
class Change:
    """One incident whose answer is not what it was. A `refusal` keeps the new baseline from being accepted."""

    arm: str
    before: IncidentResult
    after: IncidentResult
    refusal: Refusal | None


@dataclass(frozen=True)
class Proposal:
    """The new baseline, and what it changes; protected incidents that both miss are listed too. `drifted` has a line
    for each reference of active modes that is not what it was.
    """

    baseline: Baseline
    changes: tuple[Change, ...]
    unchanged: int
    drifted: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.refusal is not None)


def propose(
    old: Baseline,
    old_sha256: str,
    card: Scorecard,
    *,
    reason: str,
    comment: str | None = None,
    protected: Collection[str] | None = None,
    references: Sequence[Scorecard] = (),
) -> Proposal:
    """What a scorecard's AllShadow would make of a baseline. `old_sha256` is over the bytes of its file.

    References that the old baseline has are taken anew from `card` and `references` where these measured the same
    modes, and stay as they are otherwise.

    `protected` None: the incidents that are marked protected or change-induced. Raises `ContractError`: `Usage`
    for an empty or unusable reason, an unknown protected incident, or when nothing changed, `DatasetChanged`
    for another dataset or a part of it, `BaselineInvalid` for documents that cannot be a reference.
    """
    why = _reason(reason)
    new = from_scorecard(card, comment=old.comment if comment is None else comment)
    _same_dataset(old, new)
    wanted = {(one.active, one.arm) for one in old.references}
    own = with_references(new, [card]).references
    kept = [*old.references, *(one for one in own if (one.active, one.arm) in wanted)]
    new = with_references(new, references, kept=kept)
    unknown = sorted(set(protected or ()) - set(new.dataset.incidents))
    if unknown:
        raise ContractError(
            Reason.USAGE,
            f"protectedIncidents names {unknown[0]}, which the dataset does not have; correct it.",
        )
    before = {arm.arm: arm for arm in old.arms}
    found = [
        _change(arm.arm, was, now, protected)
        for arm in new.arms
        for was, now in zip(before[arm.arm].incidents, arm.incidents, strict=True)
    ]
    changes = tuple(change for change in found if change is not None)
    same = canonical(list(map(_plain, new.arms))) == canonical(list(map(_plain, old.arms)))
    drifted = _drifted(old, new)
    if not changes and same and not drifted:
        raise ContractError(
            Reason.USAGE, "AllShadow is the old baseline byte for byte; there is nothing to accept, keep it."
        )
    chain = (
        *old.provenance.accepted,
        Acceptance(previous_sha256=old_sha256, previous_engine=old.provenance.engine, reason=why),
    )
    provenance = new.provenance.model_copy(update={"created_by": CREATED_BY, "accepted": chain})
    return Proposal(
        baseline=new.model_copy(update={"provenance": provenance}),
        changes=changes,
        unchanged=len(found) - len(changes),
        drifted=drifted,
    )


def _drifted(old: Baseline, new: Baseline) -> tuple[str, ...]:
    before = {(one.active, one.arm): one.incidents for one in old.references}
    found = []
    for one in new.references:
        was = before.get((one.active, one.arm))
        if was == one.incidents:
            continue
        moved = [name for name, print_ in one.incidents.items() if was is None or was.get(name) != print_]
        what = (
            "new" if was is None else f"{len(moved)} of {len(one.incidents)} incidents ({', '.join(moved)})"
        )
        found.append(f"{one.arm} reference of {', '.join(one.active)}: {what}")
    return tuple(found)


def _plain(arm: ArmResult) -> object:
    return arm.plain()


def _reason(text: str) -> str:
    why = text.strip()
    if not why:
        raise ContractError(
            Reason.USAGE, "--reason is empty; say why the legacy path may answer otherwise now."
        )
    if not why.isprintable() or len(why) > REASON_LIMIT:
        raise ContractError(
            Reason.USAGE, f"--reason must be one line of at most {REASON_LIMIT} printable characters."
        )
    return why


def _same_dataset(old: Baseline, new: Baseline) -> None:
    if old.dataset.sha256 != new.dataset.sha256:
        raise ContractError(
            Reason.DATASET_CHANGED,
            f"the old baseline is of dataset {old.dataset.sha256[:12]}, the scorecard of "
            f"{new.dataset.sha256[:12]}; for another dataset write a new baseline with rca-eval baseline write.",
        )
    if [_labels(arm) for arm in old.arms] != [_labels(arm) for arm in new.arms]:
        raise ContractError(
            Reason.DATASET_CHANGED,
            "the scorecard has not the arms, incidents and labels of the old baseline; replay all of it again.",
        )
    for where, figure in (pair for arm in old.arms for pair in arm_figures(arm)):
        if not is_finite(figure):
            raise ContractError(
                Reason.BASELINE_INVALID, f"the old baseline is damaged: {where} is {figure}; restore it."
            )


def _labels(arm: ArmResult) -> tuple[object, ...]:
    rows = ((r.id, r.fault_class, r.change_induced, r.protected, r.expected) for r in arm.incidents)
    return (arm.arm, *rows)


def _change(
    arm: str, was: IncidentResult, now: IncidentResult, protected: Collection[str] | None
) -> Change | None:
    """None where nothing changed and nothing has to be told. What counts is recomputed, never as claimed."""
    kept = now.true_rank() == 1
    guarded = (now.protected or now.change_induced) if protected is None else now.id in protected
    refusal: Refusal | None = None
    if not kept and was.true_rank() == 1:
        refusal = "lost"
    elif not kept and guarded:
        refusal = "protected"
    if refusal is None and canonical(was) == canonical(now):
        return None
    return Change(arm, was, now, refusal)
