"""Deterministic names and our labels. A retried create meets its own object, never a second one."""

from __future__ import annotations

import hashlib

PREFIX = "rca.bluerobin.io"
MANAGED_BY = {"app.kubernetes.io/managed-by": "rca-rollout"}
MANAGED_SELECTOR = "app.kubernetes.io/managed-by=rca-rollout"
COMPONENT_LABEL = f"{PREFIX}/component"
SUITE_LABEL = f"{PREFIX}/suite"
RUN_LABEL = f"{PREFIX}/run"
WATCH_LABEL = f"{PREFIX}/watch"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
WATCH_ENABLED = "Enabled"
WATCH_SELECTOR = f"{WATCH_LABEL}={WATCH_ENABLED}"
KEYS_ANNOTATION = f"{PREFIX}/keys"


def short_hash(*parts: str, length: int = 8) -> str:
    """Hexadecimal SHA-256 of the parts, cut to `length` digits; the parts cannot run into each other."""
    joined = "\x00".join(parts)
    return hashlib.sha256(joined.encode()).hexdigest()[:length]


def bounded(name: str, suffix: str, limit: int = 63) -> str:
    """`name-suffix`, with the name cut so that the whole fits `limit` characters and stays a DNS label."""
    return f"{name[: limit - len(suffix) - 1].rstrip('-.')}-{suffix}"


def run_name(component: str, epoch: str, number: int) -> str:
    """The EvalRun number `number` of a component: the epoch in the name says at a glance what it measured."""
    return bounded(component, f"{epoch[:6]}-{number}")


def job_name(run: str, run_uid: str, attempt: int) -> str:
    """The Job of one attempt; the UID keeps a re-created run of the same name apart."""
    return bounded(run, f"{short_hash(run_uid)}-{attempt}")


def scorecard_name(run: str) -> str:
    """A ConfigMap's name has room for every run's, so that none is cut: two runs never share one."""
    return bounded(run, "scorecard", limit=253)


def part_name(run: str, attempt: int, index: int) -> str:
    """The ConfigMap of one shard's part; of another attempt it is another one."""
    return bounded(run, f"scorecard-{attempt}-{index}", limit=253)


def event_name(involved: str, uid: str, reason: str, at: str) -> str:
    """One Event per transition, however often it is sent."""
    return f"{involved}.{short_hash(uid, reason, at, length=16)}"


def label_value(name: str) -> str:
    """An object's name as a label value: names may be longer than the 63 characters of a label."""
    return name if len(name) <= 63 else bounded(name, short_hash(name))
