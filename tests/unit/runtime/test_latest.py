"""The newest version of a run that is known, while the watch is late."""

from __future__ import annotations

from typing import Any

from rca_rollout.runtime.cache import Cache
from rca_rollout.runtime.latest import Latest

type Body = dict[str, Any]


def run(version: str, uid: str = "u", **status: Any) -> Body:
    return {
        "metadata": {"name": "r", "namespace": "shop", "uid": uid, "resourceVersion": version},
        "status": status,
    }


def late(shown: list[Body]) -> tuple[Cache, Latest]:
    """`shown` is what the watch shows of the run, and can be changed."""
    cache = Cache()
    cache.bind(runs={("shop", "r"): shown})
    return cache, Latest(cache)


def test_an_own_write_is_seen_before_the_watch_shows_it() -> None:
    _, latest = late([run("1")])
    latest.wrote(run("1"), run("2", phase="Running"))
    assert latest.run("shop", "r") == run("2", phase="Running")


def test_two_own_writes_in_a_row_are_both_ahead_of_the_watch() -> None:
    shown = [run("1")]
    _, latest = late(shown)
    latest.wrote(run("1"), run("2"))
    latest.wrote(run("2"), run("5"))
    assert latest.run("shop", "r") == run("5")
    shown[:] = [run("2")]
    assert latest.run("shop", "r") == run("5")


def test_what_the_watch_shows_after_it_counts_again() -> None:
    """Versions are not compared by size: only what was written over is older."""
    shown = [run("9")]
    _, latest = late(shown)
    latest.wrote(run("9"), run("3"))
    shown[:] = [run("4", phase="Passed")]
    assert latest.run("shop", "r") == run("4", phase="Passed")
    shown[:] = [run("9")]
    assert latest.run("shop", "r") == run("9"), "forgotten once the watch had passed it"


def test_another_run_of_the_same_name_is_another_run() -> None:
    _, latest = late([run("1", uid="new")])
    latest.wrote(run("1", uid="old"), run("2", uid="old"))
    assert latest.run("shop", "r") == run("1", uid="new")


def test_a_run_that_the_watch_dropped_is_not_kept_alive() -> None:
    shown = [run("1")]
    _, latest = late(shown)
    latest.wrote(run("1"), run("2"))
    shown.clear()
    assert latest.run("shop", "r") is None


def test_a_turn_that_was_given_counts_before_the_watch_shows_it() -> None:
    _, latest = late([run("1")])
    latest.wrote(run("1"), run("2", jobRef={"name": "j", "uid": ""}))
    assert latest.started() == {"u"}


def test_an_echo_of_an_own_write_is_told_once() -> None:
    cache, _ = late([])
    cache.wrote(run("2"))
    assert not cache.is_echo(run("1"))
    assert cache.is_echo(run("2"))
    assert not cache.is_echo(run("2")), "what comes a second time is a list, and is looked at"


def test_of_runs_that_nobody_asks_for_any_more_little_is_held() -> None:
    """A run that has ended is not looked at again, and there are thousands of them."""
    shown: dict[tuple[str, str], list[Body]] = {}
    cache = Cache()
    cache.bind(runs=shown)
    latest = Latest(cache)
    for number in range(1000):
        after = run("2", uid=f"u{number}", jobRef={"name": "job"})
        after["metadata"]["name"] = f"r{number}"
        latest.wrote(run("1", uid=f"u{number}"), after)
        shown["shop", f"r{number}"] = [after]
    assert len(latest.started()) < 200


def test_what_the_watch_has_not_told_yet_is_held_however_much_it_is() -> None:
    shown: dict[tuple[str, str], list[Body]] = {}
    cache = Cache()
    cache.bind(runs=shown)
    latest = Latest(cache)
    for number in range(1000):
        after = run("2", uid=f"u{number}", jobRef={"name": "job"})
        after["metadata"]["name"] = f"r{number}"
        shown["shop", f"r{number}"] = [run("1", uid=f"u{number}")]
        latest.wrote(run("1", uid=f"u{number}"), after)
    assert len(latest.started()) == 1000
