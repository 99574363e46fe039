"""A finished run: what is left of it in the cluster."""

from __future__ import annotations

from rca_rollout.core.owners import owned
from rca_rollout.core.runs.snapshot import DeleteJob, ReleaseJob, RunPlan, RunSnapshot

KEEP_JOB = 600  # seconds that a Job stays for a look after its result is stored


def after(snapshot: RunSnapshot) -> RunPlan:
    """A finished run: its Job goes when its time comes, or at once when nobody will look at its result."""
    job, status = snapshot.job, snapshot.run.status
    if job is None or not owned(job, snapshot.run.metadata.uid):
        return RunPlan(status)
    ended = any(
        c.get("type") in ("Complete", "Failed") and c.get("status") == "True"
        for c in (job.get("status") or {}).get("conditions") or []
    )
    name, uid = str(job["metadata"]["name"]), str(job["metadata"]["uid"])
    if job["metadata"].get("deletionTimestamp"):
        return RunPlan(status)
    if not ended:
        return RunPlan(status, (DeleteJob(name, uid),))
    if (job.get("spec") or {}).get("ttlSecondsAfterFinished") is None:
        return RunPlan(status, (ReleaseJob(name, uid, KEEP_JOB),))
    return RunPlan(status)
