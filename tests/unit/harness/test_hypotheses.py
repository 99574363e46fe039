"""The hypothesis machine: that it ends whatever it hears, what it asks, what it concludes, and what Active changes."""

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract.protocol import (
    EngineAlert,
    EngineIncident,
    EngineService,
    EngineTelemetry,
    EngineTelemetryRow,
    EngineTopology,
)
from rca_eval.engine import HYPOTHESES, LIVE_ACTIVATION, Blend, Findings, Pipeline
from rca_eval.engine.baro import BaroSignal
from rca_eval.engine.evidence import CONTRADICTIONS, HARD
from rca_eval.engine.hypotheses import (
    LIMIT,
    MAX_QUESTIONS,
    QUESTIONS,
    investigate,
    observe,
    pending,
    propose,
)
from rca_eval.graph.store import Candidate

NEXT = {
    "Proposed": {"Tested"},
    "Tested": {"Supported", "Refuted"},
    "Supported": set(),
    "Refuted": set(),
}
names = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


def driven(ranking, answers):
    """The machine after these answers (False once they are used up), and what it asked."""
    state, asked, left = propose(ranking), [], iter(answers)
    for _ in range(MAX_QUESTIONS + 1):
        question = pending(state)
        if question is None:
            return state, asked
        asked.append(question)
        state = observe(state, next(left, False))
    raise AssertionError("it asks for ever")


@given(names, st.lists(st.booleans(), max_size=MAX_QUESTIONS + 5))
def test_it_ends_within_the_bound_and_asks_nothing_twice_whatever_it_hears(ranking, answers):
    state, asked = driven(ranking, answers)
    assert state.end in ("Concluded", "Exhausted")
    assert len(asked) == state.answers <= min(LIMIT, len(ranking)) * len(QUESTIONS)
    assert len(set(asked)) == len(asked)
    assert observe(state, True) == observe(state, False) == state
    assert {one.service for one in asked} <= set(ranking[:LIMIT])


@given(names, st.lists(st.booleans(), max_size=MAX_QUESTIONS))
def test_the_log_replays_to_the_state_and_holds_lawful_transitions_only(ranking, answers):
    state, _ = driven(ranking, answers)
    status = dict.fromkeys(ranking[:LIMIT], "Proposed")
    *lines, last = state.log
    for line in lines:
        assert status[line.service] == line.before
        assert line.after in NEXT[line.before]
        status[line.service] = line.after
    assert status == {one.service: one.status for one in state.each}
    assert (last.service, last.before, last.after) == (None, "Open", state.end)
    assert [line.answers for line in state.log] == sorted(line.answers for line in state.log)


@given(names, st.lists(st.booleans(), max_size=MAX_QUESTIONS))
def test_it_is_concluded_exactly_if_one_is_supported_and_none_behind_it_was_looked_at(ranking, answers):
    state, _ = driven(ranking, answers)
    statuses = [one.status for one in state.each]
    assert (state.end == "Concluded") == (statuses.count("Supported") == 1)
    if state.end == "Concluded":
        place = statuses.index("Supported")
        assert set(statuses[:place]) <= {"Tested", "Refuted"}
        assert set(statuses[place + 1 :]) <= {"Proposed"}
    else:
        assert set(statuses) <= {"Tested", "Refuted"}


def test_contradictions_are_asked_before_hard_evidence():
    _, asked = driven(["a"], [])
    assert [one.kind for one in asked] == [*CONTRADICTIONS, *HARD]


class Stated:
    blind = False

    def __init__(self, hard, against):
        self._hard, self._against = hard, against

    def hard(self, service, kind):
        return ("id",) if kind in self._hard.get(service, ()) else ()

    def contradicts(self, service, kind):
        return kind in self._against.get(service, ())


@given(
    names,
    st.dictionaries(st.sampled_from("abcdefgh"), st.frozensets(st.sampled_from(HARD))),
    st.dictionaries(st.sampled_from("abcdefgh"), st.frozensets(st.sampled_from(CONTRADICTIONS))),
)
def test_refuted_is_who_is_contradicted_before_the_first_supported_one(ranking, hard, against):
    state = investigate(ranking, Stated(hard, against))
    refuted = set()
    for key in ranking[:LIMIT]:
        if against.get(key):
            refuted.add(key)
        elif hard.get(key):
            break
    assert state.refuted == refuted


def test_without_telemetry_nothing_is_asked_and_nothing_refuted():
    blind = Stated({}, {"a": CONTRADICTIONS})
    blind.blind = True
    state = investigate(["a", "b"], blind)
    assert (state.end, state.answers, state.refuted) == ("Exhausted", 0, frozenset())


def conclude(active, *, errors, unreachable=(), changes=()):
    """Services with falling criticality, `web` the symptom; all are candidates, also what nothing calls."""
    keys = ["web", *errors]
    incident = EngineIncident(
        case="case-0000000a",
        window_seconds=1800,
        alert=EngineAlert(name="A", service="web", fired_at=1700000060, for_seconds=60),
        topology=EngineTopology(
            services=tuple(EngineService(key=key) for key in keys),
            calls=tuple(("web", key) for key in errors if key not in unreachable),
        ),
        telemetry=EngineTelemetry(availability="full", services={key: EngineTelemetryRow() for key in keys}),
        changes=(),
    )
    rows = [Candidate("web", Decimal(0), Decimal(1), None)]
    rows += [
        Candidate(key, Decimal(9 - n) / 10, Decimal(error), Decimal(0))
        for n, (key, error) in enumerate(errors.items())
    ]
    findings = Findings(
        rows, {key: [f"{key}@v2"] for key in changes}, BaroSignal(False, {}, {}, Fraction(0)), 1700000000
    )
    return Pipeline(incident, findings, Blend()).conclude(active)


def test_once_the_first_is_supported_nothing_else_is_looked_at():
    quiet = {"loud-name": "0.01", "db": "0.1", "cache": "0.5"}
    shadow, active = (conclude(keys, errors=quiet) for keys in (set(), {HYPOTHESES}))
    assert shadow.keys == ("cache", "loud-name", "db", "web")
    assert active.keys == shadow.keys
    assert active.decision == "hypotheses Concluded after 5 questions: 1 of 4 tested, 0 refuted"


def test_a_refuted_first_candidate_goes_behind_all_others_with_a_term_that_says_so():
    errors = {"a": "0.04", "b": "0.01", "c": "0.2", "d": "0.02"}
    active = conclude({HYPOTHESES}, errors=errors)
    assert conclude(set(), errors=errors).keys == ("a", "c", "b", "web", "d")
    assert active.keys == ("c", "b", "web", "d", "a")
    assert active.ranking.candidates[-1].score < active.ranking.candidates[-2].score
    assert active.ranking.candidates[-1].terms["refuted"] < 0
    assert active.decision == "hypotheses Concluded after 8 questions: 2 of 5 tested, 1 refuted"


def test_one_that_no_call_leads_to_is_refuted_even_if_it_changed():
    active = conclude({HYPOTHESES}, errors={"a": "0.9", "b": "0.1"}, unreachable=["a"], changes=["a"])
    assert active.keys[-1] == "a"
    assert active.ranking.evidence == ()


def test_who_is_neither_supported_nor_refuted_stays_before_the_refuted_ones():
    errors = {"a": "0.04", "b": "0.03"}
    found = conclude({HYPOTHESES}, errors=errors)
    assert found.hypotheses.end == "Exhausted"
    assert found.hypotheses.refuted == {"a", "b"}
    assert found.keys == ("web", "a", "b")


def test_who_the_gate_verified_is_supported_too():
    found = conclude({HYPOTHESES, LIVE_ACTIVATION}, errors={"a": "0.04", "b": "0.01", "c": "0.2"})
    assert found.keys[0] == "c"
    assert found.hypotheses.each[0].status == "Supported"
    assert found.decision.startswith("Verified at place 2 by E2; hypotheses Concluded after 5 questions")
