"""The Job and its Pods together. The Job's own conditions are written after the Pod's end, and survive the Pod."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from rca_rollout.api.reasons import Reason
from rca_rollout.core import names
from rca_rollout.core.owners import owned
from rca_rollout.core.pods.outcome import Body, Broken, Disrupted, Outcome, Running, Succeeded
from rca_rollout.core.pods.pod import altered, diagnose_pod
from rca_rollout.core.pods.starting import seconds
from rca_rollout.core.pods.steps import condition, done, time, wall_seconds

_LAG = timedelta(seconds=30)  # Jobs and Pods are watched apart: the Pod's last state may come after the Job's
_REFUSAL_GRACE = timedelta(seconds=60)  # a quota that another Pod is about to free, a webhook that restarts
_LOOK_AGAIN = timedelta(seconds=5)
_SUSPENDED_LOOK = timedelta(minutes=5)  # its resumption is an event; this is for the event that got lost


def diagnose(
    job: Body,
    pods: Sequence[Body],
    *,
    start_timeout: timedelta,
    now: datetime,
    run_timeout: timedelta | None = None,
) -> Outcome:
    """What became of `job` at `now`. Of `pods` only those count that it owns."""
    name, status = job["metadata"]["name"], job.get("status") or {}
    pod = _newest(pod for pod in pods if owned(pod, str(job["metadata"].get("uid"))))
    if condition(status, "Complete") or condition(status, "SuccessCriteriaMet"):
        return _complete(name, pod, now)
    if job["metadata"].get("deletionTimestamp"):
        return Broken(
            Reason.JOB_LOST, f"Job {name} was deleted before it ended: the evaluation is tried again"
        )
    ending = condition(status, "Failed") or condition(status, "FailureTarget")
    if ending and pod is not None and done(pod):
        return Succeeded(pod, wall_seconds(pod))
    if ending and ending.get("reason") == "DeadlineExceeded":
        return _past_deadline(name, pod, ending, run_timeout, now)
    if not ending and (held := _suspended(job, now)):
        return held
    if pod is not None:
        found = diagnose_pod(pod, start_timeout=start_timeout, run_timeout=run_timeout, now=now)
        if not (isinstance(found, Running) and ending):
            return found
    if ending:
        return _failed(name, pod, ending, now)
    return _without_pod(job, start_timeout, now)


def _complete(name: str, pod: Body | None, now: datetime) -> Outcome:
    if pod is None:
        return Broken(
            Reason.JOB_LOST,
            f"the Pod of Job {name} was gone before its scorecard was read: it will be evaluated again",
        )
    if done(pod):
        return Succeeded(pod, wall_seconds(pod))
    if (pod.get("status") or {}).get("phase") == "Succeeded":
        return altered(pod)
    return Running(wake_at=now + _LOOK_AGAIN, note="waiting for the end of the Pod to be seen")


def _past_deadline(
    name: str, pod: Body | None, ending: Body, run_timeout: timedelta | None, now: datetime
) -> Outcome:
    """The Job's deadline stands behind the Pod's: when it is reached, the Pod's was not enforced, or never began."""
    begun = time((pod.get("status") or {}).get("startTime")) if pod else None
    ended = time(ending.get("lastTransitionTime"))
    if pod and (pod.get("status") or {}).get("reason") == "DeadlineExceeded":
        return diagnose_pod(pod, start_timeout=timedelta(0), run_timeout=None, now=ended or begun or now)
    if begun and ended and run_timeout is not None and begun + run_timeout < ended:
        return Disrupted(
            f"the Pod of Job {name} was not ended at its deadline: its node does not answer", Reason.NODE_LOST
        )
    return Broken(
        Reason.DEADLINE_EXCEEDED,
        f"Job {name} passed its deadline: raise job.timeout in the EvalSuite, or make the evaluation faster",
    )


def _suspended(job: Body, now: datetime) -> Running | None:
    """Held by a queue, or by somebody: no time runs meanwhile, the Job's own deadline does not either."""
    suspended = condition(job.get("status") or {}, "Suspended")
    if not (job.get("spec") or {}).get("suspend") and not suspended:
        return None
    wake = now + _SUSPENDED_LOOK
    if queue := (job["metadata"].get("labels") or {}).get(names.QUEUE_LABEL):
        return Running(wake, f"waits in queue {queue}", Reason.QUEUED)
    name = job["metadata"]["name"]
    text = (
        f'somebody has suspended it; kubectl patch job {name} --type=merge -p \'{{"spec":{{"suspend":false}}}}\' '
        "goes on, and deleting it begins anew"
    )
    return Running(wake, text, Reason.JOB_SUSPENDED)


def _failed(name: str, pod: Body | None, ending: Body, now: datetime) -> Outcome:
    said = str(ending.get("message") or "")[:200]
    if ending.get("reason") == "PodFailurePolicy":
        return Disrupted(f"the Pod of Job {name} was disrupted: {said}")
    if pod is not None and now < (time(ending.get("lastTransitionTime")) or now) + _LAG:
        return Running(wake_at=now + _LOOK_AGAIN, note="waiting for the end of the Pod to be seen")
    return Broken(Reason.JOB_LOST, f"Job {name} failed and its Pod is gone: {said}")


def _without_pod(job: Body, start_timeout: timedelta, now: datetime) -> Outcome:
    """No Pod, and nothing said about it: the Job controller has not come to it, or is refused.

    It writes `startTime` in the same step in which it makes the Pod. With one and without a Pod, living, ending or
    counted, the API server has refused the Pod; the controller tries again for ever, and tells in Events only.
    """
    metadata, status, name = job["metadata"], job.get("status") or {}, job["metadata"]["name"]
    begun = max(filter(None, (_resumed(status), time(metadata.get("creationTimestamp")))), default=now)
    tried = time(status.get("startTime"))
    seen = any(status.get(count) for count in ("active", "terminating", "failed", "succeeded"))
    if tried and not seen and not any((status.get("uncountedTerminatedPods") or {}).values()):
        text = f"no Pod of Job {name} is let in: a quota, a limit range, admission or Pod security refuses it"
        until = tried + min(_REFUSAL_GRACE, start_timeout)
        if now < until:
            return Running(until, text, Reason.POD_REFUSED)
        return Broken(
            Reason.POD_REFUSED,
            f"{text}; kubectl describe job {name} says which",
            about=str(metadata.get("uid")),
        )
    limit = max(begun, tried or begun) + start_timeout
    if now < limit:
        return Running(wake_at=limit, note="waiting for the Pod")
    return Broken(
        Reason.START_TIMEOUT,
        f"Job {name} has no Pod after {seconds(start_timeout)} s: kubectl describe job {name} says why",
        about=str(metadata.get("uid")),
    )


def _resumed(status: Body) -> datetime | None:
    """When its suspension was lifted."""
    lifted = condition(status, "Suspended", wanted="False")
    return time(lifted.get("lastTransitionTime")) if lifted else None


def _newest(pods: Iterable[Body]) -> Body | None:
    return max(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")), default=None)
