"""The reference engine as an eval container: incidents in, predictions out. Times exclude seeding and one
warm-up.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rca_eval.contract import (
    ContractError,
    Engine,
    EngineIncident,
    Manifest,
    Prediction,
    Predictions,
    Reason,
    Run,
    dump_exact,
    one_line,
    parse_incident,
    parse_manifest,
)
from rca_eval.contract.model import MIB
from rca_eval.contract.usage import Usage
from rca_eval.engine import NAME, Blend, answer
from rca_eval.graph import GraphStore, IncidentMemory, graph_key, memory_key, open_store
from rca_eval.job.files import read_bytes
from rca_eval.modes import Decision, DecisionLog, Mode, Outcome

MAX_ERROR = 500
_USES_NO_MODEL = Usage(input_tokens=0, output_tokens=0, cost=Decimal(0))


def run_engine(incidents: Path, output: Path, *, blend: Blend, store: str) -> int:
    """Answer every run of the manifest into `output`/predictions.json; returns how many.

    An incident that cannot be read, or at which the engine fails, is an answer with an error, not the end of the run. Raises `ContractError`
    for a manifest that cannot be read and a store that cannot be used.
    """
    path = incidents / "manifest.json"
    manifest = parse_manifest(read_bytes(path, what="the manifest", limit=16 * MIB), source=str(path))
    name = f"{os.getpid()}-{os.urandom(4).hex()}"
    with open_store(store) as graphs:
        answers = _answers(manifest, incidents, graphs, blend, name)
    document = Predictions(
        protocol=1,
        engine=Engine(name=NAME, version=_version()),
        predictions=tuple(one.model_copy(update={"usage": _USES_NO_MODEL}) for one in answers),
    )
    target = output / "predictions.json"
    try:
        target.write_text(
            dump_exact(document.model_dump(by_alias=True, exclude_none=True)) + "\n", encoding="utf-8"
        )
    except OSError as error:
        raise ContractError(
            Reason.FILE_UNREADABLE, f"{target} cannot be written ({error.strerror}); check $RCA_EVAL_OUTPUT."
        ) from None
    _tell(answers)
    return len(answers)


def _answers(
    manifest: Manifest, folder: Path, store: GraphStore, blend: Blend, name: str
) -> list[Prediction]:
    answers: list[Prediction] = []
    warm = False
    for run in manifest.runs:
        try:
            path = folder / run.incident
            incident = parse_incident(
                read_bytes(path, what="the incident", limit=16 * MIB), source=run.incident
            )
        except ContractError as error:
            answers.append(_failed(run, error.message))
            continue
        try:
            if not warm:
                _answer(
                    run, incident, store, blend, name
                )  # the first query of a process pays for imports and plans
                warm = True
            answers.append(_answer(run, incident, store, blend, name))
        except ContractError:  # the store: it is none of this incident's business
            raise
        except Exception as error:
            # Who fails at one incident has not failed at the others; it is a miss, and the verdict names it.
            answers.append(_failed(run, one_line(f"{type(error).__name__}: {error}")[:MAX_ERROR]))
    return answers


def _answer(run: Run, incident: EngineIncident, store: GraphStore, blend: Blend, name: str) -> Prediction:
    with (
        store.incident(graph_key(name, run.arm), incident) as graph,
        past_memory(store, name, incident) as memory,
    ):
        began = time.perf_counter_ns()
        found = answer(run, incident, graph, blend, memory)
        elapsed = time.perf_counter_ns() - began
    return found.model_copy(update={"seconds": Decimal(elapsed).scaleb(-9)})


@contextlib.contextmanager
def past_memory(store: GraphStore, name: str, incident: EngineIncident) -> Iterator[IncidentMemory | None]:
    """A clean memory with the past of this incident and nothing else in it; None if it has none. Dropped at the
    end.
    """
    if not incident.past:
        yield None
        return
    key = memory_key(name)
    store.drop(key)
    try:
        memory = IncidentMemory(store, key)
        memory.add(incident.past)
        yield memory
    finally:
        store.drop(key)


def _tell(answers: Sequence[Prediction]) -> None:
    """Would-be decisions to stdout, after what counts is written: a reader that went away changes no result."""
    log = DecisionLog(write=print)
    for one in answers:
        for decision in decisions(one):
            log.tell(decision)
    with contextlib.suppress(OSError):
        sys.stdout.flush()


def decisions(answer: Prediction) -> list[Decision]:
    """What the components in Shadow would have ranked, beside what governed; of the mode library's form. `incident` is
    the case, `seconds` the whole investigation's: its parts are computed together.
    """
    if answer.would_be is None or not isinstance(answer.would_be, dict):
        return []
    governing = tuple(one.entity for one in answer.candidates)
    return [
        Decision(
            component=key,
            mode=Mode.SHADOW,
            outcome=Outcome.AGREE if ranked == governing else Outcome.DISAGREE,
            governing=governing,
            would_be=ranked,
            seconds=float(answer.seconds),
            incident=answer.case,
        )
        for key, ranked in answer.would_be.items()
    ]


def _failed(run: Run, message: str) -> Prediction:
    return Prediction(variant=run.variant, arm=run.arm, case=run.case, seconds=Decimal(0), error=message)


def _version() -> str:
    try:
        return version("rca-rollout")
    except PackageNotFoundError:
        return "unknown"
