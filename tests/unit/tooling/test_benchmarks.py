"""The benchmarks: generated incidents are documents of ours, and bounds are kept or missed as stated."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.baro import read_cases
from benchmarks.incidents import document
from benchmarks.measure import Fact, Figure, Outcome
from rca_eval.contract import ContractError, parse_incident


def test_generated_incidents_are_valid_of_the_stated_size_and_equal_for_equal_numbers() -> None:
    for number in range(50):
        incident = parse_incident(document(number))
        assert 5 <= len(incident.topology.services) <= 40
        assert document(number) == document(number)
    assert document(1) != document(2)


@pytest.mark.parametrize(
    ("values", "options", "kept"),
    [
        ([1.0, 5.0, 9.0], {}, None),
        ([1.0, 5.0, 9.0], {"limit": 5.0}, True),
        ([1.0, 5.0, 9.0], {"limit": 4.9}, False),
        ([1.0, 5.0, 9.0], {"limit": 1.0, "by_least": True}, True),
        ([1.1, 5.0, 9.0], {"limit": 1.0, "by_least": True}, False),
        ([1.0, 5.0, 9.0], {"limit": 5.0, "at_least": True}, True),
        ([1.0, 5.0, 9.0], {"limit": 5.1, "at_least": True}, False),
    ],
)
def test_a_bound_is_held_against_the_median_or_the_least(
    values: list[float], options: dict[str, float | bool], kept: bool | None
) -> None:
    assert Figure.of("x", "ms", values, **options).kept is kept  # type: ignore[arg-type]


def test_missed_bounds_and_facts_are_named() -> None:
    outcome = Outcome("x", figures=[Figure.of("slow", "ms", [2.0], limit=1.0)], facts=[Fact("equal", False)])
    assert outcome.plain()["missed"] == ["slow", "equal"]


def test_a_case_is_two_tables_and_the_service_before_the_last_hyphen(tmp_path: Path) -> None:
    folder = tmp_path / "user-db-cpu" / "1"
    folder.mkdir(parents=True)
    (folder / "normal.csv").write_text("time,user-db_cpu,user-db_lat_50\n1,2.5,3\n2,,4\n")
    (folder / "anomalous.csv").write_text("time,user-db_cpu,user-db_lat_50\n0,7,3\n")
    (case,) = read_cases(folder.parents[1])
    assert (case.truth, case.names) == ("user-db", ("user-db_cpu",))
    assert case.before[0].tolist() == [2.5]
    assert case.after.tolist() == [[7.0]]
    (folder / "anomalous.csv").write_text("time,other\n0,7\n")
    with pytest.raises(ContractError, match="different columns"):
        list(read_cases(folder.parents[1]))
