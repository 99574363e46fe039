"""The record of incidents, on a real SQLite file and a real PostgreSQL: the same tests over both.

Aspects: each moment once, orders that cannot be, arrival in any order, writers side by side, selection, schema versions,
databases that cannot be used, secrets in messages.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from rca_testing import databases

from rca_eval.cli.main import run
from rca_eval.contract import ContractError, Reason
from rca_eval.kpis import LifecycleStore, Moment, Noted, open_lifecycles
from rca_eval.kpis.database import STEPS, open_database

FIRED = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)
LATER = [Moment.DETECTED, Moment.ACKNOWLEDGED, Moment.CONCLUDED, Moment.RESOLVED]


def after(seconds: float) -> datetime:
    return FIRED + timedelta(seconds=seconds)


@pytest.fixture(scope="module")
def new_postgresql() -> Iterator[Callable[[], str]]:
    with databases.server() as fresh:
        yield fresh


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return databases.sqlite(tmp_path)
    fresh: Callable[[], str] = request.getfixturevalue("new_postgresql")
    return fresh()


@pytest.fixture
def store(address: str) -> Iterator[LifecycleStore]:
    with open_lifecycles(address) as found:
        found.begin("inc-1", alert="Http5xxRatioHigh", service="web", fired=FIRED)
        yield found


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(ContractError) as caught:
        call()
    assert caught.value.reason is Reason.LIFECYCLE_REFUSED
    return caught.value.message


def test_each_moment_is_set_once_and_said_again_changes_nothing(store: LifecycleStore) -> None:
    for offset, moment in enumerate(LATER):
        assert store.note("inc-1", moment, after(offset)).noted is Noted.RECORDED
        assert store.note("inc-1", moment, after(offset)).noted is Noted.SAME
        kept = store.note("inc-1", moment, after(offset + 100))
        assert (kept.noted, kept.at) == (Noted.KEPT, after(offset))
    found = store.get("inc-1")
    assert found is not None
    assert found.times == {Moment.FIRED: FIRED} | {moment: after(at) for at, moment in enumerate(LATER)}


def test_an_incident_told_again_stays_as_it_was(store: LifecycleStore) -> None:
    store.note("inc-1", Moment.ACKNOWLEDGED, after(5))
    store.begin("inc-1", alert="Other", service="other", fired=after(60), fault_class="auth/login")
    found = store.get("inc-1")
    assert found is not None
    assert (found.alert, found.fault_class, found.times[Moment.FIRED]) == ("Http5xxRatioHigh", None, FIRED)
    assert found.times[Moment.ACKNOWLEDGED] == after(5)


@pytest.mark.parametrize("moment", LATER)
def test_nothing_happens_before_the_alert(store: LifecycleStore, moment: Moment) -> None:
    message = refusal(lambda: store.note("inc-1", moment, after(-0.000001)))
    assert f"cannot be {moment.value}" in message
    assert "fired later" in message
    assert store.note("inc-1", moment, FIRED).noted is Noted.RECORDED


def test_a_conclusion_is_not_earlier_than_the_first_look_whichever_comes_first(store: LifecycleStore) -> None:
    store.begin("inc-2", alert="A", service="s", fired=FIRED)
    store.note("inc-1", Moment.DETECTED, after(10))
    assert "detected later" in refusal(lambda: store.note("inc-1", Moment.CONCLUDED, after(9)))
    store.note("inc-2", Moment.CONCLUDED, after(9))
    assert "concluded before that" in refusal(lambda: store.note("inc-2", Moment.DETECTED, after(10)))
    assert store.note("inc-2", Moment.DETECTED, after(9)).noted is Noted.RECORDED


def test_an_alert_that_ended_before_it_was_acknowledged_is_taken(store: LifecycleStore) -> None:
    store.note("inc-1", Moment.ACKNOWLEDGED, after(300))
    assert store.note("inc-1", Moment.RESOLVED, after(180)).noted is Noted.RECORDED


def test_an_unknown_incident_is_refused_by_name(store: LifecycleStore) -> None:
    assert "inc-9" in refusal(lambda: store.note("inc-9", Moment.RESOLVED, after(1)))
    assert "inc-9" in refusal(lambda: store.classify("inc-9", "auth/login"))
    assert store.get("inc-9") is None


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "line\nline", "x" * 300])
def test_text_that_no_database_holds_is_made_harmless(store: LifecycleStore, text: str) -> None:
    store.begin("inc-2", alert=text, service=text, fired=FIRED, fault_class=text)
    store.classify("inc-1", text)
    found = store.incidents(fault_class=text)
    assert [one.id for one in found] == ["inc-1", "inc-2"]
    assert all(one.fault_class and one.fault_class.isprintable() for one in found)
    assert store.get(text) is None
    assert "is not known" in refusal(lambda: store.note(text, Moment.RESOLVED, FIRED))
    assert "is no id" in refusal(lambda: store.begin(text, alert="A", service="s", fired=FIRED))


def test_times_of_any_zone_come_back_as_the_same_moment(store: LifecycleStore) -> None:
    east = after(60).astimezone(timezone(timedelta(hours=5, minutes=45)))
    store.note("inc-1", Moment.RESOLVED, east)
    found = store.get("inc-1")
    assert found is not None
    assert found.times[Moment.RESOLVED] == after(60)
    assert found.plain()["resolvedAt"] == "2026-11-30T12:01:00.123456Z"
    assert "no zone" in refusal(lambda: store.note("inc-1", Moment.DETECTED, datetime(2026, 1, 1)))
    assert "2100" in refusal(lambda: store.note("inc-1", Moment.DETECTED, datetime(3000, 1, 1, tzinfo=UTC)))


def test_incidents_are_selected_by_half_open_time_and_by_class(store: LifecycleStore) -> None:
    for number in (2, 3):
        store.begin(
            f"inc-{number}", alert="A", service="s", fired=after(number * 60), fault_class="data/datastore"
        )
    store.classify("inc-1", "auth/login")
    assert [one.id for one in store.incidents(since=FIRED, until=after(120))] == ["inc-1"]
    assert [one.id for one in store.incidents(since=after(120))] == ["inc-2", "inc-3"]
    assert [one.id for one in store.incidents(fault_class="data/datastore")] == ["inc-2", "inc-3"]
    with pytest.raises(ContractError, match="swap them"):
        store.kpis(since=after(1), until=after(1))


def test_of_many_threads_one_writes_each_moment(store: LifecycleStore) -> None:
    answers: list[tuple[Noted, datetime]] = []

    def say(number: int) -> None:
        found = store.note("inc-1", Moment.ACKNOWLEDGED, after(number))
        answers.append((found.noted, found.at))

    threads = [threading.Thread(target=say, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [noted for noted, _ in answers].count(Noted.RECORDED) == 1
    assert len({at for _, at in answers}) == 1


WRITER = """
import sys
from datetime import UTC, datetime, timedelta
from rca_eval.kpis import Moment, open_lifecycles
address, number = sys.argv[1], int(sys.argv[2])
fired = datetime(2026, 11, 30, 12, tzinfo=UTC)
with open_lifecycles(address) as store:
    for at in range(40):
        begun = fired + timedelta(minutes=at)
        store.begin(f"inc-{at}", alert="A", service="s", fired=begun)
        for moment in (Moment.DETECTED, Moment.CONCLUDED, Moment.RESOLVED):
            store.note(f"inc-{at}", moment, begun + timedelta(seconds=1))
        print(store.note(f"inc-{at}", Moment.ACKNOWLEDGED, begun + timedelta(seconds=number)).noted)
"""


def test_processes_that_open_and_write_at_once_agree(address: str) -> None:
    command = [sys.executable, "-W", "error", "-c", WRITER, address]
    writers = [
        subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for number in (1, 2, 3)
    ]
    said = [writer.communicate(timeout=120) for writer in writers]
    assert [err for _, err in said] == ["", "", ""]
    assert "".join(out for out, _ in said).count("Recorded") == 40
    with open_lifecycles(address) as store:
        rows = store.incidents()
        assert len(rows) == 40
        assert all(len(row.times) == 5 for row in rows)


def test_an_older_schema_is_brought_forward_with_its_rows(address: str) -> None:
    with open_lifecycles(address) as store:
        store.begin("inc-1", alert="A", service="s", fired=FIRED)
    step = ("ALTER TABLE rca_incidents ADD COLUMN note VARCHAR(10)", "UPDATE rca_incidents SET note = 'kept'")
    for _ in range(2):  # the second time there is nothing to do
        with open_database(address, (*STEPS, step)) as engine, engine.begin() as connection:
            assert connection.exec_driver_sql("SELECT id, note FROM rca_incidents").all() == [
                ("inc-1", "kept")
            ]
            assert connection.exec_driver_sql("SELECT count(*) FROM rca_lifecycle_schema").scalar() == 2


def test_a_newer_schema_is_refused_and_left_alone(address: str) -> None:
    with open_database(address, (*STEPS, ())):
        pass
    with (
        pytest.raises(ContractError, match="schema version 2, and this rca-eval knows 1"),
        open_lifecycles(address),
    ):
        pass


def test_a_step_that_fails_leaves_nothing_half_made(address: str) -> None:
    broken = (*STEPS, ("CREATE TABLE half (id INTEGER)", "ALTER TABLE absent ADD COLUMN x INTEGER"))
    with pytest.raises(ContractError, match="absent"), open_database(address, broken):
        pass
    with open_lifecycles(address) as store:  # nor its first, good step: both were one transaction
        assert store.incidents() == []


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
        ("sqlite:////nowhere/at/all.db", "unable to open"),
        ("mysql://u:geheim@h/d", "no database that is supported"),
        ("no address", "cannot be read"),
        ("postgresql+psycopg://u:geheim@127.0.0.1:1/d", "127.0.0.1:1/d cannot be used"),
        ("postgres://u:ge/heim@127.0.0.1:1/d", "cannot be"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_sentence_without_its_password(address: str, text: str) -> None:
    with pytest.raises(ContractError) as caught, open_lifecycles(address):
        pass
    assert caught.value.reason is Reason.DATABASE_UNAVAILABLE
    assert text in caught.value.message
    assert "geheim" not in caught.value.message


def test_a_report_makes_no_database_of_a_mistyped_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent, empty = tmp_path / "absent.db", tmp_path / "empty.db"
    empty.write_bytes(b"")
    for path, text in ((absent, "does not exist"), (empty, "holds no record of incidents")):
        assert run(["kpis", "--database", f"sqlite:///{path}"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert text in err
    assert not absent.exists()
    assert empty.read_bytes() == b""


def test_a_report_is_given_of_a_record_that_is_there(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["kpis", "--database", address]) == 2
    with open_lifecycles(address):
        pass
    assert run(["kpis", "--database", address]) == 0
    assert "0 incidents" in capsys.readouterr().out


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but somebody's notes " * 100)
    with pytest.raises(ContractError, match="not a database"), open_lifecycles(f"sqlite:///{path}"):
        pass
    assert path.read_text().startswith("not a database")


def test_the_order_of_arrival_does_not_matter(store: LifecycleStore) -> None:
    for number, order in enumerate(itertools.permutations(LATER), start=2):
        store.begin(f"inc-{number}", alert="A", service="s", fired=FIRED)
        for moment in order:
            at = after(LATER.index(moment))
            assert store.note(f"inc-{number}", moment, at).noted is Noted.RECORDED
