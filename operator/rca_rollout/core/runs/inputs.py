"""What a run measures: taken once, written to its status, and compared with the world from then on."""

from __future__ import annotations

from datetime import datetime

from rca_rollout.api.common import RunPhase
from rca_rollout.api.component import RcaComponent
from rca_rollout.api.reasons import Reason
from rca_rollout.api.run_status import RunInputs
from rca_rollout.api.run_status import Variant as StoredVariant
from rca_rollout.core.epoch import epoch_of
from rca_rollout.core.revision import Running
from rca_rollout.core.runs.ending import conditions_of, end
from rca_rollout.core.runs.snapshot import RunPlan, RunSnapshot
from rca_rollout.core.shards import shard_count
from rca_rollout.core.suites import SuiteFacts
from rca_rollout.core.variants import variants

_MOST_KEYS = 64  # as many modes as a run's status can hold


def of_another_epoch(snapshot: RunSnapshot, suite: SuiteFacts) -> bool:
    """Asked of the world itself: a change that is taken back before the component looks would not be in its status."""
    epoch, component, running = snapshot.run.spec.epoch, snapshot.component, snapshot.what_runs
    if epoch is None or not isinstance(component, RcaComponent) or not isinstance(running, Running):
        return False
    return epoch != epoch_of(component.spec, suite, running, component.status.eval_image)


def take_inputs(snapshot: RunSnapshot, suite: SuiteFacts, now: datetime) -> RunPlan:
    run, component = snapshot.run, snapshot.component
    if len(snapshot.effective) > _MOST_KEYS:
        text = f"the suite has {len(snapshot.effective)} components, at most {_MOST_KEYS} are measured together: split it"
        return end(snapshot, RunPhase.ERROR, Reason.SUITE_NOT_READY, text, now)
    key = component.spec.target.key if isinstance(component, RcaComponent) else None
    running = snapshot.what_runs if isinstance(snapshot.what_runs, Running) else Running("none")
    measured = variants(snapshot.effective, key)
    shards = shard_count(suite.spec.job, len(suite.dataset.incidents))
    inputs = RunInputs(
        epoch=run.spec.epoch,
        context=run.spec.context,
        revision=run.spec.revision or running.revision,
        variants=tuple(StoredVariant(name=v.name, modes=dict(v.modes)) for v in measured),
        image=running.image or suite.image or snapshot.settings.harness_image,
        image_digest=running.digest,
        harness_image=snapshot.settings.harness_image,
        dataset_sha256=suite.dataset_sha256,
        baseline_sha256=suite.baseline_sha256,
        shards=shards if shards > 1 else None,
    )
    status = run.status.evolve(
        phase=RunPhase.PENDING, reason=Reason.RUN_PENDING, message="waits for its turn", inputs=inputs
    )
    return RunPlan(conditions_of(snapshot, status, now), wake_at=now)


def same_data(inputs: RunInputs, suite: SuiteFacts) -> bool:
    return (inputs.dataset_sha256, inputs.baseline_sha256) == (suite.dataset_sha256, suite.baseline_sha256)
