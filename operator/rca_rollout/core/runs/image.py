"""Whether the eval containers ran the image that was planned: the tag that a Job names may have been moved meanwhile."""

from __future__ import annotations

from dataclasses import replace

from rca_rollout.api.component import RcaComponent
from rca_rollout.core.images import digest_of
from rca_rollout.core.pods import image_ids
from rca_rollout.core.runs.snapshot import RunSnapshot

EVAL = "eval-"


def with_digest(snapshot: RunSnapshot) -> RunSnapshot:
    """The snapshot with the digest of what was run in its status, as soon as a container tells it. It may be gone later."""
    found = _seen(snapshot)
    if not found or snapshot.run.status.image_digest in found:
        return snapshot
    status = snapshot.run.status.evolve(image_digest=found[-1])
    return replace(snapshot, run=snapshot.run.evolve(status=status))


def mismatch(before: RunSnapshot, snapshot: RunSnapshot) -> str | None:
    """What is wrong with the image that ran, in a sentence; None where nothing is known to be. `before` is the snapshot as
    its status was read."""
    inputs = snapshot.run.status.inputs
    image = (inputs and inputs.image) or "the image"
    seen = _seen(snapshot)
    told = before.run.status.image_digest
    several = sorted({*seen, *([told] if told and seen else [])})
    if len(several) > 1:
        return f"the eval containers of this run did not run the same image: {image} was {_list(several)}"
    ran, expected = snapshot.run.status.image_digest, _expected(snapshot)
    if ran is None or expected is None or ran == expected[0]:
        return None
    return f"the eval containers ran {image} as {ran[:19]}…, {expected[1]} {expected[0][:19]}…"


def unknown(snapshot: RunSnapshot) -> str | None:
    """Why a result cannot be a workload's: nothing tells which image it is of. Asked before a verdict."""
    inputs = snapshot.run.status.inputs
    if inputs is None or inputs.image_digest is None or snapshot.run.status.image_digest is not None:
        return None
    return f"the kubelet did not report which image ran; {inputs.image_digest[:19]}… was planned"


def _seen(snapshot: RunSnapshot) -> list[str]:
    """The digests of the eval containers of the present attempt, in the order of Pods and repeats, each once."""
    found: dict[str, None] = {}
    for pod in sorted(snapshot.pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp"))):
        for name, image_id in image_ids(pod).items():
            if name.startswith(EVAL) and (digest := digest_of(image_id)):
                found.pop(digest, None)
                found[digest] = None
    return list(found)


def _expected(snapshot: RunSnapshot) -> tuple[str, str] | None:
    """The digest that has to have run, and whose it is: the workload's, or that of earlier runs of the same epoch."""
    inputs, component, epoch = snapshot.run.status.inputs, snapshot.component, snapshot.run.spec.epoch
    if inputs and inputs.image_digest:
        return inputs.image_digest, "the workload's Pods run"
    if not isinstance(component, RcaComponent) or epoch is None or component.status.epoch != epoch:
        return None
    pinned = component.status.eval_image
    if inputs and pinned and pinned.image == inputs.image:
        return pinned.digest, "the tag was last seen to be"
    counted = component.status.evidence.runs if component.status.evidence else ()
    known = [run.image_digest for run in counted if run.image_digest]
    return (known[-1], "the runs before measured") if known else None


def _list(digests: list[str]) -> str:
    return " and ".join(f"{digest[:19]}…" for digest in digests)
