"""The whole road as a user goes it: the chart, the quickstart, a good and a bad component, and the ways back.

The tests of this module are one story and run in their order: the last ones change and remove what the first ones saw.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from rca_testing.node import (
    DATA,
    PLAIN_BASELINE,
    ROOT,
    WRITABLE,
    Api,
    Body,
    Operator,
    Place,
    Recorder,
    baseline,
    component,
    condition,
    dataset,
    eventually,
    modes,
    plain_engine,
    restricted_namespace,
    suite,
)

pytestmark = [pytest.mark.node, pytest.mark.timeout(420)]

GOOD, BAD, MODES = "live-activation", "topology-boost", "rca-modes"
GOOD_KEY, BAD_KEY = "RcaLiveActivation.Mode", "RcaTopologyBoost.Mode"
QUICKSTART = ROOT / "examples" / "quickstart"
QUICK = {"period": "0s", "interval": "1s", "minPassingRuns": 1}
ROAD_SECONDS = 150
MEMORY_MIB = 110


@dataclass(frozen=True)
class Road:
    place: Place
    side: Place  # a second namespace of the same operator, with a component that is Active soon
    operator: Operator
    recorder: Recorder

    def component(self, name: str) -> Body:
        return self.place.get("RcaComponent", name)

    def value(self, key: str) -> str:
        return str(self.place.get("ConfigMap", MODES)["data"][key])

    def phase(self, name: str, wanted: str, seconds: float) -> Body:
        def look() -> Body:
            found = self.component(name)
            assert (found.get("status") or {}).get("phase") == wanted, found.get("status")
            return found

        return eventually(look, seconds=seconds)


def _quickstart() -> dict[tuple[str, str], Body]:
    bodies = [body for path in QUICKSTART.glob("*.yaml") for body in yaml.safe_load_all(path.read_text())]
    return {(body["kind"], body["metadata"]["name"]): body for body in bodies}


@pytest.fixture(scope="module")
def road(api: Api, kinds: None) -> Iterator[Road]:
    with restricted_namespace(api) as place, restricted_namespace(api) as side:
        recorder = Recorder(place, (*WRITABLE, "Event")).start()
        operator = Operator(place, f"watch.namespaces={{{place.name},{side.name}}}", crds=True)
        side.create(dataset(), baseline(), suite("suite"), modes("modes", Mode="Shadow"))
        side.create(component("it", suite="suite", target="modes", observation=QUICK))
        place.create(
            dataset("bluerobin-incidents"),
            baseline("bluerobin-baseline", DATA / "baseline.graded.json"),
            baseline("plain-engine-baseline", PLAIN_BASELINE),
        )
        place.kubectl("apply", "-f", str(QUICKSTART))
        operator.ready()
        try:
            yield Road(place, side, operator, recorder)
        finally:
            recorder.stop()


def test_the_good_component_is_switched_to_active_and_the_bad_one_stays_in_shadow_and_says_why(
    road: Road,
) -> None:
    bad = road.phase(BAD, "Blocked", ROAD_SECONDS)
    good = road.phase(GOOD, "Active", ROAD_SECONDS)
    assert road.value(GOOD_KEY) == "Active"
    assert road.value(BAD_KEY) == "Shadow"
    promoted = condition(bad, "Promoted")
    assert (promoted["status"], promoted["reason"]) == ("False", "GateFailed")
    assert re.match(
        r"AC@1 0\.\d{3} < 1\.000 - 0\.02 \((GT-\d\d, )*GT-\d\d( and \d more)? lost\)", promoted["message"]
    )
    assert condition(good, "Promoted")["status"] == "True"
    for body in (good, bad):
        assert condition(body, "Ready")["status"] == "True"
        assert not condition(body, "Stalled")
        assert not condition(body, "Reconciling")


def test_the_road_had_its_stages_in_order(road: Road) -> None:
    phases: list[str] = []
    for version in road.recorder.versions("RcaComponent", GOOD):
        phase = (version.get("status") or {}).get("phase")
        if phase and phase not in phases[-1:]:
            phases.append(phase)
    assert [p for p in phases if p != "Pending"] == ["Evaluating", "Observing", "Promoting", "Active"]
    status = road.component(GOOD)["status"]
    closing = status["evidence"]["runs"][-1]
    assert closing["trigger"] == "Closing"
    assert closing["startedAt"] >= status["observation"]["endsAt"]
    assert status["evidence"]["passing"] >= 2


def test_one_key_was_written_once_and_every_other_byte_is_as_the_user_left_it(road: Road) -> None:
    wanted = _quickstart()["ConfigMap", MODES]
    now = road.place.get("ConfigMap", MODES)
    assert now["data"] == {**wanted["data"], GOOD_KEY: "Active"}
    assert "binaryData" not in now
    ours = [entry for entry in now["metadata"]["managedFields"] if entry["manager"] == "rca-rollout"]
    assert [entry["fieldsV1"] for entry in ours] == [{"f:data": {f"f:{GOOD_KEY}": {}}}]
    values = [version["data"][GOOD_KEY] for version in road.recorder.versions("ConfigMap", MODES)]
    assert values == ["Shadow", "Active"]
    for name in ("bluerobin-incidents", "bluerobin-baseline", "plain-engine-baseline"):
        assert len(road.recorder.versions("ConfigMap", name)) == 1


def test_the_users_objects_carry_nothing_of_ours(road: Road) -> None:
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    for (kind, name), wanted in _quickstart().items():
        metadata = road.place.get(kind, name)["metadata"]
        assert metadata.get("labels", {}) == wanted["metadata"].get("labels", {})
        annotations = {k: v for k, v in metadata["annotations"].items() if k != applied}
        assert annotations == wanted["metadata"].get("annotations", {})
        assert "finalizers" not in metadata
        assert "ownerReferences" not in metadata
    for name in ("bluerobin-incidents", "bluerobin-baseline", "plain-engine-baseline"):
        metadata = road.place.get("ConfigMap", name)["metadata"]
        assert not {"labels", "annotations", "finalizers", "ownerReferences"} & metadata.keys()


def test_kubectl_get_reads_well(road: Road) -> None:
    def table(kind: str) -> list[list[str]]:
        lines = road.place.kubectl("get", kind).splitlines()
        return [re.split(r" {2,}", line.strip()) for line in lines]

    components = table("rcac")
    assert components[0] == ["NAME", "MODE", "PHASE", "AC@1", "DELTA", "OBSERVED", "READY", "AGE"]
    assert components[1][:5] == [GOOD, "Active", "Active", "1.000", "+0.000"]
    assert re.fullmatch(r"\d+/2 runs, 30s", components[1][5])
    assert components[1][6] == "True"
    assert components[2][:3] == [BAD, "Shadow", "Blocked"]
    assert re.fullmatch(r"-\d\.\d{3}", components[2][4])
    runs = table("er")
    assert runs[0] == ["NAME", "COMPONENT", "TRIGGER", "PHASE", "AC@1", "DELTA", "MTTR", "AGE"]
    assert {(row[1], row[2], row[3]) for row in runs[1:]} >= {
        (GOOD, "Gate", "Passed"),
        (GOOD, "Closing", "Passed"),
        (BAD, "Gate", "Failed"),
    }
    assert all(re.fullmatch(r"\d+\.\d{3}s", row[6]) for row in runs[1:])
    suites = table("esuite")
    assert suites[0] == ["NAME", "INCIDENTS", "BASELINE", "READY", "AGE"]
    assert [row[:4] for row in suites[1:]] == [
        ["bluerobin", "9", "1.000", "True"],
        ["plain-engine", "9", "1.000", "True"],
    ]
    assert road.place.kubectl("get", "rca", "-o", "name").count("/") == len(runs) - 1 + 4


def test_each_transition_is_told_by_one_event_and_describe_shows_them(road: Road) -> None:
    told: dict[str, list[Body]] = {GOOD: [], BAD: []}
    for event in road.place.list("Event"):
        if event["involvedObject"]["kind"] == "RcaComponent":
            told[event["involvedObject"]["name"]].append(event)
    for events in told.values():
        events.sort(key=lambda event: event["firstTimestamp"])
        assert {event["count"] for event in events} == {1}
    started = {"SuiteNotFound", "TargetNotFound", "DatasetNotFound", "BaselineNotFound"}
    reasons = {
        name: [e["reason"] for e in events if e["reason"] not in started] for name, events in told.items()
    }
    assert sorted(reasons[GOOD]) == sorted(["RunInProgress", "ObservationStarted", "Promoting", "Promoted"])
    assert reasons[BAD] == ["RunInProgress", "GateFailed"]
    description = road.place.kubectl("describe", "rcac", BAD)
    assert re.search(r"Warning +GateFailed .* AC@1 0\.\d{3} < 1\.000 - 0\.02 \(GT-", description)


def _series(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def test_a_scrape_holds_what_a_dashboard_needs(road: Road) -> None:
    series = _series(road.operator.metrics())

    def value(metric: str, name: str, **labels: str) -> float:
        hits = [
            number
            for held, number in series[metric]
            if held.get("name", held.get("component")) == name and labels.items() <= held.items()
        ]
        assert len(hits) == 1, (metric, name, labels, hits)
        return hits[0]

    assert value("rca_component_mode", GOOD, mode="Active") == 1
    assert value("rca_component_mode", GOOD, mode="Shadow") == 0
    assert value("rca_component_phase", BAD, phase="Blocked") == 1
    assert value("rca_component_condition", GOOD, type="Promoted") == 1
    assert value("rca_gate_passed", GOOD) == 1
    assert value("rca_gate_passed", BAD) == 0
    assert value("rca_eval_accuracy_ratio", GOOD) == 1
    assert value("rca_eval_delta_ratio", BAD) < 0
    assert value("rca_eval_baseline_ratio", BAD) == 1
    assert value("rca_observation_required_seconds", GOOD) == 30
    assert value("rca_eval_runs_total", BAD, phase="Failed") == 1
    assert value("rca_eval_runs_total", GOOD, phase="Passed") >= 2
    assert value("rca_promotions_total", GOOD) == 1
    assert sum(number for _, number in series["rca_reconcile_errors_total"]) == 0
    assert series["rca_build_info"][0][1] == 1
    assert series["process_resident_memory_bytes"][0][1] < MEMORY_MIB * 1024 * 1024


def test_evaluations_ran_confined_and_without_a_token(road: Road) -> None:
    pods = [pod for pod in road.recorder.last("Pod") if "rca.bluerobin.io/run" in pod["metadata"]["labels"]]
    assert len(pods) == len(road.recorder.made("EvalRun"))
    for pod in pods:
        spec, status = pod["spec"], pod["status"]
        assert status["phase"] == "Succeeded"
        assert spec["automountServiceAccountToken"] is False
        assert not [v for v in spec["volumes"] if "projected" in v or "secret" in v or "hostPath" in v]
        states = [*status["initContainerStatuses"], *status["containerStatuses"]]
        assert [state["name"] for state in states] == ["prepare", "eval-1", "eval-2", "scorecard"]
        assert {state["user"]["linux"]["uid"] for state in states if "user" in state} <= {65532}
        for container in [*spec["initContainers"], *spec["containers"]]:
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            mounted = {mount["name"] for mount in container["volumeMounts"]}
            assert ("dataset" in mounted) == (container["name"] in ("prepare", "scorecard"))


def test_an_engine_that_knows_nothing_of_us_was_evaluated(road: Road) -> None:
    source = (ROOT / "examples" / "engines" / "plain" / "engine.py").read_text()
    assert not re.search(r"^\s*(import|from) +rca_", source, re.MULTILINE)
    pod = next(
        pod
        for pod in road.recorder.last("Pod")
        if pod["metadata"]["labels"].get("rca.bluerobin.io/component") == BAD
    )
    images = {state["name"]: state["imageID"] for state in pod["status"]["initContainerStatuses"]}
    assert images["eval-1"] == images["eval-2"] != images["prepare"]
    assert {c["image"] for c in pod["spec"]["initContainers"] if c["name"].startswith("eval-")} == {
        plain_engine()
    }


def test_in_steady_state_nothing_is_written_and_the_operator_stays_small(
    road: Road, figure: Callable[[str], None]
) -> None:
    def versions() -> dict[str, str]:
        return {
            f"{kind} {body['metadata']['name']}": body["metadata"]["resourceVersion"]
            for kind in (*WRITABLE, "Event")
            for body in road.place.list(kind)
            # The kubelet tells of its Pods what it likes.
            if kind != "Event" or body["source"].get("component") == "rca-rollout"
        }

    # The last Job lets its time to live run a moment after the promotion.
    time.sleep(2)
    before, until = versions(), time.monotonic() + 20
    while time.monotonic() < until:
        now = versions()
        assert {name for name in now if now[name] != before.get(name)} == set()
        time.sleep(1)
    assert road.operator.restarts() == 0
    resident = road.operator.resident_mib()
    figure(f"the road: operator's resident memory {resident:.1f} MiB")
    assert resident <= MEMORY_MIB


def test_mode_shadow_puts_the_key_back_within_seconds(road: Road, figure: Callable[[str], None]) -> None:
    def value() -> str:
        return str(road.side.get("ConfigMap", "modes")["data"]["Mode"])

    assert value() == "Active"
    began = time.monotonic()
    road.side.spec("RcaComponent", "it", mode="Shadow")

    def back() -> None:
        assert value() == "Shadow"

    eventually(back, seconds=5, every=0.05)
    figure(f"mode Shadow: the key was back after {time.monotonic() - began:.2f} s")

    def told() -> None:
        body = road.side.get("RcaComponent", "it")
        found = condition(body, "Promoted")
        assert (found["status"], found["reason"]) in {("False", "ShadowRequested"), ("False", "Held")}
        assert body["status"]["mode"] == "Shadow"

    eventually(told, seconds=5)


def test_a_new_revision_of_an_active_component_goes_through_shadow_first(road: Road) -> None:
    road.place.spec("RcaComponent", GOOD, observation=QUICK, revision="2026.12.01")

    def demoted() -> None:
        assert road.value(GOOD_KEY) == "Shadow"

    eventually(demoted, seconds=5, every=0.05)

    def promoted() -> None:
        # Not the phase alone: for a moment it is still the old revision's, until its demotion is read back.
        status = road.component(GOOD)["status"]
        assert (status["phase"], status.get("promotion", {}).get("revision")) == ("Active", "2026.12.01")

    eventually(promoted, seconds=90)
    assert road.value(GOOD_KEY) == "Active"
    back = [
        version
        for version in road.recorder.versions("ConfigMap", MODES)
        if version["data"][GOOD_KEY] == "Shadow"
    ][-1]
    first_run = next(
        run for run in road.recorder.made("EvalRun") if run["spec"].get("revision") == "2026.12.01"
    )
    assert int(back["metadata"]["resourceVersion"]) < int(first_run["metadata"]["resourceVersion"])


def test_deleting_a_component_leaves_its_key_and_takes_its_runs_along(road: Road) -> None:
    road.place.delete("RcaComponent", GOOD)

    def gone() -> None:
        assert road.place.find("RcaComponent", GOOD) is None
        label = f"rca.bluerobin.io/component={GOOD}"
        left = [body["metadata"]["name"] for kind in WRITABLE for body in road.place.list(kind, label)]
        assert left == []

    eventually(gone, seconds=60)
    assert road.value(GOOD_KEY) == "Active"


def test_uninstalling_leaves_the_users_objects_and_nothing_that_hangs(road: Road, api: Api) -> None:
    road.operator.uninstall()
    for kind, name in _quickstart():
        if name != GOOD:
            assert road.place.find(kind, name) is not None
    kept = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rcacomponents.rca.bluerobin.io"
    assert api.request("GET", kept).status_code == 200
    road.place.delete("RcaComponent", BAD)
    api.request("DELETE", f"/api/v1/namespaces/{road.place.name}")

    def gone() -> None:
        assert api.request("GET", f"/api/v1/namespaces/{road.place.name}").status_code == 404

    eventually(gone, seconds=60)
