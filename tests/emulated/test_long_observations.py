"""Days on end: what an observation of a week survives, and that no more is done in a day than was asked for."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from rca_testing.emulator import clock
from rca_testing.emulator.lab import NAMESPACE, Lab
from rca_testing.emulator.store import Body

pytestmark = pytest.mark.emulated

HOUR, DAY = 3600, 24 * 3600
THOROUGH = bool(os.environ.get("RCA_TEST_THOROUGH"))
THERE = 23 * HOUR if THOROUGH else 2 * HOUR
SYNC = 180 if THOROUGH else 900  # Argo CD's own pause, or one that takes less of a shared machine
WEEK = {"period": "168h", "interval": "8h", "minPassingRuns": 9}


def made(lab: Lab) -> int:
    """How many runs were ever made."""
    return len(lab.writes("create", "evalruns"))


def time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def runs_of(lab: Lab) -> Counter[str]:
    """How many runs were ever made, by component."""
    return Counter(call.body["spec"]["componentRef"]["name"] for call in lab.writes("create", "evalruns"))


def edit(lab: Lab, component: str = "live", **spec: Any) -> None:
    lab.store.edit("rcacomponents", NAMESPACE, component, lambda body: body["spec"].update(spec))


def keep(number: int, suite: Body) -> None:
    """An edit that has nothing to do with what is measured."""
    suite["spec"]["historyLimits"] = {"passed": 5 + number, "other": 5}


def label(number: int, component: Body) -> None:
    component["metadata"]["labels"] = {"example.com/day": str(number)}


@contextlib.asynccontextmanager
async def a_tool_that_applies_all_the_time(lab: Lab, *names: str) -> AsyncIterator[None]:
    """As Argo CD and Flux do at each sync: its own annotation moves, and the spec is written as it is in Git."""

    declared = {name: lab.get("rcacomponents", name)["spec"] for name in names}

    def apply(name: str, number: int, body: Body) -> None:
        note = {"argocd.argoproj.io/tracking-id": f"app:{number}"}
        body["metadata"].setdefault("annotations", {}).update(note)
        body["spec"] = declared[name]

    async def sync() -> None:
        for number in range(100_000):
            for name in names:
                lab.store.edit("rcacomponents", NAMESPACE, name, functools.partial(apply, name, number))
            await asyncio.sleep(SYNC)

    syncing = asyncio.create_task(sync())
    try:
        yield
    finally:
        syncing.cancel()
        await asyncio.wait([syncing])


@pytest.mark.timeout(900)
async def test_seven_days_survive_restarts_edits_and_an_operator_that_is_away_for_hours(lab: Lab) -> None:
    """An operator that is there for two hours of each day; RCA_TEST_THOROUGH=1 keeps it there but for one of each day."""
    lab.everything(observation=WEEK)
    token = lab.start()
    status = await lab.phase("Observing")
    started, epoch = status["observation"]["startedAt"], status["epoch"]
    passing = status["evidence"]["passing"]
    edits: list[dict[str, Any]] = [
        {"guard": {"interval": "3h", "onRegression": "Alert"}},
        {"driftPolicy": "Revert"},
        {"observation": {**WEEK, "interval": "6h"}},
        {"deletionPolicy": "RevertToShadow"},
        {"observation": WEEK},
        {"driftPolicy": "Report"},
    ]
    for number, change in enumerate(edits):
        await asyncio.sleep(THERE / 2)
        edit(lab, **change)
        lab.store.edit("evalsuites", NAMESPACE, "suite", functools.partial(keep, number))
        lab.store.edit("rcacomponents", NAMESPACE, "live", functools.partial(label, number))
        await asyncio.sleep(THERE / 2)
        await lab.stop(token)
        await asyncio.sleep(DAY - THERE)
        token = lab.start()
        # What an interval asks for while nobody is there is made up by one run, as soon as somebody is.
        await lab.until(lambda seen=passing: lab.status()["evidence"]["passing"] > seen, within=120)
        status = lab.status()
        assert status["observation"]["startedAt"] == started
        assert (status["epoch"], status["phase"], lab.mode()) == (epoch, "Observing", "Shadow")
        passing = status["evidence"]["passing"]
    end = time(started) + timedelta(days=7)
    await lab.stop(token)
    await asyncio.sleep((end - clock.now()).total_seconds() - HOUR)
    lab.start()
    await asyncio.sleep((end - clock.now()).total_seconds() - 1)
    assert lab.mode() == "Shadow", "not a second before the period is over"
    await lab.phase("Active", within=61)  # and nothing else happens in this minute
    promotion = lab.status()["promotion"]
    assert end <= time(promotion["at"]) <= end + timedelta(minutes=1)
    closing = lab.get("evalruns", promotion["run"])
    assert closing["spec"]["trigger"] == "Closing"
    assert time(closing["metadata"]["creationTimestamp"]) >= end
    # The gate, one in each interval, which is of six hours on two days, and the closing run: nothing was begun anew.
    assert made(lab) <= 1 + 5 * 3 + 2 * 4 + 1
    assert [event["reason"] for event in lab.events()].count("ObservationStarted") == 1


KEYS = {name: f"{name}.Mode" for name in ("observed", "awaiting", "active", "blocked", "suspended")}


@pytest.mark.timeout(900)
async def test_a_day_holds_as_many_runs_as_the_intervals_allow_though_a_tool_applies_all_the_time(
    lab: Lab,
) -> None:
    def play(lab: Lab, job: Body) -> None:
        bad = job["metadata"]["labels"]["rca.bluerobin.io/component"] == "blocked"
        lab.kubelet.succeed(job, lab.kubelet.measure(job, lost={"With": ("GT-03",)} if bad else None))

    lab.on_job = play
    lab.data()
    lab.modes(
        dict.fromkeys(KEYS.values(), "Shadow"), annotations={"rca.bluerobin.io/keys": ",".join(KEYS.values())}
    )
    short = {"period": "1s", "interval": "8h", "minPassingRuns": 2}
    specs: dict[str, dict[str, Any]] = {
        "observed": {"observation": WEEK},
        "awaiting": {"observation": short, "promotion": {"approval": "Manual"}},
        "active": {"guard": {"interval": "6h"}},
        "blocked": {},
        "suspended": {"observation": WEEK},
    }
    for name, spec in specs.items():
        lab.suite(name)
        lab.component(name, key=KEYS[name], suiteRef={"name": name}, **spec)
    lab.start()
    phases = {
        "observed": "Observing",
        "awaiting": "AwaitingApproval",
        "active": "Active",
        "blocked": "Blocked",
        "suspended": "Observing",
    }
    for name, phase in phases.items():
        await lab.phase(phase, name, within=9 * HOUR)
    edit(lab, "suspended", suspend=True)
    await lab.phase("Suspended", "suspended")
    await asyncio.sleep(60)
    before, written = runs_of(lab), len(lab.writes("replace", "rcacomponents"))
    async with a_tool_that_applies_all_the_time(lab, *specs):
        await asyncio.sleep(DAY)
    after = runs_of(lab)
    assert {name: after[name] - before[name] for name in specs} == {
        "observed": 3,
        "awaiting": 3,
        "active": 4,
        "blocked": 0,
        "suspended": 0,
    }
    # What is applied is looked at, and nothing is written about it.
    assert len(lab.writes("replace", "rcacomponents")) - written < 10 * 10
    assert {name: lab.status(name)["phase"] for name in specs} == {**phases, "suspended": "Suspended"}


async def test_a_hundred_guard_runs_of_one_verdict_and_two_restarts_tell_nothing_new(lab: Lab) -> None:
    lab.everything(guard={"interval": "1m"})
    token = lab.start()
    await lab.phase("Active")
    await asyncio.sleep(60)
    told = [event["metadata"]["name"] for event in lab.events()]
    for _ in range(2):
        wanted = made(lab) + 34
        await lab.until(lambda wanted=wanted: made(lab) >= wanted, within=DAY)
        await lab.stop(token)
        token = lab.start()
    wanted = made(lab) + 34
    await lab.until(lambda: made(lab) >= wanted, within=DAY)
    assert [event["metadata"]["name"] for event in lab.events()] == told
    of_runs = Counter(call.body["involvedObject"]["name"] for call in lab.writes("create", "events"))
    assert max(count for name, count in of_runs.items() if name != "live") == 1


@pytest.mark.parametrize("under_way", [False, True], ids=["at once", "while the second is evaluated"])
async def test_of_two_quick_edits_only_the_last_is_evaluated(lab: Lab, under_way: bool) -> None:
    held: list[Any] = []
    lab.on_job = lambda lab, job: held.append(job)
    lab.everything()
    lab.start()
    await lab.until(lambda: held)
    edit(lab, revision="r2")
    if under_way:
        await lab.until(lambda: len(held) == 2)
    lab.on_job = lambda lab, job: lab.kubelet.succeed(job)
    edit(lab, revision="r3")
    await lab.phase("Active", within=600)
    await lab.quiet()
    phases = {(run["spec"]["revision"], run["status"]["phase"]) for run in lab.list("evalruns")}
    wanted = {("r1", "Superseded"), ("r3", "Passed")} | ({("r2", "Superseded")} if under_way else set())
    assert phases == wanted
    assert lab.status()["promotion"]["revision"] == "r3"
    assert not [
        job for job in lab.list("jobs") if job["metadata"]["name"] in {j["metadata"]["name"] for j in held}
    ]
