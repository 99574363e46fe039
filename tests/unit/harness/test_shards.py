"""An evaluation in parts: dealt out alike by every shard, and merged to the very scorecard of the whole, or refused."""

import gzip
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError
from rca_testing import parts as made

from rca_eval.contract import (
    ContractError,
    Reason,
    canonical,
    encode_frame,
    parse_ground_truth,
    parse_scorecard,
    sha256,
)
from rca_eval.contract.dealing import WHOLE, Share, deal, parse_share
from rca_eval.contract.frames import pack, read_part
from rca_eval.contract.merge import merge
from rca_eval.contract.part import ScorecardPart, parse_part
from rca_eval.contract.sharing import Pool
from rca_eval.data import ground_truth_bytes
from rca_eval.job.commands import engine_command, prepare_command, run_command, scorecard_command
from rca_eval.job.parts import read_part_file
from rca_eval.job.prepare import cases, prepare
from rca_eval.replay import Plan, replay

DATA = made.dataset(11, dark=4)
WHOLE_CARD = made.whole(DATA)


@given(
    size=st.integers(1, 60),
    count=st.integers(1, 64),
    digest=st.text("0123456789abcdef", min_size=64, max_size=64),
)
def test_every_shard_is_dealt_as_many_cases_as_any_other_give_or_take_one(
    size: int, count: int, digest: str
) -> None:
    every = [(arm, f"GT-{at}") for arm in ("ScorerOnly", "LivePath") for at in range(size)]
    dealt = deal(digest, every, count)
    assert dealt == deal(digest, reversed(every), count)
    assert dealt.keys() == set(every)
    for arms in (("ScorerOnly", "LivePath"), ("ScorerOnly",), ("LivePath",)):
        held = Counter(dict.fromkeys(range(count), 0))
        held.update(index for (arm, _), index in dealt.items() if arm in arms)
        assert len(held) == count
        assert max(held.values()) - min(held.values()) <= 1


def test_neither_the_order_of_the_file_nor_the_arm_tells_the_shard() -> None:
    every = [(arm, f"GT-{at}") for arm in ("ScorerOnly", "LivePath") for at in range(64)]
    dealt = deal("a" * 64, every, 2)
    neighbours = [dealt["LivePath", f"GT-{at}"] != dealt["LivePath", f"GT-{at + 1}"] for at in range(63)]
    joined = [dealt["LivePath", f"GT-{at}"] == dealt["ScorerOnly", f"GT-{at}"] for at in range(64)]
    assert 16 < sum(neighbours) < 48
    assert 16 < sum(joined) < 48
    assert dealt != deal("b" * 64, every, 2)


def test_a_shard_writes_each_incident_exactly_as_it_is_among_all(tmp_path: Path) -> None:
    """Its past included: what an engine remembers must not depend on the number of shards."""
    truth, digest = parse_ground_truth(DATA), sha256(DATA)
    settings: Any = {"revision": "r", "repeats": 2, "memory": truth}
    prepare(truth, digest, made.VARIANTS, folder=tmp_path / "all", **settings)
    everything = {
        path.relative_to(tmp_path / "all"): path.read_bytes() for path in _incidents(tmp_path / "all")
    }
    assert any(b'"past"' in content for content in everything.values())
    for share in (Share(index, 4) for index in range(4)):
        folder = tmp_path / str(share.index)
        assert prepare(truth, digest, made.VARIANTS, folder=folder, share=share, **settings) == 2 * len(
            cases(truth, digest, share)
        )
        for path in _incidents(folder):
            assert everything.pop(path.relative_to(folder)) == path.read_bytes()
    assert not everything


def _incidents(folder: Path) -> list[Path]:
    return list(folder.rglob("case-*.json"))


@given(
    size=st.integers(1, 12),
    dark=st.integers(0, 3),
    count=st.integers(2, 24),
    repeats=st.integers(1, 3),
    shuffle=st.randoms(),
)
@example(size=1, dark=0, count=2, repeats=2, shuffle=random.Random(0))
def test_whatever_the_number_of_shards_the_merged_scorecard_is_that_of_the_whole(
    size: int, dark: int, count: int, repeats: int, shuffle: Any
) -> None:
    data = made.dataset(size, dark=dark)
    total = len(cases(parse_ground_truth(data), sha256(data)))
    count = min(count, total)
    if count < 2:
        return
    mine = made.parts(data, count, repeats=repeats)
    shuffle.shuffle(mine)
    expected = made.whole(data, repeats=repeats)
    merged = merge(mine)
    assert merged.deterministic_sha256() == expected.deterministic_sha256()
    # Times are added up exactly, so with the same times all the rest is the same, too, but for the order of what differs.
    assert merged.measured.model_dump(exclude={"repeats"}) == expected.measured.model_dump(
        exclude={"repeats"}
    )
    assert merged.measured.repeats.identical == expected.measured.repeats.identical


def test_a_part_survives_its_way_through_a_log_and_a_file(tmp_path: Path) -> None:
    [one, *_] = made.parts(DATA, 3)
    frame = encode_frame(one)
    read, document = read_part(b"noise\n" + frame.text.encode(), expected_sha256=frame.sha256)
    assert (read, sha256(document)) == (one, frame.sha256)
    for name, content in {
        "plain": canonical(one),
        "packed": pack(canonical(one)),
        "log": b"x\n" + frame.text.encode(),
    }.items():
        (tmp_path / name).write_bytes(content)
        assert read_part_file(tmp_path / name) == one


def test_a_part_is_no_scorecard_and_a_scorecard_no_part() -> None:
    [one, *_] = made.parts(DATA, 3)
    with pytest.raises(ContractError) as refused:
        parse_scorecard(canonical(one))
    assert refused.value.reason is Reason.SCORECARD_INVALID
    with pytest.raises(ContractError, match="whole scorecard") as refused:
        parse_part(canonical(WHOLE_CARD))
    assert refused.value.reason is Reason.SHARD_MISMATCH


type Change = Callable[[dict[str, Any]], Any]


def _other(part: ScorecardPart, change: Change) -> ScorecardPart:
    document = part.model_dump()
    change(document)
    return ScorecardPart.model_validate(document)


def _rename(document: dict[str, Any]) -> None:
    """All rows of one incident under the name of another."""
    text = str(document["deterministic"]["dataset"]["incidents"][0])
    _replace(document, text, "IN-99999")


def _replace(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        for key in value:
            value[key] = _replace(value[key], old, new)
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(_replace(one, old, new) for one in value)
    return new if value == old else value


def _drop_last_live(document: dict[str, Any]) -> None:
    """A case left out everywhere, as if it had not been dealt."""
    arms = [*document["shard"]["arms"]]
    at = next(n for n, arm in enumerate(arms) if arm["arm"] == "LivePath")
    arms[at] = {**arms[at], "places": arms[at]["places"][:-1]}
    document["shard"]["arms"] = tuple(arms)
    deterministic = document["deterministic"]
    gone = ""
    for ranker in (*deterministic["variants"], deterministic["control"]):
        kept = []
        for arm in ranker["arms"]:
            rows = arm["incidents"]
            if arm["arm"] == "LivePath":
                gone, rows = rows[-1]["id"], rows[:-1]
            kept.append({**arm, "incidents": rows})
        ranker["arms"] = tuple(arm for arm in kept if arm["incidents"])
    for rows in ("seconds", "would_be"):
        document["measured"][rows] = tuple(
            row for row in document["measured"][rows] if (row["arm"], row["incident"]) != ("LivePath", gone)
        )
    left = {row["id"] for v in deterministic["variants"] for arm in v["arms"] for row in arm["incidents"]}
    deterministic["dataset"]["incidents"] = tuple(
        one for one in deterministic["dataset"]["incidents"] if one in left
    )


def _set(*path: Any, to: Any) -> Change:
    def change(document: dict[str, Any]) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = to

    return change


WAYS: dict[str, tuple[Change, str]] = {
    "of another dataset": (_set("deterministic", "dataset", "sha256", to="0" * 64), "another dataset"),
    "of another revision": (_set("deterministic", "revision", to="r2"), "another revision"),
    "of another run": (_set("shard", "run", to="run-1-2"), "another run or attempt"),
    "of another profile": (_set("deterministic", "dataset", "profile", to="seed"), "another profile"),
    "of another window": (_set("deterministic", "dataset", "window_seconds", to=60), "another window"),
    "of another number of shards": (_set("shard", "count", to=4), "another number of shards"),
    "of another set of incidents": (_set("shard", "incidents_sha256", to="0" * 64), "another list"),
    "of another engine": (_set("measured", "engine", "version", to="2"), "another engine"),
    "of another provenance": (_set("provenance", to="SelfReported"), "another provenance"),
    "without a control": (_set("deterministic", "control", to=None), "another control"),
    "under other modes": (
        _set("deterministic", "variants", 2, "modes", to={made.KEY: "Active", "x": "Shadow"}),
        "modes",
    ),
    "out of range": (_set("shard", "index", to=3), "does not exist"),
    "a copy of another's number": (_set("shard", "index", to=0), "twice"),
    "with a renamed incident": (_rename, "where another part has|list|dataset"),
    "with a case left out": (_drop_last_live, "cases of LivePath"),
    "without its times": (_set("measured", "seconds", to=()), "one time"),
    "with places out of order": (_set("shard", "arms", 0, "places", to=(3, 1)), "order|same incidents"),
    "with another number of repeats": (
        _set("measured", "repeats", to={"count": 3, "identical": True, "differences": ()}),
        "number of repeats",
    ),
    "without its total times": (_set("measured", "total_seconds", to=()), "total time"),
    "with a time that is none": (
        _set("measured", "total_seconds", to=("NaN", "0.100000000")),
        "finite number",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_part_that_does_not_fit_is_refused_by_name(way: str) -> None:
    change, words = WAYS[way]
    one, two, three = made.parts(DATA, 3)
    with pytest.raises(ContractError, match=words) as refused:
        merge([one, _other(two, change), three])
    assert refused.value.reason in (Reason.SHARD_MISMATCH, Reason.SCORECARD_INVALID)


def test_a_missing_part_is_named_and_never_makes_a_smaller_set() -> None:
    one, _, three = made.parts(DATA, 3)
    with pytest.raises(ContractError, match="no part of 2;") as refused:
        merge([one, three])
    assert refused.value.reason is Reason.SHARD_MISSING
    with pytest.raises(ContractError) as refused:
        merge([])
    assert refused.value.reason is Reason.SHARD_MISSING


def test_a_part_of_another_attempt_does_not_stand_in_for_a_lost_one() -> None:
    one, _, three = made.parts(DATA, 3)
    other = made.parts(DATA, 3, run="run-1-2")[1]
    with pytest.raises(ContractError, match="run or attempt"):
        merge([one, other, three])


def test_incidents_that_were_swapped_between_two_parts_are_found() -> None:
    """Two parts that agree with each other, but not with how the cases are dealt."""
    one, two, three = made.parts(DATA, 3)
    swapped = [_other(one, _set("shard", "index", to=1)), _other(two, _set("shard", "index", to=0)), three]
    with pytest.raises(ContractError, match="not dealt to it"):
        merge(swapped)


@given(st.data())
def test_however_a_part_is_damaged_the_result_is_the_whole_or_a_refusal(data: st.DataObject) -> None:
    """Damage to one value of one part: nothing but the evidence of the whole set, or a named refusal, comes out.

    What a row answers is a part's own to say, so a changed answer makes another whole scorecard, never a smaller one.
    """
    every = [part.model_dump() for part in made.parts(DATA, 3)]
    target: Any = data.draw(st.sampled_from(every))
    steps: list[Any] = []
    while isinstance(target, (dict, list, tuple)) and target and (len(steps) < 2 or data.draw(st.booleans())):
        step = data.draw(
            st.sampled_from(sorted(target) if isinstance(target, dict) else list(range(len(target))))
        )
        steps.append((target, step))
        target = target[step]
    holder, step = steps[-1]
    value = data.draw(st.sampled_from([None, (), 0, 2, "x", True, {}, "NaN"]))
    if isinstance(holder, dict):
        holder[step] = value
    else:
        outer, at = steps[-2]
        outer[at] = (*holder[:step], *holder[step + 1 :])
    try:
        read = [ScorecardPart.model_validate(one) for one in every]
    except ValidationError:
        return
    try:
        merged = merge(read)
    except ContractError:
        return
    assert merged.deterministic.dataset.incidents == WHOLE_CARD.deterministic.dataset.incidents
    for variant in ("AllShadow", "With"):
        mine, whole = merged.deterministic.arms_of(variant), WHOLE_CARD.deterministic.arms_of(variant)
        assert mine
        assert whole
        assert [[row.id for row in arm.incidents] for arm in mine] == [
            [row.id for row in arm.incidents] for arm in whole
        ]


@pytest.mark.parametrize(
    ("env", "found"),
    [
        ({}, WHOLE),
        ({"JOB_COMPLETION_INDEX": "3"}, WHOLE),
        ({"RCA_EVAL_SHARDS": "1"}, WHOLE),
        ({"RCA_EVAL_SHARDS": "4", "JOB_COMPLETION_INDEX": "3"}, Share(3, 4)),
        ({"RCA_EVAL_SHARDS": "4", "RCA_EVAL_SHARD": "0", "JOB_COMPLETION_INDEX": "3"}, Share(0, 4)),
    ],
)
def test_the_share_comes_from_the_environment(env: dict[str, str], found: Share) -> None:
    assert parse_share(env) == found


@pytest.mark.parametrize(
    "env",
    [
        {"RCA_EVAL_SHARDS": "0"},
        {"RCA_EVAL_SHARDS": "65", "JOB_COMPLETION_INDEX": "0"},
        {"RCA_EVAL_SHARDS": "x"},
        {"RCA_EVAL_SHARDS": "4"},
        {"RCA_EVAL_SHARDS": "4", "RCA_EVAL_SHARD": "4"},
        {"RCA_EVAL_SHARDS": "4", "RCA_EVAL_SHARD": "-1"},
        {"RCA_EVAL_SHARDS": "4", "RCA_EVAL_SHARD": "¹"},
        {"RCA_EVAL_SHARDS": "4", "RCA_EVAL_SHARD": "000001"},
    ],
)
def test_a_share_that_is_none_is_refused(env: dict[str, str]) -> None:
    with pytest.raises(ContractError) as refused:
        parse_share(env)
    assert refused.value.reason is Reason.ENVIRONMENT_INVALID


def test_more_shards_than_cases_are_refused() -> None:
    data = made.dataset(2)
    with pytest.raises(ContractError, match="too many for 4 cases"):
        cases(parse_ground_truth(data), sha256(data), Share(0, 5))


def test_the_containers_of_a_job_make_parts_that_merge_to_the_scorecard_of_a_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real engine, through the commands of the Job: with the index that Kubernetes sets."""
    data = ground_truth_bytes("graded")
    # Packed, as it has to be to fit into a ConfigMap; its digest is the document's.
    (tmp_path / "truth.json").write_bytes(gzip.compress(data))
    files = []
    for index in range(2):
        folder = tmp_path / str(index)
        env = {
            "RCA_EVAL_DATASET": str(tmp_path / "truth.json"),
            "RCA_EVAL_DATASET_SHA256": sha256(data),
            "RCA_EVAL_INCIDENTS": str(folder / "incidents"),
            "RCA_EVAL_OUTPUT": str(folder / "output"),
            "RCA_EVAL_VARIANTS": json.dumps([one.plain() for one in made.VARIANTS]),
            "RCA_EVAL_REVISION": "local",
            "RCA_EVAL_MEMORY": "Prequential",
            "RCA_EVAL_RUN": "run-1-1",
            "RCA_EVAL_SHARDS": "2",
            "JOB_COMPLETION_INDEX": str(index),
            "RCA_EVAL_TERMINATION_LOG": str(folder / "told"),
        }
        folder.mkdir()
        assert run_command(prepare_command, env) == 0
        for repeat in ("1", "2"):
            (folder / "output" / repeat).mkdir(parents=True)
            mine = {
                "RCA_EVAL_INCIDENTS": str(folder / "incidents" / repeat),
                "RCA_EVAL_OUTPUT": str(folder / "output" / repeat),
            }
            assert run_command(engine_command, {**env, **mine}) == 0
        capsys.readouterr()
        assert run_command(scorecard_command, env) == 0
        files.append(folder / "log")
        files[-1].write_text(capsys.readouterr().out)
        told = json.loads((folder / "told").read_text())
        part, document = read_part(files[-1].read_bytes(), expected_sha256=told["sha256"])
        assert part.shard.run == "run-1-1"
        assert sha256(document) == told["sha256"]
    whole = replay(Plan(dataset=data, variants=made.VARIANTS))
    assert (
        whole.deterministic_sha256()
        == replay(Plan(dataset=data, variants=made.VARIANTS, shards=3)).deterministic_sha256()
    )
    answer = _rca_eval("job", "merge", *map(str, files), "--output", str(tmp_path / "merged.json"))
    assert answer.returncode == 0, answer.stderr
    merged = parse_scorecard((tmp_path / "merged.json").read_bytes())
    assert merged.deterministic_sha256() == whole.deterministic_sha256()


def test_a_shard_without_the_name_of_its_run_is_refused(tmp_path: Path) -> None:
    env = {
        "RCA_EVAL_SHARDS": "2",
        "JOB_COMPLETION_INDEX": "2",
        "RCA_EVAL_DATASET": str(tmp_path / "truth.json"),
    }
    (tmp_path / "truth.json").write_bytes(DATA)
    told = tmp_path / "told"
    env |= {"RCA_EVAL_VARIANTS": "[]", "RCA_EVAL_TERMINATION_LOG": str(told)}
    assert run_command(prepare_command, env) == 2
    assert json.loads(told.read_text())["error"]["reason"] == "EnvironmentInvalid"


def test_the_command_refuses_a_part_that_is_missing_and_a_whole_among_parts(tmp_path: Path) -> None:
    one, two = made.parts(DATA, 2)
    (tmp_path / "one").write_bytes(canonical(one))
    (tmp_path / "whole").write_bytes(canonical(WHOLE_CARD))
    for names, reason in (("one",), "ShardMissing"), (("one", "whole"), "ShardMismatch"):
        target = tmp_path / "merged.json"
        answer = _rca_eval("job", "merge", *(str(tmp_path / name) for name in names), "--output", str(target))
        assert answer.returncode == 2
        assert reason in answer.stderr
        assert "Traceback" not in answer.stderr
        assert not target.exists()
    assert two.shard.index == 1


def test_parts_that_share_equal_values_are_the_same_parts() -> None:
    """As the operator holds them: the whole is the same to the last byte, and equal candidates are one object."""
    pool, plain = Pool(), made.parts(DATA, 3)
    shared = [pool.share(parse_part(canonical(part))) for part in plain]
    assert shared == plain
    assert canonical(merge(shared)) == canonical(merge(plain))
    rows = [row for arm in merge(shared).deterministic.arms_of("With") or () for row in arm.incidents]
    seen = [one for row in rows for one in row.candidates]
    assert len({id(one) for one in seen}) == len({(one.key, one.score) for one in seen}) < len(seen)


def _rca_eval(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rca_eval.cli", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True)
