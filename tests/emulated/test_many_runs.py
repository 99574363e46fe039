"""What many runs cost, as counts of requests, and watches that are late, closed, or behind: no second Job, no wrong end."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from rca_testing.emulator.lab import Lab
from rca_testing.emulator.server import ApiServer
from rca_testing.emulator.store import Body

pytestmark = pytest.mark.emulated

COUNT = 12
# The intent, the Job, its log, the scorecard, the verdict, an Event, and the Job's time to live: seven. What users wrote
# is read for all together, once a second, and a status says what its Pod waits for when that has taken five seconds: the
# clock of this ring skips idle time, so that it may.
PER_RUN = 11


def _many(lab: Lab, count: int = COUNT, *, at_once: int = 16) -> None:
    """Runs that people make, of a component that does nothing by itself."""
    lab.modes()
    lab.data()
    lab.suite(maxConcurrentRuns=at_once, historyLimits={"passed": 100, "other": 100})
    lab.component(suspend=True)
    for number in range(count):
        spec = {"suiteRef": {"name": "suite"}, "componentRef": {"name": "live"}, "trigger": "Manual"}
        lab.create("evalruns", f"run-{number:02}", spec=spec)


def _phases(lab: Lab) -> Counter[str]:
    return Counter((body.get("status") or {}).get("phase") or "None" for body in lab.list("evalruns"))


async def _all_pass(lab: Lab, count: int = COUNT, within: float = 900) -> None:
    await lab.until(lambda: _phases(lab) == {"Passed": count}, within)


def _asked(server: ApiServer) -> Counter[str]:
    """Requests, but for the Lease and the watches."""
    return Counter(
        f"{call.verb} {call.plural}{'/' + call.subresource if call.subresource else ''}"
        for call in server.calls
        if call.plural != "leases" and call.verb not in ("list", "watch")
    )


async def test_a_run_costs_a_bounded_number_of_requests(lab: Lab) -> None:
    token = lab.start()
    _many(lab, 0)
    await lab.until(lambda: lab.status("suite", "evalsuites").get("conditions"))
    await lab.quiet()
    before = _asked(lab.server)
    for number in range(COUNT):
        spec = {"suiteRef": {"name": "suite"}, "componentRef": {"name": "live"}, "trigger": "Manual"}
        lab.create("evalruns", f"run-{number:02}", spec=spec)
    await _all_pass(lab)
    await lab.quiet()
    asked = _asked(lab.server) - before
    assert asked.total() <= PER_RUN * COUNT, asked
    assert asked["create jobs"] == asked["get pods/log"] == asked["create configmaps"] == COUNT
    assert 2 * COUNT <= asked["replace evalruns/status"] <= 4 * COUNT, (
        "the intent and the verdict, and words in between"
    )
    assert asked["get evalruns"] == 0, "a run is read from what is watched"
    assert lab.alive(token)


async def test_what_a_run_has_shown_stays_in_its_status_after_its_end(lab: Lab) -> None:
    """Little is kept in memory of a run that has ended; none of that must be written back over what is stored."""
    shown: dict[str, Body] = {}
    lab.start()
    _many(lab, 0)
    await lab.until(lambda: lab.status("suite", "evalsuites").get("conditions"))
    for number in range(3):
        spec = {"suiteRef": {"name": "suite"}, "componentRef": {"name": "live"}, "trigger": "Manual"}
        lab.create("evalruns", f"run-{number:02}", spec=spec)
    await _all_pass(lab, 3)
    await lab.quiet()
    for call in lab.server.writes():
        if call.plural == "evalruns" and call.subresource == "status" and call.name is not None:
            status = (call.body or {}).get("status") or {}
            if status.get("phase") == "Passed":
                assert call.name not in shown, "an end is written once"
                shown[call.name] = status
    assert len(shown) == 3
    for name, status in shown.items():
        assert status["checks"]
        assert lab.status(name, "evalruns") == status


async def test_where_nothing_happens_nothing_is_written(lab: Lab) -> None:
    lab.start()
    _many(lab)
    await _all_pass(lab)
    await lab.quiet()
    before = len(lab.server.writes())
    await asyncio.sleep(1200)
    assert len(lab.server.writes()) == before


async def test_watches_that_a_busy_server_closes_are_resumed_and_not_listed_anew(lab: Lab) -> None:
    def close(lab: Lab, job: Body) -> None:
        lab.server.end_watches()
        lab.kubelet.succeed(job)
        lab.server.end_watches()

    lab.on_job = close
    lab.start()
    _many(lab, at_once=2)
    await _all_pass(lab)
    lists = Counter(call.plural for call in lab.server.calls if call.verb == "list")
    watches = Counter(call.plural for call in lab.server.calls if call.verb == "watch")
    assert watches["jobs"] > 3
    # Once at the start; the others are the comparison of names every two minutes.
    for plural in ("jobs", "pods"):
        whole = [
            call
            for call in lab.server.calls
            if (call.verb, call.plural) == ("list", plural) and "limit" in call.query
        ]
        assert len(whole) == 1, lists
    assert len(lab.writes("create", "jobs")) == COUNT


@pytest.mark.parametrize("behind", [["jobs"], ["pods"], ["evalruns"], ["jobs", "pods", "evalruns"]])
async def test_a_watch_that_is_behind_makes_no_second_job_and_no_wrong_end(
    lab: Lab, behind: list[str]
) -> None:
    """Its connection stands and says nothing, as under load; then it tells all at once."""
    lab.start()
    _many(lab, 0)
    await lab.until(lambda: lab.status("suite", "evalsuites").get("conditions"))
    await lab.quiet()
    for number in range(3):
        spec = {"suiteRef": {"name": "suite"}, "componentRef": {"name": "live"}, "trigger": "Manual"}
        lab.create("evalruns", f"run-{number:02}", spec=spec)
    # They have begun; from here on nothing is seen.
    await lab.until(lambda: len(lab.list("jobs")) == 3 or lab.server.silent)
    lab.server.silent |= set(behind)
    await asyncio.sleep(90)
    assert set(_phases(lab)) <= {"Passed", "Running", "Pending"}
    lab.server.silent.clear()
    lab.server.end_watches()
    lab.server.compact()
    await _all_pass(lab, 3)
    assert len(lab.writes("create", "jobs")) == 3
    assert not lab.writes("delete", "jobs")


async def test_a_job_that_is_deleted_before_the_watch_shows_it_is_lost_and_not_made_twice(lab: Lab) -> None:
    def vanish(lab: Lab, job: Body) -> None:
        lab.store.delete("jobs", "shop", job["metadata"]["name"])

    lab.on_job = vanish
    lab.server.silent.add("jobs")
    lab.start()
    _many(lab, 1)
    await lab.until(lambda: _phases(lab) == {"Error": 1}, 900)
    assert lab.status("run-00", "evalruns")["reason"] == "JobLost"
    assert len(lab.writes("create", "jobs")) == 1
