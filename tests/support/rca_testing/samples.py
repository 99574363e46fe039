"""Objects of the three kinds: the smallest that is accepted, and one that says everything."""

import copy
from typing import Any

Body = dict[str, Any]

TIME = "2026-11-30T10:00:00Z"
SHA = "0123456789abcdef" * 4

_CONDITION: Body = {
    "name": "latency-p95",
    "query": 'histogram_quantile(0.95, sum by (le) (rate(rca_seconds_bucket{component="$(key)"}[5m])))',
    "operator": "LessThanOrEqual",
    "threshold": "0.25",
    "role": "Signal",
    "onNoData": "Hold",
    "noDataGrace": "2h",
    "interval": "30s",
}

_MINIMAL: dict[str, Body] = {
    "EvalSuite": {
        "dataset": {"configMapRef": {"name": "incidents"}},
        "baseline": {"configMapRef": {"name": "incidents"}},
    },
    "RcaComponent": {
        "revision": "v1",
        "suiteRef": {"name": "suite"},
        "target": {"configMapRef": {"name": "modes"}, "key": "RcaLiveActivation.Mode"},
    },
    "EvalRun": {"suiteRef": {"name": "suite"}},
}

_FULL: dict[str, Body] = {
    "EvalSuite": {
        "dataset": {"configMapRef": {"name": "incidents"}, "key": "truth.json", "sha256": SHA},
        "baseline": {"configMapRef": {"name": "incidents"}, "key": "base.json"},
        "tolerance": {"accuracyDrop": "0.05", "mttrRise": "1m"},
        "protectedIncidents": ["GT-03-bad-deploy-archives-api"],
        "maxRegressedIncidents": 0,
        "shadowFidelity": "IfLogged",
        "knownBad": "Skip",
        "minIncidents": 5,
        "minFaultClasses": 2,
        "determinism": "Exact",
        "job": {
            "image": "registry.example/rca/engine@sha256:" + SHA,
            "imagePullPolicy": "IfNotPresent",
            "imagePullSecrets": [{"name": "pull"}],
            "command": ["/engine"],
            "args": ["--fast"],
            "env": [{"name": "LOG_LEVEL", "value": "debug"}],
            "resources": {
                "limits": {"cpu": "1500m", "memory": "1Gi", "example.com/gpu": "1"},
                "requests": {"cpu": "0.5"},
            },
            "nodeSelector": {"example.com/pool": "batch"},
            "tolerations": [
                {
                    "key": "batch",
                    "operator": "Equal",
                    "value": "yes",
                    "effect": "NoExecute",
                    "tolerationSeconds": 30,
                }
            ],
            "podLabels": {"sidecar.istio.io/inject": "false"},
            "podAnnotations": {"example.com/note": "any text, with blanks"},
            "sidecars": [
                {
                    "name": "graph",
                    "image": "registry.example/graph:1",
                    "command": ["/server"],
                    "args": ["--dir=/tmp"],
                    "env": [{"name": "THREADS", "value": "1"}],
                    "ports": [6379],
                    "resources": {"limits": {"memory": "512Mi"}, "requests": {"cpu": "0.1"}},
                }
            ],
            "queueName": "evaluations",
            "priorityClassName": "batch-low",
            "timeout": "5m",
            "startTimeout": "1m30s",
            "shards": 4,
            "parallelism": 2,
        },
        "maxConcurrentRuns": 2,
        "historyLimits": {"passed": 3, "other": 2},
        "schedule": {
            "cron": "30 2 * * MON-FRI",
            "timeZone": "Europe/Berlin",
            "suspend": True,
            "startingDeadline": "2h",
            "judge": True,
        },
        "budget": {
            "tokensPerRun": 200000,
            "costPerRun": "1.50",
            "runsPerMonth": 90,
            "tokensPerMonth": 5000000,
            "costPerMonth": "20",
            "currency": "EUR",
            "guardExempt": False,
        },
        "judge": {
            "endpoint": "https://llm.example/v1",
            "model": "judge-large@2026-11",
            "secretRef": {"name": "judge", "key": "token"},
            "tokensPerRun": 20000,
            "timeout": "2m",
            "pricePerMillionTokens": "3.5",
        },
    },
    "RcaComponent": {
        "mode": "Shadow",
        "revision": "v2@sha256:" + SHA,
        "suiteRef": {"name": "suite"},
        "target": {
            "configMapRef": {"name": "modes"},
            "key": "RcaMemory.Mode",
            "values": {"shadow": "Off", "active": "On@{revision}"},
        },
        "inputs": [{"configMapRef": {"name": "prompts", "key": "system.txt"}}],
        "observation": {
            "period": "168h",
            "interval": "1h",
            "minPassingRuns": 5,
            "minShadowDecisions": 200,
            "maxEvidenceAge": "48h",
            "conditions": [_CONDITION],
        },
        "promotion": {"approval": "Manual", "requireBenefit": True, "onNewRevision": "Hold"},
        "guard": {"interval": "2h", "onRegression": "Demote", "conditions": [{**_CONDITION, "role": "Info"}]},
        "confirmation": {
            "timeout": "2m",
            "http": {
                "selector": {"matchLabels": {"app.kubernetes.io/name": "agent"}},
                "port": 8080,
                "path": "/v2/modes",
            },
        },
        "driftPolicy": "Revert",
        "deletionPolicy": "RevertToShadow",
        "suspend": True,
    },
    "EvalRun": {
        "suiteRef": {"name": "suite"},
        "componentRef": {"name": "memory"},
        "trigger": "Gate",
        "revision": "v2",
        "epoch": "e1",
        "context": "c1",
        "dryRun": True,
    },
}

# Fields that stand in place of others of the full sample, and what stands there then; None: nothing.
_INSTEAD: dict[str, tuple[dict[str, Any], ...]] = {
    "RcaComponent": (
        {
            "confirmation": {
                "timeout": "2m",
                "query": {"query": 'rca_mode_active{component="$(key)"} == bool $(wanted)', "replicas": 2},
            },
        },
        {
            "revision": None,
            "workloadRef": {"kind": "StatefulSet", "name": "agent", "container": "engine"},
            "inputs": [{"secretRef": {"name": "model", "key": "name"}}],
        },
    ),
}


def minimal(kind: str, name: str = "sample") -> Body:
    """The smallest object of the kind that is accepted."""
    return _body(kind, name, _MINIMAL[kind])


def full(kind: str, name: str = "sample") -> Body:
    """An object of the kind with every field of its spec."""
    return _body(kind, name, _FULL[kind])


def everything(kind: str) -> list[Body]:
    """The full sample, and for each choice between fields the sample with the other one: each field is in one of them."""
    found = [full(kind)]
    for changes in _INSTEAD.get(kind, ()):
        body = full(kind)
        body["spec"] |= copy.deepcopy(changes)
        body["spec"] = {name: value for name, value in body["spec"].items() if value is not None}
        found.append(body)
    return found


def stored(body: Body) -> Body:
    """The object with the metadata that an API server would have given it."""
    metadata = {
        "namespace": "default",
        "uid": "11111111-2222-3333-4444-555555555555",
        "generation": 1,
        "resourceVersion": "7",
        "creationTimestamp": TIME,
    }
    return {**copy.deepcopy(body), "metadata": {**metadata, **body["metadata"]}}


def _body(kind: str, name: str, spec: Body) -> Body:
    return {
        "apiVersion": "rca.bluerobin.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": copy.deepcopy(spec),
    }
