"""Runs by the clock, and a month's budget: what fires, what is missed, who waits, and what a crash may not change."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rca_testing.emulator import clock
from rca_testing.emulator.lab import Lab
from rca_testing.emulator.server import Call, Fault
from rca_testing.emulator.store import Body

from rca_eval.contract import canonical, sha256
from rca_eval.contract.judgement import JudgedIncident, Judgement
from rca_eval.contract.usage import UsageTotal
from rca_rollout.core.lease import Pace

pytestmark = pytest.mark.emulated

EACH_MINUTE = {"cron": "* * * * *"}


def scheduled(lab: Lab) -> list[Body]:
    return [run for run in lab.list("evalruns") if run["spec"]["trigger"] == "Scheduled"]


def minutes(lab: Lab) -> list[str]:
    """Of every scheduled run that was ever made, in order: the minute in its name."""
    made = [c for c in lab.writes("create", "evalruns") if c.body["spec"]["trigger"] == "Scheduled"]
    return [call.body["metadata"]["name"].split("-")[1] for call in made]


def state(lab: Lab) -> Body:
    found: Body = lab.status("suite", "evalsuites").get("schedule") or {}
    return found


def ledger(lab: Lab) -> Body:
    found: Body = lab.status("suite", "evalsuites").get("ledger") or {}
    return found


def using(tokens: int | None) -> Any:
    """Jobs whose engine says that it used so much."""

    def play(lab: Lab, job: Body) -> None:
        card = lab.kubelet.measure(job)
        if tokens is not None:
            usage = UsageTotal(
                answers=1,
                with_tokens=1,
                input_tokens=tokens,
                output_tokens=0,
                with_cost=1,
                cost="0.250000000",
            )
            card = card.model_copy(update={"measured": card.measured.model_copy(update={"usage": usage})})
        lab.kubelet.succeed(job, card)

    return play


def manual(lab: Lab, *names: str) -> None:
    for name in names:
        lab.create("evalruns", name, spec={"suiteRef": {"name": "suite"}})


def phase(lab: Lab, name: str) -> Any:
    return lab.status(name, "evalruns").get("phase")


async def test_a_schedule_fires_each_minute_once_and_keeps_few_runs(lab: Lab) -> None:
    lab.data()
    lab.suite(schedule=EACH_MINUTE)
    lab.start()
    await lab.until(lambda: len(minutes(lab)) >= 10, within=900)
    await asyncio.sleep(20)
    fired = minutes(lab)
    assert fired[:3] == ["202611300901", "202611300902", "202611300903"]
    assert max(Counter(fired).values()) == 1
    runs = scheduled(lab)
    assert len(runs) <= 6
    assert all("componentRef" not in run["spec"] for run in runs)
    assert runs[-1]["status"]["phase"] == "Passed"
    assert state(lab)["lastRun"] == runs[-1]["metadata"]["name"]
    assert state(lab)["next"] > state(lab)["lastScheduled"]


async def test_scheduled_runs_are_no_evidence(lab: Lab) -> None:
    lab.everything(observation={"period": "6h", "interval": "2h", "minPassingRuns": 2})
    lab.store.edit("evalsuites", "shop", "suite", lambda body: body["spec"].update(schedule=EACH_MINUTE))
    lab.start()
    await lab.until(lambda: len(minutes(lab)) >= 20, within=3600)
    evidence = lab.status()["evidence"]
    mine = [r for r in lab.list("evalruns") if r["spec"].get("componentRef")]
    assert evidence["passing"] == sum(r["status"].get("phase") == "Passed" for r in mine)
    assert lab.mode() == "Shadow"


async def test_of_what_was_missed_while_no_operator_was_there_one_is_made_up(lab: Lab) -> None:
    lab.data()
    lab.suite(schedule={"cron": "*/5 * * * *"})
    first = lab.start()
    await lab.until(lambda: len(minutes(lab)) == 1, within=600)
    await lab.kill(first)
    await asyncio.sleep(3 * 3600)
    began = clock.now()
    lab.start()
    await lab.until(lambda: len(minutes(lab)) == 2, within=120)
    late = began.timestamp() - clock.datetime.strptime(minutes(lab)[1] + "+0000", "%Y%m%d%H%M%z").timestamp()
    assert 0 <= late < 300
    await lab.until(lambda: len(minutes(lab)) == 4, within=900)
    assert max(Counter(minutes(lab)).values()) == 1


async def test_what_was_missed_for_longer_than_the_deadline_stays_missed(lab: Lab) -> None:
    lab.data()
    lab.suite(schedule={"cron": "0 10 * * *", "startingDeadline": "30m"})
    first = lab.start()
    await lab.until(lambda: state(lab).get("next"), within=60)
    await lab.kill(first)
    await asyncio.sleep(2 * 3600)
    lab.start()
    await lab.until(lambda: state(lab)["next"] == "2026-12-01T10:00:00Z", within=120)
    await lab.quiet()
    assert minutes(lab) == []


@pytest.mark.parametrize("late", [False, True])
async def test_a_crash_at_any_write_of_a_scheduled_minute_makes_no_second_run(lab: Lab, late: bool) -> None:
    """Killed before or behind the creation, and before or behind the status that records it."""
    lab.data()
    lab.suite(schedule={"cron": "*/5 * * * *"})
    for plural in ("evalruns", "evalsuites"):
        token = lab.start()
        await lab.until(lambda: state(lab).get("next"), within=60)
        verb = "create" if plural == "evalruns" else "replace"

        def mine(call: Call, plural: str = plural, verb: str = verb) -> bool:
            due = clock.now().minute % 5 == 0
            return call.plural == plural and call.verb == verb and due

        fault = Fault(mine, lab.server.kill, late=late)
        lab.server.faults.append(fault)
        await lab.until(lambda fault=fault: fault.hits, within=900)
        await lab.kill(token)
        lab.server.faults.clear()
    lab.start()
    await lab.until(lambda: len(set(minutes(lab))) >= 4, within=3600)
    assert max(Counter(minutes(lab)).values()) == 1


async def test_a_scheduled_run_waits_for_the_one_before_it(lab: Lab) -> None:
    slow: list[Body] = []
    lab.on_job = lambda lab, job: slow.append(job)
    lab.data()
    lab.suite(schedule=EACH_MINUTE, maxConcurrentRuns=4, job={"timeout": "1h", "startTimeout": "1h"})
    lab.start()
    await lab.until(lambda: slow, within=300)
    await lab.until(lambda: "waits for the end of" in state(lab).get("message", ""), within=300)
    assert len(minutes(lab)) == 1
    lab.kubelet.succeed(slow[0])
    await lab.until(lambda: len(minutes(lab)) == 2, within=120)
    await lab.until(lambda: len(slow) == 2, within=120)


async def test_a_schedule_that_nobody_can_follow_is_named_and_the_rest_goes_on(lab: Lab) -> None:
    lab.everything()
    lab.store.edit(
        "evalsuites",
        "shop",
        "suite",
        lambda body: body["spec"].update(schedule={"cron": "0 2 * * *", "timeZone": "Europe/Berln"}),
    )
    lab.start()
    await lab.phase("Active")
    ready = lab.condition("Ready", "suite", "evalsuites")
    assert (ready["status"], ready["reason"]) == ("False", "ScheduleInvalid")
    assert "Europe/Berln" in ready["message"]
    assert lab.condition("Stalled", "suite", "evalsuites")["status"] == "True"


async def test_two_operators_and_a_takeover_make_one_run_of_each_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader dies in the second in which it has sent the creation; who follows serves the same minute."""
    async with Lab(tmp_path, monkeypatch, pace=Pace()) as lab:
        lab.data()
        lab.suite(schedule=EACH_MINUTE)
        first = lab.start(POD_NAME="rca-a", POD_UID="1111")
        await lab.until(lambda: len(minutes(lab)) >= 2, within=600)
        lab.start(POD_NAME="rca-b", POD_UID="2222")
        fault = Fault(
            lambda call: call.plural == "evalruns" and call.verb == "create", lab.server.kill, late=True
        )
        lab.server.faults.append(fault)
        await lab.until(lambda: fault.hits, within=600)
        await lab.kill(first)
        await lab.until(lambda: len(minutes(lab)) >= 6, within=1200)
        assert max(Counter(minutes(lab)).values()) == 1
        assert len({call.token for call in lab.writes("create", "evalruns")}) == 2


@pytest.mark.parametrize("end", [0, 137])
async def test_the_judge_of_a_scheduled_run_is_heard_paid_and_decides_nothing(lab: Lab, end: int) -> None:
    said = {
        "model": "m",
        "judged": 1,
        "skipped": 0,
        "meanScore": "0.100000000",
        "tokens": 700,
        "message": None,
    }

    def play(lab: Lab, job: Body) -> None:
        card = lab.kubelet.measure(job)
        found = Judgement(
            model="m",
            scorecard_sha256=sha256(canonical(card)),
            variant="With",
            arm="LivePath",
            incidents=(JudgedIncident(incident="GT-01", score="0.100000000", opinion="Unsupported"),),
            tokens=700,
            token_limit=50_000,
        )
        lab.server.logs[f"{job['metadata']['name']}-pod", "judge"] = canonical(found)
        lab.kubelet.succeed(job, card, judge=(end, json.dumps({"judge": said}) if end == 0 else ""))

    lab.on_job = play
    lab.data()
    lab.suite(
        schedule={**EACH_MINUTE, "judge": True},
        judge={"endpoint": "http://judge.llm:8000/v1", "model": "m", "secretRef": {"name": "judge"}},
        budget={"runsPerMonth": 1},
    )
    lab.start()
    await lab.until(lambda: ledger(lab).get("runs") == 1, within=300)
    (run,) = scheduled(lab)
    assert run["status"]["phase"] == "Passed", run["status"].get("message")
    pod = lab.get("jobs", run["status"]["jobRef"]["name"])["spec"]["template"]["spec"]
    assert [container["name"] for container in pod["containers"]] == ["judge"]
    name = f"{run['metadata']['name']}-judge"
    if end == 0:
        assert (run["status"]["judge"]["meanScore"], ledger(lab)["tokens"]) == ("0.100", 700)
        assert json.loads(lab.get("configmaps", name)["data"]["judge.json"])["advisory"] is True
    else:
        assert "without a word" in run["status"]["judge"]["message"]
        assert ledger(lab)["tokens"] == 50_000


# -- the budget


async def test_at_the_end_of_the_budget_nothing_starts_and_the_next_month_goes_on(lab: Lab) -> None:
    lab.on_job = using(100)
    lab.data()
    lab.suite(budget={"tokensPerRun": 120, "tokensPerMonth": 350})
    manual(lab, "a", "b", "c", "d")
    lab.start()
    await lab.until(lambda: ledger(lab).get("runs") == 3, within=300)
    await lab.quiet()
    assert [phase(lab, name) for name in "abcd"] == ["Passed", "Passed", "Passed", "Pending"]
    assert (ledger(lab)["tokens"], ledger(lab)["summary"]) == (300, "300/350 tokens")
    held = lab.status("d", "evalruns")
    assert held["reason"] == "BudgetExceeded"
    assert "2026-12-01T00:00:00Z" in held["message"]
    degraded = lab.condition("Degraded", "suite", "evalsuites")
    assert (degraded["status"], degraded["reason"]) == ("True", "BudgetExceeded")
    assert lab.condition("Ready", "suite", "evalsuites")["status"] == "True"
    await lab.until(lambda: phase(lab, "d") == "Passed", within=24 * 3600)
    assert lab.status("d", "evalruns")["startedAt"].startswith("2026-12-01T00:00:0")
    await lab.until(lambda: ledger(lab).get("runs") == 1, within=60)
    assert ledger(lab)["month"] == "2026-12"
    assert not lab.condition("Degraded", "suite", "evalsuites")


async def test_a_larger_budget_goes_on_at_once(lab: Lab) -> None:
    lab.on_job = using(100)
    lab.data()
    lab.suite(budget={"runsPerMonth": 1})
    manual(lab, "a", "b")
    lab.start()
    await lab.until(lambda: lab.status("b", "evalruns").get("reason") == "BudgetExceeded", within=300)
    lab.store.edit("evalsuites", "shop", "suite", lambda body: body["spec"]["budget"].update(runsPerMonth=2))
    await lab.until(lambda: phase(lab, "b") == "Passed", within=120)


async def test_runs_that_are_deleted_and_operators_that_die_reset_no_budget(lab: Lab) -> None:
    lab.on_job = using(100)
    lab.data()
    lab.suite(budget={"tokensPerRun": 100, "tokensPerMonth": 200})
    manual(lab, "a", "b", "c")
    first = lab.start()
    await lab.until(lambda: ledger(lab).get("runs") == 2, within=300)
    await lab.kill(first)
    for name in "ab":
        lab.store.delete("evalruns", "shop", name)
    lab.start()
    await lab.quiet()
    assert ledger(lab)["tokens"] == 200
    assert phase(lab, "c") == "Pending"


async def test_an_engine_that_does_not_say_what_it_used_does_not_pass_and_is_counted_in_full(
    lab: Lab,
) -> None:
    lab.on_job = using(None)
    lab.data()
    lab.suite(budget={"tokensPerRun": 100, "tokensPerMonth": 1000})
    manual(lab, "a")
    lab.start()
    await lab.until(lambda: ledger(lab).get("runs") == 1, within=300)
    assert (phase(lab, "a"), lab.status("a", "evalruns")["reason"]) == ("Inconclusive", "UsageUnknown")
    assert (ledger(lab)["tokens"], ledger(lab)["unknown"]) == (100, 1)


async def test_a_run_that_used_more_than_it_may_does_not_pass_and_is_counted_in_full(lab: Lab) -> None:
    lab.on_job = using(130)
    lab.data()
    lab.suite(budget={"tokensPerRun": 100, "tokensPerMonth": 1000})
    manual(lab, "a")
    lab.start()
    await lab.until(lambda: ledger(lab).get("runs") == 1, within=300)
    assert lab.status("a", "evalruns")["reason"] == "RunOverBudget"
    assert ledger(lab)["tokens"] == 130


async def test_a_suite_that_is_made_again_begins_with_the_runs_that_are_there(lab: Lab) -> None:
    lab.on_job = using(100)
    lab.data()
    lab.suite(budget={"runsPerMonth": 2})
    manual(lab, "a", "b")
    lab.start()
    await lab.until(lambda: ledger(lab).get("runs") == 2, within=300)
    lab.store.delete("evalsuites", "shop", "suite")
    lab.suite(budget={"runsPerMonth": 2})
    manual(lab, "c")
    await lab.until(lambda: ledger(lab).get("runs") == 2, within=300)
    await lab.quiet()
    assert phase(lab, "c") == "Pending"
    assert ledger(lab)["since"] > "2026-11-30T09:00:00Z"


@pytest.mark.parametrize(("exempt", "expected"), [(True, "GuardPassed"), (False, "GuardBlind")])
async def test_what_is_active_is_guarded_beyond_the_budget_unless_the_suite_says_no(
    lab: Lab, exempt: bool, expected: str
) -> None:
    lab.on_job = using(100)
    lab.modes()
    lab.data()
    lab.suite(budget={"runsPerMonth": 3, "guardExempt": exempt})
    lab.component(guard={"interval": "30m"})
    lab.start()
    await lab.phase("Active")
    await asyncio.sleep(2 * 3600)
    runs = [r for r in lab.list("evalruns") if r["spec"]["trigger"] == "Guard"]
    passed = [r for r in runs if r["status"].get("phase") == "Passed"]
    assert lab.mode() == "Active"
    if exempt:
        assert len(passed) >= 2
        assert ledger(lab)["runs"] > 3
        assert not lab.condition("Degraded")
    else:
        assert len(passed) <= 1
        assert lab.condition("Degraded")["reason"] == expected
        assert lab.status(runs[-1]["metadata"]["name"], "evalruns")["reason"] == "BudgetExceeded"


async def test_a_suite_at_rest_writes_nothing(lab: Lab) -> None:
    lab.data()
    lab.suite(schedule={"cron": "0 0 1 1 *"}, budget={"runsPerMonth": 5})
    manual(lab, "a")
    lab.start()
    await lab.until(lambda: ledger(lab).get("runs") == 1, within=300)
    await lab.quiet()
    before = len(lab.writes())
    await asyncio.sleep(6 * 3600)
    assert len(lab.writes()) == before
