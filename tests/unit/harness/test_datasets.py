"""Datasets on disk: series in files beside them, and labels that may not decide.

A series file gives an engine the same bytes as samples in the document; it cannot lead out of the folder, and a
changed file is told. A draft or disputed label decides nothing, neither in a replay nor in a Job.
"""

import hashlib
import json
import os

import pytest

from rca_eval.cli.main import run
from rca_eval.contract import ContractError, Variant, parse_ground_truth, sha256
from rca_eval.data import ground_truth_bytes
from rca_eval.job.commands import prepare_command
from rca_eval.job.prepare import prepare
from rca_eval.job.series_files import FILE_LIMIT, with_files

ONSET = 1700000000
POINTS = [[ONSET - 1800 + 60 * n, (n % 4) / 4] for n in range(29)] + [
    [ONSET, 9.5],
    [ONSET + 60, None],
    [ONSET + 120, 10],
    [ONSET + 180, 1e2],
]
JSON_TEXT = json.dumps(POINTS).encode()
CSV_TEXT = ("time,value\n" + "".join(f"{at},{'' if v is None else v}\n" for at, v in POINTS)).encode()
VARIANTS = (Variant(name="AllShadow", modes={}),)


def dataset(series):
    document = json.loads(ground_truth_bytes("graded"))
    document["incidents"][0]["telemetry"]["services"]["authelia"]["series"] = [series]
    return json.dumps(document).encode()


def named(name, data):
    return {"metric": "error_ratio", "file": name, "sha256": hashlib.sha256(data).hexdigest()}


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.json", JSON_TEXT),
        ("a.csv", CSV_TEXT),
        ("a.csv", CSV_TEXT.replace(b"\n", b"\r\n")),
        ("deep/er/a.csv", CSV_TEXT),
    ],
    ids=["json", "csv", "csv of Windows", "in a subfolder"],
)
def test_an_engine_gets_the_same_bytes_from_a_file_as_from_samples_in_the_dataset(name, data, tmp_path):
    (tmp_path / "set" / name).parent.mkdir(parents=True)
    (tmp_path / "set" / name).write_bytes(data)
    inline = parse_ground_truth(dataset({"metric": "error_ratio", "samples": POINTS}))
    filed = with_files(parse_ground_truth(dataset(named(name, data))), tmp_path / "set")
    for truth, folder in ((inline, "inline"), (filed, "filed")):
        prepare(truth, "0" * 64, VARIANTS, revision="r", repeats=1, folder=tmp_path / folder)
    assert files_of(tmp_path / "inline") == files_of(tmp_path / "filed")
    assert any(b"1700000120,10]" in data for data in files_of(tmp_path / "filed").values())


def test_the_digest_of_a_dataset_changes_with_the_content_of_its_files():
    one, other = (dataset(named("a.csv", data)) for data in (CSV_TEXT, CSV_TEXT + b"1700000240,1\n"))
    assert sha256(one) != sha256(other)


def job(tmp_path, data):
    (tmp_path / "set").mkdir(exist_ok=True)
    (tmp_path / "set" / "ground-truth.json").write_bytes(data)
    return {
        "RCA_EVAL_DATASET": str(tmp_path / "set" / "ground-truth.json"),
        "RCA_EVAL_VARIANTS": json.dumps([{"name": "AllShadow", "modes": {}}]),
        "RCA_EVAL_INCIDENTS": str(tmp_path / "incidents"),
    }


def test_a_job_finds_the_files_through_the_links_of_a_mounted_config_map(tmp_path):
    env = job(tmp_path, b"")
    mount = tmp_path / "set"
    (mount / "ground-truth.json").unlink()
    (mount / "..2026_11_30").mkdir()
    (mount / "..data").symlink_to("..2026_11_30")
    for name, data in (("ground-truth.json", dataset(named("a.csv", CSV_TEXT))), ("a.csv", CSV_TEXT)):
        (mount / "..2026_11_30" / name).write_bytes(data)
        (mount / name).symlink_to(f"..data/{name}")
    assert prepare_command(env)["runs"] == 18


def outside(tmp_path):
    (tmp_path / "secret.csv").write_bytes(CSV_TEXT)
    (tmp_path / "set").mkdir(exist_ok=True)
    return tmp_path / "set"


def link(tmp_path):
    (outside(tmp_path) / "a.csv").symlink_to("../secret.csv")


def linked_folder(tmp_path):
    (outside(tmp_path) / "sub").symlink_to("..")


def loop(tmp_path):
    (outside(tmp_path) / "a.csv").symlink_to("a.csv")


def pipe(tmp_path):
    os.mkfifo(outside(tmp_path) / "a.csv")


def folder(tmp_path):
    (outside(tmp_path) / "a.csv").mkdir()


def content(data):
    return lambda tmp_path: (outside(tmp_path) / "a.csv").write_bytes(data)


@pytest.mark.parametrize(
    ("name", "make", "says"),
    [
        ("../secret.csv", outside, "without `..`"),
        ("x/../../secret.csv", outside, "without `..`"),
        ("/etc/passwd.csv", outside, "relative to the dataset's folder"),
        ("..\\secret.csv", outside, "a plain name"),
        ("a\u0000.csv", outside, "a plain name"),
        ("passwd", outside, "ends in .json or .csv"),
        ("", outside, "ends in .json or .csv"),
        ("a.csv", outside, "does not exist"),
        ("a.csv", link, "leads out of the dataset's folder"),
        ("sub/secret.csv", linked_folder, "leads out of the dataset's folder"),
        ("a.csv", loop, "cannot be found"),
        ("a.csv", pipe, "not a regular file"),
        ("a.csv", folder, "is a folder"),
        ("a.csv", content(b"x" * (FILE_LIMIT + 1)), "larger than the 4194304 bytes"),
        ("a.csv", content(b"other"), "restore the file, or write its new digest"),
    ],
)
def test_a_file_that_is_not_the_one_beside_the_dataset_is_refused_and_nothing_is_written(
    name, make, says, tmp_path
):
    make(tmp_path)
    env = job(tmp_path, dataset(named(name, CSV_TEXT)))
    with pytest.raises(ContractError) as caught:
        prepare_command(env)
    assert says in caught.value.message
    assert "GT-01-login-break" in caught.value.message
    assert caught.value.reason == ("DatasetChanged" if "digest" in says else "DatasetInvalid")
    assert not (tmp_path / "incidents").exists()


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.csv", b"", "its first line must be `time,value`"),
        ("a.csv", b"t,v\n1700000000,1\n", "its first line must be `time,value`"),
        ("a.csv", b"time,value\n1700000000\n", "line 2, has 1 columns"),
        ("a.csv", b"time,value\n1700000000,1,2\n", "line 2, has 3 columns"),
        ("a.csv", b"time,value\n1700000000,NaN\n", 'line 2, holds "NaN"'),
        ("a.csv", b"time,value\n1700000000,1\n1700000060,inf\n", 'line 3, holds "inf"'),
        ("a.csv", b"time,value\n2023-11-14T22:13:20Z,1\n", "whole Unix seconds"),
        ("a.csv", b"time,value\n1700000000000,1\n", "in whole seconds it is 1700000000"),
        ("a.csv", b"time,value\n1700000000.5,1\n", "samples[0][0]"),
        ("a.csv", b"time,value\n1700000000,1e400\n", "out of any sensible range"),
        ("a.csv", b"\xff\xfe", "not UTF-8"),
        ("a.json", b"{", "not valid JSON"),
        ("a.json", b"{}", "must be a list"),
        ("a.json", b"[[1700000000, NaN]]", "NaN"),
        ("a.json", b"[[1700000000]]", "samples[0]"),
    ],
)
def test_a_series_file_that_cannot_be_read_is_named_with_its_line(name, data, says, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ContractError) as caught:
        with_files(parse_ground_truth(dataset(named(name, data))), tmp_path)
    assert says in caught.value.message
    assert name in caught.value.message


def test_a_dataset_without_a_folder_cannot_name_files():
    with pytest.raises(ContractError, match="put the samples into the dataset"):
        with_files(parse_ground_truth(dataset(named("a.csv", CSV_TEXT))), None)


def labelled(*statuses):
    document = json.loads(ground_truth_bytes("graded"))
    for row, status in zip(document["incidents"], statuses, strict=False):
        row["label"] = {"status": status}
    return json.dumps(document).encode()


@pytest.mark.parametrize("status", ["draft", "disputed"])
def test_a_label_that_is_not_confirmed_decides_nothing_in_a_job(status, tmp_path):
    env = job(tmp_path, labelled("confirmed", status))
    with pytest.raises(ContractError, match=r"1 of 9 incidents are draft or disputed \(GT-02-rca"):
        prepare_command(env)
    assert not (tmp_path / "incidents").exists()


def test_a_replay_refuses_drafts_and_leaves_them_out_when_told(tmp_path, capsys):
    path, card = tmp_path / "set.json", tmp_path / "card.json"
    path.write_bytes(labelled("draft", "disputed"))
    arguments = ["replay", "--dataset", str(path), "--output", str(card), "--format", "json"]
    assert run(arguments) == 2
    assert "GT-01-login-break, GT-02-rca-gateway-down-floor" in capsys.readouterr().err
    assert not card.exists()
    assert run([*arguments, "--skip-drafts"]) == 0
    out, err = capsys.readouterr()
    assert "2 of 9 incidents left out" in err
    assert len(json.loads(out)["deterministic"]["dataset"]["incidents"]) == 7
    path.write_bytes(labelled(*["draft"] * 9))
    assert run([*arguments, "--skip-drafts"]) == 2


def test_a_replay_reads_series_files_from_the_folder_of_the_dataset(tmp_path, capsys):
    (tmp_path / "a.csv").write_bytes(CSV_TEXT)
    (tmp_path / "set.json").write_bytes(dataset(named("a.csv", CSV_TEXT)))
    arguments = ["replay", "--dataset", str(tmp_path / "set.json"), "--only", "GT-01", "--format", "json"]
    assert run(arguments) == 0
    (tmp_path / "a.csv").write_bytes(CSV_TEXT + b"\n")
    assert run(arguments) == 2
    assert "DatasetChanged" in capsys.readouterr().err
