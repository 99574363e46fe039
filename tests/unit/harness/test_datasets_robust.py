"""Whatever the bytes are, a reader gives a document or one sentence, and lint gives findings: never another exception.

Each example is a bundled document with something broken in it: bits, the end, brackets, numbers, keys, characters.
"""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rca_eval.contract import (
    ContractError,
    canonical,
    parse_baseline,
    parse_ground_truth,
    parse_predictions,
    parse_scorecard,
)
from rca_eval.data import baseline_bytes, ground_truth_bytes
from rca_eval.gate import parse_policy
from rca_eval.lint import check

DATASET = json.loads(ground_truth_bytes("graded"))
SMALL = json.dumps({**DATASET, "incidents": DATASET["incidents"][:3]}, indent=1).encode()
SAMPLED = json.loads(SMALL)
for _row in SAMPLED["incidents"]:
    for _service in _row["telemetry"]["services"].values():
        _onset = _row["onset"]
        _service["series"] = [
            {"metric": "m", "samples": [[_onset + 60 * n, n % 5] for n in range(-20, 10)]},
            {"metric": "f", "file": "f.csv", "sha256": "0" * 64},
        ]
WITH_SAMPLES = json.dumps(SAMPLED).encode()
PREDICTIONS = json.dumps(
    {
        "protocol": 1,
        "engine": {"name": "e", "version": "1"},
        "predictions": [
            {
                "variant": "With",
                "arm": "LivePath",
                "case": "case-00000000",
                "candidates": [{"entity": "a", "score": 0.5, "terms": {"topo": 0.5}}],
                "seconds": 0.5,
                "wouldBe": {"K.Mode": ["a"]},
            }
        ],
    }
).encode()
POLICY = b'{"accuracyDrop": "0.02", "mttrRise": 30, "protectedIncidents": ["GT-01"], "minIncidents": 9}'
PIECES = (
    b"NaN",
    b"-Infinity",
    b"1e999999999",
    b"1E-400",
    b"9" * 400,
    b"-0",
    b"1.",
    b'"\\ud800"',
    b'"\\uDC00\\uD800"',
    b'"\xed\xa0\x80"',
    b'"\\u0000\\u001b[2J"',
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"[" * 300,
    b"{" * 300,
    b'{"a":' * 300,
    b"[" * 20_000,
    b"]" * 50,
    b",",
    b",,",
    b":",
    b'"',
    b"\\",
    b"\n",
    b"// x\n",
    b"/* x",
    b'"id": "x", ',
    b'"incidents": [], ',
    b"1700000000000",
    b"-1",
    b"0.5",
    b"'a'",
    "\N{RIGHT-TO-LEFT OVERRIDE}\N{LINE SEPARATOR}".encode(),
)


@st.composite
def damaged(draw, data):
    """The bytes with up to four pieces put in, taken out, replaced or cut off, or with bits turned."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(changed) - 1)))
        match draw(st.sampled_from(["flip", "insert", "replace", "delete", "cut", "repeat"])):
            case "flip" if changed:
                changed[at] ^= 1 << draw(st.integers(0, 7))
            case "insert":
                changed[at:at] = draw(st.sampled_from(PIECES))
            case "replace":
                changed[at : at + draw(st.integers(1, 12))] = draw(st.sampled_from(PIECES))
            case "delete":
                del changed[at : at + draw(st.integers(1, 80))]
            case "cut":
                del changed[at:]
            case "repeat":
                changed[at:at] = changed[at : at + draw(st.integers(1, 200))]
    return bytes(changed)


def parses_or_refuses(parse, data):
    try:
        parse(data)
    except ContractError as error:
        assert error.message.isprintable()  # noqa: PT017  (both outcomes are right)
        return False
    return True


@given(st.data())
@settings(max_examples=300)
def test_a_damaged_dataset_is_read_or_refused_and_lint_agrees(data):
    changed = data.draw(st.sampled_from([SMALL, WITH_SAMPLES]).flatmap(damaged))
    readable = parses_or_refuses(parse_ground_truth, changed)
    report = check(changed, "set.json")
    errors = [one for one in report.findings if one.level == "error"]
    assert readable or errors, "what a replay refuses, lint must have an error for"
    for one in report.findings:
        assert one.message.isprintable()
        assert one.fix.isprintable()
        assert one.line >= 1


@given(damaged(PREDICTIONS))
def test_damaged_predictions_are_read_or_refused(data):
    parses_or_refuses(parse_predictions, data)


@given(damaged(baseline_bytes("graded")[:6000]) | damaged(baseline_bytes("graded")))
@settings(max_examples=50)
def test_a_damaged_baseline_is_read_or_refused(data):
    parses_or_refuses(parse_baseline, data)


@given(damaged(POLICY))
def test_a_damaged_policy_is_read_or_refused(data):
    parses_or_refuses(parse_policy, data)


@given(st.data())
@settings(max_examples=50)
def test_a_damaged_scorecard_is_read_or_refused(make_scorecard, data):
    parses_or_refuses(parse_scorecard, data.draw(damaged(canonical(make_scorecard()))))


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


PLACES = [path for path in places(SAMPLED) if path]


@given(st.sampled_from(PLACES), JSON_VALUES)
@settings(max_examples=300)
def test_any_value_at_any_place_is_read_or_refused_and_lint_agrees(path, value):
    changed = json.loads(WITH_SAMPLES)
    at = changed
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    data = json.dumps(changed).encode()
    readable = parses_or_refuses(parse_ground_truth, data)
    report = check(data, "set.json")
    assert readable or report.errors


@pytest.mark.parametrize("parse", [parse_ground_truth, parse_baseline, parse_policy, parse_predictions])
@pytest.mark.parametrize("depth", [10, 150, 400, 900, 1100, 5000, 200_000])
@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}"), ('[{"simulate":', "}]")])
def test_no_depth_ends_in_another_exception(parse, depth, begin, end):
    for inner in ("", "1"):
        data = (begin * depth + inner + end * depth).encode()
        parses_or_refuses(parse, data)
        assert check(data, "set.json").errors


@pytest.mark.parametrize("depth", [100, 300, 900, 3000])
def test_a_free_field_may_be_deep_and_lint_still_finds_the_lines_after_it(depth):
    document = json.loads(SMALL)
    document["incidents"][0]["simulate"] = "DEEP"
    document["incidents"][1]["symptom"] = "nobody"
    data = json.dumps(document, indent=1).replace('"DEEP"', '{"a":' * depth + "1" + "}" * depth).encode()
    report = check(data, "set.json")
    if parses_or_refuses(parse_ground_truth, data):
        lines = data.decode().splitlines()
        found = next(
            one for one in report.findings if one.path == "incidents[1].symptom" and one.code == "E-DANGLING"
        )
        assert '"nobody"' in lines[found.line - 1]
    else:
        assert report.errors
