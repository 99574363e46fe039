"""A verdict orders the candidates of each answer once, and remembers nothing about a changed one."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract import IncidentResult, ScoredCandidate
from rca_eval.contract import scorecard as documents
from rca_eval.gate import GateContext, GatePolicy, evaluate
from rca_eval.gate.ranks import Ranks


def _row(keys: list[str], scores: list[str] | None, status: Any = "Ranked") -> IncidentResult:
    candidates = tuple(
        ScoredCandidate(key=key, score=scores[at] if scores else None) for at, key in enumerate(keys)
    )
    return IncidentResult(
        id="GT-01",
        fault_class="auth/login",
        change_induced=False,
        protected=False,
        expected=("cause",),
        status=status,
        candidates=candidates,
    )


FIGURES = st.sampled_from(["0.900000000", "0.500000000", "0.100000000"])


@given(
    st.permutations(["cause", "trap", "other"]),
    st.one_of(st.none(), st.lists(FIGURES, min_size=3, max_size=3)),
    st.sampled_from(["Ranked", "Error", "Timeout", "Missing"]),
)
def test_what_is_remembered_is_what_the_row_says(
    keys: list[str], scores: list[str] | None, status: str
) -> None:
    row, ranks = _row(keys, scores, status), Ranks()
    for _ in range(2):
        assert ranks.rank(row) == row.true_rank()
        assert list(ranks.order(row)) == row.order()


def test_a_changed_copy_has_a_rank_of_its_own() -> None:
    ranks, row = Ranks(), _row(["cause", "trap"], None)
    assert ranks.rank(row) == 1
    assert ranks.rank(row.model_copy(update={"candidates": row.candidates[::-1]})) == 2
    assert [ranks.rank(_row(["trap", "cause"], None)) for _ in range(50)] == [2] * 50


def test_every_answer_is_ordered_once(
    make_scorecard: Any, make_baseline: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    card, baseline = make_scorecard(), make_baseline()
    asked: Counter[int] = Counter()
    real = documents.pessimistic_order

    def counted(candidates: Any, expected: Any) -> list[str]:
        asked[id(expected)] += 1
        return real(candidates, expected)

    monkeypatch.setattr(documents, "pessimistic_order", counted)
    result = evaluate(card, baseline, GatePolicy(), GateContext(component=True))
    assert result.verdict == "Passed"
    arms = [arm for variant in card.deterministic.variants for arm in variant.arms]
    arms += [*card.deterministic.control.arms, *baseline.arms]
    assert sum(asked.values()) <= sum(len(arm.incidents) for arm in arms)
