"""One mutant through the whole road: incidents, two engine processes, scorecard, gate. Only the engine is mutated."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rca_eval.contract import (
    Baseline,
    ContractError,
    Control,
    GroundTruth,
    Predictions,
    Scorecard,
    parse_predictions,
)
from rca_eval.gate import GateContext, GatePolicy, evaluate
from rca_eval.job.files import read_predictions
from rca_eval.job.prepare import prepare
from rca_eval.job.scoring import score
from rca_eval.selftest.outcome import ENGINE_FAILED, Sight, sight
from rca_eval.selftest.plans import Question
from rca_eval.selftest.processes import EngineEndedError, Workers

REPEATS = 2
REVISION = "selftest"


@dataclass(frozen=True)
class Material:
    """What all mutants share: the incidents, the reference, the control, and the folders that `prepare` wrote."""

    truth: GroundTruth
    dataset: Path
    sha256: str
    control: Control
    policy: GatePolicy
    folder: Path
    baseline: Baseline | None = None
    prepared: dict[str, Path] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(incident.id for incident in self.truth.incidents)

    def incidents(self, question: Question) -> Path:
        """The folder with this question's incidents. Not for threads: every question is prepared before they start."""
        if question.name not in self.prepared:
            folder = self.folder / question.name.replace(" ", "-")
            prepare(
                self.truth,
                self.sha256,
                question.variants,
                revision=REVISION,
                repeats=REPEATS,
                folder=folder,
                memory=self.truth,
            )
            self.prepared[question.name] = folder
        return self.prepared[question.name]


def scorecards(
    material: Material,
    workers: Workers,
    tree: Path,
    folder: Path,
    asked: Sequence[Question],
    *,
    prepares: bool = False,
) -> list[Scorecard]:
    """The scorecards of the questions, answered by the package copy in `tree`: one process for each repeat.

    Raises `EngineEndedError` if a process failed, `ContractError` if what it wrote cannot be graded.
    """
    own = {question.name: folder / "incidents" / str(at) for at, question in enumerate(asked)}
    where = own if prepares else {question.name: material.incidents(question) for question in asked}
    answers: dict[str, list[Predictions]] = {question.name: [] for question in asked}
    for repeat in range(1, REPEATS + 1):
        outputs = {q.name: folder / "output" / str(at) / str(repeat) for at, q in enumerate(asked)}
        for output in outputs.values():
            output.mkdir(parents=True)
        tasks = {
            "prepare": [_prepare_env(material, q, own[q.name]) for q in asked]
            if prepares and repeat == 1
            else [],
            "engine": [
                {
                    "RCA_EVAL_INCIDENTS": str(where[q.name] / str(repeat)),
                    "RCA_EVAL_OUTPUT": str(outputs[q.name]),
                }
                for q in asked
            ],
        }
        settings = {"PYTHONHASHSEED": str(repeat), "RCA_EVAL_REPEAT": str(repeat)}
        workers.run(tree, folder, tasks, settings)
        for name, output in outputs.items():
            source = f"predictions.json of repeat {repeat}"
            answers[name].append(parse_predictions(read_predictions(output), source=source))
    return [
        score(
            material.truth,
            material.sha256,
            question.variants,
            answers[question.name],
            revision=REVISION,
            control=material.control,
        )
        for question in asked
    ]


def judge(
    material: Material,
    workers: Workers,
    tree: Path,
    folder: Path,
    asked: Sequence[Question],
    *,
    prepares: bool = False,
) -> list[Sight]:
    """What the gate sees of the package copy in `tree`; an engine that fails is seen once, for all questions."""
    folder.mkdir(parents=True)
    try:
        cards = scorecards(material, workers, tree, folder, asked, prepares=prepares)
    except (EngineEndedError, ContractError) as error:
        text = error.message if isinstance(error, ContractError) else str(error)
        return [Sight(asked[0].name, "Error", ENGINE_FAILED, text, (ENGINE_FAILED,))]
    found = []
    for question, card in zip(asked, cards, strict=True):
        context = GateContext(component=question.component, revision=REVISION, dataset_sha256=material.sha256)
        result = evaluate(card, material.baseline, material.policy, context)
        found.append(sight(question.name, result, material.ids))
    return found


def _prepare_env(material: Material, question: Question, folder: Path) -> dict[str, str]:
    return {
        "RCA_EVAL_DATASET": str(material.dataset),
        "RCA_EVAL_DATASET_SHA256": material.sha256,
        "RCA_EVAL_INCIDENTS": str(folder),
        "RCA_EVAL_MEMORY": "Prequential",
        "RCA_EVAL_REPEATS": str(REPEATS),
        "RCA_EVAL_REVISION": REVISION,
        "RCA_EVAL_VARIANTS": json.dumps([variant.plain() for variant in question.variants]),
    }
