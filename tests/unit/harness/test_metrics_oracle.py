"""Our metrics against RCAEval's own Evaluator, as published (rcaeval 1.8.1), wherever the two mean the same.

They mean the same for one label, a list without duplicates, and an order that is given (no scores). Elsewhere
docs/metrics.md says how they differ and why; the last tests here hold that table against the code.
"""

import importlib
import sys
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract.arm_metrics import accuracy, average, random_order, rerank, retrieval
from rca_eval.contract.ties import grouped

MAX_K = 6
KEYS = "abcdefgh"


@pytest.fixture(scope="module")
def oracle():
    """Evaluator and Node. Their package imports a loader of data sets that pulls in tqdm, requests and scikit-learn; the
    evaluator needs none of it, so an empty module stands in its place while it is imported.
    """
    name, empty = "RCAEval.utility", types.ModuleType("RCAEval.utility")
    empty.dump_json = empty.load_json = None
    before = sys.modules.get(name)
    sys.modules[name] = empty
    try:
        evaluation = importlib.import_module("RCAEval.benchmark.evaluation")
        graph = importlib.import_module("RCAEval.classes.graph")
    finally:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
    return evaluation.Evaluator, graph.Node


cases = st.lists(
    st.tuples(
        st.lists(st.sampled_from(KEYS), unique=True, max_size=7),
        st.sampled_from(KEYS),
        st.integers(0, 9),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


def evaluator(oracle, rows, *, sizes=True):
    Evaluator, Node = oracle  # noqa: N806  (classes)
    found = Evaluator(max_k=MAX_K)
    for order, answer, size, inside in rows:
        found.add_case(
            [Node(key, "cpu") for key in order],
            Node(answer, "cpu"),
            n_candidates=size if sizes else None,
            answer_in_candidates=inside,
        )
    return found


def rankings(rows):
    return [grouped([(key, None) for key in order], [answer]) for order, answer, *_ in rows]


def close(mine, theirs):
    return theirs is not None and abs(float(mine) - theirs) < 1e-12


@given(rows=cases)
def test_accuracy_and_average_are_rcaeval_s(oracle, rows):
    theirs, mine = evaluator(oracle, rows), rankings(rows)
    for k in range(1, MAX_K + 1):
        for view in ("pessimistic", "optimistic", "expected"):
            assert close(accuracy(k, mine, view), theirs.accuracy(k))
            assert close(average(k, mine, view), theirs.average(k))
        assert close(accuracy(k, mine), theirs.accuracy_service(k))


@given(rows=cases)
def test_retrieval_and_rerank_are_rcaeval_s(oracle, rows):
    theirs, mine = evaluator(oracle, rows), rankings(rows)
    for budget in (None, *range(1, MAX_K + 1)):
        for k in range(1, (budget or MAX_K) + 1):
            assert close(retrieval(k, mine, budget), theirs.retrieval(budget))
            ours, expected = rerank(k, mine, budget), theirs.rerank(k, budget)
            assert (ours is None and expected is None) or close(ours, expected)
    with pytest.raises(ValueError, match="budget"):
        theirs.rerank(3, 2)
    with pytest.raises(ValueError, match="budget"):
        rerank(3, mine, 2)


@given(rows=cases)
def test_chance_and_lift_are_rcaeval_s(oracle, rows):
    theirs, mine = evaluator(oracle, rows), rankings(rows)
    pools = []
    for _, answer, size, inside in rows:
        others = [f"other-{n}" for n in range(size)]
        pools.append(random_order([answer, *others[1:]] if inside and size else others, [answer]))
    for k in range(1, MAX_K + 1):
        assert close(accuracy(k, pools, "expected"), theirs.chance_accuracy(k))
        assert close(average(k, pools, "expected"), theirs.chance_average(k))
        assert close(average(k, mine) - average(k, pools, "expected"), theirs.lift(k))


def test_neither_guesses_a_chance_that_is_not_known(oracle):
    assert evaluator(oracle, [(["a"], "a", 3, True)], sizes=False).lift(1) is None


def test_where_they_differ_a_service_that_is_listed_twice(oracle):
    Evaluator, Node = oracle  # noqa: N806
    theirs = Evaluator()
    theirs.add_case([Node("a", "cpu"), Node("a", "mem"), Node("b", "cpu")], Node("b", "cpu"))
    assert theirs.accuracy_service(2) == 0
    assert accuracy(2, [grouped([("a", None), ("a", None), ("b", None)], ["b"])]) == 1


def test_where_they_differ_ties_are_an_order_to_rcaeval_and_none_to_us(oracle):
    theirs = evaluator(oracle, [(["b", "a"], "b", 2, True)])
    tied = [grouped([("b", "0.500000000"), ("a", "0.500000000")], ["b"])]
    assert theirs.accuracy(1) == 1
    assert [accuracy(1, tied, view) for view in ("pessimistic", "expected", "optimistic")] == [0, 0.5, 1]


def test_where_they_differ_no_cases_are_none_to_rcaeval_and_an_error_to_us(oracle):
    assert evaluator(oracle, []).accuracy(1) is None
    with pytest.raises(ValueError, match="the mean of nothing"):
        accuracy(1, [])
