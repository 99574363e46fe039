"""Reports are total: whatever a scorecard can hold gives a report, an explanation, and never an exception."""

import random

import pytest
from rca_testing import report_cases
from rich.cells import cell_len

from rca_eval.cli import output
from rca_eval.gate import GateContext, GatePolicy, evaluate
from rca_eval.gate.subject import Subject
from rca_eval.report.build import gate_report, side_of
from rca_eval.report.explain_table import explain_table
from rca_eval.report.explanation import explanation
from rca_eval.report.markdown import LINES
from rca_eval.report.render import ReportFormat, plain_text, rendered
from rca_eval.report.rows import pairs

FIGURES = (
    "0.000000000",
    "NaN",
    "Infinity",
    "-Infinity",
    "-5.000000000",
    "999999999999.000000000",
    "0.000000001",
)
CARDS = 4


def damaged(row, chance):
    """One way in which an engine, or whoever wrote the scorecard, can surprise."""
    candidates = row.candidates

    def each(**changes):
        return tuple(one.model_copy(update={k: v() for k, v in changes.items()}) for one in candidates)

    figure = lambda: chance.choice(FIGURES)  # noqa: E731
    many = lambda: {f"t{number}": figure() for number in range(12)}  # noqa: E731
    ways = (
        {
            "status": chance.choice(["Error", "Timeout", "Missing"]),
            "error": chance.choice([None, "", "x\x1b[2J" * 50]),
        },
        {"candidates": ()},
        {"candidates": each(score=lambda: None)},
        {"candidates": each(terms=lambda: chance.choice([None, {}, {"topo": figure()}, many()]))},
        {"candidates": each(score=figure)},
        {"candidates": tuple(one for one in candidates if one.key not in row.expected)},
        {"expected": (candidates[0].key, "ghost"), "table": chance.choice([None, "floor", "x" * 300])},
        {"candidates": tuple(reversed(candidates)), "decision": "d" * 999, "evidence": ("e" * 500,) * 30},
    )
    return row.model_copy(update=chance.choice(ways))


def damaged_arms(arms, chance):
    return tuple(
        arm.model_copy(
            update={
                "incidents": tuple(
                    damaged(row, chance) if chance.random() < 0.5 else row for row in arm.incidents
                )
            }
        )
        for arm in arms
    )


@pytest.mark.parametrize("seed", range(CARDS))
def test_every_scorecard_gives_every_format_and_every_explanation(seed):
    chance = random.Random(seed)
    whole, reference = report_cases.card("two lost"), report_cases.baseline()
    variants = tuple(
        one.model_copy(update={"arms": damaged_arms(one.arms, chance)})
        for one in whole.deterministic.variants
    )
    card = whole.model_copy(
        update={"deterministic": whole.deterministic.model_copy(update={"variants": variants})}
    )
    broken = reference.model_copy(update={"arms": damaged_arms(reference.arms, chance)})
    for baseline in (reference, broken, None):
        result = evaluate(card, baseline)
        report = gate_report(card, baseline, result, truth=report_cases.truth())
        for form in ReportFormat:
            text = rendered(form, report, result)
            assert form is not ReportFormat.MARKDOWN or len(text.splitlines()) <= LINES
            assert form is not ReportFormat.TABLE or max(map(cell_len, text.splitlines())) <= 80
        subject = Subject(card, baseline, GatePolicy(), GateContext())
        for arm in ("LivePath", "ScorerOnly"):
            for pair in pairs(side_of(subject, "With", arm)):
                lines = plain_text(explain_table(explanation(pair, card, report_cases.truth()))).splitlines()
                assert max(map(cell_len, lines)) <= 80


def test_a_locale_without_a_word_for_it_gets_an_escape_and_no_traceback(tmp_path, monkeypatch):
    with (tmp_path / "out").open("w", encoding="ascii") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        output.out("✗ lost\n")
    assert (tmp_path / "out").read_text() == "\\u2717 lost\n"
