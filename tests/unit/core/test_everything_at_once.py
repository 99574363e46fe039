"""A search for an order of events that breaks a promise: everything at once, over the operator's real reconcilers.

What is searched is `tests/support/rca_testing/model/`: rules in `machine.py`, promises in `ledger.py` and `resting.py`.
`RCA_MODEL_EXAMPLES` makes the search longer, `RCA_SHRINK=1` makes what it finds shorter. That the promises are worth something is
shown in `test_broken_cores.py`.
"""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from rca_testing.model import speed
from rca_testing.model.machine import Everything

PARTS = 4
EXAMPLES = int(os.environ.get("RCA_MODEL_EXAMPLES", "65"))
STEPS = 50
ENOUGH = 10_000
# A machine with more to do than two cores can: a search is bounded by its steps.
pytestmark = pytest.mark.timeout(3600)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    speed.install(monkeypatch)


def profile(examples: int, *, steps: int = STEPS, same: bool = bool(os.environ.get("CI"))) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=same,
        database=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink] if os.environ.get("RCA_SHRINK") else [Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize("part", range(PARTS))
def test_no_order_of_events_breaks_a_promise(part: int, capsys: pytest.CaptureFixture[str]) -> None:
    # Of another name: it draws other examples, also where they are the same each time.
    found = type(f"Everything{part}", (Everything,), {"states": set[tuple[str, str]]()})
    run_state_machine_as_test(found, settings=profile(EXAMPLES))
    with capsys.disabled():
        sys.stdout.write(
            f"\n{found.steps} steps, {found.reconciliations} reconciliations, {found.promotions} promotions, "
            f"{found.crashes} deaths, {len(found.states)} classes of states, {found.of_workloads} promotions of workloads, "
            f"{found.confirmations} confirmations; what was not measured governed {found.windows} times, for {found.most_looks} looks at most\n"
        )
    assert found.steps >= ENOUGH / PARTS
    assert found.promotions > 20
    assert found.of_workloads
    assert found.confirmations
    assert {"Evaluating", "Observing", "Active", "Blocked", "Pending"} <= {phase for phase, _ in found.states}
