"""A schedule and a budget on a real node: a run each minute until the month has no room for another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rca_testing.node import (
    Api,
    Body,
    Operator,
    Place,
    baseline,
    condition,
    dataset,
    eventually,
    restricted_namespace,
    suite,
)

pytestmark = [pytest.mark.node, pytest.mark.timeout(420)]


@pytest.fixture(scope="module")
def scheduled(api: Api, kinds: None) -> Iterator[Place]:
    with restricted_namespace(api) as place:
        operator = Operator(place, f"watch.namespaces={{{place.name}}}", release="rca-clock")
        body = suite("suite")
        body["spec"] |= {
            "schedule": {"cron": "* * * * *", "timeZone": "Australia/Lord_Howe"},
            "budget": {"runsPerMonth": 2},
        }
        place.create(dataset(), baseline(), body)
        operator.ready()
        try:
            yield place
        finally:
            operator.uninstall()


def _runs(place: Place) -> list[Body]:
    return sorted(place.list("EvalRun"), key=lambda run: str(run["metadata"]["name"]))


def test_a_run_is_made_each_minute_and_comes_to_a_verdict(scheduled: Place) -> None:
    def two_have_ended() -> list[Body]:
        runs = _runs(scheduled)
        phases = [(run.get("status") or {}).get("phase") for run in runs]
        assert [phase for phase in phases if phase not in (None, "Pending", "Running")] == ["Passed"] * 2, (
            phases
        )
        return runs

    runs = eventually(two_have_ended, seconds=240)
    assert {run["spec"]["trigger"] for run in runs} == {"Scheduled"}
    assert all("componentRef" not in run["spec"] for run in runs)
    assert len({run["metadata"]["name"].split("-")[1] for run in runs}) == 2


def test_then_the_budget_says_when_it_goes_on(scheduled: Place) -> None:
    def full() -> Body:
        found = scheduled.get("EvalSuite", "suite")
        assert condition(found, "Degraded").get("reason") == "BudgetExceeded", found.get("status")
        assert "is not made" in found["status"]["schedule"].get("message", "")
        return found

    found = eventually(full, seconds=150)
    assert found["status"]["ledger"]["runs"] == 2
    assert condition(found, "Ready")["status"] == "True"
    assert len(_runs(scheduled)) == 2


def test_a_schedule_that_cannot_be_read_is_refused_with_a_sentence(scheduled: Place) -> None:
    with pytest.raises(AssertionError, match="cron expression of five fields"):
        scheduled.spec("EvalSuite", "suite", schedule={"cron": "60 * * * *"})
