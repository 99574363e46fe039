"""The core with one fault each, to show that the search would find it. Each puts its fault in for as long as `patch` lives."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest

from rca_rollout.api.common import RunPhase
from rca_rollout.api.component_status import Evidence
from rca_rollout.core import budget, confirming, epoch, names, parts, revision
from rca_rollout.core.lifecycle import (
    approval,
    block,
    confirmation,
    decide,
    evidence,
    finalizer,
    live,
    observation,
    promotion,
    proof,
    verbs,
)
from rca_rollout.core.lifecycle import draft as drafts
from rca_rollout.core.lifecycle import revision as what_runs
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.runs import conclude, watch

type Break = Callable[[pytest.MonkeyPatch], None]


def _no_closing_run(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(proof, "closed", lambda draft: True)


def _context_ignored(patch: pytest.MonkeyPatch) -> None:
    """The first context stays for ever."""
    real = decide._settle_context

    def settle(draft: Draft) -> None:
        if draft.context is None:
            real(draft)

    patch.setattr(decide, "_settle_context", settle)
    patch.setattr(proof, "context_of", lambda siblings: "")
    patch.setattr(proof, "present", lambda draft: True)


def _failure_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(evidence, "_VERDICTS", frozenset({RunPhase.PASSED}))


def _failure_passes(patch: pytest.MonkeyPatch) -> None:
    real = evidence._count

    def count(draft: Draft, current: Any, run: Any) -> None:
        status = run.status.evolve(phase=RunPhase.PASSED)
        real(draft, current, run.model_copy(update={"status": status}))

    patch.setattr(evidence, "_count", count)


def _second_job(patch: pytest.MonkeyPatch) -> None:
    real, numbers = names.job_name, itertools.count(1)
    patch.setattr(names, "job_name", lambda run, uid, attempt: real(run, uid, next(numbers)))


def _asked_only_once(patch: pytest.MonkeyPatch) -> None:
    """What was decided on is written, whatever has happened since."""
    patch.setattr(promotion, "_still_wanted", lambda draft, target, intent: True)


def _approval_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(approval, "_approved", lambda draft: True)


def _verbs_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(verbs, "_remembered", lambda metadata, held, new: (new,))


def _suspension_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decide, "_suspended", lambda draft: False)
    patch.setattr(promotion, "_still_wanted", lambda draft, target, intent: True)


def _pause_counts(patch: pytest.MonkeyPatch) -> None:
    """The time of a suspension counts as observed."""
    patch.setattr(decide, "max", lambda *values: timedelta(0), raising=False)


def _failures_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A demotion throws away what failed."""
    patch.setattr(promotion, "Evidence", lambda **kept: Evidence())


def _blocks_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(block, "standing", lambda draft: None)


def _revision_not_measured(patch: pytest.MonkeyPatch) -> None:
    real = epoch.epoch_parts

    def parts(*arguments: Any, **named: Any) -> dict[str, Any]:
        return {key: value for key, value in real(*arguments, **named).items() if key != "the revision"}

    patch.setattr(epoch, "epoch_parts", parts)


def _never_at_rest(patch: pytest.MonkeyPatch) -> None:
    numbers = itertools.count(1)
    real = Draft.ready
    patch.setattr(
        Draft, "ready", lambda self, reason, message: real(self, reason, f"{message} {next(numbers)}")
    )


def _no_wake(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(observation, "_next_run", lambda draft, end: None)


def _stale_readings(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(live, "fresh", lambda draft: True)
    patch.setattr(live, "settle_clock", lambda draft: None)


def _no_finalizer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(finalizer, "missing", lambda draft: False)


def _image_ids_ignored(patch: pytest.MonkeyPatch) -> None:
    """Which image the Job's containers really ran is not asked."""
    patch.setattr(watch, "mismatch", lambda before, snapshot: None)
    patch.setattr(conclude, "unknown", lambda snapshot: None)


def _inputs_not_measured(patch: pytest.MonkeyPatch) -> None:
    real = epoch.epoch_parts

    def parts(*arguments: Any, **named: Any) -> dict[str, Any]:
        return {k: value for k, value in real(*arguments, **named).items() if not k.startswith("input ")}

    patch.setattr(epoch, "epoch_parts", parts)


def _any_word_is_active(patch: pytest.MonkeyPatch) -> None:
    """A word that names a revision is read as Active, whichever it names."""
    real = revision.effective_mode

    def mode(value: Any, values: Any, promoted: Any = None, now: Any = None) -> Any:
        return real(value, values, promoted, revision.revision_in(value, values) or now)

    patch.setattr(drafts, "effective_mode", mode)


def _displaced_stays(patch: pytest.MonkeyPatch) -> None:
    """What runs in place of what was promoted goes on under its word."""
    patch.setattr(what_runs, "_displaced", lambda draft, promoted, target: None)


def _half_is_the_whole(patch: pytest.MonkeyPatch) -> None:
    """While Pods are being rolled, nothing is put back."""
    patch.setattr(what_runs, "_half_displaced", lambda draft, promoted, running: None)


def _held_for_any_image(patch: pytest.MonkeyPatch) -> None:
    """A word that is held governs again by the name alone."""
    patch.setattr(what_runs, "_same", lambda promoted, running: promoted.revision == running.revision)
    patch.setattr(what_runs, "_runs_promoted", lambda promoted, pod: promoted.revision == pod.revision)


def _nobody_is_asked(patch: pytest.MonkeyPatch) -> None:
    """A promotion needs no confirmation."""
    patch.setattr(confirmation, "begin", lambda draft, mode, value: False)


def _one_replica_is_enough(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(confirming.Answer, "complete", property(lambda answer: answer.confirmed > 0))


def _nothing_is_owed(patch: pytest.MonkeyPatch) -> None:
    """After a demotion that nobody has confirmed, the next promotion comes."""
    patch.setattr(confirmation, "owed", lambda draft: None)


def _budget_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(budget, "waits_for", lambda spec, ledger, run, active: None)


def _parts_of_anything(patch: pytest.MonkeyPatch) -> None:
    """A part counts, of whichever run or attempt it is."""
    patch.setattr(parts, "_of_another", lambda run, index, part: None)


def _inputs_wait_for_the_rollout(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(what_runs, "_inputs_displaced", lambda draft, promoted, running: None)


BROKEN: Mapping[str, Break] = {
    "the closing run is not required": _no_closing_run,
    "the context is ignored": _context_ignored,
    "a failure is taken for no verdict": _failure_ignored,
    "a failure is taken for a pass": _failure_passes,
    "a run has two Jobs": _second_job,
    "the conditions are not asked again before the write": _asked_only_once,
    "the approval is ignored": _approval_ignored,
    "verbs are handled again": _verbs_forgotten,
    "the suspension is ignored": _suspension_ignored,
    "a pause counts as observed": _pause_counts,
    "blocks are ignored": _blocks_ignored,
    "failures are forgotten after a demotion": _failures_forgotten,
    "the revision is not part of the epoch": _revision_not_measured,
    "the status never rests": _never_at_rest,
    "the next run is not waited for": _no_wake,
    "readings may be old": _stale_readings,
    "the finalizer is not waited for": _no_finalizer,
    "nobody is asked to confirm": _nobody_is_asked,
    "one replica is enough": _one_replica_is_enough,
    "a demotion need not be confirmed": _nothing_is_owed,
    "the budget is ignored": _budget_ignored,
    "a part of another run counts": _parts_of_anything,
    "which image a Job ran is not asked": _image_ids_ignored,
    "inputs are not part of the epoch": _inputs_not_measured,
    "a word for another revision is Active": _any_word_is_active,
    "what was displaced stays": _displaced_stays,
    "half a rollout puts nothing back": _half_is_the_whole,
    "inputs wait for the end of a rollout": _inputs_wait_for_the_rollout,
    "a word is held for any image": _held_for_any_image,
}
