"""What answers say that they used: sums over all that was asked, and that silence is not zero."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract import ContractError, parse_predictions
from rca_eval.contract.usage import Usage, together, total

_USAGE = st.builds(
    Usage,
    input_tokens=st.none() | st.integers(0, 10**6),
    output_tokens=st.none() | st.integers(0, 10**6),
    cost=st.none() | st.decimals(0, 1000, places=6),
)


def document(usage: str) -> bytes:
    run = '"variant": "With", "arm": "LivePath", "case": "case-0123abcd", "seconds": 1'
    answer = f'{{{run}, "usage": {usage}}}'
    return f'{{"protocol": 1, "engine": {{"name": "e", "version": "1"}}, "predictions": [{answer}]}}'.encode()


def test_all_that_answers_say_is_added_up_exactly() -> None:
    said = [
        Usage(input_tokens=10, output_tokens=1, cost="0.1"),
        Usage(input_tokens=5, output_tokens=2, cost="0.2"),
    ]
    found = total(2, said)
    assert found is not None
    assert found.tokens == 18
    assert found.known_cost == Fraction(3, 10)


def test_an_answer_that_says_nothing_or_half_of_it_leaves_the_sum_unknown() -> None:
    for silent in (None, Usage(), Usage(input_tokens=5), Usage(output_tokens=5)):
        found = total(2, [Usage(input_tokens=1, output_tokens=1, cost=1), silent])
        assert found is not None
        assert found.tokens is None
        assert found.known_cost is None


def test_an_answer_that_is_missing_has_not_said_what_it_used() -> None:
    found = total(3, [Usage(input_tokens=1, output_tokens=1)] * 2)
    assert found is not None
    assert (found.answers, found.with_tokens, found.tokens) == (3, 2, None)


def test_where_nobody_says_anything_there_is_no_sum() -> None:
    assert total(4, [None, Usage()]) is None
    assert together([None, None], [2, 2]) is None


@given(st.lists(st.lists(st.none() | _USAGE, min_size=1, max_size=5), min_size=1, max_size=4))
def test_parts_add_up_to_the_whole(parts: list[list[Usage | None]]) -> None:
    whole = total(sum(map(len, parts)), [one for part in parts for one in part])
    assert together([total(len(part), part) for part in parts], [len(part) for part in parts]) == whole


@pytest.mark.parametrize(
    "usage", ['{"inputTokens": 3, "outputTokens": 0, "cost": "0.0125"}', '{"cost": 0.5}', "{}"]
)
def test_an_engine_may_say_what_an_answer_used(usage: str) -> None:
    assert parse_predictions(document(usage)).predictions[0].usage is not None


@pytest.mark.parametrize(
    "usage",
    [
        '{"inputTokens": -1}',
        '{"inputTokens": 1.5}',
        '{"cost": "1e3"}',
        '{"cost": -1}',
        '{"cost": "x"}',
        '{"tokens": 1}',
        "[]",
    ],
)
def test_what_is_no_usage_is_refused_with_the_field(usage: str) -> None:
    with pytest.raises(ContractError, match="usage"):
        parse_predictions(document(usage))


def test_sums_never_fall_when_an_answer_is_added() -> None:
    said = [Usage(input_tokens=n, output_tokens=n, cost=n) for n in range(5)]
    sums = [total(5, said[:n]) for n in range(1, 6)]
    assert all(a and b and a.input_tokens <= b.input_tokens for a, b in pairwise(sums))
