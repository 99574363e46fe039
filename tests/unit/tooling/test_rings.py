"""The closing lines of `make test`: neither pytest's exit status nor its counts are believed alone.

Aspects: reading JUnit, a pytest that died, everything skipped, nothing collected, a ring that could not run,
CI.
"""

from __future__ import annotations

from pathlib import Path

from hack.rings import Counts, Result, folder, judge, read_junit, summary, workers

JUNIT = """<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests">
<testsuite name="pytest" errors="1" failures="2" skipped="3" tests="10" time="1.5"/></testsuites>"""


def test_errors_count_as_failures(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text(JUNIT, encoding="utf-8")
    assert read_junit(path) == Counts(passed=4, failed=3, skipped=3)


def test_a_missing_or_cut_off_file_is_a_failure(tmp_path: Path) -> None:
    assert read_junit(tmp_path / "none.xml") == Counts(failed=1)
    cut = tmp_path / "cut.xml"
    cut.write_text(JUNIT[:60], encoding="utf-8")
    assert read_junit(cut) == Counts(failed=1)


def test_a_ring_whose_pytest_ended_badly_fails_even_when_every_test_passed() -> None:
    result = judge("unit", Counts(passed=5), 3, 1.0, selected=False)
    assert result.failures(ci=False) == 1
    assert "exit status 3" in result.line(ci=False)


def test_a_ring_that_skipped_all_its_tests_did_not_run() -> None:
    result = judge("node", Counts(skipped=4), 0, 1.0, selected=False)
    assert not result.ran
    assert result.failures(ci=False) == 0
    assert result.failures(ci=True) == 1


def test_a_selection_that_matches_nothing_in_one_ring_is_no_failure_there() -> None:
    assert judge("unit", Counts(), 5, 0.1, selected=True).failures(ci=True) == 0
    assert judge("unit", Counts(), 5, 0.1, selected=False).failures(ci=False) == 1


def test_files_that_a_person_names_are_run_instead_of_the_whole_ring() -> None:
    assert folder("node", ["tests/node/test_shards.py::test_one", "-x"]) == []
    assert folder("unit", ["tests/node/test_shards.py"]) == ["tests/unit"]
    assert folder("node", ["-k", "shards"]) == ["tests/node"]


def test_the_last_line_is_plain_and_counts_a_ring_that_ci_missed() -> None:
    ran = Result("unit", ran=True, counts=Counts(passed=7), seconds=2.0)
    skipped = Result("node", ran=False, why="needs a Docker engine that answers, or root on Linux")
    text, status = summary([ran, skipped], ci=False)
    assert (text.splitlines()[-1], status) == ("7 passed, 0 failed", 0)
    assert "node      skipped  needs a Docker engine" in text
    text, status = summary([ran, skipped], ci=True)
    assert (text.splitlines()[-1], status) == ("7 passed, 1 failed", 1)
    assert "node      FAILED   needs a Docker engine" in text


def test_a_ring_whose_cluster_did_not_start_is_a_failure_everywhere() -> None:
    result = Result(
        "cluster", ran=False, counts=Counts(failed=1), why="`python -m hack.cluster up` failed, see above"
    )
    assert summary([result], ci=False)[1] == 1


def test_files_of_the_cluster_ring_run_one_after_the_other_and_under_a_debugger_all_do() -> None:
    assert workers("cluster", []) == []
    assert workers("node", ["--pdb"]) == workers("unit", ["--pdb"]) == workers("unit", ["-n0"]) == []
    assert all("=" in option for option in workers("unit", ["-k", "gate"]))
    assert set(workers("node", [])) <= {"--numprocesses=2", "--dist=loadfile", "--no-loadscope-reorder"}
