"""What a run may use at most, and what it says that it used. Costs are decimals that are never rounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

from rca_rollout.api.common import Trigger
from rca_rollout.api.schedule import Budget
from rca_rollout.api.suite import EvalSuiteSpec

type Body = Mapping[str, Any]

# No sum of costs is rounded: nine digits on both sides of the point, times as many runs as there can be.
EXACT = Context(prec=60)


@dataclass(frozen=True)
class Price:
    """The most that one attempt of a run may use; 0 where the budget sets no limit."""

    tokens: int = 0
    cost: Decimal = Decimal(0)


def judged(run: Body, spec: EvalSuiteSpec) -> bool:
    """Whether the judge is asked about this run."""
    inputs = (run.get("status") or {}).get("inputs")
    shards = (inputs.get("shards") or 1) if inputs else None
    return asks_judge((run.get("spec") or {}).get("trigger"), spec, shards)


def asks_judge(trigger: str | None, spec: EvalSuiteSpec, shards: int | None = None) -> bool:
    """A scheduled run, in one piece, of a suite that wants an opinion. A shard has no scorecard to judge. `shards` is what the
    run has taken with its inputs, None before: the suite may say otherwise by now."""
    wanted = spec.schedule and spec.schedule.judge and spec.judge
    return bool(trigger == Trigger.SCHEDULED and wanted and (shards or spec.job.shards or 1) == 1)


def price_of(spec: EvalSuiteSpec, *, with_judge: bool) -> Price:
    budget = spec.budget or Budget(runs_per_month=1_000_000)
    tokens = budget.tokens_per_run or 0
    cost = budget.cost_per_run.decimal if budget.cost_per_run else Decimal(0)
    if with_judge and spec.judge:
        tokens += spec.judge.tokens_per_run
        cost = EXACT.add(cost, judge_cost(spec, spec.judge.tokens_per_run))
    return Price(tokens, cost)


def judge_cost(spec: EvalSuiteSpec, tokens: int) -> Decimal:
    price = spec.judge.price_per_million_tokens if spec.judge else None
    return EXACT.multiply(price.decimal, Decimal(tokens)).scaleb(-6) if price else Decimal(0)


def plain(value: Decimal) -> str:
    """A decimal as people write it: no exponent, no zeros at its end."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
