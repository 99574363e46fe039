"""A candidate beside the path that governs: in Shadow it changes nothing, in Active its failure is answered for it.

Aspects: agreement, errors of every kind, time-outs, hanging candidates, shared input, hostile results, lines and their
schema, metrics, threads, coroutines, cancellation.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from prometheus_client import CollectorRegistry

from rca_eval.modes import (
    AsyncShadowRunner,
    Decision,
    DecisionLog,
    Mode,
    ModeFile,
    Outcome,
    ShadowRunner,
    line_schema,
    shared,
)
from rca_eval.modes.metrics import ModeMetrics

KEY = "RcaMemory.Mode"
SCHEMA = jsonschema.Draft202012Validator(json.loads(line_schema()))


class World:
    """A runner with its lines, its metrics, and a mode that can be set."""

    def __init__(self, folder: Path, mode: str = "Shadow", **options: Any) -> None:
        self._path = folder / KEY
        self.set(mode)
        self.modes = ModeFile(folder)
        self.registry = CollectorRegistry()
        self.metrics = ModeMetrics([KEY], self.modes, self.registry)
        self.texts: list[str] = []
        self.log = DecisionLog(self.texts.append, self.metrics)
        self.runner = ShadowRunner(KEY, self.modes, log=self.log, **options)

    def set(self, mode: str) -> None:
        self._path.write_text(mode)

    def lines(self) -> list[dict[str, Any]]:
        assert self.runner.drain(30)
        found = [json.loads(text) for text in self.texts]
        for line in found:
            SCHEMA.validate(line)
        return found

    def count(self, outcome: str, name: str = "rca_shadow_decisions_total") -> float | None:
        return self.registry.get_sample_value(name, {"component": KEY, "outcome": outcome})


def legacy(argument: list[str]) -> list[str]:
    return sorted(argument)


def reversed_(argument: list[str]) -> list[str]:
    return sorted(argument, reverse=True)


def raising(error: BaseException) -> Callable[[Any], Any]:
    def candidate(_: Any) -> Any:
        raise error

    return candidate


ERRORS = [
    ValueError("no"),
    SystemExit(3),
    KeyboardInterrupt(),
    GeneratorExit(),
    asyncio.CancelledError(),
    BaseExceptionGroup("many", [SystemExit(1)]),
    RecursionError(),
]


def test_in_shadow_legacy_governs_and_the_candidate_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.runner.run(legacy, reversed_, ["b", "a"], incident="inc-1") == ["a", "b"]
    assert world.runner.run(legacy, legacy, ["a", "b"]) == ["a", "b"]
    lines = sorted(world.lines(), key=lambda line: str(line["outcome"]))
    assert [line["outcome"] for line in lines] == ["agree", "disagree"]
    assert (lines[1]["governing"], lines[1]["wouldBe"], lines[1]["incident"]) == (
        ["a", "b"],
        ["b", "a"],
        "inc-1",
    )
    assert (world.count("agree"), world.count("disagree")) == (1, 1)


def test_in_active_the_candidate_governs_and_nothing_is_told(tmp_path: Path) -> None:
    world = World(tmp_path, "Active")
    assert world.runner.run(raising(AssertionError("legacy ran")), reversed_, ["a", "b"]) == ["b", "a"]
    assert world.lines() == []


def test_a_flip_of_the_file_counts_for_the_next_call(tmp_path: Path) -> None:
    world = World(tmp_path)
    for mode, answer in (("Shadow", ["a", "b"]), ("Active", ["b", "a"]), ("nonsense", ["a", "b"])):
        world.set(mode)
        assert world.runner.run(legacy, reversed_, ["a", "b"]) == answer


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("mode", ["Shadow", "Active"])
def test_no_exception_of_the_candidate_reaches_the_caller(
    tmp_path: Path, error: BaseException, mode: str
) -> None:
    world = World(tmp_path, mode)
    assert world.runner.run(legacy, raising(error), ["b", "a"]) == ["a", "b"]
    (line,) = world.lines()
    assert (line["mode"], line["outcome"], line["governing"]) == (mode, "error", ["a", "b"])
    assert type(error).__name__ in line["error"]
    name = "rca_shadow_decisions_total" if mode == "Shadow" else "rca_active_fallbacks_total"
    assert world.count("error", name) == 1


@pytest.mark.parametrize("mode", ["Shadow", "Active"])
def test_a_candidate_that_hangs_is_a_timeout_and_takes_a_place_only(tmp_path: Path, mode: str) -> None:
    world, release = World(tmp_path, mode, seconds=0.05, places=2), threading.Event()

    def hanging(_: list[str]) -> list[str]:
        release.wait(60)
        return ["late"]

    try:
        for _ in range(4):
            assert world.runner.run(legacy, hanging, ["b", "a"]) == ["a", "b"]
        outcomes = sorted(line["outcome"] for line in world.lines())
        assert outcomes == ["error", "error", "timeout", "timeout"]
    finally:
        release.set()


def test_what_the_candidate_does_to_its_argument_stays_with_it(tmp_path: Path) -> None:
    world, seen = World(tmp_path), []

    def vandal(argument: list[list[str]]) -> list[str]:
        argument[0].clear()
        seen.append(argument)
        return []

    for mode in ("Shadow", "Active"):
        world.set(mode)
        given = [["a"]]
        world.runner.run(lambda argument: argument[0], vandal, given)
        world.lines()
        assert given == [["a"]]
    assert seen == [[[]], [[]]]


def test_an_argument_that_cannot_be_copied_is_the_candidates_trouble(tmp_path: Path) -> None:
    for mode in ("Shadow", "Active"):
        world = World(tmp_path, mode)
        assert world.runner.run(lambda _: ["a"], legacy, threading.Lock()) == ["a"]  # type: ignore[arg-type]
        (line,) = world.lines()
        assert line["outcome"] == "error"
        assert "copy" in line["error"]
    world = World(tmp_path, "Shadow", copy=shared)
    assert world.runner.run(lambda _: ["a"], lambda _: ["a"], threading.Lock()) == ["a"]
    assert world.lines()[0]["outcome"] == "agree"


def test_what_legacy_raises_is_the_callers_and_is_not_compared(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(ValueError, match="legacy"):
        world.runner.run(raising(ValueError("legacy")), legacy, ["a"])
    assert world.lines() == []
    world.set("Active")
    with pytest.raises(ValueError, match="legacy"):
        world.runner.run(raising(ValueError("legacy")), raising(OSError("candidate")), ["a"])
    (line,) = world.lines()
    assert (line["governing"], line["error"]) == (None, "OSError: candidate")


def test_a_result_that_misbehaves_when_looked_at_is_the_candidates_error(tmp_path: Path) -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise SystemExit(1)

    world = World(tmp_path)
    assert world.runner.run(lambda _: ["a"], lambda _: Hostile(), None) == ["a"]
    assert world.lines()[0]["outcome"] == "error"


def test_a_log_that_fails_harms_nobody(tmp_path: Path) -> None:
    def full(_: str) -> None:
        raise OSError("no space left")

    world = World(tmp_path)
    runner = ShadowRunner(KEY, world.modes, log=DecisionLog(full, world.metrics))
    assert runner.run(legacy, reversed_, ["b", "a"]) == ["a", "b"]
    assert runner.drain(30)
    assert world.count("disagree") == 1


def test_long_rankings_are_compared_whole_and_shown_in_part(tmp_path: Path) -> None:
    world = World(tmp_path)
    many = [f"s{number}" for number in range(200)]
    world.runner.run(lambda _: many, lambda _: [*many[:-1], "x" * 1000], None)
    (line,) = world.lines()
    assert line["outcome"] == "disagree"
    assert line["governing"] == line["wouldBe"] == many[:50]


def test_counters_begin_at_zero_and_labels_are_closed(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert [world.count(outcome) for outcome in ("agree", "disagree", "error", "timeout")] == [0, 0, 0, 0]
    assert [world.count(one, "rca_active_fallbacks_total") for one in ("error", "timeout")] == [0, 0]
    world.log.tell(Decision("Stranger.Mode", Mode.SHADOW, Outcome.AGREE, [], [], 0))
    assert world.registry.get_sample_value(
        "rca_shadow_decisions_total", {"component": "Stranger.Mode", "outcome": "agree"}
    ) is None  # fmt: skip


def test_the_gauge_is_read_when_it_is_scraped(tmp_path: Path) -> None:
    world = World(tmp_path)
    for mode, value in (("Shadow", 0), ("Active", 1), ("", 0)):
        world.set(mode)
        assert world.registry.get_sample_value("rca_mode_active", {"component": KEY}) == value


def test_many_threads_lose_no_decision(tmp_path: Path) -> None:
    world = World(tmp_path, places=64)

    def work() -> None:
        for _ in range(10):
            assert world.runner.run(legacy, reversed_, ["a", "b"]) == ["a", "b"]

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(world.lines()) == 60
    assert world.count("disagree") == 60


def test_the_library_needs_neither_prometheus_nor_pydantic() -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['prometheus_client', 'pydantic', 'rfc8785']));"
        "import rca_eval.modes as m; print(m.ModeFile.of({'K.Mode': 'Active'}).read('K.Mode'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "Active"


def coroutine(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    async def call(argument: Any) -> Any:
        await asyncio.sleep(0)
        return function(argument)

    return call


async def told(world: World, runner: AsyncShadowRunner) -> list[dict[str, Any]]:
    assert await runner.drain(30)
    return world.lines()


@pytest.mark.parametrize("mode", ["Shadow", "Active"])
async def test_coroutines_are_run_the_same_way(tmp_path: Path, mode: str) -> None:
    world = World(tmp_path, mode)
    runner = AsyncShadowRunner(KEY, world.modes, log=world.log)
    governed = ["a", "b"] if mode == "Shadow" else ["b", "a"]
    assert await runner.run(coroutine(legacy), coroutine(reversed_), ["b", "a"]) == governed
    assert [line["outcome"] for line in await told(world, runner)] == (
        ["disagree"] if mode == "Shadow" else []
    )


@pytest.mark.parametrize("error", [e for e in ERRORS if not isinstance(e, KeyboardInterrupt)], ids=repr)
@pytest.mark.parametrize("mode", ["Shadow", "Active"])
async def test_no_exception_of_a_coroutine_reaches_the_caller(
    tmp_path: Path, error: BaseException, mode: str
) -> None:
    world = World(tmp_path, mode)
    runner = AsyncShadowRunner(KEY, world.modes, log=world.log)
    assert await runner.run(coroutine(legacy), coroutine(raising(error)), ["b", "a"]) == ["a", "b"]
    (line,) = await told(world, runner)
    assert (line["outcome"], line["governing"]) == ("error", ["a", "b"])


@pytest.mark.parametrize("mode", ["Shadow", "Active"])
async def test_a_coroutine_that_ignores_its_cancellation_is_not_waited_for(tmp_path: Path, mode: str) -> None:
    world, release = World(tmp_path, mode), asyncio.Event()
    runner = AsyncShadowRunner(KEY, world.modes, log=world.log, seconds=0.02, places=1)

    async def stubborn(_: Any) -> list[str]:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return []

    try:
        assert await runner.run(coroutine(legacy), stubborn, ["b", "a"]) == ["a", "b"]
        assert [line["outcome"] for line in await told(world, runner)] == ["timeout"]
        assert await runner.run(coroutine(legacy), stubborn, ["b", "a"]) == ["a", "b"]
        assert [line["outcome"] for line in await told(world, runner)] == ["timeout", "error"]
    finally:
        release.set()
        await asyncio.sleep(0)


async def test_a_caller_that_is_cancelled_takes_its_candidate_with_it(tmp_path: Path) -> None:
    world = World(tmp_path, "Active")
    runner = AsyncShadowRunner(KEY, world.modes, log=world.log)
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow(_: Any) -> list[str]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return []

    task = asyncio.create_task(runner.run(coroutine(legacy), slow, ["a"]))
    await asyncio.wait_for(begun.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(ended.wait(), 30)


def test_a_real_interrupt_passes_through_a_coroutine(tmp_path: Path) -> None:
    world = World(tmp_path)

    async def run() -> None:
        runner = AsyncShadowRunner(KEY, world.modes, log=world.log)
        await runner.run(coroutine(legacy), coroutine(raising(KeyboardInterrupt())), ["a"])
        await runner.drain(30)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run())
