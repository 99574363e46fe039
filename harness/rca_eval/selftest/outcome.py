"""What became of a mutant, and what all of them say about the gate on these incidents. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from rca_eval.contract import display
from rca_eval.gate import GateResult
from rca_eval.gate.subject import short_ids
from rca_eval.selftest.mutant import Mutant

GOAL = Fraction(9, 10)
ACCURACY_CHECKS = frozenset({"AC@1", "ProtectedIncidents", "RegressedIncidents"})
"""What is left to a team that has accepted a new baseline: whether causes are found, not whether bytes are equal."""
ENGINE_FAILED = "EngineFailed"

Status = Literal["caught", "unnamed", "survived", "equivalent", "refuted"]


@dataclass(frozen=True)
class Sight:
    """What one question saw of a mutant. `checks` are the rows that did not pass, `incidents` those that they name,
    `accuracy` those that an accuracy check names. `warnings` stand beside a verdict and never make a catch.
    """

    question: str
    verdict: str
    reason: str
    message: str
    checks: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()
    accuracy: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def caught(self) -> bool:
        return self.verdict != "Passed"


def sight(question: str, result: GateResult, ids: Sequence[str]) -> Sight:
    """A verdict, reduced to what catches a mutant. Incidents count only if a message shows them to a reader."""
    rows = [check for check in result.checks if check.result in ("Failed", "Inconclusive", "Error")]
    accurate = [check.message for check in rows if check.name in ACCURACY_CHECKS]
    return Sight(
        question=question,
        verdict=result.verdict,
        reason=result.reason,
        message=result.message,
        checks=tuple(dict.fromkeys(check.reason or check.name for check in rows)),
        incidents=named([check.message for check in rows], ids),
        accuracy=named(accurate, ids),
        warnings=tuple(check.name for check in result.checks if check.result == "Warning"),
    )


def named(messages: Sequence[str], ids: Sequence[str]) -> tuple[str, ...]:
    """The incidents that the messages name, short or in full, in the order of the dataset."""
    text = "\n".join(messages)
    return tuple(
        one for one in ids if re.search(rf"(?<![\w.-]){re.escape(short_ids([one], ids))}(?!\w)", text)
    )


@dataclass(frozen=True)
class Outcome:
    """A mutant with everything that was seen of it, question by question."""

    mutant: Mutant
    sights: tuple[Sight, ...]

    @property
    def caught(self) -> bool:
        return any(one.caught for one in self.sights)

    @property
    def named(self) -> bool:
        return any(one.caught and one.incidents for one in self.sights)

    @property
    def by_accuracy(self) -> bool:
        return any(one.accuracy for one in self.sights)

    @property
    def checks(self) -> tuple[str, ...]:
        """All checks that did not pass, in the order in which they were met."""
        return tuple(dict.fromkeys(check for one in self.sights for check in one.checks))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that the engine without a fault does not get: seen by a reader, and no catch."""
        return tuple(dict.fromkeys(name for one in self.sights for name in one.warnings))

    @property
    def status(self) -> Status:
        """`refuted`: said to be equivalent, and caught all the same; `unnamed`: caught, but no incident was named."""
        if self.mutant.equivalent:
            return "refuted" if self.caught else "equivalent"
        return "caught" if self.named else "unnamed" if self.caught else "survived"

    @property
    def best(self) -> Sight | None:
        """The sight that tells most: by accuracy, else with an incident, else the first that caught."""
        caught = [one for one in self.sights if one.caught]
        return max(caught, key=lambda one: (bool(one.accuracy), bool(one.incidents)), default=None)

    def plain(self) -> dict[str, Any]:
        best = self.best
        return {
            "name": self.mutant.name,
            "group": self.mutant.group,
            "module": self.mutant.module,
            "imitates": self.mutant.imitates,
            "status": self.status,
            "byAccuracy": self.by_accuracy,
            "question": best and best.question,
            "verdict": best and best.verdict,
            "reason": best and best.reason,
            "message": best and best.message,
            "checks": list(self.checks),
            "warnings": list(self.warnings),
            "incidents": list(best.incidents) if best else [],
            "equivalent": self.mutant.equivalent or None,
            "needs": self.mutant.needs or None,
        }


@dataclass(frozen=True)
class Survey:
    """All outcomes. Shares are over the mutants that are not equivalent."""

    dataset: str
    outcomes: tuple[Outcome, ...]
    goal: Fraction = GOAL

    @property
    def counted(self) -> tuple[Outcome, ...]:
        return tuple(one for one in self.outcomes if not one.mutant.equivalent)

    @property
    def refuted(self) -> tuple[Outcome, ...]:
        return tuple(one for one in self.outcomes if one.status == "refuted")

    @property
    def named(self) -> int:
        return sum(one.named for one in self.counted)

    @property
    def by_accuracy(self) -> int:
        return sum(one.by_accuracy for one in self.counted)

    @property
    def met(self) -> bool:
        """At least 90 % of the mutants that are not equivalent are caught with an incident named. None at all is no pass."""
        return bool(self.counted) and Fraction(self.named, len(self.counted)) >= self.goal

    def plain(self) -> dict[str, Any]:
        total = len(self.counted)
        return {
            "dataset": self.dataset,
            "mutants": len(self.outcomes),
            "equivalent": len(self.outcomes) - total,
            "counted": total,
            "caught": sum(one.caught for one in self.counted),
            "caughtNamed": self.named,
            "caughtByAccuracy": self.by_accuracy,
            "shareNamed": share(self.named, total),
            "shareByAccuracy": share(self.by_accuracy, total),
            "goal": display(self.goal),
            "goalMet": self.met,
            "outcomes": [one.plain() for one in self.outcomes],
        }


def share(part: int, whole: int) -> str | None:
    """`part` of `whole` with three digits; null when there is nothing."""
    return display(Fraction(part, whole)) if whole else None
