"""Each rule of lint finds its defect in a dataset that was good before, and names incident, line and cure.

Names that lead nowhere; times that contradict each other; series that say nothing; words that give the answer away;
labels that may not decide; sets that can tell nothing.
"""

import json
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from rca_eval.contract import sha256
from rca_eval.contract.scorecard import parse_baseline
from rca_eval.data import PROFILES, baseline_bytes, ground_truth_bytes
from rca_eval.gate import GatePolicy
from rca_eval.lint import Options, check
from rca_eval.lint.pods import workload

GRADED = json.loads(ground_truth_bytes("graded"))
ONSET = 1700000000
HOUR = 3600


def linted(change, options=None, document=GRADED):
    """Findings of a changed dataset, and its lines; `change` gets the document, or returns another one."""
    copy = json.loads(json.dumps(document))
    copy = change(copy) or copy
    text = json.dumps(copy, indent=1)
    return check(text.encode(), "set.json", options).findings, text.splitlines()


def points(shift=0, values=(0, 1, 2, 3), first=-1800, last=600):
    return [[ONSET + shift + at, values[at // 60 % len(values)]] for at in range(first, last + 1, 60)]


def first(*path, value):
    """Set a field of the first incident; a last step `+` adds to a list."""

    def change(document):
        at = document["incidents"][0]
        for step in path[:-1]:
            at = at[step]
        if path[-1] == "+":
            at.append(value)
        else:
            at[path[-1]] = value

    return change


def series(samples, metric="cpu"):
    return first(
        "telemetry", "services", "authelia", "series", "+", value={"metric": metric, "samples": samples}
    )


def every(make):
    """Change each incident by a function of it and its position."""

    def change(document):
        for position, one in enumerate(document["incidents"]):
            make(one, position)

    return change


def all_series(samples):
    def make(one, position):
        if position == 0:
            for row in one["telemetry"]["services"].values():
                row["series"] = [{"metric": "cpu", "samples": samples}]

    return every(make)


def silent(document):
    for row in document["incidents"][0]["telemetry"]["services"].values():
        row.update(errorRate=0, series=[])


def chain(document):
    """The cause is five calls away from the alert."""
    topology = document["incidents"][0]["topology"]
    topology["services"] += [{"key": f"hop-{n}"} for n in range(4)]
    names = ["bluerobin-web", *(f"hop-{n}" for n in range(4)), "authelia"]
    topology["calls"] = [list(pair) for pair in pairwise(names)]


def reversed_calls(document):
    topology = document["incidents"][0]["topology"]
    topology["calls"] = [call[::-1] for call in topology["calls"]]


def induced(at):
    """The cause is changed at this time, and the label says that this was it."""

    def change(document):
        one = document["incidents"][0]
        one.update(changeInduced=True, changes=[{"kind": "Deploy", "service": "authelia", "at": at}])

    return change


def aliased(alias, service):
    return lambda document: document.update(aliases={alias: service})


def unit_mix(document):
    rows = document["incidents"][0]["telemetry"]["services"]
    rows["authelia"]["series"] = [{"metric": "memory", "samples": points(values=(5, 6, 7))}]
    rows["rag-chat"]["series"] = [{"metric": "memory", "samples": points(values=(5_000_000, 6_000_000))}]


def same_metric_twice(document):
    rows = document["incidents"][0]["telemetry"]["services"]["authelia"]["series"]
    rows.append(rows[0])


INCIDENT_RULES = [
    # references
    (lambda d: d["incidents"][0].pop("telemetry") and None, "E-INCOMPLETE", "{", "has no telemetry", "take the incident out"),
    (first("expectedRootCause", value="nowhere"), "E-UNKNOWN-CAUSE", '"nowhere"', "nowhere is no service", "add it to topology"),
    (first("expectedRootCause", value="archives-api-7d9f"), "E-UNKNOWN-CAUSE", "7d9f", "its cause", "looks like a Pod of archives-api: write archives-api"),
    (first("expectedRootCause", value="archive-api"), "E-UNKNOWN-CAUSE", "archive-api", "its cause", "did you mean archives-api?"),
    (first("topology", "services", 0, value={"key": "sso", "aliases": ["authelia"]}), "E-UNKNOWN-CAUSE", "authelia", "its cause", "it is an alias of sso: write sso"),
    (first("topology", "calls", "+", value=["web", "authelia"]), "E-DANGLING", '"web"', "topology.calls", "correct the name"),
    (first("changes", 0, "service", value="nope"), "E-DANGLING", '"nope"', "(changes.service)", "add it"),
    (first("telemetry", "services", "nope", value={}), "E-DANGLING", '"nope"', "(telemetry.services)", "add it"),
    (first("alert", "service", value="nope"), "E-DANGLING", '"nope"', "(alert.service)", "add it"),
    (first("symptom", value="nope"), "E-DANGLING", '"nope"', "(symptom)", "add it"),
    (first("distractors", 0, "service", value="nope"), "E-DANGLING", '"nope"', "(distractors.service)", "add it"),
    (first("topology", "services", "+", value={"key": "authelia"}), "E-DUPLICATE-SERVICE", "{", "the service authelia is there twice, first on line", "keep one"),
    (first("topology", "calls", "+", value=["bluerobin-web", "authelia"]), "W-DUPLICATE-CALL", "[", "first on line", "keep one"),
    (lambda d: d["incidents"][0]["changes"].append(d["incidents"][0]["changes"][0]), "W-DUPLICATE-CHANGE", "{", "the change Deploy archives-api 1699998199", "keep one"),
    (same_metric_twice, "E-DUPLICATE-METRIC", "{", "the metric authelia error_ratio", "keep one"),
    (first("topology", "calls", "+", value=["authelia", "authelia"]), "W-SELF-CALL", "[", "calls itself", "remove"),
    (first("topology", "calls", value=[]), "E-UNREACHABLE-CAUSE", "expectedRootCause", "in 3 calls", "add the calls between"),
    (chain, "E-UNREACHABLE-CAUSE", "expectedRootCause", "it is 5 calls away", "add the calls that are missing"),
    (reversed_calls, "E-UNREACHABLE-CAUSE", "expectedRootCause", "is not reached", "turn the calls around"),
    (first("expectedRootCause", value=["authelia", "rag-chat"]), "W-MANY-CAUSES", "expectedRootCause", "2 of its 4 services", "keep the cause alone"),
    (first("symptom", value="rag-chat"), "E-SYMPTOM", '"symptom"', "its alert is of bluerobin-web", "give both"),
    (first("distractors", 0, "service", value="authelia"), "E-DISTRACTOR", "{", "its cause and a topologyTrap", "correct one"),
    (first("topology", "services", 0, "aliases", value=["rag-chat"]), "E-ALIAS", '"rag-chat"', "is also a service", "remove it"),
    (lambda d: [row.update(aliases=["x"]) for row in d["incidents"][0]["topology"]["services"][:2]] and None, "E-ALIAS", '"x"', "stands for authelia and for archives-api", "keep it at one"),
    # times
    (first("onset", value=ONSET + 8 * HOUR), "E-TIME-ZONE", '"onset"', "exactly 8 h", "UTC seconds"),
    (first("onset", value=ONSET - 5 * HOUR - 1800), "E-TIME-ZONE", '"onset"', "about 5 h 30 min", "UTC seconds"),
    (first("onset", value=ONSET + 100), "E-ONSET-LATE", '"onset"', "later than its alert", "correct one"),
    (first("onset", value=ONSET - 2500), "E-ONSET-FAR", '"onset"', "2500 s before", "or the window"),
    (first("alert", "forSeconds", value=3000), "E-FOR-LONG", "forSeconds", "longer than the window of 1800", "in seconds"),
    (induced(ONSET + 8 * HOUR - 300), "E-CHANGE-OUTSIDE", "changeInduced", "28500 s after the onset", "in local time, 8 h off?"),
    (induced(ONSET - 1801), "E-CHANGE-OUTSIDE", "changeInduced", "1801 s before the onset", "the window or the label"),
    (first("changes", 0, value={"kind": "Change", "service": "authelia", "at": ONSET - 5}), "E-CHANGE-UNLABELLED", "changeInduced", "authelia was changed", "set changeInduced"),
    (first("alert", "firedAt", value=1000000000), "W-YEAR", "firedAt", "2001", "Unix seconds"),
    # series
    (series([*points(), [ONSET, 5], [ONSET + 60, 5]]), "E-DUPLICATE-TIME", "[", "two samples at 1700000000, and 1 more such, first on line", "one sample for each time"),
    (series(points()[::-1]), "W-UNSORTED", "[", "goes back in time", "sort"),
    (series([]), "E-EMPTY-SERIES", "{", "authelia/cpu has no sample", "remove it"),
    (series([[at, None] for at, _ in points()]), "E-EMPTY-SERIES", "{", "has only null", "remove it"),
    (series(points(8 * HOUR)), "E-EMPTY-WINDOW", "{", "about 8 h later than the onset", "UTC"),
    (series(points(-9 * HOUR)), "E-EMPTY-WINDOW", "{", "about 9 h earlier than the onset", "UTC"),
    (series(points(200_000_000)), "E-EMPTY-WINDOW", "{", "199998200 s (2314 days) later", "Unix seconds"),
    (series(points(first=-400)), "E-FEW-SAMPLES", "{", "6 samples before the onset; 8 are needed", "add samples in the 1740 s"),
    (series(points(last=60)), "E-FEW-SAMPLES", "{", "2 samples after the onset; 3 are needed", "add samples in the 600 s"),
    (series(points(values=(7,))), "W-CONSTANT", "{", "1 of its 5 series never change: authelia/cpu", "remove what was not measured"),
    (all_series(points(values=(7,))), "E-CONSTANT", '"telemetry"', "all its 4 series are constant", "missing metric"),
    (silent, "E-NO-SIGNAL", '"telemetry"', "availability is full, but no service", "degraded or none"),
    (lambda d: [row.update(series=[]) for row in d["incidents"][0]["telemetry"]["services"].values()] and None, "W-NO-SERIES", '"telemetry"', "no service has a series", "degraded"),
    (lambda d: d["incidents"][0]["telemetry"]["services"].pop("authelia") and None, "W-CAUSE-UNSEEN", '"telemetry"', "authelia has no telemetry", "add a row"),
    (first("telemetry", "availability", value="none"), "W-NO-TELEMETRY", "availability", "LivePath has 8 of 9", "do not count it"),
    (series(points(values=(150, 151)), "error_ratio_2"), "W-UNITS", "{", "a ratio by its name", "unit"),
    (unit_mix, "W-UNITS", "{", "memory is about 5e+06", "one unit"),
    (first("telemetry", "services", "authelia", "series", 0, "z", value=100), "E-SERIES", "{", "authelia/error_ratio: z is 100", "correct"),
    # leaks
    (first("alert", "name", value="AutheliaDown"), "E-LEAK", '"name"', "the alert's name names the cause authelia", "rename"),
    (first("alert", "name", value="PodChaos"), "E-LEAK", '"name"', "'Chaos'", "rename"),
    (first("alert", "name", value="GT_01 login.break"), "E-LEAK", '"name"', "the incident's id GT-01-login-break", "rename"),
    (first("alert", "severity", value="authelia"), "E-LEAK", '"severity"', "severity names the cause", "rename"),
    (first("changes", 0, "ref", value="fix for authelia"), "E-LEAK", '"ref"', "a change of archives-api names", "rename"),
    (first("telemetry", "services", "rag-chat", "series", 0, "metric", value="authelia_latency"), "E-LEAK", '"metric"', "a metric of rag-chat names", "rename"),
    (first("topology", "services", "+", value={"key": "fault-agent"}), "E-LEAK", "{", "the service fault-agent", "rename"),
    (first("alert", "labels", value={"job": "authelia"}), "W-LEAK-LABEL", '"job"', "label job names the cause", "a live engine reads them"),
    (first("expectedRootCause", value="chaos-mesh-schedule"), "E-INJECTOR", "expectedRootCause", "is what injected the fault", "the service that it acted on"),
    # labels
    (first("label", "status", value="draft"), "E-DRAFT", '"status"', "its label is draft", "--skip-drafts"),
    (first("label", "status", value="disputed"), "E-DRAFT", '"status"', "its label is disputed", "confirm it"),
    (lambda d: d["incidents"][0].pop("label") and None, "W-LABEL", "{", "nobody vouches", "add a label"),
    (first("label", value={"status": "confirmed"}), "W-LABEL", '"label"', "by nobody", "label.by"),
    (first("topology", "services", 0, "aliases", value=["service-2"]), "E-DOMINANCE", "{", "in ScorerOnly of a service beside it", "another name"),
    (lambda d: d["incidents"][0].update(changeInduced=True, distractors=[]), "W-NO-CHANGE-TRAP", "distractors", "without the change term", "changeTrap"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "code", "line", "says", "fix"),
    INCIDENT_RULES,
    ids=[f"{n}-{r[1]}" for n, r in enumerate(INCIDENT_RULES)],
)
def test_a_defect_of_an_incident_has_a_code_a_line_and_a_cure(change, code, line, says, fix):
    found, lines = linted(change)
    mine = [
        one
        for one in found
        if one.code == code and one.incident == "GT-01-login-break" and says in one.message
    ]
    assert mine, [(one.code, one.message) for one in found]
    assert line in lines[mine[0].line - 1]
    assert fix in mine[0].fix
    assert mine[0].level == ("error" if code.startswith("E-") else "warning")
    assert mine[0].file == "set.json"
    assert code not in {one.code for one in linted(lambda d: None)[0]}


def skewed(hours, what):
    def make(one, _):
        if what == "samples":
            for row in one["telemetry"]["services"].values():
                row["series"] = [
                    {
                        "metric": "cpu",
                        "samples": [[at + one["onset"] - ONSET, v] for at, v in points(hours * HOUR)],
                    }
                ]
        for change in one["changes"] if what == "changes" else ():
            change["at"] += hours * HOUR

    return every(make)


def injected_by_service(one, position):
    cause = ("authelia", "rag-chat")[position // 5]
    one.update(
        expectedRootCause=cause,
        topology={
            "services": [{"key": "web"}, {"key": "authelia"}, {"key": "rag-chat"}],
            "calls": [["web", cause]],
        },
    )


def only_the_cause_is_measured(one, _):
    rows = one["telemetry"]["services"]
    for key, row in rows.items():
        row["series"] = (
            []
            if key != one["expectedRootCause"]
            else row["series"] or [{"metric": "m", "median": 1, "iqr": 1, "z": 3}]
        )


def named_first(one, _):
    text = json.dumps(one).replace(one["expectedRootCause"], "aaa")
    one.update(json.loads(text))


def equal_rivals(one, _):
    for key, row in one["telemetry"]["services"].items():
        row.update(criticality=0.9 if key == one["expectedRootCause"] else 0.5, errorRate=0.5)
    one["changes"] = []


def one_clock_is_wrong(one, _):
    rows = one["telemetry"]["services"]
    rival = next(key for key in rows if key not in (one["expectedRootCause"], one["symptom"]))
    for key, row in rows.items():
        shift = one["onset"] - ONSET + (200_000_000 if key == rival else 0)
        row["series"] = [{"metric": "cpu", "samples": [[at + shift, value] for at, value in points()]}]
    one.update(json.loads(json.dumps(one).replace(f'"{rival}"', '"rival"')))


def one_flat_metric(one, _):
    rows = list(one["telemetry"]["services"].values())
    for row in rows[:2]:
        samples = [[at + one["onset"] - ONSET, 0] for at, _ in points()]
        row["series"].append({"metric": "success", "samples": samples})


SET_RULES = [
    (lambda d: None, None, "W-FEW", "9 incidents: one lost is 0.111, more than 0.02", "50 make 0.02 a rate"),
    (lambda d: None, Options(policy=GatePolicy(min_incidents=20)), "W-TOO-FEW", "fewer than the 20", "minIncidents"),
    (lambda d: None, Options(policy=GatePolicy(min_fault_classes=30)), "W-TOO-FEW", "fewer than the 30", "minFaultClasses"),
    (lambda d: None, Options(policy=GatePolicy(protected_incidents=("GT-99",))), "E-PROTECTED-UNKNOWN", "protects GT-99", "protectedIncidents"),
    (lambda d: None, Options(expected=10), "E-COUNT", "9 incidents were read, but 10 were expected", "lost or added"),
    (lambda d: None, Options(now=ONSET - 10 * 86400), "E-FUTURE", "fired in 2023, 864060 s (10 days) from now", "epoch"),
    (aliased("authelia", "rag-chat"), None, "E-ALIAS", "is also a service", "remove the alias"),
    (aliased("x", "nobody"), None, "E-ALIAS", "no service of any topology", "correct the service"),
    (aliased("service-1", "authelia"), None, "E-DOMINANCE", "in ScorerOnly", "another name"),
    (every(lambda one, _: one.update(faultClass="a/b")), None, "W-ONE-CLASS", "9 of 9 incidents are a/b", "other classes"),
    (every(injected_by_service), None, "W-SCHEDULE", "the previous incident's cause scores 0.778", "shuffle"),
    (every(injected_by_service), None, "W-ONE-CAUSE", "authelia is the cause of 5 of 9: always answering it scores 0.556", "other causes"),
    (every(only_the_cause_is_measured), None, "W-SATURATED", "`most measured service` alone scores 1.000", "on which it is wrong"),
    (every(named_first), None, "W-SATURATED", "`first service by name` alone scores 1.000", "on which it is wrong"),
    (every(equal_rivals), None, "W-MARGINS", "in all 9 incidents the cause leads by 0.200", "rivals"),
    (every(lambda one, _: one["label"].update(family="f")), None, "W-FAMILY", "9 incidents are of the family f", "memory"),
    (every(lambda one, position: one["alert"].update(firedAt=ONSET + 60 + 600 * position)), None, "W-OVERLAP", "its window begins before GT-01", "windowSeconds"),
    (every(one_clock_is_wrong), None, "E-SKEW", "the samples of rival are 200000000 s (2314 days) later than those of the other services, in 9 of 9", "the column that is right"),
    (first("onset", value=ONSET - 60), None, "W-ONSET", "its onset is 60 s before its alert's; they are equal in 8 others", "which of the two"),
    (every(lambda one, _: [row.pop(name, None) for row in one["telemetry"]["services"].values() for name in ("criticality", "errorRate")]), None, "W-NO-RATES", "no service of any incident has a criticality", "add them"),
    (every(one_flat_metric), None, "W-CONSTANT", "success never changes in any of its 18 series of the set", "was not measured"),
    (skewed(8, "samples"), None, "E-SKEW", "the samples of 9 of 9 incidents are about 8 h later", "local time"),
    (skewed(-7, "changes"), None, "E-SKEW", "the changes of 9 of 9 incidents are about 7 h earlier", "local time"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "options", "code", "says", "fix"),
    SET_RULES,
    ids=[f"{n}-{r[2]}" for n, r in enumerate(SET_RULES)],
)
def test_a_weakness_of_the_set_has_a_code_and_a_cure(change, options, code, says, fix):
    found, _ = linted(change, options)
    mine = [one for one in found if one.code == code and says in one.message]
    assert mine, [(one.code, one.message) for one in found]
    assert fix in mine[0].fix
    assert mine[0].line >= 1


@pytest.mark.parametrize("profile", PROFILES)
def test_a_bundled_profile_has_no_error_and_fits_its_own_baseline(profile):
    data = ground_truth_bytes(profile)
    baseline = parse_baseline(baseline_bytes(profile))
    report = check(
        data, "set.json", Options(baseline=baseline, now=int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()))
    )
    assert report.errors == 0
    assert report.incidents == 9


def test_a_baseline_of_another_dataset_is_told_with_both_digests():
    baseline = parse_baseline(baseline_bytes("seed"))
    data = ground_truth_bytes("graded")
    [found] = [
        one
        for one in check(data, "set.json", Options(baseline=baseline)).findings
        if one.code == "E-BASELINE"
    ]
    assert sha256(data)[:12] in found.message
    assert baseline.dataset.sha256[:12] in found.message


def test_a_baseline_without_an_incident_of_the_dataset_is_told():
    baseline = parse_baseline(baseline_bytes("graded"))
    found, _ = linted(lambda d: d["incidents"].pop() and None, Options(baseline=baseline))
    assert any("the baseline has incidents that the dataset has not: GT-09" in one.message for one in found)


def test_equal_margins_are_seen_in_a_baseline_too():
    document = json.loads(baseline_bytes("graded"))
    for arm in document["arms"]:
        for row in arm["incidents"]:
            row["candidates"] = [
                {"key": row["expected"][0], "score": "0.800000000", "terms": None},
                {"key": "rival", "score": "0.700000000", "terms": None},
            ]
    baseline = parse_baseline(json.dumps(document).encode())
    found = check(ground_truth_bytes("graded"), "set.json", Options(baseline=baseline)).findings
    assert any(one.code == "W-MARGINS" and "leads by 0.100" in one.message for one in found)


@pytest.mark.parametrize(
    "rename", ["DefaultBackendDown", "WebhookFailures", "LoginBroken", "RejectedLogins", "Gt1Percent"]
)
def test_an_innocent_word_is_no_leak(rename):
    found, _ = linted(first("alert", "name", value=rename))
    assert not [one for one in found if one.code == "E-LEAK"]


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        ("otel-demo-product-catalog-network-delay", True),
        ("cpustress-recommendation-1", True),
        ("pod-failure-checkout", True),
        ("kube-scheduler", False),
        ("checkout", False),
        ("network-policy-agent", False),
        ("stress-free-api", False),
    ],
)
def test_an_experiment_is_no_cause(cause, told):
    found, _ = linted(first("expectedRootCause", value=cause))
    assert ("E-INJECTOR" in {one.code for one in found}) == told


def test_a_change_at_the_edges_of_the_window_counts_as_in_it():
    for at, code in ((ONSET - 1800, False), (ONSET, False), (ONSET - 1801, True), (ONSET + 1, True)):
        assert ("E-CHANGE-OUTSIDE" in {one.code for one in linted(induced(at))[0]}) == code


def test_samples_that_miss_the_window_are_told_as_that_and_not_as_few():
    codes = [one.code for one in linted(series(points(8 * HOUR)))[0] if one.incident == "GT-01-login-break"]
    assert codes == ["E-EMPTY-WINDOW"]


@pytest.mark.parametrize(
    ("name", "service"),
    [
        ("archives-api-7d9f", "archives-api"),
        ("adservice-5f6585d649-fnmft", "adservice"),
        ("falkordb-0", "falkordb"),
        ("web-x2v4z", "web"),
        ("web-api-7d9f8b6c5-x2v4z", "web-api"),
        ("web-frontend", None),
        ("web-admin", None),
        ("webx", None),
        ("web", None),
    ],
)
def test_a_pod_is_known_by_the_end_of_its_name(name, service):
    assert workload(name, ["web", "web-api", "archives-api", "adservice", "falkordb"]) == service
