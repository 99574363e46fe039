"""What a dishonest engine could read out of its folder beside the incident itself: each way must lead nowhere.

Aspects: the sentinel arm beside the honest one, the order of rows and files, the times of samples, the memory of past
incidents, which holds the answers to all but the one that is asked.
"""

import random
import shlex

import pytest

from rca_eval.contract import ContractError, Variant, parse_ground_truth, parse_incident, sha256
from rca_eval.data import PROFILES, ground_truth_bytes
from rca_eval.job.prepare import cases, prepare
from rca_eval.replay import REFERENCE_ENGINE, Plan, replay, variants

VARIANTS = (Variant(name="AllShadow", modes={"K": "Shadow"}), Variant(name="With", modes={"K": "Active"}))


@pytest.fixture(scope="module", params=PROFILES)
def prepared(request, tmp_path_factory):
    """`(truth, its cases, the prepared folder)` of a bundled profile."""
    data = ground_truth_bytes(request.param)
    truth, folder = parse_ground_truth(data), tmp_path_factory.mktemp("incidents")
    prepare(truth, sha256(data), VARIANTS, revision="r1", repeats=2, folder=folder)
    return truth, cases(truth, sha256(data)), folder


def test_the_planted_arm_cannot_be_joined_with_the_live_one_by_anything_in_it(prepared):
    """The answer is planted there: an alert, a time or a name that both arms show would carry it over."""
    truth, work, _ = prepared
    planted = [case.view for case in work if case.arm == "ScorerOnly"]
    assert len({view.alert.model_copy(update={"service": "x"}) for view in planted}) == 1
    assert len({frozenset(view.topology.services) for view in planted}) == 1
    assert len({tuple(sorted(map(str, view.telemetry.services.values()))) for view in planted}) == 1
    names = {key for one in truth.incidents for key in one.topology.keys}
    assert not names & {key for view in planted for key in view.telemetry.services}
    assert planted[0].alert.name not in {one.alert.name for one in truth.incidents}


def test_the_planted_cause_does_not_always_have_one_name(prepared):
    _, work, _ = prepared
    names = {name for case in work if case.arm == "ScorerOnly" for name in case.names}
    assert len(names) > 1
    assert all(
        set(case.names.values()) == set(case.incident.expected_root_cause)
        for case in work
        if case.arm == "ScorerOnly"
    )


def test_undoing_the_shuffle_gives_no_order_of_the_author(prepared):
    """The seed can be guessed: it is in the open. In the bundled files the cause is written first."""
    _, work, folder = prepared
    for case in work:
        if case.arm == "LivePath":
            view = parse_incident((folder / "1" / case.arm / f"{case.case}.json").read_bytes())
            shuffle = random.Random(f"{case.case}/1").shuffle
            for shuffled in (view.topology.services, view.topology.calls, view.changes):
                order = list(range(len(shuffled)))
                shuffle(order)
                undone = [row for _, row in sorted(zip(order, shuffled, strict=True), key=lambda at: at[0])]
                assert undone == sorted(undone, key=str)


def test_files_are_written_in_the_order_of_their_opaque_names(prepared):
    _, _, folder = prepared
    for arm in ("LivePath", "ScorerOnly"):
        times = [path.stat().st_mtime_ns for path in sorted((folder / "1" / arm).iterdir())]
        assert times == sorted(times)


def test_when_a_series_was_sampled_says_nothing_about_its_service(prepared):
    _, work, _ = prepared
    for case in work:
        rows = case.view.telemetry.services.values()
        times = {tuple(at for at, _ in series.samples) for row in rows for series in row.series}
        assert len(times) <= 1


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("disguised", [False, True])
def test_the_folder_of_a_foreign_engine_never_holds_a_past(profile, disguised, tmp_path):
    """Also if it calls the reference engine in the end: what runs before that has read the folder."""
    copy = f"cp -r $RCA_EVAL_INCIDENTS {tmp_path}/seen"
    command = f"{copy}; exec {shlex.join(REFERENCE_ENGINE)}" if disguised else copy
    plan = Plan(
        dataset=ground_truth_bytes(profile),
        variants=variants("RcaMemory.Mode", {}),
        engine=("sh", "-c", command),
        repeats=1,
    )
    if disguised:
        replay(plan)
    else:
        with pytest.raises(ContractError):
            replay(plan)
    files = sorted(tmp_path.glob("seen/*/case-*.json"))
    assert len(files) == 18
    assert not [path for path in files if "past" in path.read_text()]
