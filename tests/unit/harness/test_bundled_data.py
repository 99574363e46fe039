"""The bundled files are what they say: valid by schema and reader, generated from one table, and linted."""

import copy
import json

import jsonschema
import pytest

from rca_eval.contract import ContractError, parse_ground_truth
from rca_eval.data import ALL_PROFILES, PROFILES, catalogue, ground_truth_bytes, schema_bytes
from rca_eval.lint import lint

VALIDATOR = jsonschema.Draft202012Validator(json.loads(schema_bytes()))


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_a_bundled_dataset_is_the_catalogue_and_passes_schema_and_reader(profile):
    data = ground_truth_bytes(profile)
    assert data.decode() == catalogue.text(profile)
    VALIDATOR.validate(json.loads(data))
    assert parse_ground_truth(data).profile == profile


@pytest.mark.parametrize("profile", PROFILES)
def test_the_gated_profiles_are_the_nine_incidents_of_the_simulation_catalogue(profile):
    truth = parse_ground_truth(ground_truth_bytes(profile))
    assert [one.id[:5] for one in truth.incidents] == [f"GT-0{n}" for n in range(1, 10)]
    assert [one.id[:5] for one in truth.incidents if one.change_induced] == ["GT-03", "GT-07"]
    assert (truth.window_seconds, truth.profile) == (1800, profile)


STANDS = ("expectedRootCause", "faultClass", "symptom", "changeInduced", "protected")


def test_graded_has_the_causes_classes_symptoms_and_alerts_of_seed():
    seed, graded = (json.loads(ground_truth_bytes(profile))["incidents"] for profile in ("seed", "graded"))
    assert [{name: row[name] for name in STANDS} for row in graded] == [
        {name: row[name] for name in STANDS} for row in seed
    ]
    assert [row["alert"]["name"] for row in graded] == [row["alert"]["name"] for row in seed]


def test_graded_stays_small():
    rows = parse_ground_truth(ground_truth_bytes("graded")).incidents
    assert max(len(row.topology.services) for row in rows) <= 14


def test_the_schema_itself_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_bytes()))


def edits():
    """One wrong thing at a time, at every level of the document."""
    alert, service = ("incidents", 0, "alert"), ("incidents", 0, "telemetry", "services", "authelia")
    series = (*service, "series", 0)
    yield from [
        (("schemaVersion",), 2),
        (("windowSeconds",), 59),
        (("windowSeconds",), "1800"),
        (("profile",), "other"),
        (("extra",), 1),
        (("aliases",), {"a": "Not Valid"}),
        (("incidents",), []),
        (("incidents", 0, "id"), "-x"),
        (("incidents", 0, "faultClass"), "A B"),
        (("incidents", 0, "expectedRootCause"), ["authelia", "authelia"]),
        (("incidents", 0, "expectedRootCause"), 1),
        (("incidents", 0, "protected"), None),
        (("incidents", 0, "onset"), 1),
        (("incidents", 0, "onset"), 1700000000.5),
        (("incidents", 0, "onsetSource"), "guess"),
        (("incidents", 0, "simulate"), []),
        ((*alert, "firedAt"), 1700000000000),
        ((*alert, "forSeconds"), -1),
        ((*alert, "labels"), {"a": 1}),
        (("incidents", 0, "topology", "calls", 0), ["a"]),
        (("incidents", 0, "topology", "services", 0, "kind"), "pod"),
        (("incidents", 0, "telemetry", "availability"), "some"),
        ((*service, "criticality"), 1.1),
        ((*service, "criticality"), "0.9"),
        ((*service, "cpu"), 1),
        ((*series, "iqr"), 0),
        ((*series, "z"), None),
        ((*series, "file"), "x"),
        (series, {"metric": "m", "samples": [[1700000000, "x"]]}),
        (series, {"metric": "m", "samples": [[1700000000]]}),
        (series, {"metric": "m", "file": "x", "sha256": "short"}),
        (("incidents", 0, "changes", 0, "kind"), "Push"),
        (("incidents", 0, "distractors", 0, "kind"), "trap"),
        (("incidents", 0, "label", "status"), "maybe"),
        (("incidents", 0, "label"), {}),
    ]


@pytest.mark.parametrize(("path", "value"), list(edits()), ids=str)
def test_schema_and_reader_refuse_the_same_things(path, value):
    document = json.loads(ground_truth_bytes("graded"))
    changed = copy.deepcopy(document)
    at = changed
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    assert not VALIDATOR.is_valid(changed)
    with pytest.raises(ContractError):
        parse_ground_truth(json.dumps(changed).encode())


@pytest.mark.parametrize(
    "series",
    [
        {"metric": "m", "samples": [[1700000000, 0.5], [1700000060, None]]},
        {"metric": "m", "file": "x.json", "sha256": "0" * 64},
        {"metric": "m", "median": 1.5, "iqr": 0.1, "z": -3},
    ],
)
def test_schema_and_reader_accept_all_three_forms_of_a_series(series):
    document = json.loads(ground_truth_bytes("graded"))
    document["incidents"][0]["telemetry"]["services"]["authelia"]["series"] = [series]
    VALIDATOR.validate(document)
    parse_ground_truth(json.dumps(document).encode())


def test_an_incident_with_only_the_four_required_fields_is_valid():
    row = {"id": "IN-1", "faultClass": "network", "expectedRootCause": ["a", "b"], "changeInduced": False}
    document = {"schemaVersion": 1, "windowSeconds": 1800, "incidents": [row]}
    VALIDATOR.validate(document)
    assert parse_ground_truth(json.dumps(document).encode()).incidents[0].expected_root_cause == ("a", "b")


def codes(change, profile="graded"):
    document = json.loads(ground_truth_bytes(profile))
    change(document["incidents"])
    return {
        (finding.code, (finding.incident or "")[:5])
        for finding in lint(parse_ground_truth(json.dumps(document).encode()))
    }


def test_the_graded_profile_has_no_finding_but_its_size_and_a_family_and_seed_says_what_it_is():
    # GT-01 and GT-03 are of one family on purpose: a memory that looks into its own family names the wrong service.
    assert codes(lambda rows: None) == {("W-FEW", ""), ("W-FAMILY", "GT-03")}
    assert ("W-SATURATED", "") in codes(lambda rows: None, "seed")


def test_a_dataset_in_which_the_cause_always_moves_first_is_told_so():
    def lag_the_rivals(rows):
        for row in rows:
            for key, service in row["telemetry"]["services"].items():
                for series in service["series"]:
                    series["lagSeconds"] = 0 if key == row["expectedRootCause"] else 20

    document = json.loads(ground_truth_bytes("seed"))
    lag_the_rivals(document["incidents"])
    found = [one.message for one in lint(parse_ground_truth(json.dumps(document).encode()))]
    assert "the rule `first service to move` alone scores 1.000" in found


def set_in(*path, value):
    def change(rows):
        at = rows[0]
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    return change


SAMPLES = {"metric": "m", "samples": [[1700000000 - 120, 1]]}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda rows: rows[0].pop("telemetry"), "E-INCOMPLETE"),
        (set_in("expectedRootCause", value="nowhere"), "E-UNKNOWN-CAUSE"),
        (set_in("topology", "calls", value=[]), "E-UNREACHABLE-CAUSE"),
        (set_in("changeInduced", value=True), "E-CHANGE-OUTSIDE"),
        (
            set_in("changes", value=[{"kind": "Deploy", "service": "authelia", "at": 1700000000 - 5}]),
            "E-CHANGE-UNLABELLED",
        ),
        (set_in("onset", value=1700000061), "E-ONSET-LATE"),
        (set_in("onset", value=1700000000 - 8 * 3600), "E-TIME-ZONE"),
        (set_in("telemetry", "services", "authelia", "series", value=[SAMPLES]), "E-FEW-SAMPLES"),
        (set_in("telemetry", "services", "authelia", "series", 0, "z", value=100), "E-SERIES"),
        (set_in("alert", "name", value="AutheliaDown"), "E-LEAK"),
        (set_in("alert", "name", value="ChaosExperiment"), "E-LEAK"),
        (set_in("changes", 0, "ref", value="GT-01 fixture"), "E-LEAK"),
        (set_in("label", "status", value="draft"), "E-DRAFT"),
    ],
)
def test_each_defect_of_a_dataset_has_a_code_and_names_the_incident(change, code):
    assert (code, "GT-01") in codes(change)


@pytest.mark.parametrize("name", ["DefaultBackendDown", "WebhookFailures", "LoginBroken"])
def test_an_innocent_alert_name_is_no_leak(name):
    def rename(rows):
        rows[0]["alert"]["name"] = name
        rows[0]["expectedRootCause"] = ["authelia", "web"]

    assert ("E-LEAK", "GT-01") not in codes(rename)


def test_a_one_sided_dataset_is_told_what_a_constant_answer_scores():
    def one_cause(rows):
        for row in rows[:5]:
            row["expectedRootCause"] = "authelia"
            row["faultClass"] = "auth/login"
        rows[7]["faultClass"] = "auth/login"

    found = codes(one_cause)
    assert ("W-ONE-CAUSE", "") in found
    assert ("W-ONE-CLASS", "") in found
