"""The investigation on a real graph: window edges, table choice, modes, candidates, order."""

import json
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract import ContractError, Run, nine, parse_ground_truth
from rca_eval.contract.protocol import EngineSeries
from rca_eval.engine import LIVE_ACTIVATION, Blend, answer, gather, is_active, parse_blend, rank
from rca_eval.engine.baro import BaroSignal
from rca_eval.engine.blend import BARO, BARO_NO_CHANGE, FLOOR, ONSET
from rca_eval.engine.investigation import Findings
from rca_eval.graph import graph_key
from rca_eval.graph.store import Candidate
from rca_eval.job.project import project

CASE = "case-0000000a"
ONSET_AT = 1700000000


def incident(*, changes=(), calls=(("web", "db"), ("web", "cache")), services=("web", "db", "cache"), z=None):
    series = [] if z is None else [{"metric": "m", "median": 1, "iqr": 1, "z": z}]
    document = {
        "schemaVersion": 1,
        "windowSeconds": 1800,
        "incidents": [
            {
                "id": "IN-1",
                "faultClass": "data/datastore",
                "expectedRootCause": "db",
                "changeInduced": False,
                "alert": {"name": "A", "service": "web", "firedAt": ONSET_AT + 60, "forSeconds": 60},
                "topology": {
                    "services": [{"key": key} for key in services],
                    "calls": [list(c) for c in calls],
                },
                "telemetry": {
                    "availability": "full",
                    "services": {
                        key: {"criticality": 0.5, "errorRate": 0.5, "series": series} for key in services
                    },
                },
                "changes": [{"kind": kind, "service": s, "at": ONSET_AT + at} for kind, s, at in changes],
            }
        ],
    }
    truth = parse_ground_truth(json.dumps(document).encode())
    return project(truth.incidents[0], "LivePath", case=CASE, window=1800)


@pytest.fixture
def investigate(store):
    def run(view):
        with store.incident(graph_key("test", "LivePath"), view) as graph:
            return gather(view, graph)

    return run


@pytest.mark.parametrize(
    ("offset", "inside"),
    [(-1801, False), (-1800, True), (-420, True), (0, True), (1, False), (30, False)],
)
@pytest.mark.parametrize("kind", ["Deploy", "Change"])
def test_a_change_counts_from_one_window_before_the_onset_up_to_the_onset_itself(
    investigate, kind, offset, inside
):
    found = investigate(incident(changes=[(kind, "db", offset)]))
    assert set(found.changes) == ({"db"} if inside else set())
    assert rank(found, Blend(), use_baro=False).table.name == ("onset" if inside else "floor")


def test_the_onset_is_the_firing_time_minus_the_duration_of_the_alert(investigate):
    # 30 s after T but before the alert fired: would count if T were the firing time
    assert investigate(incident(changes=[("Deploy", "db", 30)])).changes == {}


def test_a_detected_onset_moves_the_window_of_changes_and_without_one_the_alerts_counts(investigate):
    """The series step up ten minutes before T; a deploy two minutes later did not cause that."""
    early = incident(changes=[("Deploy", "db", -480)])
    samples = tuple((ONSET_AT - 1800 + 60 * n, Decimal(9 if n >= 20 else n % 2)) for n in range(41))
    services = {
        key: row.model_copy(update={"series": (EngineSeries(metric="m", samples=samples),)})
        for key, row in early.telemetry.services.items()
    }
    stepped = early.model_copy(
        update={"telemetry": early.telemetry.model_copy(update={"services": services})}
    )
    found = {
        (source, bool(view.telemetry.services["db"].series)): investigate(
            view.model_copy(update={"onset_source": source})
        )
        for source in (None, "alert", "detected")
        for view in (early, stepped)
    }
    assert {key: one.onset - ONSET_AT for key, one in found.items()} == {
        (None, False): 0,
        ("alert", False): 0,
        ("detected", False): 0,
        (None, True): 0,
        ("alert", True): 0,
        ("detected", True): -600,
    }
    assert [key for key, one in found.items() if not one.changes] == [("detected", True)]


def test_one_change_gives_every_candidate_the_table_with_the_change_term(investigate):
    ranking = rank(investigate(incident(changes=[("Deploy", "db", -1)])), Blend(), use_baro=False)
    assert {one.key: one.score for one in ranking.candidates} == {
        "db": Fraction(1, 2),  # (.40 + .30) * .5 + .15
        "web": Fraction(35, 100),
        "cache": Fraction(35, 100),
    }
    assert ranking.evidence == ("Deploy/db/1699999999",)


def test_a_change_of_a_service_that_is_no_candidate_does_not_choose_the_table(investigate):
    view = incident(
        services=("web", "db", "island"), calls=(("web", "db"),), changes=[("Deploy", "island", -1)]
    )
    assert rank(investigate(view), Blend(), use_baro=False).table is FLOOR


def test_without_a_change_and_a_baro_signal_active_is_the_floor_byte_for_byte(store):
    """But for `decision`, which says that the gate could verify nothing; a ranking it leaves alone."""
    view = incident(z=2)  # below the threshold of 3
    runs = [
        Run(variant="With", arm="LivePath", case=CASE, modes=modes, incident=f"LivePath/{CASE}.json")
        for modes in ({"RcaLiveActivation.Mode": "Shadow"}, {"RcaLiveActivation.Mode": "Active"}, {})
    ]
    with store.incident(graph_key("test", "LivePath"), view) as graph:
        shadow, active, without = (
            answer(run, view, graph, Blend()).model_dump_json(exclude={"would_be", "decision"})
            for run in runs
        )
    assert shadow == active == without
    assert '"table":"floor"' in shadow


def test_the_floor_is_a_table_of_its_own_and_not_the_onset_table_renormalised():
    renormalised = ONSET.weights["topo"] / sum(ONSET.weights[t] for t in ("topo", "tele", "hist"))
    assert FLOOR.weights["topo"] == Fraction(1, 2) != renormalised


def test_baro_without_a_change_is_the_full_table_without_the_change_weight_exactly():
    for term, weight in BARO_NO_CHANGE.weights.items():
        assert weight == BARO.weights[term] / (1 - BARO.weights["chg"])


@pytest.mark.parametrize("table", [FLOOR, ONSET, BARO, BARO_NO_CHANGE])
def test_the_weights_of_every_table_sum_to_one(table):
    assert sum(table.weights.values()) == 1


@pytest.mark.parametrize("z", [3, 30])
def test_a_baro_signal_governs_only_when_active_and_is_written_down_in_shadow(store, z):
    view = incident(z=z)
    results = {}
    with store.incident(graph_key("test", "LivePath"), view) as graph:
        for mode in ("Shadow", "Active"):
            run = Run(
                variant="With",
                arm="LivePath",
                case=CASE,
                modes={"RcaLiveActivation.Mode": mode},
                incident=f"LivePath/{CASE}.json",
            )
            results[mode] = answer(run, view, graph, Blend())
    assert (results["Shadow"].table, results["Active"].table) == ("floor", "baroNoChange")
    assert results["Shadow"].would_be[LIVE_ACTIVATION] == tuple(
        one.entity for one in results["Active"].candidates
    )
    assert LIVE_ACTIVATION not in results["Active"].would_be


@pytest.mark.parametrize("value", ["active", "ACTIVE", "Active@r2", "", "On", "Shadow"])
def test_every_value_but_the_exact_word_is_shadow(value):
    assert not is_active(
        {"RcaLiveActivation.Mode": value, "RcaMemory.Mode": "Active"}, "RcaLiveActivation.Mode"
    )
    assert not is_active({}, "RcaLiveActivation.Mode")
    assert is_active({"RcaLiveActivation.Mode": "Active"}, "RcaLiveActivation.Mode")


def test_candidates_are_what_the_symptom_reaches_in_three_calls_and_the_symptom_itself(investigate):
    chain = ("web", "a", "b", "c", "d")
    view = incident(services=(*chain, "island"), calls=tuple(pairwise(chain)))
    assert [row.key for row in investigate(view).candidates] == ["a", "b", "c", "web"]


def test_a_cycle_of_calls_is_walked_once(investigate):
    view = incident(calls=(("web", "db"), ("db", "web"), ("db", "db"), ("web", "cache")))
    assert [row.key for row in investigate(view).candidates] == ["cache", "db", "web"]


numbers = st.decimals(0, 1, places=3)
rows = st.dictionaries(
    st.text("abc-", min_size=1, max_size=4), st.tuples(numbers, numbers), min_size=1, max_size=6
)


@given(rows, st.randoms())
def test_the_ranking_does_not_depend_on_the_order_of_the_rows(services, random):
    candidates = [Candidate(key, a, b, None) for key, (a, b) in services.items()]
    quiet = BaroSignal(False, {}, {}, Fraction(0))
    expected = rank(Findings(candidates, {}, quiet), Blend(), use_baro=True)
    shuffled = list(candidates)
    random.shuffle(shuffled)
    assert rank(Findings(shuffled, {}, quiet), Blend(), use_baro=True) == expected
    scores = [(-one.score, one.key) for one in expected.candidates]
    assert scores == sorted(scores)


@given(rows)
def test_a_score_is_the_sum_of_its_terms_to_nine_digits(services):
    candidates = [Candidate(key, a, b, None) for key, (a, b) in services.items()]
    quiet = BaroSignal(False, {}, {}, Fraction(0))
    for one in rank(Findings(candidates, {}, quiet), Blend(), use_baro=False).candidates:
        assert nine(sum(one.terms.values(), Fraction(0))) == nine(one.score)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "topo=1.5",
        "topo=.5,tele=.4",
        "topo=.5,topo=.5",
        "speed=1",
        "topo=abc",
        "topo=-1,tele=2",
        "topo",
        "topo=1e0",
    ],
)
def test_a_blend_that_is_no_blend_is_refused(text):
    with pytest.raises(ContractError) as caught:
        parse_blend(text)
    assert caught.value.reason == "Usage"


def test_a_blend_of_the_command_line_is_exact():
    table = parse_blend("topo=.75,tele=.10,hist=.15").choose(change=True, baro=True)
    assert table.weights == {"topo": Fraction(3, 4), "tele": Fraction(1, 10), "hist": Fraction(3, 20)}


def test_numbers_come_back_from_the_graph_as_they_were_written(store):
    for number in ("0.1", "0.123456789012345", "0.000000001", "1", "0"):
        view = incident()
        telemetry = view.telemetry.services["db"].model_copy(update={"criticality": Decimal(number)})
        services = {**view.telemetry.services, "db": telemetry}
        view = view.model_copy(update={"telemetry": view.telemetry.model_copy(update={"services": services})})
        with store.incident(graph_key("test", "LivePath"), view) as graph:
            found = {row.key: row.criticality for row in graph.candidates()}
        assert found["db"] == Decimal(number)
