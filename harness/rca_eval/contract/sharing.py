"""Equal values of many rows held once. Thousands of incidents under several variants say mostly the same."""

from typing import Any

from rca_eval.contract.model import Model
from rca_eval.contract.part import ScorecardPart
from rca_eval.contract.scorecard import ArmResult, ScoredCandidate


class Pool:
    """What equal values are held as. One for all parts of a scorecard; documents are frozen, so nobody sees that they share."""

    def __init__(self) -> None:
        self._values: dict[Any, Any] = {}

    def share(self, part: ScorecardPart) -> ScorecardPart:
        """The same part, just read and seen by nobody yet, which is why its rows may still be put together anew."""
        variants, control = part.deterministic.variants, part.deterministic.control
        for arms in (*(variant.arms for variant in variants), control.arms if control else ()):
            for arm in arms:
                self._arm(arm)
        for row in (*part.measured.seconds, *part.measured.would_be):
            self._texts(row)
        return part

    def _arm(self, arm: ArmResult) -> None:
        for row in arm.incidents:
            self._texts(row)
            row.__dict__["expected"] = self._one(row.expected)
            row.__dict__["candidates"] = self._one_of(tuple(self._candidate(one) for one in row.candidates))

    def _candidate(self, one: ScoredCandidate) -> ScoredCandidate:
        terms = tuple(one.terms.items()) if one.terms is not None else None
        key = (one.key, one.score, terms)
        known: ScoredCandidate | None = self._values.get(key)
        if known is None:
            self._texts(one)
            known = self._values[key] = one
        return known

    def _one_of(self, candidates: tuple[ScoredCandidate, ...]) -> tuple[ScoredCandidate, ...]:
        # By identity: equal candidates are the same ones by now, and the pool keeps them alive.
        found: tuple[ScoredCandidate, ...] = self._values.setdefault(
            ("candidates", *map(id, candidates)), candidates
        )
        return found

    def _texts(self, row: Model) -> None:
        """Its strings, and the note which of its fields were given."""
        for name, value in row.__dict__.items():
            if isinstance(value, str):
                row.__dict__[name] = self._one(value)
        given = frozenset(row.model_fields_set)
        object.__setattr__(row, "__pydantic_fields_set__", self._values.setdefault(given, set(given)))

    def _one(self, value: Any) -> Any:
        return self._values.setdefault(value, value)
