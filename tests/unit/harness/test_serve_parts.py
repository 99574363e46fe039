"""Parts of the agent that need no process: engines that fail, contexts in time, notifications, the desk.

Aspects: a failing engine in Active and in Shadow, an engine that logs nothing, shifts, identity, ambiguity, limits.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rca_testing.agents import firing, webhook

from rca_eval.contract import ContractError, EngineIncident, Prediction, Run, parse_ground_truth
from rca_eval.data import ground_truth_bytes
from rca_eval.engine import KEYS, LIVE_ACTIVATION, Blend, answer
from rca_eval.graph import GraphStore
from rca_eval.job.project import project
from rca_eval.modes import Cause, DecisionLog, ModeFile, Outcome
from rca_eval.serve.agent import Agent
from rca_eval.serve.alertmanager import AlertNotice, parse_notification
from rca_eval.serve.context import GroundTruthSource, NoContextError, NoSource, ground_truth_source, shifted
from rca_eval.serve.desk import BusyError, Desk, LateError
from rca_eval.serve.investigation import Investigation, Investigator
from rca_eval.serve.metrics import AgentMetrics
from rca_eval.serve.routes import Routes
from rca_eval.serve.settings import Limits, parse_listen

TRUTH = parse_ground_truth(ground_truth_bytes("graded"))


def notices(*alerts: dict[str, Any]) -> tuple[AlertNotice, ...]:
    return parse_notification(json.dumps(webhook(*alerts)).encode(), limit=10**6, most=100)


def notice(**more: Any) -> AlertNotice:
    return notices(firing("GraphQueryErrors", "debug-agent", **more))[0]


def context() -> EngineIncident:
    found = project(TRUTH.incidents[3], "LivePath", case="case-0000000b", window=1800)
    assert found is not None
    return found


def broken(when: Callable[[Run], bool]) -> Callable[..., Prediction]:
    def engine(run: Run, incident: EngineIncident, graph: Any, blend: Blend) -> Prediction:
        if when(run):
            raise RuntimeError("the candidate broke")
        return answer(run, incident, graph, blend)

    return engine


def investigate(
    store: GraphStore, modes: dict[str, str], engine: Callable[..., Prediction]
) -> tuple[Investigation, list[Any]]:
    lines: list[str] = []
    investigator = Investigator(ModeFile.of(modes), DecisionLog(lines.append), engine=engine)
    found = investigator.investigate(store, context(), incident_id="inc-1", request_id="r", source="test")
    return found, [json.loads(line) for line in lines]


def test_an_engine_that_fails_in_active_is_answered_for_by_the_legacy_path(store: GraphStore) -> None:
    active = {LIVE_ACTIVATION: "Active"}
    found, lines = investigate(store, active, broken(lambda run: "Active" in run.modes.values()))
    legacy, _ = investigate(store, {}, answer)
    assert found.prediction.candidates == legacy.prediction.candidates
    (failed,) = (one for one in found.components if one.reading.component == LIVE_ACTIVATION)
    assert (failed.governed, failed.error) == (False, "RuntimeError: the candidate broke")
    (line,) = (line for line in lines if line["component"] == LIVE_ACTIVATION)
    assert (line["mode"], line["outcome"], line["wouldBe"]) == ("Active", "error", None)
    assert line["governing"] == [one.entity for one in legacy.prediction.candidates]


def test_an_engine_that_fails_in_shadow_too_has_no_answer(store: GraphStore) -> None:
    for modes in ({}, {LIVE_ACTIVATION: "Active"}):
        with pytest.raises(RuntimeError, match="the candidate broke"):
            investigate(store, modes, broken(lambda _: True))
    assert store.keys() == []


def test_an_engine_that_logs_no_would_be_rankings_is_counted_for_nothing(store: GraphStore) -> None:
    def silent(run: Run, incident: EngineIncident, graph: Any, blend: Blend) -> Prediction:
        return answer(run, incident, graph, blend).model_copy(update={"would_be": None})

    found, lines = investigate(store, {}, silent)
    assert lines == []
    assert [one.agrees for one in found.components] == [None] * len(KEYS)


@given(st.integers(-(10**8), 10**8))
def test_a_shift_moves_everything_and_can_be_taken_back(seconds: int) -> None:
    incident = context()
    moved = shifted(incident, seconds)
    assert moved.alert.onset - incident.alert.onset == seconds
    assert [a.at - b.at for a, b in zip(moved.changes, incident.changes, strict=True)] == [seconds] * len(
        incident.changes
    )
    assert shifted(moved, -seconds) == incident


def test_an_incident_is_a_fingerprint_and_a_start() -> None:
    starts = "2026-11-30T12:00:00.123456789Z"
    first = notice(starts=starts)
    assert first.incident_id == notice(starts="2026-11-30T13:00:00.123456+01:00").incident_id
    assert first.incident_id != notice(starts="2026-11-30T12:00:00.123457Z").incident_id
    assert first.incident_id != notice(starts=starts, fingerprint="f2").incident_id
    bare = notice(starts=starts, fingerprint="")
    assert bare.incident_id != notice(starts=starts, fingerprint="", team="b").incident_id


def test_an_end_of_the_year_one_is_no_end() -> None:
    alert = {**firing("A", "s"), "status": "resolved"}
    assert notices(alert)[0].ended is None
    assert notices({**alert, "endsAt": "2026-11-30T12:00:00Z"})[0].ended == datetime(
        2026, 11, 30, 12, tzinfo=UTC
    )


def test_the_service_may_be_in_one_of_several_labels() -> None:
    for label in ("service", "app", "deployment", "job"):
        alert = firing("GraphQueryErrors", "x")
        alert["labels"] = {"alertname": "GraphQueryErrors", label: "debug-agent"}
        assert GroundTruthSource(TRUTH, "test").context(notices(alert)[0]).alert.service == "debug-agent"


def test_an_alert_that_fits_two_incidents_is_told_apart_by_its_time_or_refused() -> None:
    first = TRUTH.incidents[3]
    assert first.alert is not None
    later = first.model_copy(
        update={
            "id": "other",
            "alert": first.alert.model_copy(update={"fired_at": first.alert.fired_at + 7200}),
        }
    )
    source = GroundTruthSource(TRUTH.model_copy(update={"incidents": (first, later)}), "two")
    with pytest.raises(NoContextError, match="fits 2 incidents"):
        source.context(notice())
    at = datetime.fromtimestamp(first.alert.fired_at, UTC).isoformat()
    assert source.context(notice(starts=at)).alert.fired_at == first.alert.fired_at


def test_without_a_source_an_alert_is_told_where_to_go() -> None:
    with pytest.raises(NoContextError, match="/v1/investigations"):
        NoSource().context(notice())
    bare = json.loads(ground_truth_bytes("seed"))
    for incident in bare["incidents"]:
        del incident["alert"]
    with pytest.raises(ContractError, match="no incident with an alert"):
        ground_truth_source(json.dumps(bare).encode(), "bare")


def test_more_alerts_than_are_taken_are_refused() -> None:
    with pytest.raises(ContractError, match="at most 100"):
        notices(*(firing("A", "s") for _ in range(101)))


async def test_the_desk_refuses_what_is_too_much_and_frees_a_place_when_the_work_really_ends() -> None:
    desk, release = Desk(Limits(workers=1, queue=1, seconds=0.05)), threading.Event()
    hanging = [asyncio.ensure_future(desk.run(lambda: release.wait(60))) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(BusyError):
        await desk.run(lambda: 1)
    assert [type(one) for one in await asyncio.gather(*hanging, return_exceptions=True)] == [LateError] * 2
    waiting = asyncio.ensure_future(desk.run(lambda: 1))  # the one that waited has left its place
    await asyncio.sleep(0)
    with pytest.raises(BusyError):
        await desk.run(lambda: 1)  # the one that hangs has not
    release.set()
    assert await waiting == 1
    with pytest.raises(ZeroDivisionError):
        await desk.run(lambda: 1 // 0)
    with pytest.raises(TimeoutError):
        await desk.run(own_timeout)
    desk.close()


def own_timeout() -> None:
    raise TimeoutError("the store's own, not the desk's")


def test_the_desk_keeps_the_newest(store: GraphStore) -> None:
    found, _ = investigate(store, {}, answer)
    desk = Desk(Limits(kept=3))
    for number in range(5):
        desk.keep(dataclasses.replace(found, id=f"inv-{number}", incident_id=f"inc-{number % 4}"))
    assert [one.id for one in desk.newest()] == ["inv-4", "inv-3", "inv-2"]
    assert desk.get("inv-1") is None
    assert desk.of_incident("inc-1") is None
    newest = desk.of_incident("inc-0")
    assert newest is not None
    assert newest.id == "inv-4"
    desk.close()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080)),
        (":0", ("0.0.0.0", 0)),
        ("[::1]:1", ("::1", 1)),
        ("host:1", ("host", 1)),
    ],
)
def test_an_address_to_listen_on_is_read(text: str, found: tuple[str, int]) -> None:
    assert parse_listen(text) == found


@pytest.mark.parametrize(
    "text", ["", "8080", "host:", "host:x", "host:65536", "::1:80", "h:\N{SUPERSCRIPT TWO}"]
)
def test_an_address_that_cannot_be_read_is_told(text: str) -> None:
    with pytest.raises(ContractError, match="--listen"):
        parse_listen(text)


def test_the_protocol_names_every_path_reason_outcome_and_metric() -> None:
    page = (Path(__file__).parents[3] / "docs" / "agent-protocol.md").read_text(encoding="utf-8")
    nothing = cast("Agent", None)
    paths = {route.path.replace("{id}", "ID") for route in Routes(nothing).all()}
    assert [path for path in sorted(paths) if path not in page and path.rpartition("/")[2] not in page] == []
    words = [*Cause, *Outcome, "Concluded", "Duplicate", "Resolved", "Unknown", "Failed"]
    assert [word for word in words if f"`{word}`" not in page] == []
    metrics = AgentMetrics(ModeFile.of({}))
    families = {
        family.name for family in metrics.registry.collect() if "component" in str(family.samples[0].labels)
    }
    assert [name for name in sorted(families) if name not in page] == []
