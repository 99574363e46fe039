"""What replicas answer, and what it means: only a clear yes of every one is a yes."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rca_testing.lifecycle_world import modes_of

from rca_rollout.api.common import Mode
from rca_rollout.api.confirmation import HttpConfirmation, PodSelector, QueryConfirmation
from rca_rollout.core.confirming import (
    Question,
    judge_replicas,
    judge_values,
    pause,
    read_modes,
)
from rca_rollout.core.lifecycle.conditions import Subject
from rca_rollout.core.replicas import Replica, ready_replicas

KEY = "RcaMemory.Mode"
NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
HTTP = HttpConfirmation(
    selector=PodSelector(match_labels={"tier": "rca", "app.kubernetes.io/name": "agent"}), port=8080
)
ASKED = Question(Subject("memory", "shop", KEY, "r7"), Mode.ACTIVE, "Active", NOW, timedelta(minutes=5), HTTP)
BACK = dataclasses.replace(ASKED, mode=Mode.SHADOW, value="Shadow")


def entry(**changes: Any) -> bytes:
    """The answer of a replica that has loaded Active, but for these changes; None takes a member away."""
    whole = {**json.loads(modes_of(KEY, "Active"))[0], **changes}
    return json.dumps([{k: v for k, v in whole.items() if v != "absent"}]).encode()


def by_query(replicas: int | None = None, query: str = "x == bool $(wanted)") -> Question:
    return dataclasses.replace(ASKED, how=QueryConfirmation(query=query, replicas=replicas))


def test_who_has_loaded_the_value_and_reads_it_as_the_mode_has_confirmed() -> None:
    assert read_modes(modes_of(KEY, "Active"), ASKED) is None
    assert read_modes(modes_of(KEY, "Shadow"), BACK) is None
    bound = dataclasses.replace(ASKED, value="Active@r7")
    assert read_modes(modes_of(KEY, "Active@r7", "r7"), bound) is None
    longest = dataclasses.replace(ASKED, value="Active@" + "r" * 128)
    assert read_modes(modes_of(KEY, "Active@" + "r" * 128, "r" * 128), longest) is None


def test_a_word_for_another_revision_is_loaded_and_confirms_nothing() -> None:
    bound = dataclasses.replace(ASKED, value="Active@r6")
    assert read_modes(modes_of(KEY, "Active@r6", "r7"), bound) == (
        "has loaded Active@r6 and reads it as Shadow (OtherRevision)"
    )


def test_a_key_that_was_removed_is_confirmed_by_nothing_loaded() -> None:
    gone = dataclasses.replace(BACK, value="")
    assert read_modes(modes_of(KEY, None), gone) is None
    assert read_modes(modes_of(KEY, "Active"), gone) == "has loaded Active"


LIST, TELLS = "does not answer with a list", "does not tell value and mode"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (modes_of(KEY, "Shadow"), "has loaded Shadow"),
        (modes_of(KEY, None), "has loaded nothing (Missing)"),
        (modes_of("Other.Mode", "Active"), f"does not name {KEY}"),
        (b"[]", f"does not name {KEY}"),
        (b'[1, null, [], "x"]', f"does not name {KEY}"),
        (b"{}", LIST),
        (b"null", LIST),
        (b"", "does not answer with JSON"),
        (b"<html>", "does not answer with JSON"),
        (b"\xff\xfe", "does not answer with JSON"),
        (b"[" * 100_000, "does not answer with JSON"),
        (b"[NaN]", "does not answer with JSON"),
        (b"1" * 10_000, "does not answer with JSON"),
        (modes_of(KEY, "Active")[:-1], "does not answer with JSON"),
        (
            modes_of(KEY, "Active").replace(b'"mode"', b'"mode": "Active", "mode"'),
            "does not answer with JSON",
        ),
        (
            json.dumps(json.loads(modes_of(KEY, "Active")) + json.loads(modes_of(KEY, "Shadow"))).encode(),
            f"names {KEY} 2 times",
        ),
        (entry(value=1), TELLS),
        (entry(value=["Active"]), TELLS),
        (entry(mode=None), TELLS),
        (entry(value="absent"), "has loaded "),
        (entry(mode="absent"), "reads it as "),
        (entry(mode="active"), "has loaded Active and reads it as active"),
        (entry(value="Active "), "has loaded Active "),
        (entry(value="x" * 5000), "has loaded " + "x" * 59 + "…"),
        (entry(value="\x1b[31m\nActive"), "has loaded �[31m�Active"),
    ],
)
def test_whatever_else_is_answered_confirms_nothing_and_is_told_in_a_sentence(
    body: bytes, words: str
) -> None:
    said = read_modes(body, ASKED)
    assert said is not None
    assert words in said
    assert len(said) < 200
    assert said.isprintable()


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["component", "value", "mode"]), inner | st.sampled_from([KEY, "Active"])
            )
        ),
    ).map(lambda it: json.dumps(it).encode())
)
def test_reading_is_total_and_says_yes_to_one_form_only(body: bytes) -> None:
    if read_modes(body, ASKED) is None:
        found = json.loads(body)
        (named,) = [one for one in found if isinstance(one, dict) and one.get("component") == KEY]
        assert (named["value"], named["mode"]) == ("Active", "Active")


# -- Pods


def pod(name: str, **status: Any) -> dict[str, Any]:
    ready = {"phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "status": {**ready, **status}}


def test_ready_pods_are_asked_and_those_on_their_way_in_or_out_are_not() -> None:
    leaving = pod("leaving")
    leaving["metadata"]["deletionTimestamp"] = "2026-11-30T10:00:00Z"
    pods = [
        pod("b"),
        leaving,
        pod("starting", conditions=[{"type": "Ready", "status": "False"}]),
        pod("new", conditions=None),
        pod("done", phase="Succeeded"),
        pod("a", podIP=None),
        {"metadata": {"name": "bare", "uid": "u"}},
    ]
    assert [(r.name, r.address) for r in ready_replicas(pods)] == [("a", ""), ("b", "10.0.0.1")]


def mounting(**container: Any) -> dict[str, Any]:
    volumes = [
        {"name": "modes", "configMap": {"name": "modes"}},
        {
            "name": "all",
            "projected": {"sources": [{"secret": {"name": "s"}}, {"configMap": {"name": "modes"}}]},
        },
        {"name": "tmp", "emptyDir": {}},
    ]
    return {
        **pod("a"),
        "spec": {"volumes": volumes, "containers": [{"name": "proxy"}, {"name": "agent", **container}]},
    }


FOLDER = {"name": "modes", "mountPath": "/etc/rca/modes"}


@pytest.mark.parametrize(
    ("container", "words"),
    [
        ({"volumeMounts": [FOLDER]}, ""),
        (
            {
                "volumeMounts": [{"name": "all", "mountPath": "/x"}],
                "envFrom": [{"configMapRef": {"name": "modes"}}],
            },
            "",
        ),
        ({"volumeMounts": [{"name": "tmp", "mountPath": "/x", "subPath": "y"}]}, ""),
        ({"envFrom": [{"configMapRef": {"name": "other"}}, {"secretRef": {"name": "modes"}}]}, ""),
        ({"env": [{"name": "A", "value": "b"}]}, ""),
        ({"volumeMounts": [{**FOLDER, "subPath": KEY}]}, "by subPath"),
        ({"volumeMounts": [{"name": "all", "mountPath": "/x", "subPathExpr": "$(A)"}]}, "by subPath"),
        ({"envFrom": [{"configMapRef": {"name": "modes"}}]}, "in its environment"),
        (
            {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "modes", "key": KEY}}}]},
            "in its environment",
        ),
    ],
)
def test_a_pod_that_will_never_see_a_change_is_told_so_beside_what_it_has_loaded(
    container: dict[str, Any], words: str
) -> None:
    (found,) = ready_replicas([mounting(**container)], "modes")
    assert bool(found.stuck) == bool(words)
    assert words in found.stuck
    problem = judge_replicas(ASKED, NOW, {found: "has loaded Shadow"}, [found]).problem
    assert problem.startswith("a has loaded Shadow")
    assert found.stuck in problem
    assert judge_replicas(ASKED, NOW, {found: None}, [found]).complete


def replicas(*names: str) -> list[Replica]:
    return [Replica(name, f"uid-{name}", "10.0.0.1") for name in names]


def test_all_that_are_there_have_to_confirm() -> None:
    a, b = replicas("a", "b")
    assert judge_replicas(ASKED, NOW, {a: None, b: None}, [a, b]).complete
    answer = judge_replicas(ASKED, NOW, {a: None, b: "has loaded Shadow"}, [a, b])
    assert not answer.complete
    assert answer.sentence == "1 of 2 replicas have loaded Active: b has loaded Shadow"


def test_nobody_is_no_confirmation() -> None:
    answer = judge_replicas(ASKED, NOW, {}, [])
    assert not answer.complete
    assert answer.sentence == "no ready Pod has the labels app.kubernetes.io/name=agent,tier=rca"


def test_who_came_meanwhile_has_not_confirmed_and_who_went_does_not_count() -> None:
    a, b, c = replicas("a", "b", "c")
    answer = judge_replicas(ASKED, NOW, {a: None, b: "did not answer within 5 s"}, [a, c])
    assert (answer.confirmed, answer.total) == (1, 2)
    assert answer.problem == "c came while the others were asked"
    moved = dataclasses.replace(a, address="10.0.0.9")
    assert not judge_replicas(ASKED, NOW, {a: None}, [moved]).complete
    assert judge_replicas(ASKED, NOW, {a: None, b: "did not answer within 5 s"}, [a]).complete


def test_of_many_the_first_three_are_named_and_the_rest_is_counted() -> None:
    many = replicas(*(f"p{n:03}" for n in range(150)))
    answer = judge_replicas(ASKED, NOW, dict.fromkeys(many, "has loaded Shadow"), many)
    assert answer.problem.count("has loaded Shadow") == 3
    assert answer.problem.endswith("; and 147 more")


def test_more_than_can_be_asked_are_told_to_be_confirmed_by_a_query() -> None:
    many = replicas(*(f"p{n:03}" for n in range(201)))
    answer = judge_replicas(ASKED, NOW, dict.fromkeys(many), many)
    assert not answer.complete
    assert "confirm by a query" in answer.sentence


@given(
    st.dictionaries(st.sampled_from("abcde"), st.sampled_from([None, None, "has loaded Shadow"])),
    st.sets(st.sampled_from("abcde")),
)
def test_complete_means_that_each_one_that_is_there_was_asked_and_said_yes(
    said: dict[str, str | None], there: set[str]
) -> None:
    one = {name: replicas(name)[0] for name in "abcde"}
    answer = judge_replicas(
        ASKED, NOW, {one[name]: why for name, why in said.items()}, [one[name] for name in sorted(there)]
    )
    assert answer.complete == (bool(there) and all(said.get(name, "not asked") is None for name in there))
    assert answer.complete == (not answer.problem)


# -- PromQL


def test_the_query_is_asked_with_what_is_wanted() -> None:
    text = 'm{component="$(key)",ns="$(namespace)",r="$(revision)",v="$(value)"} == bool $(wanted) > $(since)'
    asked = by_query(query=text)
    since = int(NOW.timestamp())
    assert asked.query == f'm{{component="{KEY}",ns="shop",r="r7",v="Active"}} == bool 1 > {since}'
    back = dataclasses.replace(asked, mode=Mode.SHADOW, value="Shadow")
    assert 'v="Shadow"} == bool 0' in back.query


@pytest.mark.parametrize(
    ("replicas", "values", "complete", "counted", "words"),
    [
        (None, ("1",), True, (1, 1), ""),
        (None, ("1", "1.0", "1e0"), True, (3, 3), ""),
        (2, ("1", "1"), True, (2, 2), ""),
        (2, ("1", "1", "1"), True, (3, 3), ""),
        (3, ("1", "1"), False, (2, 3), "only 2 series for 3 replicas"),
        (2, ("1", "1", "0"), False, (2, 3), "a series says 0, not 1"),
        (None, (), False, (0, 0), "the query found no series"),
        (2, (), False, (0, 2), "the query found no series"),
        (None, ("NaN",), False, (0, 1), "a series says NaN, not 1"),
        (None, ("+Inf",), False, (0, 1), "a series says +Inf, not 1"),
        (None, ("2",), False, (0, 1), "a series says 2, not 1"),
        (None, ("0.9999999999999999",), False, (0, 1), "not 1"),
    ],
)
def test_every_series_has_to_be_1_and_there_have_to_be_enough(
    replicas: int | None, values: tuple[str, ...], complete: bool, counted: tuple[int, int], words: str
) -> None:
    answer = judge_values(by_query(replicas), NOW, values)
    assert answer.complete is complete
    assert (answer.confirmed, answer.total) == counted
    assert words in answer.sentence


# -- when


@given(st.timedeltas(timedelta(days=-400), timedelta(days=400)), st.sampled_from([ASKED, BACK]))
def test_asking_again_is_never_at_once_and_never_far_away(age: timedelta, asked: Question) -> None:
    span = pause(asked, NOW + age)
    assert timedelta(seconds=1) <= span <= timedelta(minutes=5)
    if asked is ASKED or timedelta(0) <= age <= ASKED.timeout:
        assert span <= timedelta(seconds=10)
