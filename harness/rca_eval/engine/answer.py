"""One run of a manifest, answered: the governing ranking, and what a component in Shadow would have ranked."""

from collections.abc import Mapping
from decimal import Decimal

from rca_eval.contract import EngineIncident, Prediction, RankedEntity, Run, nine
from rca_eval.engine.blend import Blend
from rca_eval.engine.investigation import Graph, Ranking, gather, rank

LIVE_ACTIVATION = "RcaLiveActivation.Mode"
ACTIVE = "Active"


def is_active(modes: Mapping[str, str], key: str) -> bool:
    """Only the exact word Active is active: missing, misspelt and unknown values are Shadow. Other keys are
    not ours.
    """
    return modes.get(key) == ACTIVE


def answer(run: Run, incident: EngineIncident, graph: Graph, blend: Blend) -> Prediction:
    """The prediction of a run; its `seconds` are 0 until the caller, who has a clock, puts them in.

    In Shadow the BARO term is computed all the same and its ranking is written down as `wouldBe`; the legacy
    path governs, and its bytes are those of an engine that has no BARO term at all.
    """
    findings = gather(incident, graph)
    active = is_active(run.modes, LIVE_ACTIVATION)
    governing = rank(findings, blend, use_baro=active)
    would_be = None if active else rank(findings, blend, use_baro=True)
    return Prediction(
        variant=run.variant,
        arm=run.arm,
        case=run.case,
        candidates=entities(governing),
        seconds=Decimal(0),
        table=governing.table.name,
        evidence=governing.evidence,
        would_be=tuple(one.key for one in would_be.candidates) if would_be else None,
    )


def entities(ranking: Ranking) -> tuple[RankedEntity, ...]:
    """Best first, figures with nine digits."""
    return tuple(
        RankedEntity(
            entity=one.key,
            score=Decimal(nine(one.score)),
            terms={term: Decimal(nine(value)) for term, value in one.terms.items()},
        )
        for one in ranking.candidates
    )
