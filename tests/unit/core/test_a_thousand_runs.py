"""History limits over a thousand runs: what is kept does not grow, whoever makes them and however they end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from rca_testing.lifecycle_world import START

from rca_rollout.api.history import HistoryLimits
from rca_rollout.api.values import format_time
from rca_rollout.core.history import Finished, surplus

LIMITS = HistoryLimits(passed=5, other=5)


@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("component", [None, "live"])
def test_a_thousand_runs_leave_no_more_than_the_limits_and_what_is_referred_to(
    component: str | None, scheduled: bool
) -> None:
    held = {f"uid-{number}" for number in (3, 400)}
    kept: list[Finished] = []
    for number in range(1000):
        at = format_time(START + timedelta(minutes=number))
        kept.append(Finished(f"run-{number}", f"uid-{number}", component, scheduled, number % 3 > 0, at))
        gone = {run.uid for run in surplus(kept, LIMITS, kept=held)}
        kept = [run for run in kept if run.uid not in gone]
        assert len(kept) <= LIMITS.passed + LIMITS.other + len(held)
    assert held <= {run.uid for run in kept}
    assert {run.uid for run in kept} >= {f"uid-{number}" for number in range(995, 1000)}
