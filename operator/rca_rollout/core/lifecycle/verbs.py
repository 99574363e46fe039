"""Verbs: what people ask for by annotation `rca.bluerobin.io/<verb>: <epoch>/<unique>`.

A token is copied to status, with who, why and the answer, in the first write after it was seen, and is handled once: that
the annotation is taken away right after (a GitOps controller does) or comes back (from Git, from a backup) changes nothing.
What follows from it is derived from that status. `retry`, `run` and `approve` are looked at first, so that of several at
once the one in the safe direction has the last word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rca_rollout.api.common import ApprovalPolicy, EventType, RunPhase
from rca_rollout.api.component_status import RcaComponentStatus, Transition
from rca_rollout.api.decisions import TOKENS_REMEMBERED, HandledVerb, VerbResult, Verbs
from rca_rollout.api.meta import Metadata
from rca_rollout.api.reasons import Reason
from rca_rollout.core.epoch import context_of
from rca_rollout.core.lifecycle import block, proof
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.names import PREFIX, short_hash
from rca_rollout.core.problem import Problem

REASON, BY = f"{PREFIX}/reason", f"{PREFIX}/by"
_FORM = re.compile(r"(?P<epoch>[0-9a-f]{1,64})/\S{1,180}")


@dataclass(frozen=True)
class _Asked:
    """One token as it is looked at. `epoch` is the present one, of the world rather than of the status."""

    by: str | None
    why: str | None
    epoch: str | None


@dataclass(frozen=True)
class _Answer:
    accepted: bool
    message: str
    run: str | None = None


def copy(draft: Draft) -> None:
    """Answers every token that was not answered yet. Before anything that could end the step."""
    for verb, answer in _VERBS.items():
        token = draft.component.metadata.annotations.get(f"{PREFIX}/{verb}")
        if token is None or _digest(verb, token) in (draft.verbs or Verbs()).handled:
            continue
        _handle(draft, verb, token, answer)


def told(old: RcaComponentStatus, new: RcaComponentStatus) -> tuple[Transition, ...]:
    """One Event for each verb that `new` has an answer to and `old` has not."""
    found: list[Transition] = []
    for verb in _VERBS:
        before, now = (getattr(status.verbs, verb, None) for status in (old, new))
        if now is None or now == before:
            continue
        accepted = now.result is VerbResult.ACCEPTED
        reason = Reason.VERB_ACCEPTED if accepted else Reason.VERB_REFUSED
        kind = EventType.NORMAL if accepted else EventType.WARNING
        text = f"{verb} by {now.by or 'somebody unknown'}: {now.message}"
        found.append(Transition(reason=reason, message=text, type=kind, at=now.at))
    return tuple(found)


def author(metadata: Metadata, annotation: str) -> str | None:
    """Who wrote an annotation: the field manager, and who the annotation `by` says it was.

    Only an admission policy makes `by` more than a claim; without one it says no more than the person wanted to.
    """
    field = f"f:{annotation}"
    owners = [
        entry
        for entry in metadata.managed_fields
        if isinstance(own := entry.fields_v1.get("f:metadata"), Mapping)
        and isinstance(own.get("f:annotations"), Mapping)
        and field in own["f:annotations"]
    ]
    newest = max(owners, key=lambda entry: str(entry.time or ""), default=None)
    parts = [metadata.annotations.get(BY), newest and newest.manager and f"field manager {newest.manager}"]
    return ", ".join(part for part in parts if part) or None


def how(draft: Draft, verb: str, *more: str) -> str:
    """The command that a message tells. Any other text after the epoch is as good."""
    words = ["kubectl annotate --overwrite rcac", draft.name, f"{PREFIX}/{verb}={draft.epoch}/1", *more]
    return " ".join(words)


def _handle(draft: Draft, verb: str, token: str, answer: Callable[[Draft, _Asked], _Answer]) -> None:
    metadata = draft.component.metadata
    why = (metadata.annotations.get(REASON) or "").strip() or None
    asked = _Asked(author(metadata, f"{PREFIX}/{verb}"), why, _present_epoch(draft))
    said = _void(token, asked.epoch) or answer(draft, asked)
    record = HandledVerb(
        token=token,
        at=draft.now,
        by=asked.by,
        reason=why,
        result=VerbResult.ACCEPTED if said.accepted else VerbResult.REFUSED,
        message=said.message,
        run=said.run,
    )
    verbs = draft.verbs or Verbs()
    draft.verbs = verbs.evolve(
        **{verb: record, "handled": _remembered(metadata, verbs, _digest(verb, token))}
    )


def _remembered(metadata: Metadata, verbs: Verbs, new: str) -> tuple[str, ...]:
    """The newest digests; one whose annotation stands is never forgotten, or it would be handled again."""
    standing = {_digest(verb, metadata.annotations.get(f"{PREFIX}/{verb}", "")) for verb in _VERBS}
    others = [digest for digest in verbs.handled if digest not in standing]
    kept = [digest for digest in verbs.handled if digest in standing]
    return (*others, *kept, new)[-TOKENS_REMEMBERED:]


def _void(token: str, epoch: str | None) -> _Answer | None:
    form = _FORM.fullmatch(token)
    if form is None:
        text = (
            f"the value has to be <epoch>/<something unique>: the present epoch is {epoch or 'not known yet'}"
        )
        return _Answer(False, text)
    if form["epoch"] != epoch:
        text = (
            f"it is about epoch {form['epoch']}, the present one is {epoch or 'not known yet'}: look at what stands "
            "now, and ask again"
        )
        return _Answer(False, text)
    return None


def _present_epoch(draft: Draft) -> str | None:
    suite = draft.snapshot.suite
    return draft.epoch if isinstance(suite, Problem) else draft.snapshot.epoch_on(suite) or draft.epoch


def _retry(draft: Draft, asked: _Asked) -> _Answer:
    if asked.why is None:
        return _Answer(
            False, f"a retry needs a reason: set the annotation {REASON}, and a new value of retry"
        )
    if draft.active:
        return _Answer(False, "the component is Active: a retry is for one that is blocked")
    standing = block.standing(draft) if draft.epoch == asked.epoch else None
    if standing is None:
        return _Answer(False, "nothing is blocked: for one more run use the annotation run")
    block.lift(draft, standing, by=asked.by, why=asked.why)
    return _Answer(
        True, f"attempt {draft.attempts + 1} after {standing.reason}, all evidence anew: {asked.why}"
    )


def _run(draft: Draft, asked: _Asked) -> _Answer:
    for problem in (draft.snapshot.target, draft.snapshot.suite):
        if isinstance(problem, Problem):
            return _Answer(False, f"nothing can be run: {problem.message}")
    if draft.spec.suspend:
        return _Answer(False, "spec.suspend is true: nothing is run before it is lifted")
    standing = block.standing(draft) if draft.epoch == asked.epoch else None
    if standing and not draft.active:
        return _Answer(False, f"blocked ({standing.reason}): a retry with a reason comes first")
    if draft.current_run:
        return _Answer(False, f"{draft.current_run.name} is under way already")
    draft.run_requested_at = draft.now
    return _Answer(True, "one run now; it counts as any other")


def _approve(draft: Draft, asked: _Asked) -> _Answer:
    waiting = draft.approval
    if draft.spec.promotion.approval is not ApprovalPolicy.MANUAL:
        return _Answer(False, "promotion.approval is Automatic: nothing waits for an approval")
    if draft.active:
        return _Answer(False, "the component is Active already")
    standing = block.standing(draft)
    if standing:
        return _Answer(False, f"blocked: {standing.reason}: {standing.message}")
    here = (asked.epoch, context_of(draft.snapshot.siblings))
    if waiting is None or (waiting.epoch, waiting.context) != here or not proof.enough(draft):
        return _Answer(False, "not all evidence is there yet: approve when the phase is AwaitingApproval")
    if failed := _just_failed(draft):
        return failed
    if waiting.approved_at:
        return _Answer(False, f"approved already, by {waiting.by or 'somebody unknown'}")
    draft.approval = waiting.evolve(approved_at=draft.now, by=asked.by)
    digest = (waiting.scorecard_sha256 or "")[:12]
    return _Answer(True, f"approved on the scorecard {digest}… of run {waiting.run}")


def _abort(draft: Draft, asked: _Asked) -> _Answer:
    run = draft.current_run.name if draft.current_run else None
    if draft.active:
        if run is None:
            return _Answer(False, "Active, and no run is under way: demote puts the component back to Shadow")
        return _Answer(True, f"guard run {run} is ended; the guard goes on with the next one", run)
    standing = block.standing(draft) if draft.epoch == asked.epoch else None
    if standing:
        return _Answer(False, f"blocked already: {standing.reason}: {standing.message}")
    if failed := _just_failed(draft):
        return failed
    text = f"stopped by {asked.by or 'somebody unknown'}" + (f": {asked.why}" if asked.why else "")
    block.put(draft, Reason.ABORTED, text, epoch=asked.epoch, by=asked.by, run=run)
    draft.current_run = None
    draft.retry = None
    return _Answer(True, (f"run {run} is ended; " if run else "") + "blocked until a retry", run)


def _just_failed(draft: Draft) -> _Answer | None:
    """A failure that was not read yet: no verb may come before it, or it would be lost."""
    run = draft.snapshot.runs.get(draft.current_run.name) if draft.current_run else None
    if run is None or run.status.phase is not RunPhase.FAILED:
        return None
    return _Answer(False, f"run {run.metadata.name} has failed: {run.status.message}")


def _demote(draft: Draft, asked: _Asked) -> _Answer:
    intent = draft.intent
    towards_active = intent is not None and intent.cause == Reason.PROMOTED
    if not (draft.active or draft.promotion or draft.held or towards_active):
        return _Answer(False, "the component is not Active: spec.mode Shadow holds it back, abort stops it")
    text = f"put back by {asked.by or 'somebody unknown'}" + (f": {asked.why}" if asked.why else "")
    block.put(draft, Reason.DEMOTE_REQUESTED, text, epoch=asked.epoch, by=asked.by)
    return _Answer(True, "back to Shadow, and blocked until a retry")


def _digest(verb: str, token: str) -> str:
    return short_hash(verb, token, length=16)


_VERBS: Mapping[str, Callable[[Draft, _Asked], _Answer]] = {
    "retry": _retry,
    "run": _run,
    "approve": _approve,
    "abort": _abort,
    "demote": _demote,
}
