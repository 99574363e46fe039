"""What Jobs come to: honest scorecards, lies, and all the ways in which a Pod ends without one."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cache

from rca_eval.contract import GroundTruth, Scorecard, canonical, encode_frame, parse_ground_truth, sha256
from rca_eval.contract.dealing import Share
from rca_rollout.api.values import format_time
from rca_rollout.core.pods import SCORECARD
from rca_rollout.core.shards import INDEX_LABEL
from rca_testing import evidence, job_states, scorecards
from rca_testing.model.store import Body
from rca_testing.parts import cut

type Modes = Mapping[str, Mapping[str, str]]


class Honest(Enum):
    """What the engine really did, told as it was."""

    PASSES = "as good as the baseline"
    LOSES = "loses incidents with the component"
    ALIKE = "loses incidents with and without the component"
    SLOW = "takes a minute more with the component"


class Lie(Enum):
    """A Job that succeeds with a scorecard that must never count as a pass."""

    OTHER_MODES = "measured under other modes"
    OTHER_REVISION = "of another revision"
    OTHER_DATASET = "of another dataset"
    OTHER_DIGEST = "another digest announced than printed"
    SELF_REPORTED = "not by our scorer"
    UNEQUAL_REPEATS = "the repeats differ"
    TRUNCATED = "the frame ends in the middle"
    NO_FRAME = "no frame in the log"
    NO_DIGEST = "no digest in the last words"
    NO_RANKS = "an arm without incidents"
    OTHER_IMAGE = "another image ran than was planned, or one for each repeat"
    NO_IMAGE = "nothing tells which image ran"
    OTHER_SHARD = "a shard prints the part of another one"
    OTHER_RUN = "the shards print the parts of another run, or of another attempt"


class Broken(Enum):
    """A Job without a scorecard."""

    MEMORY = "out of memory"
    CRASH = "exit status 1"
    DEADLINE = "past its deadline"
    DISRUPTED = "disrupted from outside"
    VANISHED = "failed, and the Pod is gone"
    IMAGE = "an image that cannot be pulled"


type Outcome = Honest | Lie | Broken


@dataclass(frozen=True)
class Asked:
    """What a Job was made for, as its own environment says."""

    revision: str
    dataset_sha256: str
    variants: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    shards: int = 1
    run: str = ""

    @property
    def with_modes(self) -> dict[str, str]:
        return dict(next(modes for name, modes in self.variants if name == "With"))


def asked(job: Body) -> Asked:
    """Read from the container that makes the scorecard, as that container would."""
    container = job["spec"]["template"]["spec"]["containers"][0]
    env = {item["name"]: item["value"] for item in container["env"]}
    variants = tuple(
        (one["name"], tuple(sorted(one["modes"].items()))) for one in json.loads(env["RCA_EVAL_VARIANTS"])
    )
    return Asked(
        env["RCA_EVAL_REVISION"],
        env["RCA_EVAL_DATASET_SHA256"],
        variants,
        int(env.get("RCA_EVAL_SHARDS", "1")),
        env.get("RCA_EVAL_RUN", ""),
    )


def image_of(job: Body) -> str:
    """What the containers of the engine are to run."""
    steps = job["spec"]["template"]["spec"]["initContainers"]
    image: str = next(step["image"] for step in steps if step["name"] == "eval-1")
    return image


def ran(job: Body, outcome: Outcome, tag: str) -> tuple[str | None, str | None]:
    """The digests of the images that the two repeats really ran. `tag` is the digest behind every tag now."""
    planned = image_of(job).partition("@")[2] or None
    match outcome:
        case Lie.NO_IMAGE:
            return None, None
        case Lie.OTHER_IMAGE:
            other = "sha256:" + "f" * 64
            return (other, other) if planned else (tag, other)
    return (planned or tag,) * 2


@dataclass(frozen=True)
class Told:
    """The log, the digest that was announced, and whether it is an honest pass."""

    log: bytes
    announced: str | None
    digest: str | None


@cache
def tell(what: Asked, outcome: Honest | Lie, truth_text: str) -> Told:
    """What the scorecard container leaves behind. `truth_text` is the dataset that it had mounted."""
    truth = parse_ground_truth(truth_text.encode(), source="the model")
    card = _card(what, outcome, truth, sha256(truth_text.encode()))
    if outcome in (Lie.OTHER_SHARD, Lie.OTHER_RUN):
        return Told(b"a part, where a whole was asked for\n", None, None)
    frame = encode_frame(card)
    log, announced = frame.text.encode(), frame.sha256
    if outcome is Lie.OTHER_DIGEST:
        announced = "0" * 64
    if outcome is Lie.TRUNCATED:
        log = log[: len(log) // 2]
    if outcome is Lie.NO_FRAME:
        log = b"all is well\n"
    digest = sha256(canonical(card)) if outcome is Honest.PASSES else None
    return Told(log, None if outcome is Lie.NO_DIGEST else announced, digest)


@cache
def tell_shards(what: Asked, outcome: Honest | Lie, truth_text: str) -> tuple[Told, ...]:
    """What the scorecard containers of all shards leave behind. Only the second lies where one can lie alone."""
    truth = parse_ground_truth(truth_text.encode(), source="the model")
    card = _card(what, outcome, truth, sha256(truth_text.encode()))
    found = []
    for index in range(what.shards):
        lies, run = index == 1, what.run
        at = 0 if lies and outcome is Lie.OTHER_SHARD else index
        part = cut(card, Share(at, what.shards), run="another" if outcome is Lie.OTHER_RUN else run)
        frame = encode_frame(part)
        log, announced = frame.text.encode(), frame.sha256
        if lies and outcome is Lie.OTHER_DIGEST:
            announced = "0" * 64
        if lies and outcome is Lie.TRUNCATED:
            log = log[: len(log) // 2]
        if lies and outcome is Lie.NO_FRAME:
            log = b"all is well\n"
        told = None if lies and outcome is Lie.NO_DIGEST else announced
        found.append(Told(log, told, frame.sha256 if outcome is Honest.PASSES else None))
    return tuple(found)


def shard_of(pod: Body, index: int) -> Body:
    """The Pod of one shard."""
    metadata = pod["metadata"]
    labels = {**metadata["labels"], INDEX_LABEL: str(index)}
    name = metadata["name"].removesuffix("-pod")
    return {**pod, "metadata": {**metadata, "labels": labels, "name": f"{name}-{index}-pod"}}


def _card(what: Asked, outcome: Honest | Lie, truth: GroundTruth, digest: str) -> Scorecard:
    lost: dict[str, tuple[str, ...]] = {}
    if outcome is Honest.LOSES:
        lost = {"With": ("GT-03", "GT-06")}
    if outcome is Honest.ALIKE:
        lost = dict.fromkeys(("AllShadow", "Without", "With"), ("GT-03", "GT-06"))
    variants = [(name, dict(modes)) for name, modes in what.variants]
    if outcome is Lie.OTHER_MODES:
        variants = [(name, {**modes, "Another.Mode": "Shadow"}) for name, modes in variants]
    card = scorecards.scorecard(
        truth,
        "f" * 64 if outcome is Lie.OTHER_DATASET else digest,
        revision="another" if outcome is Lie.OTHER_REVISION else what.revision,
        variants=variants,
        lost=lost,
    )
    if outcome is Lie.SELF_REPORTED:
        return card.model_copy(update={"provenance": "SelfReported"})
    if outcome is Lie.UNEQUAL_REPEATS:
        unequal = card.measured.repeats.model_copy(update={"identical": False})
        return card.model_copy(update={"measured": card.measured.model_copy(update={"repeats": unequal})})
    if outcome is Lie.NO_RANKS:
        rows = tuple(
            row.model_copy(update={"arms": row.arms[:1]}) if row.name == "With" else row
            for row in card.deterministic.variants
        )
        told = card.deterministic.model_copy(update={"variants": rows})
        return card.model_copy(update={"deterministic": told})
    if outcome is Honest.SLOW:
        return _slow(card)
    return card


def _slow(card: Scorecard) -> Scorecard:
    measured = card.measured
    mttr = tuple(
        row.model_copy(update={"value": "60.003000000"}) if row.variant == "With" else row
        for row in measured.mttr_seconds
    )
    seconds = tuple(
        row.model_copy(update={"values": ("60.003000000",) * 2}) if row.variant == "With" else row
        for row in measured.seconds
    )
    total = {"mttr_seconds": mttr, "seconds": seconds, "total_seconds": ("2000.000000000",) * 2}
    return card.model_copy(update={"measured": measured.model_copy(update=total)})


def pod_of(
    job: Body,
    outcome: Outcome,
    announced: str | None,
    now: datetime,
    digests: tuple[str | None, str | None] = (None, None),
) -> Body | None:
    """The Pod of a Job as it ended, or None where it is gone. `digests` are of the images that the repeats ran."""
    match outcome:
        case Broken.VANISHED:
            return None
        case Broken.MEMORY:
            pod = job_states.pod("Failed", {"eval-1": job_states.ended(137, "OOMKilled")})
        case Broken.CRASH:
            pod = job_states.pod("Failed", {"eval-1": job_states.ended(1, message="KeyError: 'x'")})
        case Broken.DEADLINE:
            pod = job_states.pod("Failed", {"eval-1": {"running": {}}}, reason="DeadlineExceeded")
        case Broken.DISRUPTED:
            away = job_states.condition("DisruptionTarget", "EvictionByEvictionAPI", "drained")
            pod = job_states.pod("Failed", {"eval-1": job_states.ended(143)}, away)
        case Broken.IMAGE:
            pod = job_states.pod("Pending", {"eval-1": job_states.waiting("InvalidImageName")})
        case _:
            seconds = 4000 if outcome is Honest.SLOW else 3
            words = json.dumps({"sha256": announced}) if announced else ""
            pod = job_states.succeeded(seconds, words)
    dressed_pod = dressed(job, pod, now)
    for state in dressed_pod["status"]["initContainerStatuses"]:
        digest = dict(zip(("eval-1", "eval-2"), digests, strict=True)).get(state["name"])
        if digest:
            state["imageID"] = f"registry.example/whatever@{digest}"
    return dressed_pod


def dressed(job: Body, pod: Body, now: datetime) -> Body:
    """A Pod with the labels and the owner that the Job controller gives it."""
    pod = copy.deepcopy(pod)
    labels = {**job["metadata"]["labels"], "batch.kubernetes.io/job-name": job["metadata"]["name"]}
    pod["metadata"] |= {
        "name": f"{job['metadata']['name']}-pod",
        "labels": labels,
        "creationTimestamp": format_time(now),
        "ownerReferences": [{"uid": job["metadata"]["uid"]}],
    }
    return pod


def status_of(outcome: Outcome, now: datetime) -> Body:
    """The Job's own status when it has ended."""
    if outcome is Broken.IMAGE:
        return {}
    if isinstance(outcome, Broken):
        reason = "PodFailurePolicy" if outcome is Broken.DISRUPTED else "BackoffLimitExceeded"
        return {"conditions": [job_states.condition("Failed", reason, "it failed", now)]}
    return {"conditions": [job_states.condition("Complete", "CompletionsReached", "", now)]}


DATASETS = {
    "as it was": evidence.ground_truth(),
    "one more": evidence.ground_truth((*evidence.IDS, "GT-10-incident")),
}


@cache
def baseline_of(dataset: str) -> str:
    """The text of the baseline that the model's engine has on a dataset."""
    truth = parse_ground_truth(dataset.encode(), source="the model")
    return canonical(scorecards.baseline(truth, sha256(dataset.encode()))).decode()


__all__ = [
    "DATASETS",
    "SCORECARD",
    "Asked",
    "Broken",
    "Honest",
    "Lie",
    "Outcome",
    "asked",
    "baseline_of",
    "image_of",
    "pod_of",
    "ran",
    "shard_of",
    "status_of",
    "tell",
    "tell_shards",
]
