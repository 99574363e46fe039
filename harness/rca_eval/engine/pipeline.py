"""From what was gathered to a ranked answer, under any set of active components.

Order: table and BARO term, `hist` from memory, blend, cap, order, verification gate, hypotheses. With no
component active this is the legacy path alone, and its bytes are those of an engine that has no component.

What several sets of modes have in common (values, evidence, score lists) is computed once.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from fractions import Fraction

from rca_eval.contract import EngineIncident
from rca_eval.engine.blend import Blend
from rca_eval.engine.cap import capped
from rca_eval.engine.components import EVIDENCE_CAP, HYPOTHESES, LIVE_ACTIVATION, MEMORY
from rca_eval.engine.evidence import Evidence
from rca_eval.engine.hypotheses import Hypotheses, investigate
from rca_eval.engine.investigation import (
    Findings,
    Ranking,
    Scored,
    change_evidence,
    order,
    rounded,
    term_values,
    weighted,
)
from rca_eval.engine.order import lifted, lowered
from rca_eval.engine.verification import Verification, verify

ScoreKey = tuple[bool, bool, bool]
"""Whether BARO, memory and cap have a say in the scores."""


@dataclass(frozen=True)
class Conclusion:
    """A ranking, and what the active components say about it (`decision`, None when none of them has a say)."""

    ranking: Ranking
    verification: Verification | None = None
    hypotheses: Hypotheses | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The services, best first."""
        return tuple(one.key for one in self.ranking.candidates)

    @property
    def decision(self) -> str | None:
        said = [one.sentence for one in (self.verification, self.hypotheses) if one is not None]
        return "; ".join(said) or None


class Pipeline:
    """One incident's findings, ranked as often as modes are asked about."""

    def __init__(self, incident: EngineIncident, findings: Findings, blend: Blend) -> None:
        self._findings = findings
        self._blend = blend
        self._evidence = Evidence(incident, findings)
        self._values = term_values(findings)
        self._scores: dict[ScoreKey, Ranking] = {}

    def conclude(self, active: AbstractSet[str]) -> Conclusion:
        """The answer when exactly these components govern."""
        found = self._verified(
            live=LIVE_ACTIVATION in active, memory=MEMORY in active, cap=EVIDENCE_CAP in active
        )
        return self._tested(found) if HYPOTHESES in active else found

    def _verified(self, *, live: bool, memory: bool, cap: bool) -> Conclusion:
        if not live:
            return Conclusion(self._ranked(False, memory, cap))
        ranking = self._ranked(True, memory, cap)
        verification = verify([one.key for one in ranking.candidates], self._evidence)
        if verification.service is None:
            # Nothing was verified, so this component changes nothing: the path that governs in Shadow does.
            return Conclusion(self._ranked(False, memory, cap), verification)
        ranked = lifted(ranking.candidates, verification.service)
        ids = dict.fromkeys((*change_evidence(self._findings, ranking.table, ranked), *verification.evidence))
        return Conclusion(replace(ranking, candidates=ranked, evidence=tuple(ids)), verification)

    def _tested(self, found: Conclusion) -> Conclusion:
        hypotheses = investigate(found.keys, self._evidence)
        ranking = found.ranking
        if hypotheses.refuted:
            ranked = lowered(ranking.candidates, hypotheses.refuted)
            evidence = ranking.evidence
            if ranked[0].key != ranking.candidates[0].key:
                evidence = change_evidence(self._findings, ranking.table, ranked)
            ranking = replace(ranking, candidates=ranked, evidence=evidence)
        return replace(found, ranking=ranking, hypotheses=hypotheses)

    def _ranked(self, baro: bool, memory: bool, cap: bool) -> Ranking:
        # A component that has nothing to say here changes nothing, so its list is that of the others.
        key = (baro and self._findings.baro.present, memory and bool(self._findings.history), cap)
        found = self._scores.get(key)
        if found is None:
            found = self._scores[key] = self._rank(*key)
        return found

    def _rank(self, baro: bool, memory: bool, cap: bool) -> Ranking:
        table = self._blend.choose(change=bool(self._findings.changes), baro=baro)
        scored = [
            weighted(key, values if memory else {**values, "hist": Fraction(0)}, table)
            for key, values in self._values
        ]
        if cap:
            scored = [self._capped(one) for one in scored]
        scored.sort(key=order)
        return Ranking(table, tuple(scored), change_evidence(self._findings, table, scored))

    def _capped(self, one: Scored) -> Scored:
        exact = sum(one.terms.values(), Fraction(0))
        kinds = len(self._evidence.kinds(one.key))
        score = capped(exact, kinds)
        if score == exact:
            return one
        return Scored(one.key, rounded(score), {**one.terms, "cap": score - exact})
