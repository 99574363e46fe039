"""The self-test: every mutant through the whole road, several at a time, one graph store for all of them."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from rca_eval.contract import (
    Baseline,
    ContractError,
    Reason,
    parse_ground_truth,
    require_confirmed,
    sha256,
)
from rca_eval.gate import GatePolicy
from rca_eval.graph import open_store
from rca_eval.job.control import run_known_bad
from rca_eval.job.series_files import with_files
from rca_eval.replay import bundled_for, from_scorecard
from rca_eval.selftest.judge import Material, judge, scorecards
from rca_eval.selftest.mutant import GROUPS, Mutant, outdated
from rca_eval.selftest.outcome import Outcome, Sight, Survey
from rca_eval.selftest.plans import questions
from rca_eval.selftest.processes import EngineEndedError, Workers, workers
from rca_eval.selftest.tree import PACKAGE, copy_package, mutated

TIMEOUT_SECONDS = 120
EVERYTHING = tuple(
    {question.name: question for group in GROUPS for stage in questions(group) for question in stage}.values()
)
Step = Callable[[str], None]


@dataclass(frozen=True)
class Bench:
    """Everything that is set up once: a copy of the package, the store's workers, the material."""

    base: Path
    folder: Path
    workers: Workers
    material: Material
    warned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The warnings of the engine without a fault, by question."""


@contextmanager
def bench(
    dataset: bytes,
    *,
    source: str,
    baseline: Baseline | None,
    policy: GatePolicy,
    on_step: Step,
    file: Path | None = None,
) -> Iterator[Bench]:
    """Set up, and check that the engine as it is passes: else a verdict would say nothing about a mutant.

    Without a baseline the bundled one of the dataset is used, or the engine's own answers. `file` is where the dataset
    lies, with its series files beside it. Raises `ContractError`.
    """
    truth = require_confirmed(parse_ground_truth(dataset, source=source), source=source)
    truth = with_files(truth, file.parent if file else None, source=source)
    digest = sha256(dataset)
    with tempfile.TemporaryDirectory(prefix="rca-eval-selftest-") as name, open_store() as store:
        folder = Path(name)
        if file is None:
            (folder / "dataset.json").write_bytes(dataset)
        on_step("copying the package")
        base = copy_package(folder / "base")
        material = Material(
            truth=truth,
            dataset=file.absolute() if file else folder / "dataset.json",
            sha256=digest,
            control=run_known_bad(truth, digest, store),
            policy=policy,
            folder=folder / "prepared",
            baseline=baseline or bundled_for(digest),
        )
        for question in EVERYTHING:
            material.incidents(question)
        with workers(base, store.url, TIMEOUT_SECONDS) as started:
            made = Bench(base, folder, started, material)
            on_step("the engine without a fault")
            yield _passing(made)


def _passing(made: Bench) -> Bench:
    material = made.material
    if material.baseline is None:
        try:
            card = scorecards(material, made.workers, made.base, _fresh(made.folder / "own"), EVERYTHING[:1])[
                0
            ]
        except EngineEndedError as error:
            raise ContractError(
                Reason.ENGINE_FAILED, f"the engine without a fault failed: {error}."
            ) from None
        material = replace(material, baseline=from_scorecard(card))
    healthy = judge(material, made.workers, made.base, made.folder / "unmutated", EVERYTHING)
    for one in healthy:
        if one.caught:
            raise ContractError(
                Reason.BASELINE_INVALID,
                f"the engine without a fault does not pass on this dataset ({one.question}: {one.message}); "
                "mend the dataset, or write its baseline again.",
            )
    return replace(made, material=material, warned={one.question: one.warnings for one in healthy})


def survey(made: Bench, mutants: Sequence[Mutant], *, parallel: int, on_step: Step) -> Survey:
    """Judge the mutants. Raises `ContractError(SelftestInvalid)` if one does not fit the source, before any is run."""
    check(mutants, made.base / PACKAGE.name)
    done: dict[str, Outcome] = {}
    with ThreadPoolExecutor(parallel) as pool:
        futures: list[Future[Outcome]] = [pool.submit(_outcome, made, mutant) for mutant in mutants]
        try:
            for future in as_completed(futures):
                outcome = future.result()
                done[outcome.mutant.name] = outcome
                on_step(f"{len(done)} of {len(mutants)} mutants; {outcome.mutant.name} {outcome.status}")
        except BaseException:
            made.workers.stop()  # so that the pool's threads end, and the pool with them
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Survey(
        dataset=made.material.sha256,
        outcomes=tuple(done[mutant.name] for mutant in mutants),
    )


def check(mutants: Sequence[Mutant], package: Path = PACKAGE) -> None:
    """Raises `ContractError(SelftestInvalid)` naming every mutant that does not fit the source."""
    problems = outdated(mutants, package)
    if problems:
        raise ContractError(
            Reason.SELFTEST_INVALID,
            f"{len(problems)} mutants do not fit the source of this version; correct the first, "
            f"{problems[0]}, and {', '.join(one.split(':')[0] for one in problems[1:]) or 'no other'}.",
        )


def _outcome(made: Bench, mutant: Mutant) -> Outcome:
    """First the question that the mutant's group is about; the others only if something is left to learn."""
    tree = mutated(made.base, mutant, made.folder / mutant.name / "tree")
    sights: list[Sight] = []
    for stage, asked in enumerate(questions(mutant.group)):
        folder = made.folder / mutant.name / str(stage)
        seen = judge(made.material, made.workers, tree, folder, asked, prepares=mutant.prepares)
        sights += [_new_warnings(made, one) for one in seen]
        if any(one.accuracy for one in sights):
            break
    return Outcome(mutant, tuple(sights))


def _new_warnings(made: Bench, one: Sight) -> Sight:
    usual = made.warned.get(one.question, ())
    return replace(one, warnings=tuple(name for name in one.warnings if name not in usual))


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _fresh(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
