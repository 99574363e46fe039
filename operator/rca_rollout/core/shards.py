"""An evaluation in shards: how many, the form of its Indexed Job, and what became of it.

The Job makes the Pod of a shard anew that the cluster or a person took away; the others go on. A shard that failed by
itself is not tried again within the Job: the run ends with its reason. A part is recorded in the run's status when it was
read, so that its Pod is needed no more; the whole is judged when all are recorded, and nothing less ever is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from rca_rollout.api.job import JobTemplate
from rca_rollout.api.reasons import Reason
from rca_rollout.core.owners import owned
from rca_rollout.core.pods import Broken, Outcome, Running, Succeeded, diagnose
from rca_rollout.core.pods.pod import diagnose_pod
from rca_rollout.core.pods.steps import TOLD_TO_GO, condition, done, wall_seconds

INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
RETRIES = 3
"""How often the Job makes the Pod of one shard anew when it was deleted. Disruptions do not count."""
_LAG = timedelta(seconds=30)  # Jobs and Pods are watched apart
_LOOK_AGAIN = timedelta(seconds=5)

type Body = Mapping[str, Any]


@dataclass(frozen=True)
class Collecting:
    """Shards that have ended well and are not recorded yet, the lowest index first; `done` counts those that are."""

    ready: tuple[tuple[int, Succeeded], ...]
    done: int


@dataclass(frozen=True)
class Collected:
    """Every shard is recorded."""


type ShardsOutcome = Outcome | Collecting | Collected


def shard_count(template: JobTemplate, incidents: int) -> int:
    """No shard is without an incident."""
    return max(1, min(template.shards, incidents))


def job_form(template: JobTemplate, shards: int, slack: int) -> dict[str, Any]:
    """The part of a Job's spec that says how many Pods it has, and what happens when one ends badly. Seconds."""
    seconds = template.start_timeout.seconds + template.timeout.seconds
    if shards == 1:
        return {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": seconds + slack,
            "podFailurePolicy": {"rules": [{"action": "FailJob", **_DISRUPTED}]},
        }
    at_once = min(template.parallelism or shards, shards)
    waves = -(-shards // at_once)
    return {
        "completionMode": "Indexed",
        "completions": shards,
        "parallelism": at_once,
        "backoffLimitPerIndex": RETRIES,
        "maxFailedIndexes": 0,
        "podReplacementPolicy": "Failed",
        # Time for one more round: that of a shard that was lost at the end of the last one.
        "activeDeadlineSeconds": (waves + 1) * seconds + slack,
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", **_DISRUPTED},
                {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": list(TOLD_TO_GO)}},
            ]
        },
    }


_DISRUPTED: Body = {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


def diagnose_shards(
    job: Body,
    pods: Sequence[Body],
    *,
    count: int,
    recorded: Collection[int],
    start_timeout: timedelta,
    run_timeout: timedelta,
    now: datetime,
) -> ShardsOutcome:
    """What became of an Indexed `job` at `now`; `recorded` are the shards whose parts are read."""
    if len(recorded) == count:
        return Collected()
    mine = [pod for pod in pods if owned(pod, str(job["metadata"].get("uid")))]
    found = {
        index: [
            # The Job goes on with other shards, so its end is not waited for.
            Succeeded(pod, wall_seconds(pod))
            if done(pod) and (pod.get("status") or {}).get("phase") == "Succeeded"
            else diagnose_pod(pod, start_timeout=start_timeout, run_timeout=run_timeout, now=now)
            for pod in mine
            if index_of(pod) == index
        ]
        for index in range(count)
        if index not in recorded
    }
    ready: list[tuple[int, Succeeded]] = []
    held: list[Running] = []
    for index, outcomes in found.items():
        if broken := next((one for one in outcomes if isinstance(one, Broken)), None):
            return _named(broken, index, count)
        ready += [(index, one) for one in outcomes if isinstance(one, Succeeded)][:1]
        held += [one for one in outcomes if isinstance(one, Running)]
    if ready:
        return Collecting(tuple(ready), done=len(recorded))
    if not any(found.values()):
        # Nothing to see of any shard: what the Job itself says counts, but between two rounds that may be nothing.
        whole = diagnose(job, [], start_timeout=start_timeout, run_timeout=run_timeout, now=now)
        if isinstance(whole, Running) or not (mine or recorded or _end_of(job)):
            return whole
    lost = [index for index, outcomes in found.items() if not any(isinstance(o, Running) for o in outcomes)]
    return _ended(job, lost, count, now) or _going_on(held, len(recorded), count, now)


def index_of(pod: Body) -> int | None:
    """Of which shard this Pod is."""
    text = str((pod["metadata"].get("labels") or {}).get(INDEX_LABEL, ""))
    return int(text) if text.isascii() and text.isdigit() else None


def _named(found: Broken, index: int, count: int) -> Broken:
    return Broken(
        found.reason, f"{shard_name(index, count)}: {found.message}", found.pod, found.container, found.about
    )


def shard_name(index: int, count: int) -> str:
    """`shard 2 of 3 (index 1)`: people count from one, kubectl from zero."""
    return f"shard {index + 1} of {count} (index {index})"


def _end_of(job: Body) -> Body | None:
    """The condition that says that the Job is over, or about to be."""
    status = job.get("status") or {}
    kinds = ("Failed", "FailureTarget", "Complete", "SuccessCriteriaMet")
    return next((found for kind in kinds if (found := condition(status, kind))), None)


def _ended(job: Body, lost: Sequence[int], count: int, now: datetime) -> Broken | Running | None:
    """The Job is over, or is going, and shards are not there whose parts were not read."""
    name, ending = job["metadata"]["name"], _end_of(job)
    if job["metadata"].get("deletionTimestamp"):
        return Broken(
            Reason.JOB_LOST, f"Job {name} was deleted before it ended: the evaluation is tried again"
        )
    if ending is None:
        return None
    if now < datetime.fromisoformat(str(ending.get("lastTransitionTime") or now.isoformat())) + _LAG:
        return Running(wake_at=now + _LOOK_AGAIN, note="waiting for the end of its Pods to be seen")
    if ending.get("reason") == "DeadlineExceeded":
        return Broken(
            Reason.DEADLINE_EXCEEDED,
            f"Job {name} passed its deadline with {len(lost) or 'some'} of {count} shards missing: raise job.timeout or "
            "job.parallelism in the EvalSuite, or make the evaluation faster",
        )
    names = ", ".join(str(index + 1) for index in lost[:5]) + (" and others" if len(lost) > 5 else "")
    said = f" ({str(ending['message'])[:200]})" if ending.get("message") else ""
    return Broken(
        Reason.SHARD_MISSING,
        f"of {count} shards of Job {name} no result of {names or 'some'} could be read{said}: a part of the incidents is "
        "never judged, the evaluation is tried again",
    )


def _going_on(held: Sequence[Running], done: int, count: int, now: datetime) -> Running:
    told = next((one for one in held if one.reason != Reason.RUN_IN_PROGRESS), None)
    wake = min((one.wake_at for one in held), default=now + timedelta(seconds=30))
    note = f"{done} of {count} shards have ended" + (f"; {told.note}" if told and told.note else "")
    return Running(wake, note, told.reason if told else Reason.RUN_IN_PROGRESS)
