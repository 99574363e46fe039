"""One run of a manifest, answered: the governing ranking, and what each component in Shadow would have ranked."""

from decimal import Decimal
from fractions import Fraction

from rca_eval.contract import EngineIncident, Prediction, RankedEntity, Run, one_line
from rca_eval.contract.numbers import nano
from rca_eval.contract.protocol import MAX_CANDIDATES
from rca_eval.engine.blend import Blend
from rca_eval.engine.components import KEYS, active_keys
from rca_eval.engine.investigation import Graph, Ranking, gather
from rca_eval.engine.pipeline import Pipeline
from rca_eval.engine.recall import Memory

MAX_ID, MAX_IDS = 253, 200


def answer(
    run: Run, incident: EngineIncident, graph: Graph, blend: Blend, memory: Memory | None = None
) -> Prediction:
    """The prediction of a run; its `seconds` are 0 until the caller, who has a clock, puts them in.

    `wouldBe` holds, for each component in Shadow under the run's modes, the ranking with this component Active
    and all others as they are. It governs nothing: with everything in Shadow the answer's other bytes are those
    of an engine that has none of the components. Without a `memory` nothing is recalled.
    """
    pipeline = Pipeline(incident, gather(incident, graph, memory), blend)
    active = active_keys(run.modes)
    governing = pipeline.conclude(active)
    would_be = {
        key: pipeline.conclude(active | {key}).keys[:MAX_CANDIDATES] for key in KEYS if key not in active
    }
    return Prediction(
        variant=run.variant,
        arm=run.arm,
        case=run.case,
        candidates=entities(governing.ranking),
        seconds=Decimal(0),
        table=governing.ranking.table.name,
        decision=governing.decision,
        evidence=evidence_ids(governing.ranking),
        would_be=would_be or None,
    )


def entities(ranking: Ranking) -> tuple[RankedEntity, ...]:
    """Best first, at most as many as the protocol holds; figures with nine digits.

    Not validated: keys are those of a validated incident, figures are ours, and there are hundreds in an answer.
    """
    return tuple(
        RankedEntity.model_construct(
            entity=one.key,
            score=_figure(one.score),
            terms={term: _figure(value) for term, value in one.terms.items()},
        )
        for one in ranking.candidates[:MAX_CANDIDATES]
    )


def _figure(value: Fraction) -> Decimal:
    return Decimal(nano(value)).scaleb(-9)


def evidence_ids(ranking: Ranking) -> tuple[str, ...]:
    """The ids as the protocol holds them: printable, at most 253 characters each and 200 in all.

    A change's ref is anybody's text; one that is too long keeps its beginning.
    """
    return tuple(one_line(id_)[:MAX_ID] or "?" for id_ in ranking.evidence[:MAX_IDS])
