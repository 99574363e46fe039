"""One accepted and one refused example of every rule, read by the unit ring and by the ring with a real API server."""

import copy
from dataclasses import dataclass
from typing import Any

from rca_testing import samples

RANGE = "in hours, minutes and seconds, such as 30s, 10m or 1h30m"
ENV = "names that begin with RCA_EVAL_, and PYTHONHASHSEED, are set by the operator"
KEYS = "keys must be Kubernetes names such as example.com/pool"


@dataclass(frozen=True)
class Case:
    """`good` and `bad` are put at `path` of the smallest object; `field` is what the refusal names."""

    kind: str
    path: str
    good: tuple[Any, ...]
    bad: tuple[Any, ...]
    message: str

    @property
    def id(self) -> str:
        return f"{self.kind}.{self.path}: {self.message[:40]}"

    def body(self, value: Any) -> dict[str, Any]:
        return put(samples.minimal(self.kind), self.path, value)


def put(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of the object with the value at a path such as `spec.job.image`."""
    result = copy.deepcopy(body)
    *parents, last = path.split(".")
    place = result
    for step in parents:
        place = place.setdefault(step, {})
    place[last] = value
    return result


def _duration(kind: str, path: str, low: str, high: str, good: tuple[str, ...], bad: tuple[str, ...]) -> Case:
    return Case(kind, path, good, bad, f"must be a duration from {low} to {high} {RANGE}")


_JUNK = ("7d", "-5s", "1.5h", "10", "1s1h", "500ms", "", "P1D")

CONDITION = {
    "name": "errors",
    "query": 'sum(rate(errors{component="$(key)"}[5m]))',
    "operator": "LessThan",
    "threshold": "0.02",
    "role": "Guardrail",
}


def _live(place: str) -> tuple[Case, ...]:
    """The rules of one list of live conditions."""

    def each(field: str, good: tuple[str, ...], bad: tuple[str, ...], message: str) -> Case:
        lists = (tuple([{**CONDITION, field: value}] for value in values) for values in (good, bad))
        return Case("RcaComponent", place, *lists, message)

    duration = "must be a duration from {} to {} " + RANGE
    return (
        each("interval", ("10s", "24h"), ("9s", "24h1s", *_JUNK), duration.format("10s", "24h")),
        each("noDataGrace", ("0s", "720h"), ("720h1s", *_JUNK), duration.format("0s", "720h")),
        each(
            "query",
            (
                'a{b="$(component)$(namespace)$(key)$(revision)"}',
                'a{b=~"x$"} > $$(key)',
                "a$",
                "sum(\n  a\n)",
                "$$",
                "x" * 2048,
            ),
            ("$(name)", "a $$(KEY)", "$(key", "$()", "$(key)$("),
            "the placeholders of a query are $(component), $(namespace), $(key) and $(revision)",
        ),
        Case(
            "RcaComponent",
            place,
            (
                [{**CONDITION, "role": "Signal", "onNoData": "Ignore"}],
                [{**CONDITION, "onNoData": "Hold"}],
                [{**CONDITION, "name": f"c{number}"} for number in range(16)],
                [{**CONDITION, "threshold": "-0.000000000000000001"}],
            ),
            ([{**CONDITION, "onNoData": "Ignore"}],),
            "a Guardrail cannot ignore that there is no data",
        ),
    )


def _confirmation() -> tuple[Case, ...]:
    place = "spec.confirmation"
    http = {"selector": {"matchLabels": {"app": "agent"}}, "port": 8080}
    query = {"query": "rca_mode_active == bool $(wanted)"}

    def labels(name: str) -> dict[str, Any]:
        return {"http": {**http, "selector": {"matchLabels": {name: "agent"}}}}

    return (
        Case(
            "RcaComponent",
            place,
            ({"http": http}, {"query": query}, {"query": {**query, "replicas": 200}, "timeout": "1h"}),
            ({"http": http, "query": query}, {}, {"timeout": "1m"}),
            "confirmation has exactly one of http and query",
        ),
        Case(
            "RcaComponent",
            place,
            tuple({"http": http, "timeout": text} for text in ("10s", "1h")),
            tuple({"http": http, "timeout": text} for text in ("9s", "1h1s", *_JUNK)),
            f"must be a duration from 10s to 1h {RANGE}",
        ),
        Case(
            "RcaComponent",
            place,
            tuple(labels(name) for name in ("a", "example.com/a_b.c-D")),
            tuple(labels(name) for name in ("-a", "a/b/c", "x" * 64, "")),
            KEYS,
        ),
        Case(
            "RcaComponent",
            place,
            tuple(
                {"query": {"query": text}}
                for text in (
                    'a{b="$(component)$(namespace)$(key)$(revision)"} == bool $(wanted)',
                    'a{b="$(value)"} and timestamp(a) > $(since)',
                )
            ),
            tuple({"query": {"query": text}} for text in ("$(mode)", "$(key", "$()")),
            "the placeholders of a query are $(component), $(namespace), $(key), $(revision), $(wanted), $(value) and",
        ),
    )


def _what_runs() -> tuple[Case, ...]:
    spec = samples.minimal("RcaComponent")["spec"]
    unnamed = {name: value for name, value in spec.items() if name != "revision"}
    workload = {"kind": "Deployment", "name": "agent"}
    prompt, secret = {"configMapRef": {"name": "p", "key": "k"}}, {"secretRef": {"name": "s", "key": "k"}}
    hold = {"onNewRevision": "Hold"}

    def named(shadow: str, active: str) -> dict[str, str]:
        return {"shadow": shadow, "active": active}

    return (
        Case(
            "RcaComponent",
            "spec",
            (spec, {**unnamed, "workloadRef": workload}),
            (unnamed, {**spec, "workloadRef": workload}),
            "exactly one of revision and workloadRef says what runs",
        ),
        Case(
            "RcaComponent",
            "spec",
            (
                {
                    **spec,
                    "promotion": hold,
                    "target": {**spec["target"], "values": named("Off", "On@{revision}")},
                },
            ),
            ({**spec, "promotion": hold},),
            "onNewRevision Hold needs {revision} in target.values.active",
        ),
        Case(
            "RcaComponent",
            "spec.inputs",
            ([prompt, secret, prompt], []),
            ([{**prompt, **secret}], [{}]),
            "an input has exactly one of configMapRef and secretRef",
        ),
        Case(
            "RcaComponent",
            "spec.target.values",
            (
                named("Shadow", "Active@{revision}"),
                named("Active@", "Active@{revision}"),
                named("Off", "a-{revision}-b"),
            ),
            (
                named("Active@r1", "Active@{revision}"),
                named("Shadow", "{revision}"),
                named("a-b-c-d", "a-{revision}-d"),
            ),
            "the value for shadow must not be one that active takes for some revision",
        ),
    )


CASES: tuple[Case, ...] = (
    *_live("spec.observation.conditions"),
    *_live("spec.guard.conditions"),
    *_confirmation(),
    *_what_runs(),
    Case(
        "RcaComponent",
        "spec.observation",
        (
            {"minPassingRuns": 20, "interval": "1h", "maxEvidenceAge": "20h"},
            {"minPassingRuns": 100},
        ),
        ({"minPassingRuns": 21, "interval": "1s", "maxEvidenceAge": "20h"},),
        "with maxEvidenceAge, minPassingRuns is at most 20",
    ),
    Case(
        "RcaComponent",
        "spec.observation",
        ({"maxEvidenceAge": "24h"}, {"maxEvidenceAge": "8760h"}),
        ({"maxEvidenceAge": "23h59m59s"}, {"interval": "2h", "maxEvidenceAge": "5h"}),
        "maxEvidenceAge must be at least interval times minPassingRuns",
    ),
    _duration(
        "RcaComponent",
        "spec.observation.maxEvidenceAge",
        "1m",
        "8760h",
        ("24h", "8760h"),
        ("59s", "8760h1s", *_JUNK),
    ),
    Case(
        "RcaComponent",
        "metadata.name",
        ("a" * 40,),
        ("a" * 41,),
        "the name of an RcaComponent has at most 40 characters",
    ),
    Case(
        "EvalRun",
        "metadata.name",
        ("a" * 63,),
        ("a" * 64,),
        "the name of an EvalRun has at most 63 characters",
    ),
    Case(
        "EvalSuite",
        "metadata.name",
        ("a" * 63,),
        ("a" * 64,),
        "the name of an EvalSuite has at most 63 characters",
    ),
    Case(
        "RcaComponent",
        "spec.target.values",
        ({"shadow": "Off", "active": "On"}, {"active": "v1"}),
        ({"shadow": "On", "active": "On"}, {"shadow": "Active"}),
        "the values for shadow and active must differ",
    ),
    _duration(
        "RcaComponent",
        "spec.observation.period",
        "0s",
        "8760h",
        ("0s", "24h", "8760h", "90m30s", "0h0m0s"),
        ("8760h1s", "99999h", *_JUNK),
    ),
    _duration(
        "RcaComponent",
        "spec.observation.interval",
        "1s",
        "720h",
        ("1s", "720h", "43200m"),
        ("0s", "0h0m", "720h1s", *_JUNK),
    ),
    _duration("RcaComponent", "spec.guard.interval", "1s", "720h", ("1s", "8h"), ("0s", "721h", *_JUNK)),
    _duration("EvalSuite", "spec.tolerance.mttrRise", "0s", "24h", ("0s", "24h"), ("25h", *_JUNK)),
    _duration("EvalSuite", "spec.job.timeout", "1s", "24h", ("1s", "24h"), ("0s", "25h", *_JUNK)),
    _duration("EvalSuite", "spec.job.startTimeout", "1s", "24h", ("1s", "24h"), ("0s", "25h", *_JUNK)),
    Case(
        "EvalSuite",
        "spec.tolerance.accuracyDrop",
        ("0", "0.02", "1", "1.000000000", "0.000000001"),
        ("1.000000001", "2", "-0.1", ".5", "2e-2", "NaN", "", "1."),
        "must be a decimal number from 0 to 1 in quotes",
    ),
    Case(
        "EvalSuite",
        "spec.job.env",
        ([{"name": "RCA_EVALUATION", "value": "1"}], [{"name": "EMPTY"}]),
        ([{"name": "RCA_EVAL_DATASET", "value": "x"}], [{"name": "PYTHONHASHSEED", "value": "0"}]),
        ENV,
    ),
    Case(
        "EvalSuite",
        "spec.job.podLabels",
        ({"sidecar.istio.io/inject": "false"},),
        ({"rca.bluerobin.io/run": "x"}, {"app.kubernetes.io/managed-by": "x"}),
        "labels that begin with rca.bluerobin.io/, and app.kubernetes.io/managed-by, are set by the operator",
    ),
    *(
        Case(
            "EvalSuite",
            path,
            ({"a": "1", "example.com/a_b.c-D": "1", "x" * 63: "1"},),
            ({"-a": "1"}, {"a/b/c": "1"}, {"A.example/x": "1"}, {"x" * 64: "1"}, {"a b": "1"}, {"": "1"}),
            KEYS,
        )
        for path in (
            "spec.job.podLabels",
            "spec.job.podAnnotations",
            "spec.job.nodeSelector",
            "spec.job.resources.limits",
            "spec.job.resources.requests",
        )
    ),
    Case(
        "EvalSuite",
        "spec.job.tolerations",
        ([{"operator": "Exists"}], [{"operator": "Exists", "key": "a", "value": ""}]),
        ([{"operator": "Exists", "value": "x"}],),
        "a toleration with operator Exists has no value",
    ),
    Case(
        "EvalSuite",
        "spec.job.tolerations",
        ([{"key": "a", "value": "b"}, {"key": "a", "operator": "Equal"}],),
        ([{"value": "b"}], [{"operator": "Equal", "key": ""}]),
        "a toleration without a key has operator Exists",
    ),
    Case(
        "EvalSuite",
        "spec.job.tolerations",
        ([{"key": "a", "effect": "NoExecute", "tolerationSeconds": 0}],),
        (
            [{"key": "a", "tolerationSeconds": 5}],
            [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}],
        ),
        "tolerationSeconds goes with effect NoExecute",
    ),
    Case(
        "EvalRun",
        "spec",
        (
            {"suiteRef": {"name": "s"}, "trigger": "Scheduled"},
            {"suiteRef": {"name": "s"}, "trigger": "Gate", "componentRef": {"name": "c"}},
        ),
        ({"suiteRef": {"name": "s"}, "trigger": "Gate"}, {"suiteRef": {"name": "s"}, "trigger": "Guard"}),
        "a run without componentRef has trigger Manual or Scheduled",
    ),
)


@dataclass(frozen=True)
class Change:
    """An update. Transition rules compare with the stored object, so only an API server can check them."""

    kind: str
    path: str
    value: Any
    message: str | None = None

    @property
    def id(self) -> str:
        return f"{self.kind}.{self.path}{'' if self.message else ' may change'}"


_RUN = "the spec of an EvalRun cannot be changed: make a new one"
_TARGET = "target.configMapRef and target.key cannot be changed: make a new RcaComponent for another key"

CHANGES: tuple[Change, ...] = (
    Change("EvalRun", "spec.dryRun", True, _RUN),
    Change("EvalRun", "spec.suiteRef.name", "other", _RUN),
    Change("EvalRun", "spec.componentRef", {"name": "added"}, _RUN),
    Change("EvalRun", "metadata.labels", {"team": "sre"}),
    Change("RcaComponent", "spec.target.key", "Other.Mode", _TARGET),
    Change("RcaComponent", "spec.target.configMapRef.name", "other", _TARGET),
    Change("RcaComponent", "spec.target.values", {"shadow": "Off", "active": "On"}),
    Change("RcaComponent", "spec.revision", "v2"),
    Change("RcaComponent", "spec.inputs", [{"secretRef": {"name": "model", "key": "name"}}]),
    Change("RcaComponent", "spec.mode", "Shadow"),
    Change("EvalSuite", "spec.job.image", "registry.example/other:1"),
)
