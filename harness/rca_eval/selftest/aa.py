"""A/A: the engine against itself. Replays that differ in everything that must not matter, compared byte for byte.

Processes differ in their hash seed, locale and time zone; the replays of a process differ in the order of runs, services, calls and
changes. What is compared is the deterministic part: every answer without its time.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import islice, product
from math import isqrt
from pathlib import Path
from typing import Any

from rca_eval.contract import canonical, parse_predictions
from rca_eval.job.files import read_predictions
from rca_eval.job.prepare import cases, prepare
from rca_eval.selftest.judge import REVISION
from rca_eval.selftest.plans import together
from rca_eval.selftest.processes import EngineEndedError
from rca_eval.selftest.run import Bench, Step

PROCESSES = 20
LOCALES = ("C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8", "POSIX")
TIME_ZONES = ("UTC", "America/St_Johns", "Asia/Kathmandu", "Pacific/Chatham")
SHOWN = 20

Answers = dict[str, bytes]
"""`variant/arm/case` to the canonical bytes of the answer without its time."""


@dataclass(frozen=True)
class Replays:
    """How many replays were compared with the first one, and what differed: bytes, and incidents by name."""

    count: int
    processes: int
    shuffles: int
    answers: int
    differing_bytes: int
    differing: tuple[str, ...]
    failure: str | None = None

    @property
    def identical(self) -> bool:
        return self.count > 0 and not self.differing_bytes and self.failure is None

    def plain(self) -> dict[str, Any]:
        return {
            "replays": self.count,
            "processes": self.processes,
            "shuffles": self.shuffles,
            "answers": self.answers,
            "differingBytes": self.differing_bytes,
            "differing": list(self.differing),
            "failure": self.failure,
            "identical": self.identical,
        }


def replays(made: Bench, tree: Path, count: int, *, parallel: int, on_step: Step) -> Replays:
    """Replay `count` times with the package copy in `tree`: everything in Shadow, and everything Active, in both arms."""
    processes = min(PROCESSES, isqrt(count))  # as many orders as processes, where few are asked for
    shuffles = -(-count // processes)
    folder = made.folder / f"aa-{tree.parent.name}-{tree.name}"
    material, question = made.material, together()
    incidents = folder / "incidents"
    prepare(
        material.truth,
        material.sha256,
        question.variants,
        revision=REVISION,
        repeats=shuffles,
        folder=incidents,
        memory=material.truth,
    )
    names = {case.case: f"{case.arm}/{case.incident.id}" for case in cases(material.truth, material.sha256)}
    reference: Answers = {}
    found = differing = compared = 0
    where: dict[str, None] = {}
    failure = None
    shares = [shuffles - (number >= count - processes * (shuffles - 1)) for number in range(processes)]
    with ThreadPoolExecutor(parallel) as pool:
        futures = [
            pool.submit(
                _process,
                made,
                tree,
                folder / str(number),
                incidents=incidents,
                share=share,
                settings=settings,
            )
            for number, (share, settings) in enumerate(zip(shares, _settings(), strict=False))
        ]
        try:
            for future in as_completed(futures):
                for answers in future.result():
                    reference = reference or answers
                    found += 1
                    compared += len(answers)
                    for key, size in differences(reference, answers):
                        differing += size
                        where[_name(key, names)] = None
                on_step(f"A/A replays: {found} of {count}, {differing} differing bytes")
        except EngineEndedError as error:
            failure = str(error)
            pool.shutdown(wait=False, cancel_futures=True)
        except BaseException:
            made.workers.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Replays(found, processes, shuffles, compared, differing, tuple(where)[:SHOWN], failure)


def differences(reference: Mapping[str, bytes], other: Mapping[str, bytes]) -> Iterator[tuple[str, int]]:
    """Each answer that differs, with the number of its differing bytes; a missing answer counts as an empty one."""
    for key in sorted(reference.keys() | other.keys()):
        one, two = reference.get(key, b""), other.get(key, b"")
        if one != two:
            unequal = sum(a != b for a, b in zip(one, two, strict=False))
            yield key, unequal + abs(len(one) - len(two))


def _settings() -> Iterator[dict[str, str]]:
    """Environments, each with another hash seed; 0 switches the randomness of hashes off."""
    places = product(LOCALES, TIME_ZONES)
    for seed, (locale, zone) in enumerate(islice(places, PROCESSES)):
        yield {"PYTHONHASHSEED": str(seed), "LC_ALL": locale, "TZ": zone, "RCA_EVAL_REPEAT": str(seed + 1)}


def _process(
    made: Bench, tree: Path, folder: Path, *, incidents: Path, share: int, settings: Mapping[str, str]
) -> Sequence[Answers]:
    outputs = [folder / str(shuffle) for shuffle in range(1, share + 1)]
    for output in outputs:
        output.mkdir(parents=True)
    engine = [
        {"RCA_EVAL_INCIDENTS": str(incidents / output.name), "RCA_EVAL_OUTPUT": str(output)}
        for output in outputs
    ]
    made.workers.run(tree, folder, {"prepare": [], "engine": engine}, settings)
    return [_answers(output) for output in outputs]


def _answers(output: Path) -> Answers:
    predictions = parse_predictions(read_predictions(output)).predictions
    return {
        f"{one.variant}/{one.arm}/{one.case}": canonical(
            {**one.model_dump(by_alias=True, mode="json"), "seconds": "0"}
        )
        for one in predictions
    }


def _name(key: str, names: Mapping[str, str]) -> str:
    variant, _, case = key.split("/")
    return f"{variant}/{names.get(case, case)}"
