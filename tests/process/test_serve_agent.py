"""The agent as it runs: alerts in, ranked causes out, under the modes that are mounted at that moment.

Aspects: the answer and what it does not tell, switches without a restart, would-be rankings, duplicates, groups,
unknown and resolved alerts, incidents with their context, lifecycles and KPIs, metrics, lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import jsonschema
import pytest
from rca_testing.agents import RunningAgent, agent, firing, wait_until
from rca_testing.mounted import Mounted

from rca_eval.contract import dump_exact, parse_ground_truth
from rca_eval.data import ground_truth_bytes
from rca_eval.engine import KEYS
from rca_eval.job.project import project
from rca_eval.modes import line_schema

TRUTH = parse_ground_truth(ground_truth_bytes("graded"))
LIVE = "RcaLiveActivation.Mode"
SHADOW = dict.fromkeys(KEYS, "Shadow")


class World:
    def __init__(self, running: RunningAgent, modes: Mounted) -> None:
        self.agent = running
        self.modes = modes


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("agent")
    modes = Mounted(folder / "modes", SHADOW)
    with agent(folder, "--revision", "r7") as running:
        yield World(running, modes)


@pytest.fixture(autouse=True)
def _shadow(world: World) -> None:
    world.modes.swap(SHADOW)


def alert_of(number: int, **more: Any) -> dict[str, Any]:
    alert = TRUTH.incidents[number - 1].alert
    assert alert is not None
    return firing(alert.name, alert.service, **more)


def order(told: dict[str, Any]) -> list[str]:
    return [one["entity"] for one in told["investigation"]["candidates"]]


def test_an_alert_is_answered_with_ranked_causes_that_add_up(world: World) -> None:
    told = world.agent.ask(alert_of(4, fingerprint="answer"))
    assert (told["outcome"], told["lifecycle"]) == ("Concluded", "Recorded")
    found = told["investigation"]
    assert found["advisory"] is True
    assert order(told)[0] == "falkordb"
    assert [one["rank"] for one in found["candidates"]] == list(range(1, len(found["candidates"]) + 1))
    for one in found["candidates"]:
        assert sum(map(float, one["terms"].values())) == pytest.approx(float(one["score"]), abs=2e-9)
    assert [one["component"] for one in found["components"]] == list(KEYS)
    assert not any(one["governed"] for one in found["components"])
    assert world.agent.http.get(f"/v1/investigations/{found['id']}").json() == found
    newest = world.agent.http.get("/v1/investigations").json()["investigations"][0]
    assert (newest["id"], newest["first"]) == (found["id"], "falkordb")


def test_no_label_reaches_an_answer(world: World) -> None:
    for number, incident in enumerate(TRUTH.incidents, start=1):
        answer = world.agent.post(alert_of(number, fingerprint=f"leak-{number}")).text
        assert incident.id not in answer
        assert incident.fault_class not in answer
        assert not {"expectedRootCause", "changeInduced", "distractor", "faultClass"} & set(answer.split('"'))


def test_a_switch_of_the_config_map_changes_the_next_answer_without_a_restart(world: World) -> None:
    for value, table, active in (
        ("Shadow", "floor", 0),
        ("Active", "baroNoChange", 1),
        ("active", "floor", 0),
    ):
        world.modes.swap({**SHADOW, LIVE: value})
        found = world.agent.ask(alert_of(4, fingerprint=f"switch-{value}"))["investigation"]
        live = next(one for one in found["components"] if one["component"] == LIVE)
        assert (found["table"], live["governed"]) == (table, bool(active))
        assert world.agent.metric("rca_mode_active", component=LIVE) == active
        mode = next(one for one in world.agent.http.get("/modes").json() if one["component"] == LIVE)
        assert (mode["value"], mode["mode"]) == (value, "Active" if active else "Shadow")
    assert world.agent.process.poll() is None


def test_a_value_for_another_revision_does_not_govern(world: World) -> None:
    for value, governs in (("Active@r6", False), ("Active@r7", True)):
        world.modes.swap({**SHADOW, LIVE: value})
        found = world.agent.ask(alert_of(4, fingerprint=f"revision-{value}"))["investigation"]
        assert next(one for one in found["components"] if one["component"] == LIVE)["governed"] is governs


@pytest.mark.parametrize("number", range(1, len(TRUTH.incidents) + 1))
def test_what_a_component_would_have_ranked_is_what_it_ranks_when_it_governs(
    world: World, number: int
) -> None:
    starts = datetime.now(UTC).isoformat()
    shadow = world.agent.ask(alert_of(number, fingerprint=f"would-{number}", starts=starts))
    would_be = {one["component"]: one["wouldBe"] for one in shadow["investigation"]["components"]}
    for key in KEYS:
        world.modes.swap({**SHADOW, key: "Active"})
        active = world.agent.ask(alert_of(number, fingerprint=f"would-{number}-{key}", starts=starts))
        assert order(active) == would_be[key]


def test_shadow_decisions_are_told_as_lines_and_counted(world: World) -> None:
    before = {key: counted(world, key) for key in KEYS}
    told = world.agent.ask(alert_of(3, fingerprint="counted"))
    schema = jsonschema.Draft202012Validator(json.loads(line_schema()))

    def lines_of_it() -> list[dict[str, Any]]:
        return [line for line in world.agent.lines if line.get("incident") == told["incidentId"]]

    wait_until(lambda: len(lines_of_it()) >= len(KEYS))  # the answer and the lines come by two ways
    lines = lines_of_it()
    assert [line["component"] for line in lines] == list(KEYS)
    for line in lines:
        schema.validate(line)
        assert line["governing"] == order(told)
    assert {key: counted(world, key) for key in KEYS} == {key: count + 1 for key, count in before.items()}


def counted(world: World, key: str) -> float:
    outcomes = ("agree", "disagree", "error", "timeout")
    return sum(
        world.agent.metric("rca_shadow_decisions_total", component=key, outcome=one) for one in outcomes
    )


def test_a_repeated_notification_is_the_same_incident(world: World) -> None:
    starts = datetime.now(UTC).isoformat()
    first = world.agent.ask(alert_of(1, fingerprint="again", starts=starts))
    second = world.agent.ask(alert_of(1, fingerprint="again", starts=starts))
    assert (first["outcome"], second["outcome"]) == ("Concluded", "Duplicate")
    assert first["investigation"] == second["investigation"]
    later = world.agent.ask(alert_of(1, fingerprint="again"))
    assert (later["outcome"], later["incidentId"] == first["incidentId"]) == ("Concluded", False)


def test_of_many_notifications_at_once_one_is_looked_into(world: World) -> None:
    alert = alert_of(2, fingerprint="at-once")
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: world.agent.ask(alert), range(16)))
    assert sorted(one["outcome"] for one in told) == ["Concluded"] + ["Duplicate"] * 15
    assert len({one["investigation"]["id"] for one in told}) == 1


def test_a_group_is_answered_alert_by_alert_and_the_unknown_with_a_reason(world: World) -> None:
    before = world.agent.metric("rca_investigations_total", outcome="unknown")
    answer = world.agent.post(
        alert_of(5, fingerprint="g1"),
        firing("Nothing", "nowhere"),
        firing("", "debug-agent"),
        alert_of(6, fingerprint="g2"),
    )
    told = answer.json()["alerts"]
    assert [one["outcome"] for one in told] == ["Concluded", "Unknown", "Unknown", "Concluded"]
    assert "catalogue:graded" in told[1]["reason"]
    assert world.agent.metric("rca_investigations_total", outcome="unknown") == before + 2


def test_the_answer_is_the_same_whenever_the_alert_fires(world: World) -> None:
    for number, incident in enumerate(TRUTH.incidents, start=1):
        assert incident.alert is not None
        original = datetime.fromtimestamp(incident.alert.fired_at, UTC).isoformat()
        old = world.agent.ask(alert_of(number, fingerprint=f"old-{number}", starts=original))["investigation"]
        new = world.agent.ask(alert_of(number, fingerprint=f"new-{number}"))["investigation"]
        assert old["candidates"] == new["candidates"]
        assert old["alert"]["firedAt"] != new["alert"]["firedAt"]


def test_an_incident_may_bring_its_own_context(world: World) -> None:
    incident = project(TRUTH.incidents[2], "LivePath", case="case-0000000a", window=1800)
    assert incident is not None
    body = dump_exact(incident.model_dump(by_alias=True, exclude_none=True)).encode()
    answer = world.agent.http.post("/v1/investigations", content=body)
    assert answer.status_code == 200, answer.text
    told = world.agent.ask(alert_of(3, fingerprint="own-context"))
    assert answer.json()["candidates"] == told["investigation"]["candidates"]
    assert answer.json()["source"] == "request"


def test_an_incident_lives_from_its_alert_to_its_end(world: World) -> None:
    fired = datetime.now(UTC) - timedelta(seconds=60)
    alert = alert_of(7, fingerprint="life", starts=fired.isoformat(), fault_class="deploy/config")
    id = world.agent.ask(alert)["incidentId"]
    acknowledged = (fired + timedelta(seconds=30)).isoformat()
    http = world.agent.http
    first = http.post(f"/v1/incidents/{id}/acknowledged", json={"at": acknowledged})
    assert (first.status_code, first.json()["noted"]) == (200, "Recorded")
    assert http.post(f"/v1/incidents/{id}/acknowledged", json={"at": acknowledged}).json()["noted"] == "Same"
    assert http.post(f"/v1/incidents/{id}/acknowledged").json()["noted"] == "Kept"
    assert http.post(f"/v1/incidents/{id}/acknowledged", json={"at": fired.isoformat()}).status_code == 409
    early = http.post(f"/v1/incidents/{id}/resolved", json={"at": (fired - timedelta(seconds=1)).isoformat()})
    assert early.status_code == 409
    assert "fired later" in early.json()["detail"]
    ends = {**alert, "status": "resolved", "endsAt": (fired + timedelta(seconds=45)).isoformat()}
    assert world.agent.ask(ends) == {
        "incidentId": id, "alert": "Http5xxRatioHigh", "service": "ingress", "outcome": "Resolved", "lifecycle": "Recorded",
    }  # fmt: skip
    kpis = http.get("/kpis", params={"class": "deploy/config"}).json()
    assert (kpis["incidents"], kpis["open"]) == (1, 0)
    figures = {one["name"]: one["p95"] for one in kpis["kpis"]}
    assert (figures["MTTA"], figures["MTTR"]) == ("30.000000000", "45.000000000")
    assert 60 <= float(figures["MTTD"]) <= float(figures["MTTC"])
    assert http.get(f"/v1/incidents/{id}").json()["class"] == "deploy/config"
    assert (
        http.get("/kpis", params={"until": fired.isoformat(), "class": "deploy/config"}).json()["kpis"][0][
            "p50"
        ]
        is None
    )


def test_an_end_whose_beginning_was_missed_is_an_incident_too(world: World) -> None:
    fired = datetime.now(UTC) - timedelta(seconds=60)
    alert = {
        **alert_of(8, fingerprint="missed", starts=fired.isoformat()),
        "status": "resolved",
        "endsAt": datetime.now(UTC).isoformat(),
    }
    id = world.agent.ask(alert)["incidentId"]
    found = world.agent.http.get(f"/v1/incidents/{id}").json()
    assert found["resolvedAt"]
    assert found["detectedAt"] is None


def test_a_class_can_be_given_later(world: World) -> None:
    id = world.agent.ask(alert_of(9, fingerprint="classified"))["incidentId"]
    told = world.agent.http.post(f"/v1/incidents/{id}/resolved", json={"class": "data/datastore"})
    assert told.json()["class"] == "data/datastore"


def test_requests_are_logged_without_what_could_be_secret(world: World) -> None:
    headers = {"Authorization": "Bearer geheim", "X-Request-Id": "my-request.1"}
    answer = world.agent.http.get("/kpis?class=geheim", headers=headers)
    assert answer.headers["x-request-id"] == "my-request.1"
    world.agent.http.get("/healthz", headers={"X-Request-Id": "bad id\x01geheim"})
    world.agent.http.get("/gone")
    wait_until(lambda: any(line.get("requestId") == "my-request.1" for line in world.agent.lines))
    line = next(line for line in world.agent.lines if line.get("requestId") == "my-request.1")
    assert (line["event"], line["path"], line["status"]) == ("request", "/kpis", 200)
    assert "geheim" not in json.dumps(world.agent.lines)
