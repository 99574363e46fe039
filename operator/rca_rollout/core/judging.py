"""The judge's step of an eval Job: asked behind the scoring, of scheduled runs only, and heard by nobody who decides.

Its container is no step of the evaluation: what becomes of it changes no outcome. It alone has the key; the containers
of the evaluated image have ended when it starts, and share nothing with it but the Pod.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rca_eval.contract import ContractError, canonical
from rca_eval.contract.judgement import parse_judgement
from rca_rollout.api.run import EvalRun
from rca_rollout.api.schedule import Judge, JudgeStatus
from rca_rollout.core import names
from rca_rollout.core.owners import owner_reference
from rca_rollout.core.pods.steps import JUDGE, states
from rca_rollout.core.pods.words import termination_message

FOLDER = "/rca/judge"
SCORECARD_FILE = f"{FOLDER}/scorecard.json"
LOG_LIMIT = 512 * 1024
KEY = "judge.json"

type Body = Mapping[str, Any]


def container(judge: Judge, image: str, pull_policy: str, confined: Body) -> dict[str, Any]:
    """Beside the steps: the key from its Secret, no dataset, no labels. A Secret that is missing keeps nobody from a
    verdict."""
    env: list[dict[str, Any]] = [
        {"name": "RCA_EVAL_SCORECARD_FILE", "value": SCORECARD_FILE},
        {"name": "RCA_JUDGE_ENDPOINT", "value": judge.endpoint},
        {"name": "RCA_JUDGE_MODEL", "value": judge.model},
        {"name": "RCA_JUDGE_TOKENS", "value": str(judge.tokens_per_run)},
        {"name": "RCA_JUDGE_SECONDS", "value": str(judge.timeout.seconds)},
        {"name": "HOME", "value": "/tmp"},  # noqa: S108 - a path in the container
    ]
    if judge.secret_ref:
        source = {"name": judge.secret_ref.name, "key": judge.secret_ref.key, "optional": True}
        env.append({"name": "RCA_JUDGE_KEY", "valueFrom": {"secretKeyRef": source}})
    return {
        "name": JUDGE,
        "image": image,
        "imagePullPolicy": pull_policy,
        "command": ["rca-eval", "job", "judge"],
        "env": env,
        "volumeMounts": [{"name": JUDGE, "mountPath": FOLDER, "readOnly": True}],
        "resources": {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "512Mi"}},
        "terminationMessagePolicy": "File",
        "securityContext": {**confined, "readOnlyRootFilesystem": True},
    }


def was_asked(pod: Body) -> bool:
    """Whether the Pod has the judge's container."""
    return any(state["name"] == JUDGE for state in states(pod))


def opinion(pod: Body, judge: Judge | None) -> JudgeStatus | None:
    """What it said last; None where it was not asked. Tokens that it does not tell of are counted at its limit."""
    if not was_asked(pod):
        return None
    limit = judge.tokens_per_run if judge else 0
    try:
        said = json.loads(termination_message(pod, JUDGE))["judge"]
        mean = said.get("meanScore")
        tokens = said.get("tokens")
        return JudgeStatus(
            model=str(said.get("model") or ""),
            judged=_count(said.get("judged")),
            skipped=_count(said.get("skipped")),
            mean_score=str(mean)[:5] if mean is not None else None,
            tokens=limit if tokens is None else _count(tokens),
            message=said.get("message"),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        text = "the judge ended without a word: was it killed, or is the harness image of another version?"
        return JudgeStatus(model=judge.model if judge else None, tokens=limit, message=text)


def judgement_name(run: str) -> str:
    return names.bounded(run, "judge", limit=253)


def stored(run: EvalRun, log: bytes, scorecard_sha256: str) -> dict[str, Any] | None:
    """The ConfigMap beside the scorecard's, or None where the log holds no judgement of this scorecard."""
    for line in reversed(log.splitlines()):
        if not line.startswith(b"{"):
            continue
        try:
            found = parse_judgement(line)
        except ContractError:
            return None
        if found.scorecard_sha256 != scorecard_sha256:
            return None
        name = run.metadata.name
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": judgement_name(name),
                "namespace": run.metadata.namespace,
                "labels": {
                    **names.MANAGED_BY,
                    names.RUN_LABEL: names.label_value(name),
                    names.SUITE_LABEL: names.label_value(run.spec.suite_ref.name),
                },
                "ownerReferences": [owner_reference("EvalRun", name, run.metadata.uid)],
            },
            "immutable": True,
            "data": {KEY: canonical(found).decode()},
        }
    return None


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value
