"""Recall and what it may know: similarity, the store, the prequential rule, and that no poison changes a byte."""

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from rca_eval.contract import (
    ContractError,
    PastIncident,
    Run,
    Variant,
    parse_ground_truth,
    parse_incident,
    sha256,
)
from rca_eval.data import PROFILES, ground_truth_bytes
from rca_eval.engine import MEMORY, Blend, answer, gather
from rca_eval.engine.pipeline import Pipeline
from rca_eval.engine.recall import THRESHOLD, TOP, Query, history, query_of, recall, similarity
from rca_eval.graph import LIVE_KEY, IncidentMemory, graph_key, memory_key, open_store
from rca_eval.graph.embedding import DIMENSION, embedding
from rca_eval.graph.memory import FIRST_BATCH, NEAR_ENOUGH
from rca_eval.job.commands import prepare_command, run_command
from rca_eval.job.engine import past_memory
from rca_eval.job.past import past_of
from rca_eval.job.prepare import cases, prepare, with_past
from rca_eval.replay import Plan, replay, variants

T = 1700000000
DATA = {profile: ground_truth_bytes(profile) for profile in PROFILES}
TRUTH = {profile: parse_ground_truth(data) for profile, data in DATA.items()}
WRONG = "object-store"


def past(key="p1", **changes):
    row = {"resolved_at": T - 1, "symptom": "web", "alert": "A", "services": ("db",), "causes": ("db",)}
    return PastIncident(key=key, **{**row, **changes})


def query(**changes):
    return Query(**{"symptom": "web", "alert": "A", "services": frozenset({"db"}), "before": T, **changes})


@pytest.fixture
def memory(store):
    made = IncidentMemory(store, memory_key("test"))
    yield made
    made.drop()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "1"),
        ({"symptom": "x"}, "0.6"),
        ({"alert": "x"}, "0.7"),
        ({"services": frozenset()}, "0.7"),
        ({"services": frozenset({"db", "a", "b"})}, "0.8"),
        ({"symptom": "x", "alert": "x", "services": frozenset({"x"})}, "0"),
    ],
)
def test_similarity_is_symptom_alert_and_the_share_of_common_failing_services(changes, expected):
    assert similarity(query(**changes), past()) == Fraction(expected)


def test_two_incidents_without_failing_services_have_none_in_common():
    assert similarity(query(services=frozenset()), past(services=())) == Fraction(7, 10)


def test_recalled_are_the_three_most_similar_from_six_tenths_on_ties_by_key(memory):
    memory.add(
        [past(f"tie-{n}", alert="x") for n in (3, 1, 2, 4)]
        + [past("best"), past("edge", symptom="x"), past("below", symptom="x", services=("db", "a"))]
    )
    found = recall(query(), memory)
    assert [one.past.key for one in found] == ["best", "tie-1", "tie-2"]
    memory.forget(["best", "tie-1", "tie-2", "tie-3", "tie-4"])
    assert [(one.past.key, one.similarity) for one in recall(query(), memory)] == [("edge", Fraction(6, 10))]


def test_history_is_half_the_highest_similarity_of_each_cause(memory):
    memory.add([past("a", causes=("db", "cache")), past("b", alert="x", causes=("db",))])
    assert history(recall(query(), memory)) == {"db": Fraction(1, 2), "cache": Fraction(1, 2)}
    memory.forget(["a"])
    assert history(recall(query(), memory)) == {"db": Fraction(35, 100)}


def test_what_was_not_resolved_before_the_onset_is_not_recalled(memory):
    memory.add(
        [past("at", resolved_at=T), past("after", resolved_at=T + 1), past("before", resolved_at=T - 1)]
    )
    assert [one.past.key for one in recall(query(), memory)] == ["before"]


def test_a_memory_gives_back_what_was_put_in_and_a_known_key_is_replaced(memory):
    nasty = "\"}) DETACH DELETE p //'`\\ $x"
    memory.add([past("a", alert=nasty, services=("z", "a"), causes=("z", "a"))])
    (found,) = memory.near(symptom="web", alert=nasty, services=["a", "z"], before=T)
    assert found == past("a", alert=nasty, services=("a", "z"), causes=("a", "z"))
    memory.add([past("a", causes=("other",))])
    assert memory.near(symptom="web", alert="A", services=["db"], before=T) == [past("a", causes=("other",))]
    assert len(memory) == 1


def test_an_empty_memory_recalls_nothing_and_forgetting_the_unknown_is_no_error(memory):
    assert (recall(query(), memory), len(memory)) == ((), 0)
    memory.add([])
    memory.forget(["nobody"])


def test_more_equal_incidents_than_the_index_is_first_asked_for_are_all_found(memory):
    count = 2 * FIRST_BATCH + 5
    memory.add([past(f"p{n:04}", resolved_at=T - count + n) for n in range(count)])
    assert len(memory.near(symptom="web", alert="A", services=["db"], before=T)) == count
    # the one that counts is among those that the first, unordered answer of the index need not hold
    assert [one.past.key for one in recall(query(before=T - count + 1), memory)] == ["p0000"]


def test_a_memory_in_a_server_is_still_there_for_the_next_process(store):
    url, key = f"unix://{store._database.client.socket_file}", memory_key("kept")
    with open_store(url) as first:
        IncidentMemory(first, key).add([past("a")])
    with open_store(url) as second:
        again = IncidentMemory(second, key)
        assert [one.past.key for one in recall(query(), again)] == ["a"]
        again.drop()
    assert store.keys() == []


@pytest.mark.parametrize("key", [LIVE_KEY, f"{LIVE_KEY}:agent:memory", "memory", f"{LIVE_KEY}_eval:a:Memory"])
def test_a_memory_outside_the_keys_of_the_harness_is_refused(store, key):
    with pytest.raises(ContractError) as caught:
        IncidentMemory(store, key)
    assert caught.value.reason == "StoreKeyRefused"
    assert store.keys() == []


words = st.sampled_from(["web", "db", "cache", "queue", "auth", "mail", "search"])
looks = st.tuples(words, words, st.frozensets(words, max_size=4))


@given(looks, looks)
def test_what_is_similar_is_near(one, other):
    """Retrieval by cosine loses nothing that exact similarity would recall, though two words may share a place."""
    a, b = embedding(*one), embedding(*other)
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    norm = (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5
    exact = similarity(
        Query(*one, before=T), past(symptom=other[0], alert=other[1], services=tuple(sorted(other[2])))
    )
    assert len(a) == DIMENSION
    assert dot / norm >= NEAR_ENOUGH or exact < THRESHOLD


@limits(max_examples=20)
@given(st.lists(looks, min_size=1, max_size=12), looks, st.randoms())
def test_recall_through_the_index_is_recall_over_all_rows_whatever_the_order_of_adding(
    store, rows, asked, random
):
    kept = [
        past(f"p{n:02}", symptom=row[0], alert=row[1], services=tuple(sorted(row[2])))
        for n, row in enumerate(rows)
    ]
    wanted = Query(*asked, before=T)
    exact = sorted(kept, key=lambda row: (-similarity(wanted, row), row.key))
    exact = [row for row in exact if similarity(wanted, row) >= Fraction(6, 10)][:TOP]
    shuffled = list(kept)
    random.shuffle(shuffled)
    made = IncidentMemory(store, memory_key("order"))
    try:
        made.add(shuffled)
        assert [one.past for one in recall(wanted, made)] == exact
    finally:
        made.drop()


def by_name(profile, name):
    return next(one for one in TRUTH[profile].incidents if one.id.startswith(name))


@pytest.mark.parametrize("profile", PROFILES)
def test_the_past_of_an_incident_is_what_came_before_it_under_names_that_say_nothing(profile):
    truth, digest = TRUTH[profile], sha256(DATA[profile])
    pasts = [past_of(one, truth, digest) for one in truth.incidents]
    # In graded GT-03 is of the family of GT-01, and does not know it.
    assert [len(rows) for rows in pasts] == [0, 1, 2 - (profile == "graded"), 3, 4, 5, 6, 7, 8]
    assert len({row.key for rows in pasts for row in rows}) == 8
    text = json.dumps([row.plain() for row in pasts[-1]])
    assert not [
        word for one in truth.incidents for word in (one.id, one.id[:5], one.fault_class) if word in text
    ]


def relabelled(incident, *, status="confirmed", family=None, **changes):
    label = incident.label.model_copy(update={"status": status, "family": family})
    return incident.model_copy(update={"label": label, **changes})


def moved(incident, seconds):
    """The same alert at another time."""
    fired = incident.alert.fired_at + seconds
    return incident.model_copy(update={"alert": incident.alert.model_copy(update={"fired_at": fired})})


POISON = {
    "the incident itself": lambda one: moved(one, -86400),
    "another of its family": lambda one: relabelled(moved(one, -86400), family="reset", id="XX-1"),
    "another of its family in another spelling": lambda one: relabelled(
        moved(one, -86400), family=" Reset ", id="XX-1"
    ),
    "a draft": lambda one: relabelled(moved(one, -86400), status="draft", id="XX-1"),
    "a disputed one": lambda one: relabelled(moved(one, -86400), status="disputed", id="XX-1"),
    "one without a label": lambda one: moved(one, -86400).model_copy(update={"label": None, "id": "XX-1"}),
    "one resolved at the onset": lambda one: moved(one, -1860).model_copy(update={"id": "XX-1"}),
    "one resolved after it": lambda one: moved(one, -1000).model_copy(update={"id": "XX-1"}),
    "one that came later": lambda one: moved(one, 86400).model_copy(update={"id": "XX-1"}),
}


@pytest.mark.parametrize("poison", POISON)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", ["GT-01", "GT-05"])
def test_poison_in_the_memory_changes_not_one_byte(store, profile, name, poison):
    """A wrong cause planted where only a leak would find it; were it recalled, the cause would lose."""
    truth = TRUTH[profile]
    target = relabelled(by_name(profile, name), family="reset")
    clean = truth.model_copy(
        update={"incidents": tuple(target if one.id == target.id else one for one in truth.incidents)}
    )
    planted = POISON[poison](target).model_copy(update={"expected_root_cause": (WRONG,)})
    poisoned = clean.model_copy(update={"incidents": (planted, *clean.incidents)})
    digest = sha256(DATA[profile])
    case = next(one for one in cases(clean, digest) if (one.arm, one.incident.id) == ("LivePath", target.id))
    views = [with_past(case, known, digest) for known in (clean, poisoned)]
    assert views[0].model_dump_json() == views[1].model_dump_json()
    assert replies(store, views[0]) == replies(store, views[1])


def test_the_poison_test_would_see_a_leak(store):
    """The same incident with a wrong cause, planted where the rule lets it through, does change the answer."""
    target, digest = by_name("graded", "GT-05"), sha256(DATA["graded"])
    planted = moved(target, -86400).model_copy(update={"expected_root_cause": ("nats",), "id": "XX-1"})
    poisoned = TRUTH["graded"].model_copy(update={"incidents": (planted, *TRUTH["graded"].incidents)})
    case = next(
        one for one in cases(TRUTH["graded"], digest) if (one.arm, one.incident.id) == ("LivePath", target.id)
    )
    clean, changed = (with_past(case, known, digest) for known in (TRUTH["graded"], poisoned))
    assert replies(store, clean) != replies(store, changed)


def replies(store, view):
    """The answers with memory in Shadow and Active, as bytes."""
    found = []
    with (
        store.incident(graph_key("poison", "LivePath"), view) as graph,
        past_memory(store, "poison", view) as kept,
    ):
        for mode in ("Shadow", "Active"):
            run = Run(
                variant="With",
                arm="LivePath",
                case=view.case,
                modes={MEMORY: mode},
                incident=f"LivePath/{view.case}.json",
            )
            found.append(answer(run, view, graph, Blend(), kept).model_dump_json())
    return found


def test_a_detected_onset_can_be_as_early_as_the_window_so_the_past_ends_before_it():
    truth, target = TRUTH["graded"], by_name("graded", "GT-05")
    known = truth.model_copy(
        update={
            "incidents": (
                moved(target, -1861).model_copy(update={"id": "XX-1"}),
                moved(target, -3601).model_copy(update={"id": "XX-2"}),
            )
        }
    )
    rows = {
        source: past_of(target.model_copy(update={"onset_source": source}), known, "0" * 64)
        for source in ("alert", "detected")
    }
    assert (len(rows["alert"]), len(rows["detected"])) == (2, 1)


@pytest.mark.parametrize(("share", "lost"), [(Fraction(1), {"GT-04"}), (Fraction(1, 2), set())])
@pytest.mark.parametrize("profile", PROFILES)
def test_with_the_whole_weight_of_a_memory_one_incident_would_be_lost_and_with_half_none(
    store, profile, share, lost
):
    """GT-04 recalls GT-02: the same symptom, another cause. BARO and cap are in Shadow."""
    truth, digest, missed = TRUTH[profile], sha256(DATA[profile]), set()
    for case in cases(truth, digest):
        if case.arm != "LivePath":
            continue
        view = with_past(case, truth, digest)
        with (
            store.incident(graph_key("share", "LivePath"), view) as graph,
            past_memory(store, "share", view) as kept,
        ):
            findings = gather(view, graph)
            recalled = recall(query_of(view, findings.onset), kept) if kept else ()
        findings = replace(findings, history=history(recalled, share))
        first, second = Pipeline(view, findings, Blend()).conclude({MEMORY}).ranking.candidates[:2]
        if first.key not in case.incident.expected_root_cause or first.score == second.score:
            missed.add(case.incident.id[:5])
    assert missed == lost


def test_a_replay_of_the_reference_engine_recalls_and_one_incident_alone_has_the_same_past():
    terms = []
    for only in (["GT-04"], ["GT-02", "GT-04"]):
        card = replay(Plan(dataset=DATA["graded"], variants=variants(MEMORY, {}), only=only, repeats=1))
        live = {arm.arm: arm for arm in card.deterministic.arms_of("With")}["LivePath"]
        terms.append({one.key: one.terms["hist"] for one in live.incidents[-1].candidates})
    assert terms[0] == terms[1]
    assert terms[0]["mcp-gateway"] == "0.052500000"  # .15 * .5 * .7: the symptom of GT-02, and its services


VARIANTS = (Variant(name="AllShadow", modes={"K": "Shadow"}),)


def test_only_live_incidents_carry_a_past_and_only_when_it_is_asked_for(tmp_path):
    for name, known in (("off", None), ("on", TRUTH["graded"])):
        prepare(
            TRUTH["graded"],
            sha256(DATA["graded"]),
            VARIANTS,
            revision="r",
            repeats=1,
            folder=tmp_path / name,
            memory=known,
        )
    found = {
        name: [
            parse_incident(path.read_bytes()).past is not None
            for arm in ("LivePath", "ScorerOnly")
            for path in sorted((tmp_path / name / "1" / arm).iterdir())
        ]
        for name in ("off", "on")
    }
    assert not any(found["off"])
    assert sum(found["on"][:9]) == 8
    assert not any(found["on"][9:])


@pytest.mark.parametrize(("value", "status"), [("Prequential", 0), ("Off", 0), ("prequential", 2), ("1", 2)])
def test_the_job_remembers_only_for_the_exact_word(tmp_path, value, status, capsys):
    dataset = tmp_path / "ground-truth.json"
    dataset.write_bytes(DATA["graded"])
    env = {
        "RCA_EVAL_DATASET": str(dataset),
        "RCA_EVAL_VARIANTS": json.dumps([VARIANTS[0].plain()]),
        "RCA_EVAL_INCIDENTS": str(tmp_path / "incidents"),
        "RCA_EVAL_TERMINATION_LOG": str(tmp_path / "log"),
        "RCA_EVAL_MEMORY": value,
    }
    assert run_command(prepare_command, env) == status
    text = "".join(path.read_text() for path in tmp_path.glob("incidents/*/*/*.json"))
    assert ('"past"' in text) is (value == "Prequential")
    capsys.readouterr()


def test_failing_services_are_those_of_one_half_and_more():
    view = next(
        case.view
        for case in cases(TRUTH["graded"], sha256(DATA["graded"]))
        if case.arm == "LivePath" and len(case.view.telemetry.services) > 5
    )
    rows = {
        key: row.model_copy(update={"error_rate": rate})
        for (key, row), rate in zip(
            list(view.telemetry.services.items())[:5],
            map(Decimal, ("0.5", "0.499999", "1", "0", "0.7")),
            strict=True,
        )
    }
    changed = view.model_copy(update={"telemetry": view.telemetry.model_copy(update={"services": rows})})
    names = list(rows)
    assert query_of(changed, T).services == {names[0], names[2], names[4]}
