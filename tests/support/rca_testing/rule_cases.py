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
    """`good` and `bad` are put at `path` of the smallest object, after `beside` (path and value), where that is needed."""

    kind: str
    path: str
    good: tuple[Any, ...]
    bad: tuple[Any, ...]
    message: str
    beside: tuple[tuple[str, Any], ...] = ()

    @property
    def id(self) -> str:
        return f"{self.kind}.{self.path}: {self.message[:40]}"

    def body(self, value: Any) -> dict[str, Any]:
        body = samples.minimal(self.kind)
        for path, other in self.beside:
            body = put(body, path, other)
        return put(body, self.path, value)


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
            f"{place}.timeout",
            ("10s", "1h"),
            ("9s", "1h1s", *_JUNK),
            f"must be a duration from 10s to 1h {RANGE}",
            ((f"{place}.http", http),),
        ),
        Case(
            "RcaComponent",
            f"{place}.http.selector.matchLabels",
            ({"a": "1", "example.com/a_b.c-D": ""},),
            ({"-a": "1"}, {"a/b/c": "1"}, {"x" * 64: "1"}, {"": "1"}),
            KEYS,
            ((f"{place}.http", http),),
        ),
        Case(
            "RcaComponent",
            f"{place}.query.query",
            (
                'a{b="$(component)$(namespace)$(key)$(revision)"} == bool $(wanted)',
                'a{b="$(value)"} and timestamp(a) > $(since)',
            ),
            ("$(mode)", "$(key", "$()"),
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


_SUITE = samples.minimal("EvalSuite")["spec"]
_JUDGE = {"endpoint": "https://llm.example/v1", "model": "m"}
_NIGHTLY = {"cron": "0 2 * * *"}
_BESIDE: dict[str, tuple[tuple[str, Any], ...]] = {
    "schedule": (("spec.schedule", _NIGHTLY),),
    "judge": (("spec.judge", _JUDGE),),
    "budget": (("spec.budget", {"runsPerMonth": 1, "costPerRun": "0"}),),
}


def _clock(path: str, good: tuple[Any, ...], bad: tuple[Any, ...], message: str) -> Case:
    """Of a field of schedule, budget or judge, whose other fields are as small as may be."""
    return Case("EvalSuite", f"spec.{path}", good, bad, message, _BESIDE[path.partition(".")[0]])


def _suite(good: tuple[dict[str, Any], ...], bad: tuple[dict[str, Any], ...], message: str) -> Case:
    wholes = (tuple({**_SUITE, **more} for more in several) for several in (good, bad))
    return Case("EvalSuite", "spec", *wholes, message)


def _whole_budget(good: tuple[Any, ...], bad: tuple[Any, ...], message: str) -> Case:
    return Case("EvalSuite", "spec.budget", good, bad, message)


_BAD_CRONS = (
    "60 * * * *",
    "0 24 * * *",
    "0 0 0 * *",
    "0 0 * 13 *",
    "0 0 * * 8",
    "0 0 * * mon",
    "0 0 0 1 1 *",
    "@daily xxxx",
    "0 0 L * * *",
    "0 0 * * 1#2",
    "*/0 * * * *",
    "0 0 * * *\n",
    "a b c d e",
)
_BY_THE_CLOCK: tuple[Case, ...] = (
    _clock(
        "schedule.cron",
        ("* * * * *", "30 2 * * MON-FRI", "*/15 0-6,22,23 1,15 JAN-MAR 7", "59  0 01 02 SUN"),
        _BAD_CRONS,
        "must be a cron expression of five fields",
    ),
    _clock(
        "schedule.timeZone",
        ("UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5"),
        ("CET", "Local", "utc", "+02:00", "../etc/passwd", "Europe/", "/Europe/Berlin", "Europe/Berlin "),
        "must be the name of an IANA time zone",
    ),
    _clock(
        "schedule.startingDeadline",
        ("1m", "24h"),
        ("59s", "24h1s", *_JUNK),
        f"must be a duration from 1m to 24h {RANGE}",
    ),
    _suite(
        (
            {"schedule": {**_NIGHTLY, "judge": True}, "judge": _JUDGE},
            {"schedule": {**_NIGHTLY, "judge": False}},
            {"judge": _JUDGE},
        ),
        ({"schedule": {**_NIGHTLY, "judge": True}},),
        "schedule.judge needs spec.judge",
    ),
    _suite(
        (
            {
                "budget": {"costPerRun": "1", "costPerMonth": "20"},
                "judge": {**_JUDGE, "pricePerMillionTokens": "0"},
            },
            {"budget": {"costPerRun": "1"}, "judge": _JUDGE},
        ),
        ({"budget": {"costPerRun": "1", "costPerMonth": "20"}, "judge": _JUDGE},),
        "with budget.costPerMonth, judge.pricePerMillionTokens says what the judge costs",
    ),
    _whole_budget(
        ({"tokensPerRun": 1}, {"costPerRun": "0.5"}, {"runsPerMonth": 1}),
        ({}, {"guardExempt": True}, {"currency": "EUR"}),
        "a budget sets at least one of tokensPerRun, costPerRun and runsPerMonth",
    ),
    _whole_budget(
        ({"tokensPerRun": 5, "tokensPerMonth": 5},),
        ({"tokensPerRun": 6, "tokensPerMonth": 5}, {"runsPerMonth": 1, "tokensPerMonth": 5}),
        "tokensPerMonth needs a tokensPerRun that is not larger",
    ),
    _whole_budget(
        ({"costPerRun": "20", "costPerMonth": "20.0"},),
        ({"costPerRun": "20.01", "costPerMonth": "20"}, {"runsPerMonth": 1, "costPerMonth": "20"}),
        "costPerMonth needs a costPerRun that is not larger",
    ),
    *(
        _clock(
            path,
            ("1", "19.99", "999999999"),
            ("999999999.5", "-1", "1e3", "", "1.", "EUR 5"),
            "must be a decimal number from 0 to 999999999 in quotes",
        )
        for path in ("judge.pricePerMillionTokens", "budget.costPerRun", "budget.costPerMonth")
    ),
    _clock(
        "judge.timeout", ("10s", "1h"), ("9s", "61m", *_JUNK), f"must be a duration from 10s to 1h {RANGE}"
    ),
    _clock(
        "judge.endpoint",
        ("https://llm.example/v1", "http://judge.llm.svc.cluster.local:8000"),
        ("ftp://llm.example", "https://user:pw@llm.example", "https://x/v1?key=1", "llm.example/v1"),
        "must be an http or https address without a user",
    ),
)


CASES: tuple[Case, ...] = (
    *_BY_THE_CLOCK,
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
        "spec.job.sidecars",
        ([{"name": "graph", "image": "i"}], [{"name": "prepared", "image": "i"}]),
        tuple([{"name": name, "image": "i"}] for name in ("prepare", "scorecard", "eval-1", "eval-x")),
        "the names prepare, scorecard and eval-… are those of the evaluation's own steps",
    ),
    Case(
        "EvalSuite",
        "spec.job.sidecars",
        ([{"name": "graph", "image": "i", "env": [{"name": "A"}]}],),
        ([{"name": "graph", "image": "i", "env": [{"name": "RCA_EVAL_X"}]}],),
        ENV,
    ),
    *(
        Case(
            "EvalSuite",
            "spec.job.sidecars",
            ([{"name": "graph", "image": "i", "resources": {part: {"example.com/gpu": "1"}}}],),
            ([{"name": "graph", "image": "i", "resources": {part: {"a b": "1"}}}],),
            KEYS,
        )
        for part in ("limits", "requests")
    ),
    Case(
        "EvalSuite",
        "spec.job.priorityClassName",
        ("batch-low", "systematic"),
        ("system-node-critical", "system-cluster-critical"),
        "the priority classes that begin with system- are the cluster's own",
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
