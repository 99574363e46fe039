"""Documents are read exactly and strictly; what is wrong with one is said in a sentence that names field and
cure.
"""

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract import (
    ContractError,
    canonical,
    dump_exact,
    load_json,
    nine,
    parse_baseline,
    parse_ground_truth,
    parse_predictions,
    parse_scorecard,
    pessimistic_rank,
)
from rca_eval.contract.errors import Reason

TRUTH = {
    "schemaVersion": 1,
    "windowSeconds": 1800,
    "incidents": [
        {"id": "IN-1", "faultClass": "data/datastore", "expectedRootCause": "db", "changeInduced": False}
    ],
}
ANSWER = {"variant": "With", "arm": "LivePath", "case": "case-00000000", "candidates": [], "seconds": 0.5}
PREDICTIONS = {"protocol": 1, "engine": {"name": "e", "version": "1"}, "predictions": [ANSWER]}


def refused(parse, value) -> ContractError:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    with pytest.raises(ContractError) as caught:
        parse(data)
    message = caught.value.message
    assert "\n" not in message
    assert "pydantic" not in message
    assert "Traceback" not in message
    return caught.value


def edited(value, path, new):
    copy = json.loads(json.dumps(value))
    at = copy
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = new
    return copy


@pytest.mark.parametrize(
    ("path", "new", "names"),
    [
        (["incidents", 0, "faultKlass"], "x", "incidents[0].faultKlass is unknown"),
        (["incidents", 0, "fault_class"], "x", "incidents[0].fault_class is unknown"),
        (["incidents", 0, "expectedRootCause"], [], "incidents[0].expectedRootCause"),
        (["incidents", 0, "expectedRootCause"], "Not A Key", "expectedRootCause"),
        (["incidents", 0, "changeInduced"], "false", "incidents[0].changeInduced"),
        (["incidents", 0, "changeInduced"], 0, "incidents[0].changeInduced"),
        (["incidents", 0, "onset"], 1700000000000, "incidents[0].onset"),
        (["incidents", 0, "onset"], True, "incidents[0].onset"),
        (["schemaVersion"], 2, "schemaVersion"),
        (["windowSeconds"], 59, "windowSeconds is 59, but must be at least 60"),
        (["incidents"], [], "incidents"),
        (["incidents"], {}, "incidents"),
    ],
)
def test_a_wrong_field_of_a_dataset_is_named_by_its_path(path, new, names):
    error = refused(parse_ground_truth, edited(TRUTH, path, new))
    assert error.reason == "DatasetInvalid"
    assert names in error.message


def test_a_missing_field_is_named():
    value = edited(TRUTH, ["incidents", 0], {"id": "IN-1"})
    assert "incidents[0].faultClass is missing" in refused(parse_ground_truth, value).message


def test_two_incidents_of_one_id_are_refused():
    value = edited(TRUTH, ["incidents"], TRUTH["incidents"] * 2)
    assert "IN-1 occurs twice" in refused(parse_ground_truth, value).message


def test_a_service_that_the_topology_does_not_have_is_named():
    incident = TRUTH["incidents"][0] | {
        "topology": {"services": [{"key": "web"}], "calls": [["web", "db"]]},
    }
    assert (
        "db in topology.calls"
        in refused(parse_ground_truth, edited(TRUTH, ["incidents", 0], incident)).message
    )


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"\xff\xfe{\x00", "not UTF-8"),
        (b"{", "line 1, column 2"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": 1e999999999}', "out of any sensible range"),
        (b'{"a": 0.' + b"1" * 100_000 + b"}", "a number of 100002 characters"),
        (b'{"a": ' + b"9" * 5000 + b"}", "out of any sensible range"),
        (b"[" * 100000, "nested too deeply"),
        (b"{} {}", "not valid JSON"),
        (b'{"a": ["\\ud800"]}', "surrogate"),
        (b'{"\\uDFFF": 1}', "surrogate"),
        (b"[]", "must be an object"),
        (b"null", "must be an object"),
        (b'"x"', "must be an object"),
    ],
)
@pytest.mark.parametrize("parse", [parse_ground_truth, parse_predictions, parse_scorecard, parse_baseline])
def test_junk_is_refused_by_every_reader_in_one_sentence(parse, data, says):
    assert says in refused(parse, data).message


def test_an_oversized_document_is_not_even_parsed():
    with pytest.raises(ContractError, match="at most 8388608"):
        parse_predictions(b" " * (8 * 1024 * 1024 + 1))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"candidates": [{"entity": "a", "score": 1}, {"entity": "b"}]}, "every candidate a score, or none"),
        ({"candidates": [{"entity": "a", "score": 1}, {"entity": "b", "score": 2}]}, "must not rise"),
        ({"candidates": [{"entity": "a"}, {"entity": "a"}]}, "once"),
        ({"candidates": [{"entity": ""}]}, "entity"),
        ({"candidates": [{"entity": "\x1b[2J"}]}, "entity"),
        ({"candidates": [{"entity": "a\nb"}]}, "entity"),
        ({"candidates": [{"entity": "a", "score": "NaN"}]}, "score"),
        ({"candidates": [{"entity": "a", "score": "1e5"}]}, "score"),
        ({"candidates": [{"entity": "a", "score": True}]}, "score"),
        ({"seconds": -1}, "seconds"),
        ({"seconds": "fast"}, "seconds"),
        ({"variant": "Maybe"}, "variant"),
        ({"case": "GT-01"}, "case"),
        ({"extra": 1}, "extra is unknown"),
    ],
)
def test_a_wrong_answer_is_named(change, says):
    error = refused(parse_predictions, PREDICTIONS | {"predictions": [ANSWER | change]})
    assert error.reason == "PredictionsInvalid"
    assert says in error.message


def test_two_answers_to_one_run_are_refused():
    assert (
        "answered twice"
        in refused(parse_predictions, PREDICTIONS | {"predictions": [ANSWER, ANSWER]}).message
    )


def test_noise_below_the_ninth_digit_is_not_a_rise():
    candidates = [{"entity": "a", "score": 0.3}, {"entity": "b", "score": 0.30000000000000004}]
    parse_predictions(
        json.dumps(PREDICTIONS | {"predictions": [ANSWER | {"candidates": candidates}]}).encode()
    )


def test_numbers_are_read_as_they_are_written():
    value = load_json(b'{"a": 0.1, "b": 3.0}', source="x", reason=Reason.USAGE, limit=100)
    assert value == {"a": Decimal("0.1"), "b": 3}
    assert type(value["b"]) is int


@given(st.decimals(min_value=-(10**6), max_value=10**6, places=12))
def test_an_exact_dump_keeps_every_digit(number):
    text = dump_exact({"n": number})
    assert Decimal(json.loads(text, parse_float=Decimal, parse_int=Decimal)["n"]) == number


@given(st.fractions(min_value=-1000, max_value=1000))
def test_nine_digits_are_the_nearest_ones(value):
    assert abs(Fraction(nine(value)) - value) <= Fraction(1, 2 * 10**9)
    assert len(nine(value).split(".")[1]) == 9


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 2 * 10**9), "0.000000000"),
        (Fraction(3, 2 * 10**9), "0.000000002"),
        (Fraction(-1, 10**10), "0.000000000"),
        (Fraction(7, 9), "0.777777778"),
    ],
)
def test_halves_go_to_the_even_digit(value, text):
    assert nine(value) == text


def test_a_float_never_gets_into_a_canonical_document():
    with pytest.raises(TypeError, match="float"):
        canonical({"a": [0.1]})


def test_scorecard_and_baseline_survive_their_own_canonical_form(make_scorecard, make_baseline):
    card, baseline = make_scorecard(), make_baseline()
    assert parse_scorecard(canonical(card)) == card
    assert parse_baseline(canonical(baseline)) == baseline
    assert card.deterministic_sha256() == make_scorecard(seconds={"With": "9"}).deterministic_sha256()


@given(st.permutations(["a", "b", "c", "d"]), st.sampled_from(["a", "b", "c", "d"]))
def test_a_constant_scorer_gets_the_worst_rank_in_every_order(order, truth):
    assert pessimistic_rank([(key, "0.500000000") for key in order], [truth]) == 4


def test_an_arm_occurs_once_wherever_arms_are_listed(make_scorecard, make_baseline):
    baseline, card = json.loads(canonical(make_baseline())), json.loads(canonical(make_scorecard()))
    for listed in (baseline, card["deterministic"]["control"], card["deterministic"]["variants"][0]):
        listed["arms"].append(listed["arms"][0])
    with pytest.raises(ContractError, match="each arm may occur once"):
        parse_baseline(json.dumps(baseline).encode())
    for part in ("control", "variants"):
        whole = json.loads(canonical(make_scorecard()))
        whole["deterministic"][part] = card["deterministic"][part]
        with pytest.raises(ContractError, match="each arm may occur once"):
            parse_scorecard(json.dumps(whole).encode())


def test_a_variant_is_the_same_as_another_only_under_the_same_modes(make_scorecard):
    card = json.loads(canonical(make_scorecard()))
    _, _, with_ = card["deterministic"]["variants"]
    with_ |= {"sameAs": "AllShadow", "arms": []}
    with pytest.raises(ContractError, match="With is sameAs AllShadow, which ran under other modes"):
        parse_scorecard(json.dumps(card).encode())


@pytest.mark.parametrize(
    ("would_be", "text"),
    [
        (
            {f"Key{n}": [] for n in range(65)},
            "predictions[0].wouldBe is an object, longer than the 64 allowed",
        ),
        ({"Key": "web"}, 'predictions[0].wouldBe.Key is "web", but must be a list'),
        ({"Key": [1]}, "predictions[0].wouldBe.Key[0] is 1, but must be a string"),
        ([1], "predictions[0].wouldBe[0] is 1, but must be a string"),
        ("web", 'predictions[0].wouldBe is "web", but must be a list'),
    ],
)
def test_of_the_two_forms_of_would_be_an_error_names_the_one_that_was_written(would_be, text):
    answer = {
        "variant": "With",
        "arm": "LivePath",
        "case": "case-00000000",
        "seconds": 1,
        "wouldBe": would_be,
    }
    document = {"protocol": 1, "engine": {"name": "e", "version": "1"}, "predictions": [answer]}
    with pytest.raises(ContractError) as caught:
        parse_predictions(json.dumps(document).encode())
    assert caught.value.message == f"predictions.json: {text}."
