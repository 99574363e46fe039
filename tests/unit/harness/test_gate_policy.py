"""The policy: what holds where nobody says anything, where its limits are, and how a bad one is refused."""

import json
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction

import pytest

from rca_eval.contract import ContractError, DatasetInfo, Reason
from rca_eval.gate import GateContext, GatePolicy, Side, parse_policy
from rca_eval.gate.counterfactual import Change, Counterfactual, WeightChange
from rca_eval.gate.subject import Subject

MIB = 1 << 20


def parse(name, value):
    return parse_policy(f'{{"{name}": {value}}}'.encode())


def test_where_nobody_says_anything_the_documented_tolerances_hold():
    assert GatePolicy().plain() == {
        "accuracyDrop": "0.02",
        "mttrRise": 30,
        "protectedIncidents": None,
        "maxRegressedIncidents": None,
        "shadowFidelity": "Required",
        "referenceDrift": "Fail",
        "minIncidents": 9,
        "minFaultClasses": 3,
        "minRepeats": 2,
        "requireKnownBad": True,
        "allowSelfReported": False,
    }
    assert parse_policy(b"{}") == GatePolicy()
    assert GatePolicy().tolerance == Fraction(1, 50)


def test_a_context_knows_nothing_until_the_caller_says_it_and_measures_a_component():
    assert GateContext() == GateContext(None, None, True, None)


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("mttrRise", (0, 86400), (-1, 86401)),
        ("maxRegressedIncidents", (0, 1, 10**6), (-1,)),
        ("minIncidents", (1, 10**6), (0,)),
        ("minFaultClasses", (1, 10**6), (0,)),
        ("minRepeats", (1, 100), (0, 101)),
        (
            "accuracyDrop",
            ('"0"', '"0.000000001"', '"1"', '"1.0"'),
            ('"1.1"', '"0.0000000001"', '"-0"', '".5"', '"5"'),
        ),
        ("shadowFidelity", ('"Required"', '"IfLogged"'), ('"required"', "null")),
        ("referenceDrift", ('"Fail"', '"Warn"'), ('"fail"', "null")),
        ("requireKnownBad", ("true", "false"), ("0", '"no"')),
        ("allowSelfReported", ("true", "false"), ("1", '"yes"')),
    ],
)
def test_each_limit_holds_exactly_at_its_ends(name, accepted, refused):
    for value in accepted:
        assert parse(name, value).plain()[name] == json.loads(str(value))
    for value in refused:
        with pytest.raises(ContractError) as caught:
            parse(name, value)
        assert caught.value.reason == Reason.POLICY_INVALID
        assert name in str(caught.value)


def test_a_refused_policy_is_called_by_the_name_of_its_file():
    with pytest.raises(ContractError, match=r"^suite\.json\b"):
        parse_policy(b"[]", source="suite.json")
    with pytest.raises(ContractError, match=r"^the policy\b"):
        parse_policy(b"[]")


def test_a_policy_of_more_than_a_mebibyte_is_refused_before_it_is_read():
    assert parse_policy(b"{}" + b" " * (MIB - 2)) == GatePolicy()
    with pytest.raises(ContractError) as caught:
        parse_policy(b"{}" + b" " * (MIB - 1))
    assert caught.value.reason == Reason.POLICY_INVALID


@pytest.mark.parametrize(
    "value",
    [
        GateContext(),
        Side(
            "a", DatasetInfo(sha256="a" * 64, profile="graded", window_seconds=1, incidents=("GT-1",)), {}, {}
        ),
        WeightChange("floor", "topo", Fraction(2), 1),
        Change("term", "topo", "text", None, restores=True),
        Counterfactual("GT-1", ()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_check_was_given_cannot_be_changed_by_it(value):
    for field in fields(value):
        with pytest.raises(FrozenInstanceError):
            setattr(value, field.name, None)


def test_the_subject_of_all_checks_cannot_be_changed_by_one(make_scorecard):
    subject = Subject(make_scorecard(), None, GatePolicy(), GateContext())
    with pytest.raises(FrozenInstanceError):
        subject.baseline = None
