"""The verification gate: its machine for every observation, and what it does to a ranking."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.engine.evidence import CONTRADICTIONS, HARD
from rca_eval.engine.investigation import Scored
from rca_eval.engine.order import lifted, lowered
from rca_eval.engine.verification import DEPTH, MAX_CHECKS, Seen, State, transition, verify

SOFT = ("criticality", "memory", "text", "alert", "E0", "E5", "e1", "")
seen = st.builds(
    Seen,
    blind=st.booleans(),
    candidates=st.integers(0, 9),
    contradicted=st.booleans(),
    kinds=st.frozensets(st.sampled_from((*HARD, *SOFT))),
    checks=st.integers(0, 40),
)


class Stated:
    """Evidence that is stated instead of gathered; it remembers what was asked."""

    def __init__(self, hard, against=None, blind=False):
        self.blind, self._hard, self._against, self.asked = blind, hard, against or {}, []

    def hard(self, service, kind):
        self.asked.append((service, kind))
        return (f"{service}/{kind}",) if kind in self._hard.get(service, ()) else ()

    def contradicts(self, service, kind):
        self.asked.append((service, kind))
        return kind in self._against.get(service, ())


@given(st.lists(seen, min_size=DEPTH + 1, max_size=DEPTH + 3))
def test_the_machine_ends_in_at_most_k_plus_two_states_for_every_observation(observations):
    states = [State()]
    for one in observations:
        states.append(transition(states[-1], one))
    distinct = [state for n, state in enumerate(states) if n == 0 or state != states[n - 1]]
    assert states[DEPTH + 1].ended
    assert len(distinct) <= DEPTH + 2
    assert len({state.name for state in states if state.ended}) == 1


@given(st.lists(seen, min_size=DEPTH + 1, max_size=DEPTH + 1), st.frozensets(st.sampled_from(SOFT)))
def test_soft_evidence_alone_never_verifies(observations, soft):
    state = State()
    for one in observations:
        harmless = Seen(
            blind=one.blind,
            candidates=one.candidates,
            contradicted=one.contradicted,
            kinds=soft,
            checks=one.checks,
        )
        state = transition(state, harmless)
    assert state.name in ("Unverified", "Blind")


@given(seen)
def test_a_contradiction_outweighs_every_hard_evidence(one):
    state = transition(State("Checking", 1), Seen(**{**vars(one), "contradicted": True}))
    assert state.name != "Verified"


keys = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
hard = st.dictionaries(st.sampled_from("abcdefgh"), st.frozensets(st.sampled_from(HARD)))
against = st.dictionaries(st.sampled_from("abcdefgh"), st.frozensets(st.sampled_from(CONTRADICTIONS)))


@given(keys, hard, against, st.booleans())
def test_the_verified_one_is_the_first_of_three_with_hard_evidence_and_no_contradiction(
    ranking, hard, against, blind
):
    stated = Stated(hard, against, blind)
    found = verify(ranking, stated)
    fit = [key for key in ranking[:DEPTH] if hard.get(key) and not against.get(key)]
    assert found.service == (fit[0] if fit and not blind else None)
    assert found.name == ("Blind" if blind else "Verified" if fit else "Unverified")
    assert len(found.states) <= DEPTH + 2
    assert found.states[-1].checks == len(set(stated.asked)) <= MAX_CHECKS
    if blind:
        assert stated.asked == []


def test_a_verified_one_says_all_its_kinds_and_where_to_find_them():
    found = verify(["a", "b"], Stated({"b": {"E3", "E1"}, "a": {"E1"}}, {"a": {"Late"}}))
    assert (found.service, found.kinds, found.evidence) == ("b", ("E1", "E3"), ("b/E1", "b/E3"))
    assert found.sentence == "Verified at place 2 by E1, E3"


@pytest.mark.parametrize(
    ("ranking", "blind", "sentence"),
    [
        (["a", "b"], False, "Unverified: no hard evidence for the first 2, so the legacy ranking stands"),
        ([], False, "Unverified: no hard evidence for the first 0, so the legacy ranking stands"),
        (["a"], True, "Blind: no telemetry, so the legacy ranking stands"),
    ],
)
def test_what_was_not_verified_is_said(ranking, blind, sentence):
    assert verify(ranking, Stated({}, blind=blind)).sentence == sentence


scores = st.lists(st.integers(-3, 9).map(lambda n: Fraction(n, 7)), min_size=1, max_size=8)


def ranked(values):
    """Candidates `s0`, `s1`, … in the order of their scores, each with one exact term."""
    rows = [
        Scored(f"s{n}", Fraction(round(value * 10**9), 10**9), {"topo": value})
        for n, value in enumerate(values)
    ]
    return sorted(rows, key=lambda one: (-one.score, one.key))


def in_order(found):
    return all(earlier.score >= later.score for earlier, later in pairwise(found))


def sums_hold(found):
    return all(round(sum(one.terms.values()) * 10**9) == one.score * 10**9 for one in found)


@given(scores, st.data())
def test_who_is_lifted_leads_alone_and_the_rest_keep_order_and_score(values, data):
    before = ranked(values)
    key = data.draw(st.sampled_from([one.key for one in before]))
    after = lifted(before, key)
    assert after[0].key == key
    assert list(after[1:]) == [one for one in before if one.key != key]
    assert len(after) == 1 or after[0].score > after[1].score
    assert in_order(after)
    assert sums_hold(after)
    alone = len(before) == 1 or (before[0].key == key and before[0].score > before[1].score)
    assert (after == tuple(before)) is alone


@given(scores, st.data())
def test_who_is_lowered_goes_behind_all_others_and_nothing_else_moves(values, data):
    before = ranked(values)
    keys = data.draw(st.sets(st.sampled_from([one.key for one in before])))
    after = lowered(before, keys)
    kept = [one for one in before if one.key not in keys]
    gone = [one for one in before if one.key in keys]
    assert list(after[: len(kept)]) == kept
    assert [one.key for one in after[len(kept) :]] == [one.key for one in gone]
    assert in_order(after)
    assert sums_hold(after)
    if kept and gone:
        assert kept[-1].score > after[len(kept)].score
    moved = {one.key: one.score for one in after}
    for a, b in pairwise(gone):
        assert (a.score == b.score) == (moved[a.key] == moved[b.key])
    if not kept or not gone:
        assert after == tuple(before)
