"""The named mutants fit the source, say what they imitate, and those that are said to be equivalent are."""

import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract import ContractError, PastIncident, Reason
from rca_eval.contract.numbers import nano
from rca_eval.engine.blend import BARO, BARO_NO_CHANGE, FLOOR, ONSET
from rca_eval.engine.investigation import Scored, order
from rca_eval.graph import seed
from rca_eval.selftest import run
from rca_eval.selftest.mutant import GROUPS, Mutant, outdated, select
from rca_eval.selftest.mutants import ALL
from rca_eval.selftest.tree import PACKAGE, copy_package, mutated

SOMETHING = ALL[0]


def test_every_mutant_fits_the_source_of_this_version() -> None:
    assert outdated(ALL, PACKAGE) == []


def test_a_mutant_that_does_not_fit_is_named_and_nothing_is_run() -> None:
    gone = Mutant("gone", "weights", "engine/blend.py", "no such text", "x = 1", "nothing")
    twice = Mutant("twice", "weights", "engine/blend.py", "Fraction", "Decimal", "nothing")
    comment = Mutant(
        "comment", "weights", "engine/blend.py", "so that order equals zero-", "so that", "nothing"
    )
    broken = Mutant("broken", "weights", "engine/blend.py", "TERMS = (", "TERMS = ((", "nothing")
    missing = Mutant("missing", "weights", "engine/none.py", "a", "b", "nothing")
    found = outdated([gone, twice, comment, broken, missing], PACKAGE)
    assert [line.split(":")[0] for line in found] == ["gone", "twice", "comment", "broken", "missing"]
    assert "0 times" in found[0]
    assert "changes no code" in found[2]
    assert "no Python" in found[3]
    with pytest.raises(ContractError) as raised:
        run.check([SOMETHING, gone, broken])
    assert raised.value.reason == Reason.SELFTEST_INVALID
    assert "gone" in raised.value.message
    assert "broken" in raised.value.message


def test_there_are_enough_of_them_in_every_group_under_names_of_their_own() -> None:
    assert len({mutant.name for mutant in ALL}) == len(ALL)
    assert sum(not mutant.equivalent for mutant in ALL) >= 80
    assert {mutant.group for mutant in ALL} == set(GROUPS)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", mutant.name) for mutant in ALL)
    assert all(len(mutant.imitates) > 10 for mutant in ALL)


def test_no_two_of_them_are_the_same_edit() -> None:
    edits = [str(sorted(mutant.edits.items())) for mutant in ALL]
    assert len(set(edits)) == len(edits)


def test_only_known_names_and_groups_can_be_asked_for() -> None:
    assert select(ALL, [SOMETHING.name], []) == (SOMETHING,)
    assert {mutant.group for mutant in select(ALL, [], ["baro", "cap"])} == {"baro", "cap"}
    assert select(ALL, [], []) == ALL
    for only, groups in ((["no-such"], []), ([], ["no-such"])):
        with pytest.raises(ContractError) as raised:
            select(ALL, only, groups)
        assert raised.value.reason == Reason.USAGE


def test_a_mutated_copy_differs_from_the_package_in_the_mutated_modules_only(tmp_path: Path) -> None:
    base = copy_package(tmp_path / "base")
    several = next(mutant for mutant in ALL if len(mutant.edits) > 1)
    tree = mutated(base, several, tmp_path / "tree") / PACKAGE.name
    sources = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if "__pycache__" not in path.parts]
    differing = [
        str(path)
        for path in sources
        if (PACKAGE / path).is_file() and (tree / path).read_bytes() != (PACKAGE / path).read_bytes()
    ]
    assert sorted(differing) == sorted(several.edits)
    stale = [
        path
        for path in tree.rglob("*.pyc")
        if f"{path.parts[-3]}/{path.name.split('.')[0]}.py" in several.edits
    ]
    assert stale == []  # the compiled form of what was mutated would hide the mutation


# Proofs of what is claimed to be equivalent; the rest is argued beside the mutant.

KEYS = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1).map(sorted)


@given(keys=KEYS, data=st.data())
def test_ties_without_a_key_are_in_the_order_of_keys_because_candidates_are(
    keys: list[str], data: st.DataObject
) -> None:
    scores = data.draw(
        st.lists(st.fractions(0, 1, max_denominator=3), min_size=len(keys), max_size=len(keys))
    )
    rows = [Scored(key, score, {}) for key, score in zip(keys, scores, strict=True)]
    assert sorted(rows, key=lambda one: -one.score) == sorted(rows, key=order)
    assert sorted(rows, key=lambda one: (-abs(one.score), one.key)) == sorted(rows, key=order)


def test_dividing_by_the_sum_of_the_weights_divides_by_one() -> None:
    assert [sum(table.weights.values()) for table in (FLOOR, ONSET, BARO, BARO_NO_CHANGE)] == [1, 1, 1, 1]


@given(value=st.fractions(-10, 10) | st.integers(-(10**19), 10**19).map(lambda n: Fraction(n, 2 * 10**9)))
def test_rounding_by_whole_numbers_is_rounding_by_fractions(value: Fraction) -> None:
    assert nano(value) == round(value * 10**9)


def test_only_deploys_and_changes_get_an_edge_that_says_changed() -> None:
    others = (seed.SERVICES, seed.INCIDENT, seed.CALLS)
    assert not [text for text in others if "CHANGED" in text]
    assert {kind for kind, text in seed.CHANGES.items() if f"CREATE (:{kind} {{" in text} == {
        "Deploy",
        "Change",
    }
    assert seed.CHANGES.keys() == {"Deploy", "Change"}


@given(
    begin=st.integers(10**9, 2 * 10**9),
    resolved=st.lists(st.integers(10**9, 2 * 10**9), max_size=8),
    later=st.integers(0, 10**5),
)
def test_a_later_limit_lets_nothing_into_a_past_that_ends_before_the_onset(
    begin: int, resolved: list[int], later: int
) -> None:
    past = [
        PastIncident(key=f"p{at}", resolved_at=time, symptom="s", alert="a", causes=("c",))
        for at, time in enumerate(resolved)
        if time < begin
    ]
    assert [row for row in past if row.resolved_at < begin + later] == past
