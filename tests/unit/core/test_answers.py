"""Scorecards whose answers are known are read as all others are: the same document, the same digest, the same refusal."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract import ContractError, Scorecard, canonical, parse_baseline, parse_scorecard
from rca_eval.contract.numbers import nine
from rca_eval.data import baseline_bytes, ground_truth_bytes
from rca_eval.gate import GateContext, evaluate
from rca_eval.replay.run import Plan, replay
from rca_eval.replay.variants import variants
from rca_rollout.core import answers

KEY = "RcaLiveActivation.Mode"


@pytest.fixture(scope="module")
def card() -> Scorecard:
    return replay(
        Plan(dataset=ground_truth_bytes("graded"), variants=variants(KEY, {}), source="the graded incidents")
    )


def _slower(card: Scorecard, percent: int) -> bytes:
    measured = card.measured
    total = tuple(nine(Fraction(value) * percent / 100) for value in measured.total_seconds)
    return canonical(
        card.model_copy(update={"measured": measured.model_copy(update={"total_seconds": total})})
    )


def _outcome(read: object, document: bytes) -> object:
    try:
        return read(document, source="it")  # type: ignore[operator]
    except ContractError as error:
        return error.reason, error.message


def test_answers_that_are_known_are_shared_and_the_times_are_the_documents_own(card: Scorecard) -> None:
    one, other = (answers.parse(_slower(card, percent), source="it") for percent in (100_00, 200_00))
    assert one.deterministic is other.deterministic
    assert one.measured.total_seconds != other.measured.total_seconds
    assert other == parse_scorecard(_slower(card, 200_00))
    assert answers.deterministic_sha256(other) == card.deterministic_sha256()


def test_the_gate_says_the_same_of_answers_that_it_knows(card: Scorecard) -> None:
    baseline = parse_baseline(baseline_bytes("graded"))
    context = GateContext(component=True)
    first = answers.parse(_slower(card, 100), source="it")
    for percent in (100, 101, 5_000):
        one = answers.parse(_slower(card, percent), source="it")
        assert one.deterministic is first.deterministic
        known = evaluate(one, baseline, context=context, ranks=answers.ranks(one))
        assert known == evaluate(one, baseline, context=context)


@given(data=st.data())
def test_a_document_that_was_changed_anywhere_is_read_or_refused_as_ever(
    card: Scorecard, data: st.DataObject
) -> None:
    document = bytearray(_slower(card, 100))
    answers.parse(bytes(document), source="it")
    joint = document.index(b',"kind"')
    where = data.draw(st.one_of(st.integers(0, len(document) - 1), st.integers(joint, len(document) - 1)))
    document[where : where + data.draw(st.integers(0, 3))] = data.draw(
        st.sampled_from([b"", b"0", b'"', b",", b"}", b"{", b'"deterministic":{},', b'"kind":"Scorecard",'])
    )
    changed = bytes(document)
    assert _outcome(answers.parse, changed) == _outcome(parse_scorecard, changed)


def test_a_second_set_of_answers_behind_the_times_is_refused(card: Scorecard) -> None:
    document = _slower(card, 100)
    answers.parse(document, source="it")
    twice = document[:-1] + b',"deterministic":{}}'
    with pytest.raises(ContractError):
        answers.parse(twice, source="it")
